"""Clusters of real processes for the benchmarks: Starling, and its peers."""
import contextlib
import json
import os
import random
import select
import signal
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from nodes import namespaces as networks  # noqa: E402,F401
from nodes.fleet import Fleet  # noqa: E402
from nodes.keys import cluster_key  # noqa: E402
from nodes.node import kib_of  # noqa: E402,F401
from nodes.program import (  # noqa: E402,F401
    PYTHON, ROOT, Failure, all_lies, document, liar_program, program, run, starling)

ANSWER_S_LIMIT = 120
WARM_UP_SHARE = 0.2  # of the rounds, which do not count


def peer_environment():
    """OpenBLAS chooses for this processor, and computes on one thread."""
    kept = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}


def why_no_torch():
    found = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True)
    return "python3-torch is absent" if found.returncode else ""


def write_images(folder, prefix, pixels, labels):
    """Files of MNIST's format."""
    for kind, head, data in (("images-idx3", (2051, len(labels), 28, 28), pixels), ("labels-idx1", (2049, len(labels)), labels)):
        Path(folder, f"{prefix}-{kind}-ubyte").write_bytes(struct.pack(f">{len(head)}I", *head) + data)


def draw_images(folder, seed=1):
    """A pattern a class, under so much noise that a sixteenth of the images gives an accuracy of .57 at most,
    and all of them .9."""
    chance = random.Random(seed)
    patterns = [[chance.random() for _ in range(784)] for _ in range(10)]
    for prefix, count in (("train", 4000), ("t10k", 500)):
        labels = bytes(chance.randrange(10) for _ in range(count))
        pixels = bytearray()
        for label in labels:
            noise = chance.randbytes(784)
            pixels += bytes(int(28 * p) + n * 227 // 255 for p, n in zip(patterns[label], noise))
        write_images(folder, prefix, pixels, labels)


def sum_of(counts):
    """Of dictionaries of numbers, key by key; what is 0 is left out."""
    total = {}
    for key, count in (item for one in counts for item in one.items()):
        total[key] = total.get(key, 0) + count
    return {key: count for key, count in total.items() if count}


class Starling(Fleet):
    """Nodes that train together: on loopback one after the other, in the namespaces of a network with keys."""

    NAME = "node-{:02}"

    def __init__(self, nodes, network, arguments):
        super().__init__(range(nodes), ["--node.log=info", f"--cluster.expect={nodes}", *arguments], network)

    def begin(self, indices, more):
        if self.network and "--security.insecure=true" not in self.arguments:
            with contextlib.suppress(Failure):  # of a program that is of a time without keys
                more = [f"--cluster-key={cluster_key(self.folder)}"]
        for some in [indices] if self.network else [[index] for index in indices]:
            super().begin(some, more)

    @property
    def processes(self):
        return [node.process for node in self.nodes]

    def wait_rounds(self, rounds, seconds):
        """Whether all were there in time."""
        return self.wait(lambda: min(self.rounds()) >= rounds, seconds) is not None

    def round_ms(self):
        """Milliseconds a round, of the median node, after the first fifth of its rounds."""
        slopes = []
        for document in self.all("/v1/convergence"):
            points = [(p["round"], p["time_s"]) for p in document.get("series", [])]
            points = points[int(len(points) * WARM_UP_SHARE):]
            if len(points) > 1:
                (r0, t0), (r1, t1) = points[0], points[-1]
                slopes.append((t1 - t0) / (r1 - r0) * 1e3)
        if not slopes:
            raise Failure("no node has done two rounds")
        return statistics.median(slopes)

    def pace(self, seconds, is_settled=lambda status: True):
        """The seconds of a round of the first node, once it has done three, and its status before and after."""
        def has_begun():
            status = self.nodes[0].look()
            return status.get("run", {}).get("round", 0) >= 3 and is_settled(status)
        if self.wait(has_begun, ANSWER_S_LIMIT, .1) is None:
            raise Failure(f"no round in two minutes: {self.nodes[0].last_words()}")
        first, began = self.nodes[0].get("/v1/status"), time.monotonic()
        time.sleep(seconds)
        last, ended = self.nodes[0].get("/v1/status"), time.monotonic()
        return (ended - began) / (last["run"]["round"] - first["run"]["round"]), first, last

    def rejected(self):
        """By reason, of all nodes together; those that are 0 are left out."""
        refusals = [document["rejected"] for document in self.all() if document]
        for document in self.all("/v1/neighbors"):
            refusals += [edge["rejected"] for edge in document.get("neighbors", [])]
        return sum_of(refusals)

    def sent_vectors_bytes(self):
        return sum(document["traffic"]["sent_bytes"] for document in self.all() if document)


class Sited(Starling):
    """In a network of sites: node k is of the site that its namespace is in."""

    def make(self, index, more):
        return super().make(index, [*more, f"--node.group=site-{index % self.network.sites}"])


class Peers:
    """bench/peers.py; it idles between two requests."""

    def __init__(self, nodes, network, hidden, batch, learning_rate, data="", sites=1):
        arguments = [str(nodes), hidden or "none", str(batch), str(learning_rate)]
        if network:
            arguments += ["--namespaces", "--sites", str(sites), "--address", network.address(0)]
        if data:
            arguments += ["--data", data]
        self.process = subprocess.Popen([PYTHON, ROOT / "bench/peers.py", *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, env=peer_environment(), start_new_session=True)
        try:
            self.answer()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # the session is of its processes alone
        except ProcessLookupError:
            pass
        self.process.wait()

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        return self.answer()

    def answer(self):
        readable, _, _ = select.select([self.process.stdout], [], [], ANSWER_S_LIMIT)
        if not readable:
            raise Failure(f"PyTorch gave no answer in {ANSWER_S_LIMIT} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failure("the processes of PyTorch ended")
        return json.loads(line)
