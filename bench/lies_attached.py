#!/usr/bin/env python3
"""What one of 16 nodes that lies costs the others where trainers of PyTorch are attached to the nodes.

    lies_attached.py DATA [--rules clip] [--topologies random torus ring] [--lies 1e6 drift ...] [--nodes 16]
                     [--rounds 150] [--local-steps 4] [--batch 16] [--rows 20000] [--tests 5000] [--seed 1]
                     [--seconds 300] [--SECTION.KEY=VALUE ...]

Real nodes on loopback average with dpsgd. Beside each a process trains the network of
clients/python/examples/mnist_cnn.py with Adam, on its share of the first rows of MNIST in DATA. The last
node is the program of tests/tools/liar.cpp: its trainer is honest, the vectors that it sends are lies
(starling simulate --sim.lie=? names them). Printed are the mean accuracy of the honest nodes' models at the
end and that of the worst of them, on the first test images and in percent, and how much less these are
than without lies and with the rule mean. Other arguments are settings. LIAR in the environment names the
program that lies, STARLING the other, where they are not the newest below build/.
"""
import argparse
import functools
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import markdown
from cluster import ROOT, Failure, Starling, all_lies, liar_program
from lies import HEADINGS, SHAPES

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # OpenBLAS does not ask torch
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "clients/python/examples")]
import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

import starling  # noqa: E402
from mnist_cnn import Network  # noqa: E402
from mnist_files import images_and_labels  # noqa: E402

COMMON = ["--model.kind=external", "--optim.algorithm=dpsgd", "--exchange.codec=f32", "--cluster.preset=wan"]
ATTACH_S_LIMIT = 120
JUDGED_BATCH = 500
GOAL_NOT_REACHED = 3  # the exit code of a node whose last steps were refused, as after a lie


@functools.cache
def images_of(data, prefix, count):
    images, labels = images_and_labels(data, prefix, 1, 28, 28)
    return images[:count], labels[:count]


def accuracy_of(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = sum((model(batch).argmax(dim=1) == wanted).sum().item()
                    for batch, wanted in zip(images.split(JUDGED_BATCH), labels.split(JUDGED_BATCH)))
    return right / len(labels)


def train(options, socket, k):
    """The trainer of node k, in a process of its own. The steps that it took, and the accuracy."""
    torch.manual_seed(options.seed)
    model = Network(batch_norm=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.rate)
    rows = torch.utils.data.TensorDataset(*images_of(options.data, "train", options.rows))
    loader = torch.utils.data.DataLoader(rows, batch_size=options.batch, shuffle=True)
    swarm = starling.attach(model, optimizer, socket=socket, samples=len(rows), wait=True,
                            timeout=ATTACH_S_LIMIT)
    torch.manual_seed(1000 * options.seed + k)  # of dropout
    for batch, wanted in swarm.batches(loader, seed=options.seed):
        loss = functional.nll_loss(model(batch), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        swarm.step(loss=loss)
    swarm.close()
    return swarm.status.steps, accuracy_of(model, *images_of(options.data, "t10k", options.tests))


class Fleet(Starling):
    """On loopback; the last node tells the lie."""

    def __init__(self, nodes, lie, arguments):
        self.lie, self.last = lie, nodes - 1
        super().__init__(nodes, None, arguments)

    def how(self, index):
        if self.lie == "none" or index < self.last:
            return {}
        return {"command": [liar_program()], "environment": {"LIES": self.lie}}

    def await_end(self, deadline):
        for k, process in enumerate(self.processes[:-1]):
            try:
                code = process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Failure(f"node {k} does not end, rounds {self.rounds()}")
            if code not in (0, GOAL_NOT_REACHED):
                raise Failure(f"node {k} ended with {code}: {self.nodes[k].last_words()}")


def accuracies(options, rule, shape, lie):
    """Of the honest nodes; of a run without lies the last one is left out too."""
    with tempfile.TemporaryDirectory(prefix="starling-lies-") as folder, \
            multiprocessing.get_context("fork").Pool(
                options.nodes, signal.signal, (signal.SIGTERM, signal.SIG_DFL)) as trainers:
        ends = [trainers.apply_async(train, (options, f"{folder}/{k}.sock", k)) for k in range(options.nodes)]
        with Fleet(options.nodes, lie, [
                *COMMON, f"--trainer.socket={folder}/{{node}}.sock", f"--exchange.aggregation={rule}",
                f"--optim.local-steps={options.local_steps}", f"--stop.rounds={options.rounds}",
                *SHAPES[shape], *options.settings]) as fleet:
            deadline = time.monotonic() + options.seconds
            fleet.await_end(deadline)
        found = [end.get(max(0, deadline - time.monotonic())) for end in ends[:-1]]
    steps = [count for count, _ in found]
    if min(steps) < options.rounds * options.local_steps:
        raise Failure(f"a node ended early: steps {steps}")
    return [100 * accuracy for _, accuracy in found]


def figures(options, rule, shape, lie):
    """The mean and the worst, or None, with the reason on standard error."""
    begun = time.monotonic()
    try:
        found = accuracies(options, rule, shape, lie)
    except (Failure, starling.Error, multiprocessing.TimeoutError) as error:
        print(f"{shape}, {rule}, {lie}: {error!r}", file=sys.stderr)
        return None
    print(f"{shape}, {rule}, {lie}: {time.monotonic() - begun:.0f} s, "
          f"{', '.join(f'{one:.2f}' for one in found)}", file=sys.stderr)
    return statistics.mean(found), min(found)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the files of MNIST")
    parser.add_argument("--rules", nargs="+", default=["clip"])
    parser.add_argument("--topologies", nargs="+", default=["random", "torus", "ring"], choices=list(SHAPES))
    parser.add_argument("--lies", nargs="+", default=None)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--local-steps", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--rows", type=int, default=20000, help="of the training images, of all nodes together")
    parser.add_argument("--tests", type=int, default=5000, help="images on which models are judged")
    parser.add_argument("--seed", type=int, default=1, help="of the first model and of chance")
    parser.add_argument("--seconds", type=float, default=300, help="in which a run must be over")
    options, options.settings = parser.parse_known_args()
    return options


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not os.path.exists(liar_program()):
        sys.exit(f"{liar_program()} is not there: make release builds it")
    torch.set_num_threads(1)
    for prefix, count in (("train", options.rows), ("t10k", options.tests)):
        images_of(options.data, prefix, count)  # once, for all trainers
    has_failed = False
    print(markdown.table(HEADINGS))
    for shape in options.topologies:
        clean = figures(options, "mean", shape, "none")
        rows = [(rule, lie) for rule in options.rules for lie in ["none", *(options.lies or all_lies())]]
        for rule, lie in rows:
            found = clean if (rule, lie) == ("mean", "none") else figures(options, rule, shape, lie)
            has_failed |= clean is None or found is None
            if clean and found:
                less = [before - after for before, after in zip(clean, found)]
                print(f"| {shape} | {rule} | {lie} | {found[0]:.1f} | {less[0]:.1f} | {found[1]:.1f} | "
                      f"{less[1]:.1f} |", flush=True)
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
