#!/usr/bin/env python3
"""Trainers beside eight nodes of two digits each, against one process with every digit.

    attached_mnist.py PROGRAM DATA [--seeds 3] [--rounds 200] [--local-steps 10]

DATA is a folder with the files of MNIST. Each row is clients/python/examples/mnist_cnn.py, with and
without BatchNorm; that of nodes settles after half of the steps. Every model is saved at the end of
its run and judged here: in eval mode, on all test images. One process takes as many steps as each
node. Judged: no node of a run with `kgt` is more than half a point below the one process of its
seed. `dpsgd` stands beside it, after as many rounds.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "clients/python/examples/mnist_cnn.py"
NODES = 8
BELOW_LIMIT = 0.005
JUDGED_BATCH = 1000
RUN_S_LIMIT = 3600
ALONE = "one process"
ALGORITHMS = ("kgt", "dpsgd")

# OpenBLAS does not ask torch how many threads it may take.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(EXAMPLE.parent))
import torch  # noqa: E402

import mnist_cnn as example  # noqa: E402


def accuracy_of(path, tests, batch_norm):
    model = example.Network(batch_norm)
    model.load_state_dict(torch.load(path))
    model.eval()
    images, labels = tests
    right = 0
    with torch.no_grad():
        for rows in torch.arange(len(labels)).split(JUDGED_BATCH):
            right += (model(images[rows]).argmax(dim=1) == labels[rows]).sum().item()
    return right / len(labels)


def trainer(options, seed, batch_norm):
    words = [sys.executable, str(EXAMPLE), f"--data={options.data}", f"--seed={seed}",
             "--every=1000000000"]
    return [*words, "--batch-norm"] if batch_norm else words


def run_alone(options, words, folder):
    steps = options.rounds * options.local_steps
    path = folder / "alone.pt"
    subprocess.run([*words, f"--alone={steps}", f"--save={path}"], check=True, cwd=ROOT,
                   stdout=subprocess.DEVNULL, timeout=RUN_S_LIMIT)
    return [path]


def run_nodes(options, words, folder, algorithm):
    command = " ".join(f"'{word}'" for word in [*words, "--two-digits"])
    done = subprocess.run(
        [options.program, "up", "-n", str(NODES), f"--optim.algorithm={algorithm}",
         f"--trainer={command} --save='{folder}'/$STARLING_NODE.pt", "--topology.kind=complete",
         f"--optim.local-steps={options.local_steps}", f"--stop.rounds={options.rounds}",
         "--listen.http=127.0.0.1:0"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=RUN_S_LIMIT,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder)})  # where the sockets of the trainers are
    paths = sorted(folder.glob("*.pt"))
    if done.returncode != 0 or len(paths) != NODES:
        sys.exit(f"starling up ended with {done.returncode}, {len(paths)} models:\n{done.stdout}")
    return paths


def accuracies(options, what, seed, batch_norm, tests):
    """Of the model of each node."""
    words = trainer(options, seed, batch_norm)
    if batch_norm and what != ALONE:
        words.append(f"--settle={options.rounds * options.local_steps // 2}")
    with tempfile.TemporaryDirectory(prefix="starling-mnist-") as name:
        folder = Path(name)
        paths = (run_alone(options, words, folder) if what == ALONE
                 else run_nodes(options, words, folder, what))
        return [accuracy_of(path, tests, batch_norm) for path in paths]


def title_of(what, batch_norm):
    name = what if what == ALONE else f"{NODES} nodes, {what}"
    return f"{name}, with BatchNorm" if batch_norm else name


def measure(options, tests):
    """{(what, batch_norm): the accuracies of the nodes, a list a seed}"""
    found = {}
    for seed in range(1, options.seeds + 1):
        for batch_norm in (False, True):
            for what in (ALONE, *options.algorithms):
                seen = accuracies(options, what, seed, batch_norm, tests)
                found.setdefault((what, batch_norm), []).append(seen)
                print(f"seed {seed}: {title_of(what, batch_norm)}: "
                      f"{', '.join(f'{one:.4f}' for one in seen)}", file=sys.stderr, flush=True)
    return found


def table_of(found):
    lines = ["| | mean of the seeds | worst node of each seed |", "|---|---|---|"]
    for (what, batch_norm), seeds in found.items():
        mean = statistics.mean(statistics.mean(nodes) for nodes in seeds)
        worst = ", ".join(f"{min(nodes):.4f}" for nodes in seeds)
        lines.append(f"| {title_of(what, batch_norm)} | {mean:.4f} | {worst} |")
    return "\n".join(lines)


def shortfalls(found):
    """By how much the worst node of each run with kgt is below the one process of its seed."""
    for batch_norm in (False, True):
        pairs = zip(found.get(("kgt", batch_norm), []), found[ALONE, batch_norm])
        for seed, (nodes, alone) in enumerate(pairs, 1):
            yield title_of("kgt", batch_norm), seed, alone[0] - min(nodes)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--local-steps", type=int, default=10)
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS, choices=ALGORITHMS)
    return parser.parse_args()


def main():
    options = read_options()
    options.program = os.path.abspath(options.program)
    options.data = options.data.resolve()
    torch.set_num_threads(1)
    found = measure(options, example.images_and_labels(options.data, "t10k", 1, 28, 28))
    print(table_of(found))
    failed = False
    for title, seed, below in shortfalls(found):
        good = below <= BELOW_LIMIT
        failed = failed or not good
        print(f"{'ok   ' if good else 'SHORT'} {title}, seed {seed}: the worst node is "
              f"{100 * below:.2f} points below one process")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
