#!/usr/bin/env python3
"""Kills trainers again and again, at random moments, and counts which samples the fleet has seen.

    position.py PROGRAM [--kills 200] [--samples 3000] [--seed 1] [--daemons 0]

Three nodes go through one data set with swarm.batches(). A trainer writes down each batch with its place in the
epoch, and where it goes on when it is started again: what it took beyond that place has no part in the parameters.
Judged: in each epoch that all nodes have left, each sample was seen once. `--daemons K`: every K-th kill is one of a
whole node, which comes back with its checkpoint; what the fleet then repeats and skips is counted, not judged.
"""
import argparse
import collections
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from live_node import LiveNode, eventually  # noqa: E402

TRAINER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import torch, starling
torch.set_num_threads(1)
count, log, takes = int(sys.argv[2]), open(sys.argv[3], "a", buffering=1), int(sys.argv[4])
model = torch.nn.Linear(1, 1)
swarm = starling.attach(model, torch.optim.SGD(model.parameters(), lr=0.0), wait=True)
log.write("resume %d %d\\n" % swarm._position.get())
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(count)), batch_size=5, shuffle=True)
if takes:
    for batch, in swarm.batches(loader):
        log.write("take %d %d %s\\n" % (*swarm._position.get(), " ".join(map(str, batch.tolist()))))
        time.sleep(0.002)
        swarm.step(loss=1.0)
"""
NODES = 3


class Fleet:
    def __init__(self, options, folder):
        self.options, self.folder = options, Path(folder)
        self.nodes = []
        for k in range(NODES):
            self.nodes.append(self.start_node(k))
        self.trainers = [self.start_trainer(k) for k in range(NODES)]
        for node in self.nodes:
            eventually(lambda node=node: node.get("/v1/status")["run"]["round"] > 3, "rounds go on")

    def start_node(self, k):
        others = [node for place, node in enumerate(self.nodes) if place != k]
        join = [f"--join={others[0].addresses['control']}"] if others else []
        return LiveNode(self.options.program, f"node-{k}", "--model.kind=external", "--topology.kind=ring",
                        f"--trainer.socket={self.folder}/{k}.sock", "--optim.algorithm=dpsgd",
                        "--optim.local-steps=4", f"--cluster.expect={NODES}", "--checkpoint.every=1",
                        f"--node.data-dir={self.folder}/data-{k}", *join)

    def start_trainer(self, k, takes=True):
        return subprocess.Popen(
            ["/usr/bin/python3", "-c", TRAINER, str(ROOT / "clients/python"), str(self.options.samples),
             str(self.folder / f"{k}.log"), str(int(takes))],
            env={"STARLING_SOCKET": f"{self.folder}/{k}.sock"})

    def kill_trainer(self, k):
        self.trainers[k].kill()
        self.trainers[k].wait()

    def restart(self, k, with_node):
        self.kill_trainer(k)
        if with_node:
            self.nodes[k].kill()
            self.nodes[k] = self.start_node(k)
        self.trainers[k] = self.start_trainer(k)

    def stop(self):
        """Each trainer says a last time where it would go on."""
        for k in range(NODES):
            self.kill_trainer(k)
            self.trainers[k] = self.start_trainer(k, takes=False)
        for trainer in self.trainers:
            trainer.wait(60)


def seen_by(path):
    """What the parameters of a node have seen, and where it goes on."""
    taken, place = [], (0, 0)
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, *numbers = line.split()
        at = int(numbers[0]), int(numbers[1])
        if kind == "take":
            taken.append((at, [int(number) for number in numbers[2:]]))
        else:
            taken = [item for item in taken if item[0] <= at]
            place = at
    return taken, place


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--daemons", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="starling-position-") as folder:
        fleet = Fleet(options, folder)
        try:
            for kill in range(1, options.kills + 1):
                time.sleep(chance.uniform(0, 2))
                fleet.restart(chance.randrange(NODES), options.daemons > 0 and kill % options.daemons == 0)
            time.sleep(5)
            fleet.stop()
        finally:
            for trainer in fleet.trainers:
                trainer.kill()
            for node in fleet.nodes:
                node.kill()
        logs = [seen_by(Path(folder) / f"{k}.log") for k in range(NODES)]
    epochs = min(place[0] for _, place in logs)
    times = collections.Counter((at[0], number) for taken, _ in logs for at, batch in taken
                                for number in batch if at[0] < epochs)
    repeated = sum(count - 1 for count in times.values())
    skipped = epochs * options.samples - len(times)
    print(f"{options.kills} kills (seed {options.seed}), {epochs} whole epochs of {options.samples} samples: "
          f"{len(times)} seen, {skipped} skipped, {repeated} repeated; places {[place for _, place in logs]}")
    return epochs == 0 or (options.daemons == 0 and (skipped > 0 or repeated > 0))


if __name__ == "__main__":
    sys.exit(main())
