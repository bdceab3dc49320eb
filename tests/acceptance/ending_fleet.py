"""Nodes whose end is looked at: `starling run`, when it ended, and what it left behind."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time

from fleet import ROOT, wait

sys.path.insert(0, os.path.join(ROOT, "bench"))
import network as networks  # noqa: E402
from cluster import program  # noqa: E402

LIMIT_S = 600


class Process:
    """One `starling run`, and when it ended."""

    def __init__(self, fleet, index, arguments, joins):
        self.name, self.fleet, self.index = f"node-{index}", fleet, index
        self.path = os.path.join(fleet.folder, self.name)
        network = fleet.network
        host = network.address(index) if network else "127.0.0.1"
        keys = ["--security.insecure=true"] if network else []
        prefix = network.prefix(index) if network else []
        reader, writer = os.pipe()
        with open(self.path + ".log", "wb") as log:
            self.process = subprocess.Popen(
                [*prefix, program(), "run", f"--node.name={self.name}", "--node.log=info",
                 f"--listen.control={host}:{7600 if network else 0}", "--listen.http=127.0.0.1:0",
                 f"--status-file={self.path}.json", f"--output={self.path}.safetensors",
                 f"--ready-file=/dev/fd/{writer}", *keys, *arguments,
                 *(f"--join={seed}" for seed in joins)],
                pass_fds=[writer], stdout=log, stderr=log, cwd=ROOT)
        os.close(writer)
        self.ready, self.addresses, self.ended = os.fdopen(reader), None, None
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        self.process.wait()
        self.ended = time.time()

    def signal(self, number):
        if self.ended is None:
            self.process.send_signal(number)

    def await_ready(self):
        with self.ready as pipe:
            line = pipe.readline()
        if not line:
            raise RuntimeError(f"{self.name} does not start: {self.log()[-300:]}")
        self.addresses = json.loads(line)

    def get(self, resource="/v1/status"):
        """The document, or {} when it does not answer."""
        path = self.fleet.network.path(self.index) if self.fleet.network else ""
        return networks.document(path, self.addresses["http"], resource) or {}

    def log(self):
        with open(self.path + ".log", errors="replace") as stream:
            return stream.read()

    def told(self, words):
        """When it first said so, or None."""
        found = re.search(rf"^(\d\d:\d\d:\d\d)\.(\d\d\d) .*{words}", self.log(), re.M)
        if not found:
            return None
        today = time.strftime("%Y-%m-%d ") + found.group(1)
        return time.mktime(time.strptime(today, "%Y-%m-%d %H:%M:%S")) + int(found.group(2)) / 1000

    def last(self):
        """What it wrote of itself at its end; {}: nothing."""
        try:
            with open(self.path + ".json") as stream:
                return json.load(stream)
        except (OSError, ValueError):
            return {}

    def parameters(self):
        """The bytes of its file of the model, without the head that has its name."""
        try:
            with open(self.path + ".safetensors", "rb") as stream:
                data = stream.read()
        except OSError:
            return None
        return data[8 + struct.unpack_from("<Q", data)[0]:]


class Fleet:
    """`arguments`: of all nodes, or a function of the index."""

    def __init__(self, indices, arguments, network=None):
        self.holder = tempfile.TemporaryDirectory(prefix="starling-end-")
        self.folder, self.network = self.holder.name, network
        self.arguments, self.nodes = arguments, []
        try:
            self.add(indices, [f"--cluster.expect={len(indices)}"])
        except BaseException:
            self.__exit__()
            raise

    def add(self, indices, more=()):
        new = []
        for index in indices:
            own = self.arguments(index) if callable(self.arguments) else self.arguments
            joins = [self.nodes[0].addresses["control"]] if self.nodes else []
            new.append(Process(self, index, [*own, *more], joins))
            self.nodes.append(new[-1])
            if not joins:
                new[-1].await_ready()
        for node in new:
            if not node.addresses:
                node.await_ready()
        return new

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.process.kill()
            node.thread.join()
        self.holder.cleanup()

    def rounds(self, nodes=None):
        return [n.get().get("run", {}).get("round", 0) for n in nodes or self.nodes]

    def await_round(self, number, seconds=LIMIT_S):
        if wait(lambda: min(self.rounds()) >= number, seconds) is None:
            raise RuntimeError(f"rounds {self.rounds()} after {seconds} s")

    def await_announcement(self, seconds=LIMIT_S):
        """The moment at which the first node ended its last round."""
        found = []

        def look():
            found[:] = [at for node in self.nodes if (at := node.told("the run ends after round"))]
            return found or all(node.ended for node in self.nodes)
        if wait(look, seconds, 0.01) is None or not found:
            raise RuntimeError(f"no end after {seconds} s: {[n.log()[-200:] for n in self.nodes]}")
        return min(found)

    def await_end(self, nodes=None, seconds=LIMIT_S):
        """The moment at which the last of them exited."""
        nodes = nodes or self.nodes
        if wait(lambda: all(node.ended for node in nodes), seconds, 0.01) is None:
            late = [(n.name, n.get().get("summary")) for n in nodes if not n.ended]
            raise RuntimeError(f"runs on after {seconds} s: {late}")
        return max(node.ended for node in nodes)

    def end_took(self):
        begun = self.await_announcement()
        return self.await_end() - begun


def hashes(nodes):
    return {node.last().get("run", {}).get("end", {}).get("model", "none") for node in nodes}


def is_one(nodes):
    """All exit with code 0, name one model, and have written it."""
    return (len(hashes(nodes)) == 1 and "none" not in hashes(nodes)
            and len({node.parameters() for node in nodes}) == 1
            and all(node.process.returncode == 0 for node in nodes))


def outcome(nodes):
    """In words."""
    runs = [node.last().get("run", {}) for node in nodes]
    rounds = sorted(run.get("round", 0) for run in runs)
    known = sorted(run["eval"]["accuracy"] for run in runs if "accuracy" in run.get("eval", {}))
    codes = sorted(node.process.returncode for node in nodes)
    text = f"models {', '.join(sorted(hashes(nodes)))} at rounds {rounds[0]} to {rounds[-1]}"
    text += f", accuracy {known[0]:.4f} to {known[-1]:.4f}" if known else ""
    said = {node.log().splitlines()[-1] for node in nodes if node.process.returncode != 0}
    return text + (f", exit codes {codes}: {' | '.join(sorted(said))}" if any(codes) else "")
