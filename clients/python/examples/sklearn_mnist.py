#!/usr/bin/env python3
"""An estimator of scikit-learn on MNIST, by partial_fit, on a node or alone.

    starling up -n 4 --optim.algorithm=dpsgd --optim.local-steps=5 --stop.rounds=60 \
        --trainer "python3 clients/python/examples/sklearn_mnist.py"
    sklearn_mnist.py --alone 300

With --two-digits each node holds images of two digits only. Needs python3-sklearn.
"""
import argparse
import gzip
import sys
from pathlib import Path

import numpy
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import starling  # noqa: E402

DIGITS = list(range(10))


def images_and_labels(folder, prefix):
    def numbers(name, header):
        return numpy.frombuffer(gzip.decompress((folder / name).read_bytes()), "u1", offset=header)
    images = numbers(f"{prefix}-images-idx3-ubyte.gz", 16).reshape(-1, 784)
    return images / 255.0, numbers(f"{prefix}-labels-idx1-ubyte.gz", 8).astype(int)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "mnist",
                        help="folder of train-images-idx3-ubyte.gz and its three neighbours")
    parser.add_argument("--alone", type=int, metavar="STEPS", help="without a daemon")
    parser.add_argument("--mlp", action="store_true", help="64 hidden units, and Adam")
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()
    images, labels = images_and_labels(options.data, "train")
    estimator = (MLPClassifier((64,), learning_rate_init=0.002, random_state=1) if options.mlp else
                 SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.02))
    rows = numpy.random.default_rng(1).permutation(len(labels))
    batches = numpy.array_split(rows, len(rows) // options.batch)
    if options.alone:
        for number in range(options.alone):
            mine = batches[number % len(batches)]
            estimator.partial_fit(images[mine], labels[mine], classes=DIGITS)
        reason = f"{options.alone} steps"
    else:
        node = starling.for_sklearn.attach(estimator, images[:options.batch],
                                           labels[:options.batch], classes=DIGITS,
                                           wait=True, timeout=600)
        for mine in node.swarm.batches(batches):
            if not node.partial_fit(images[mine], labels[mine]):
                break
        reason = node.swarm.end_reason
        node.close()
    accuracy = estimator.score(*images_and_labels(options.data, "t10k"))
    print(f"{reason}: accuracy {100 * accuracy:.2f} %", flush=True)


if __name__ == "__main__":
    main()
