"""Clusters of real processes for bench/links.py and bench/lossy.py: Starling, and its peers."""

import concurrent.futures
import json
import os
import random
import select
import signal
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import network as networks

ROOT = Path(__file__).resolve().parent.parent
PYTHON = os.environ.get("BENCH_PYTHON", "/usr/bin/python3")  # the one that has PyTorch
LOOK_S = 0.05
ANSWER_S_LIMIT = 120
CONTROL_PORT = 7600
WARM_UP_SHARE = 0.2  # of the rounds, which do not count
asking = concurrent.futures.ThreadPoolExecutor(16)


class Failure(Exception):
    """Something that was to run did not; the text says what."""


def program():
    """The newest build."""
    built = [ROOT / "build" / kind / "daemon/starling" for kind in ("bench", "release")]
    built = sorted((p for p in built if p.exists()), key=lambda p: p.stat().st_mtime)
    return os.environ.get("STARLING") or (str(built[-1]) if built else "")


def liar_program():
    """That of tests/tools/liar.cpp, of the same build."""
    return os.environ.get("LIAR") or os.path.join(os.path.dirname(program()), "..", "tests", "liar")


def key_arguments(folder, arguments=()):
    """What gives a node keys, of a cluster key in the folder; none where the arguments want none, or the
    program is of a time without keys."""
    path = Path(folder, "cluster.key")
    if "--security.insecure=true" in arguments:
        return []
    if not path.exists() and subprocess.run([program(), "keygen", "cluster", "--out", path],
                                            capture_output=True).returncode:
        return []
    return [f"--cluster-key={path}"]


def peer_environment():
    """OpenBLAS chooses for this processor, and computes on one thread."""
    kept = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}


def why_no_torch():
    found = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True)
    return "python3-torch is absent" if found.returncode else ""


def draw_images(folder, seed=1):
    """Files of MNIST's format: a pattern a class, under so much noise that a sixteenth of the images
    gives an accuracy of .57 at most, and all of them .9."""
    chance = random.Random(seed)
    patterns = [[chance.random() for _ in range(784)] for _ in range(10)]
    for prefix, count in (("train", 4000), ("t10k", 500)):
        labels = bytes(chance.randrange(10) for _ in range(count))
        pixels = bytearray()
        for label in labels:
            noise = chance.randbytes(784)
            pixels += bytes(int(28 * p) + n * 227 // 255 for p, n in zip(patterns[label], noise))
        Path(folder, f"{prefix}-images-idx3-ubyte").write_bytes(
            struct.pack(">4I", 2051, count, 28, 28) + pixels)
        Path(folder, f"{prefix}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 2049, count) + labels)


def sum_of(counts):
    """Of dictionaries of numbers, key by key; what is 0 is left out."""
    total = {}
    for key, count in (item for one in counts for item in one.items()):
        total[key] = total.get(key, 0) + count
    return {key: count for key, count in total.items() if count}


class Stopped:
    """Ends with its block."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Starling(Stopped):
    """`starling run`, once a node of the network, or on loopback where that is None. {node} in an argument is
    its number."""

    def __init__(self, nodes, network, arguments):
        self.nodes, self.network = nodes, network
        self.folder = tempfile.TemporaryDirectory(prefix="starling-links-")
        self.processes, self.addresses, self.connections = [], [], {}
        try:
            self.start(arguments)
        except BaseException:
            self.stop()
            raise

    def start(self, arguments):
        ready = []
        for k in range(self.nodes):
            ready.append(self.start_one(k, arguments))
            if k == 0 or not self.network:
                self.addresses.append(self.read_addresses(ready[k], k))
        for k in range(len(self.addresses), self.nodes):
            self.addresses.append(self.read_addresses(ready[k], k))

    def command(self, k):
        """What runs node k, before its settings."""
        return [program(), "run"]

    def start_one(self, k, arguments):
        reader, writer = os.pipe()
        host = self.network.address(k) if self.network else "127.0.0.1"
        port = CONTROL_PORT if self.network else 0
        join = [f"--join={self.addresses[0]['control']}"] if k else []
        keys = key_arguments(self.folder.name, arguments) if self.network else []
        with open(Path(self.folder.name, f"{k}.log"), "wb") as log:
            self.processes.append(subprocess.Popen(
                [*(self.network.prefix(k) if self.network else []), *self.command(k),
                 f"--node.name=node-{k:02}", "--node.log=info", f"--cluster.expect={self.nodes}",
                 f"--listen.control={host}:{port}", "--listen.http=127.0.0.1:0", f"--ready-file=/dev/fd/{writer}", *join, *keys,
                 *(argument.replace("{node}", str(k)) for argument in arguments)],
                pass_fds=[writer], stdout=log, stderr=log, cwd=ROOT))
        os.close(writer)
        return os.fdopen(reader)

    def read_addresses(self, ready, k):
        with ready:
            line = ready.readline()
        if not line:
            raise Failure(f"starling did not start: {self.log(k)}")
        return json.loads(line)

    def log(self, k):
        lines = Path(self.folder.name, f"{k}.log").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "no output"

    def get(self, k, resource):
        """The document, or None when the node does not answer."""
        path = self.network.path(k) if self.network else ""
        return networks.document(path, self.addresses[k]["http"], resource)

    def all(self, resource):
        return list(asking.map(lambda k: self.get(k, resource), range(self.nodes)))

    def rounds(self):
        return [d["run"]["round"] if d else 0 for d in self.all("/v1/status")]

    def wait(self, condition, seconds):
        """Whether it came true in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            ended = [k for k, p in enumerate(self.processes) if p.poll() is not None]
            if ended:
                raise Failure(f"starling ended: {self.log(ended[0])}")
            time.sleep(LOOK_S)
        return False

    def wait_rounds(self, rounds, seconds):
        return self.wait(lambda: min(self.rounds()) >= rounds, seconds)

    def round_ms(self):
        """Milliseconds a round, of the median node, after the first fifth of its rounds."""
        slopes = []
        for document in self.all("/v1/convergence"):
            points = [(p["round"], p["time_s"]) for p in (document or {}).get("series", [])]
            points = points[int(len(points) * WARM_UP_SHARE):]
            if len(points) > 1:
                (r0, t0), (r1, t1) = points[0], points[-1]
                slopes.append((t1 - t0) / (r1 - r0) * 1e3)
        if not slopes:
            raise Failure("no node has done two rounds")
        return statistics.median(slopes)

    def rejected(self):
        """By reason, of all nodes together; those that are 0 are left out."""
        refusals = [d["rejected"] for d in self.all("/v1/status") if d]
        for document in self.all("/v1/neighbors"):
            refusals += [edge["rejected"] for edge in (document or {}).get("neighbors", [])]
        return sum_of(refusals)

    def sent_vectors_bytes(self):
        return sum(d["traffic"]["sent_bytes"] for d in self.all("/v1/status") if d)

    def stop(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.folder.cleanup()


class Peers(Stopped):
    """bench/peers.py; it idles between two requests."""

    def __init__(self, nodes, network, hidden, batch, learning_rate, data=""):
        arguments = [str(nodes), hidden or "none", str(batch), str(learning_rate)]
        if network:
            arguments += ["--namespaces", "--address", network.address(0)]
        if data:
            arguments += ["--data", data]
        self.process = subprocess.Popen([PYTHON, ROOT / "bench/peers.py", *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, env=peer_environment(), start_new_session=True)
        try:
            self.answer()
        except BaseException:
            self.stop()
            raise

    def stop(self):
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
