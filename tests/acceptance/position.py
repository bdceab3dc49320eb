#!/usr/bin/env python3
"""Kills trainers again and again, at random moments, and counts which samples the fleet has seen.

    position.py PROGRAM [--kills 200] [--samples 3000] [--seed 1] [--daemons 0]

Three nodes go through one data set with swarm.batches(). A trainer writes down each batch with its place in the
epoch, each exchange, and where it goes on when it is started again: what it took beyond that place has no part in the
parameters. Judged: in each epoch that all nodes have left, each sample was seen once.

`--daemons K`: every K-th kill is one of a whole node, whose steps since its last exchange are lost. The node comes back
with the parameters and the place of the network, not with those of its checkpoint, because the others have gone on. So
the fleet skips what was the dead node's share until the others knew, and repeats or skips what lies between the places
of two nodes when their number changes. Both are counted, in samples of a kill and in seconds of one node's share.
Judged are then the quiet epochs alone, those in which no node was away and each counted all nodes.
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
from nodes import program  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.watch import eventually  # noqa: E402

TRAINER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import torch, starling
torch.set_num_threads(1)
count, log, takes = int(sys.argv[2]), open(sys.argv[3], "a", buffering=1), int(sys.argv[4])
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
swarm = starling.attach(model, optimizer, wait=True)
log.write("resume %d %d\\n" % swarm._position.get())
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(count)), batch_size=5, shuffle=True)
if takes:
    for batch, in swarm.batches(loader):
        log.write("take %d %d %d %s\\n" % (*swarm._position.get(), swarm.status.nodes,
                                         " ".join(map(str, batch.tolist()))))
        time.sleep(0.002)
        before = swarm.status.exchanges
        optimizer.step()
        swarm.step(loss=1.0)
        if swarm.status.exchanges > before:
            log.write("exchange\\n")
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
            eventually(lambda node=node: node.round() > 3, "rounds go on")

    def start_node(self, k):
        others = [node for place, node in enumerate(self.nodes) if place != k]
        join = [f"--join={others[0].addresses['control']}"] if others else []
        node = Node(f"node-{k}", "--model.kind=external", "--topology.kind=ring",
                        f"--trainer.socket={self.folder}/{k}.sock", "--optim.algorithm=dpsgd",
                        "--optim.local-steps=4", f"--cluster.expect={NODES}", "--checkpoint.every=1",
                        f"--node.data-dir={self.folder}/data-{k}", *join)
        return node.await_ready()

    def start_trainer(self, k, takes=True):
        return subprocess.Popen(
            ["/usr/bin/python3", "-c", TRAINER, str(ROOT / "clients/python"), str(self.options.samples),
             str(self.folder / f"{k}.log"), str(int(takes))],
            env={"STARLING_SOCKET": f"{self.folder}/{k}.sock", "STARLING_SLOW_BLAS": "fine"})

    def kill_trainer(self, k):
        self.trainers[k].kill()
        self.trainers[k].wait()

    def restart(self, k, with_node):
        self.kill_trainer(k)
        if with_node:
            self.nodes[k].kill()
            with open(self.folder / f"{k}.log", "a", encoding="utf-8") as log:
                log.write("died\n")
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
    """What the parameters of a node have seen, where it goes on, and the epochs that were not quiet."""
    taken, exchanged, place, unquiet, is_dead = [], 0, (0, 0), set(), False
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, *numbers = line.split()
        at = tuple(int(number) for number in numbers[:2])
        if kind == "take":
            taken.append((at, [int(number) for number in numbers[3:]]))
            if int(numbers[2]) != NODES:
                unquiet.add(at[0])
        elif kind == "exchange":
            exchanged = len(taken)
        elif kind == "died":
            del taken[exchanged:]
            is_dead = True
        else:
            if is_dead:
                begin = taken[-1][0][0] if taken else 0
                unquiet.update(range(min(begin, at[0]), at[0] + 1))
            taken = [item for item in taken if item[0] <= at]
            exchanged, place, is_dead = len(taken), at, False
    return taken, place, unquiet


def counted(logs, samples, epochs):
    """Samples skipped and repeated in these epochs."""
    times = collections.Counter((at[0], number) for taken, *_ in logs for at, batch in taken
                                for number in batch if at[0] in epochs)
    return len(epochs) * samples - len(times), sum(count - 1 for count in times.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--daemons", type=int, default=0)
    options = parser.parse_args()
    program.use(options.program)
    chance = random.Random(options.seed)
    node_kills = options.kills // options.daemons if options.daemons else 0
    with tempfile.TemporaryDirectory(prefix="starling-position-") as folder:
        fleet = Fleet(options, folder)
        begun = time.monotonic()
        try:
            for kill in range(1, options.kills + 1):
                time.sleep(chance.uniform(0, 2))
                fleet.restart(chance.randrange(NODES), options.daemons > 0 and kill % options.daemons == 0)
            time.sleep(5)
            seconds = time.monotonic() - begun
            fleet.stop()
        finally:
            for trainer in fleet.trainers:
                trainer.kill()
            for node in fleet.nodes:
                node.kill()
        logs = [seen_by(Path(folder) / f"{k}.log") for k in range(NODES)]
    epochs = set(range(min(place[0] for _, place, _ in logs)))
    quiet = epochs.difference(*(unquiet for *_, unquiet in logs))
    skipped, repeated = counted(logs, options.samples, epochs)
    print(f"{options.kills} kills (seed {options.seed}), {node_kills} of them of a node; {len(epochs)} whole epochs of "
          f"{options.samples} samples: {skipped} skipped, {repeated} repeated; "
          f"places {[place for _, place, _ in logs]}")
    if node_kills:
        share = len(epochs) * options.samples / NODES / seconds  # of a node, samples a second
        print(f"a kill of a node: {skipped / node_kills:.0f} skipped, {repeated / node_kills:.0f} repeated; "
              f"{skipped / node_kills / share:.2f} s and {repeated / node_kills / share:.2f} s of one node's share")
    quiet_skipped, quiet_repeated = counted(logs, options.samples, quiet)
    print(f"{len(quiet)} quiet epochs: {quiet_skipped} skipped, {quiet_repeated} repeated")
    return len(quiet) == 0 or quiet_skipped > 0 or quiet_repeated > 0


if __name__ == "__main__":
    sys.exit(main())
