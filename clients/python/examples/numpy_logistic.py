#!/usr/bin/env python3
"""Logistic regression in numpy, on a node or alone: who of a9a earns more than 50,000 a year.

    starling up -n 4 --model.kind=external \\
      --trainer "python3 clients/python/examples/numpy_logistic.py"
    numpy_logistic.py --alone 500

A loop without an optimizer of torch corrects its gradients by itself, and says what its steps are.
"""
import argparse
import gzip
import sys
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import starling  # noqa: E402

COLUMNS = 123


def rows_of(path):
    """Features and targets (0 or 1) of a file in the libsvm format; all features of a9a are 1."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    features = numpy.zeros((len(lines), COLUMNS), dtype="float32")
    for row, line in enumerate(lines):
        features[row, [int(entry.split(":")[0]) - 1 for entry in line.split()[1:]]] = 1
    return features, numpy.array([line[0] == "+" for line in lines], dtype="float32")


def probabilities(tensors, features):
    return 1 / (1 + numpy.exp(-(features @ tensors["weight"] + tensors["bias"])))


def gradients_of(tensors, features, targets):
    """Of the mean loss, and the loss itself."""
    chance = probabilities(tensors, features)
    error = (chance - targets) / len(targets)
    right = numpy.where(targets > 0, chance, 1 - chance)
    loss = -numpy.log(numpy.maximum(right, 1e-12)).mean()
    return {"weight": features.T @ error, "bias": numpy.array(error.sum())}, loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data",
                        help="folder of a9a.gz and a9a.t.gz")
    parser.add_argument("--alone", type=int, metavar="STEPS", help="without a daemon")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--every", type=int, default=100, help="steps between evaluations")
    options = parser.parse_args()
    features, targets = rows_of(options.data / "a9a.gz")
    test_features, test_targets = rows_of(options.data / "a9a.t.gz")
    start = {"weight": numpy.zeros(COLUMNS, dtype="float32"), "bias": numpy.zeros((), "float32")}

    swarm = (starling.alone(options.alone, tensors=start) if options.alone
             else starling.attach(tensors=start, corrects=True, steps="sgd",
                                  learning_rate=options.rate, wait=True, timeout=600))
    tensors = swarm.tensors  # in the memory shared with the daemon: written to in place
    status = swarm.status
    random = numpy.random.default_rng(status.place)
    mine = numpy.arange(status.place, len(targets), status.nodes)

    def evaluate():
        guesses = probabilities(tensors, test_features) > 0.5
        return float((guesses == (test_targets > 0)).mean())
    while swarm.is_running:
        rows = random.choice(mine, options.batch)
        gradients, loss = gradients_of(tensors, features[rows], targets[rows])
        for name, gradient in swarm.correct(gradients).items():
            tensors[name] -= options.rate * gradient
        swarm.step(loss=loss, samples=options.batch)
        if swarm.status.steps % options.every == 0:
            swarm.log(accuracy=evaluate())
    print(f"{swarm.end_reason}: accuracy {100 * evaluate():.2f} %", flush=True)
    swarm.close()


if __name__ == "__main__":
    main()
