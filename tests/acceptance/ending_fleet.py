"""Nodes whose end is looked at: `starling run`, when it ended, and what it left behind."""
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import fleet  # noqa: E402
from nodes.node import Node, numbers_of  # noqa: E402
from nodes.watch import wait  # noqa: E402

LIMIT_S = 600


class Process(Node):
    """One that says how it ended, and when."""

    def start(self, *more):
        self.path = self.log.removesuffix(".log")
        super().start("--node.log=info", f"--status-file={self.path}.json", f"--output={self.path}.safetensors",
                      *more)
        self.ended = None
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        self.process.wait()
        self.ended = time.time()

    def told(self, words):
        """When it first said so, or None."""
        found = re.search(rf"^(\d\d:\d\d:\d\d)\.(\d\d\d) .*{words}", self.words(), re.M)
        if not found:
            return None
        today = time.strftime("%Y-%m-%d ") + found.group(1)
        return time.mktime(time.strptime(today, "%Y-%m-%d %H:%M:%S")) + int(found.group(2)) / 1000

    def left(self, kind):
        """A file that it wrote at its end, as bytes; none: nothing."""
        try:
            with open(f"{self.path}.{kind}", "rb") as stream:
                return stream.read()
        except OSError:
            return b""

    def last(self):
        """What it wrote of itself at its end; {}: nothing."""
        return json.loads(self.left("json") or b"{}")

    def parameters(self):
        return numbers_of(self.left("safetensors"))


class Fleet(fleet.Fleet):
    NODE = Process

    def __init__(self, indices, arguments, network=None):
        self.insecure = ["--security.insecure=true"] if network else []
        super().__init__(indices, arguments, network, more=[f"--cluster.expect={len(indices)}"])

    def add(self, indices, more=()):
        return super().add(indices, [*self.insecure, *more])

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
            raise RuntimeError(f"no end after {seconds} s: {[node.last_words() for node in self.nodes]}")
        return min(found)

    def await_end(self, nodes=None, seconds=LIMIT_S):
        """The moment at which the last of them exited."""
        nodes = nodes or self.nodes
        if wait(lambda: all(node.ended for node in nodes), seconds, 0.01) is None:
            late = [(node.name, node.look().get("summary")) for node in nodes if not node.ended]
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
    said = {node.last_words().splitlines()[-1] for node in nodes if node.process.returncode != 0}
    return text + (f", exit codes {codes}: {' | '.join(sorted(said))}" if any(codes) else "")
