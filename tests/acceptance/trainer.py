#!/usr/bin/env python3
"""Kills the trainer of one node again and again, at random moments, and looks at all models.

    trainer.py PROGRAM [--kills 200] [--numbers 10000000] [--seed 1]

Three nodes in a ring. A step of a trainer moves all its parameters to one and the same number, and so does
an average of such vectors: a model whose numbers differ was torn. Judged: no model of any node is torn, a
trainer that attaches again has the parameters within 100 ms, and the neighbours' rounds stand still no longer than
their patience.
"""
import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from nodes import program  # noqa: E402
from nodes.fleet import Fleet  # noqa: E402
from nodes.watch import asking, eventually  # noqa: E402

import numpy  # noqa: E402

TRAINER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import numpy, starling
goal, count = float(sys.argv[2]), int(sys.argv[3])
tensors = {"w": numpy.zeros(count, numpy.float32)}
began = time.perf_counter()
swarm = starling.attach(tensors=tensors)
w = swarm.tensors["w"]
print(f"{time.perf_counter() - began:.4f} {float(w.max() - w.min())}", flush=True)
while True:
    w += (goal - w) / 8
    if not swarm.step(loss=1.0):
        break
"""
NODES = 3
REATTACH_S_LIMIT = 0.1


class Trainer:
    """A process that trains beside a node, and what it said after it had attached."""

    def __init__(self, socket, goal, numbers):
        self.process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, str(ROOT / "clients/python"), str(goal), str(numbers)],
            env={"STARLING_SOCKET": socket}, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        assert len(line) == 2, "the trainer did not attach"
        self.attach_s, self.spread = float(line[0]), float(line[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Watch:
    """The longest time for which a node's round stood still."""

    def __init__(self, node):
        self.node, self.longest_s, self.patience_s = node, 0, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        round_, since = 0, time.monotonic()
        while not self.ended.wait(0.01):
            now = self.node.get("/v1/status")["run"]["round"]
            at = time.monotonic()
            if now != round_:
                round_, since = now, at
            self.longest_s = max(self.longest_s, at - since)
            for neighbor in self.node.get("/v1/neighbors")["neighbors"]:
                self.patience_s = max(self.patience_s, neighbor.get("patience_s", 0))

    def stop(self):
        self.ended.set()
        self.thread.join()


def spread_of_model(node):
    """How far apart the numbers of the node's model are."""
    numbers = numpy.frombuffer(node.model(), "<f4")
    return float(numbers.max() - numbers.min())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--numbers", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    program.use(options.program)
    trainers = []
    with tempfile.TemporaryDirectory(prefix="starling-trainer-") as folder, Fleet(range(NODES), [
            "--model.kind=external", "--topology.kind=ring", "--optim.algorithm=dpsgd",
            f"--cluster.expect={NODES}", f"--trainer.socket={folder}/{{node}}.sock"]) as fleet:
        try:
            def begin(k):
                return Trainer(f"{folder}/{k}.sock", k, options.numbers)
            trainers = list(asking.map(begin, range(NODES)))
            for node in fleet.nodes:
                eventually(lambda node=node: node.round() > 5, "rounds go on")
            watch, attach_s, torn = Watch(fleet.nodes[1]), [], 0
            for kill in range(options.kills):
                time.sleep(chance.uniform(0, 0.4))
                trainers[0].kill()
                trainers[0] = begin(0)
                attach_s.append(trainers[0].attach_s)
                torn += trainers[0].spread > 1e-5
                if kill % 10 == 9:
                    torn += sum(spread_of_model(node) > 1e-5 for node in fleet.nodes)
            watch.stop()
        finally:
            for trainer in trainers:
                trainer.kill()
    attach_s.sort()
    late = sum(seconds > REATTACH_S_LIMIT for seconds in attach_s)
    print(f"{options.kills} kills (seed {options.seed}): {torn} torn models; attached again after "
          f"{1e3 * attach_s[len(attach_s) // 2]:.0f} ms (median, most {1e3 * attach_s[-1]:.0f}), {late} later than "
          f"{1e3 * REATTACH_S_LIMIT:.0f} ms; a neighbour stood still for {watch.longest_s:.2f} s at most, "
          f"its patience was {watch.patience_s:.2f} s at most")
    return torn > 0 or watch.longest_s > max(watch.patience_s, 1)


if __name__ == "__main__":
    sys.exit(main())
