#!/usr/bin/env python3
"""Sites of unequal size and speed: unequal shares of MNIST, other digits, one slow computer.

    starling up -n 4 --model.kind=external --optim.local-steps=10 --optim.pace=auto \\
        --data.weight=samples --trainer "python3 clients/python/examples/mnist_unequal.py --slow 8"
    mnist_unequal.py --alone 400

Of four sites the first holds one share of the images, the last four shares, in the order of the
digits: the first holds zeros and 77 ones, the last the digits from six on and 17 fives. The last
site computes each batch --slow times. With `samples` and data.weight=samples the sites minimise
the loss over all images; with optim.pace=auto the fast sites take more steps while they would wait
for the slow one. The lines with `swarm` are what Starling adds to the loop.
"""
import argparse
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import starling  # noqa: E402
from mnist_files import DEFAULT_FOLDER, images_and_labels  # noqa: E402

OWN_NAME = os.environ.get("STARLING_NODE", "node-0")  # of the node, as `starling up` gives it


def share_of(labels, site, sites):
    """The numbers of the images of one site: site + 1 shares, in the order of the digits."""
    begin, end = (len(labels) * k * (k + 1) // (sites * (sites + 1)) for k in (site, site + 1))
    return torch.sort(labels, stable=True).indices[begin:end]


def judged(model, images, labels):
    with torch.no_grad():
        scores = model(images)
    return {"accuracy": (scores.argmax(dim=1) == labels).float().mean().item(),
            "loss": functional.cross_entropy(scores, labels).item()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER,
                        help="folder of train-images-idx3-ubyte.gz and its three neighbours")
    parser.add_argument("--alone", type=int, metavar="STEPS", help="without a daemon, all images")
    parser.add_argument("--site", type=int, default=OWN_NAME.rpartition("-")[2],
                        help="from 0; by default the number in the name of the node")
    parser.add_argument("--sites", type=int, default=4)
    parser.add_argument("--slow", type=int, default=1, metavar="K",
                        help="the last site computes each batch K times")
    parser.add_argument("--hidden", type=int, default=32, metavar="UNITS",
                        help="of the layer between; 0: a linear model")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--every", type=float, default=5, help="seconds between evaluations")
    parser.add_argument("--seed", type=int, default=1, help="of the first model and of chance")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = (nn.Sequential(nn.Linear(784, options.hidden), nn.ReLU(),
                           nn.Linear(options.hidden, 10)) if options.hidden
             else nn.Linear(784, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=options.rate)
    images, labels = images_and_labels(options.data, "train", 784)
    tests = images_and_labels(options.data, "t10k", 784)
    site, sites = (0, 1) if options.alone else (options.site, options.sites)
    mine = share_of(labels, site, sites)
    computed = options.slow if site == sites - 1 else 1

    swarm = (starling.alone(options.alone) if options.alone
             else starling.attach(model, optimizer, samples=len(mine), wait=True, timeout=600))
    torch.manual_seed(1000 * options.seed + site)  # of the order of the data
    data = torch.utils.data.TensorDataset(images[mine], labels[mine])
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch, shuffle=True)
    begun = told = time.monotonic()
    for batch, wanted in swarm.batches(loader, own=True):
        for _ in range(computed):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(batch), wanted)
            loss.backward()
        optimizer.step()
        swarm.step(loss=loss)
        if time.monotonic() > told + options.every:
            told = time.monotonic()
            swarm.log(**judged(model, *tests))
    seconds, found = time.monotonic() - begun, judged(model, *tests)
    print(f"{swarm.end_reason}: accuracy {100 * found['accuracy']:.2f} %, "
          f"loss {found['loss']:.4f}; {len(mine)} images, {swarm.status.steps} steps and "
          f"{swarm.status.exchanges} exchanges in {seconds:.1f} s, "
          f"{swarm.status.local_steps} steps the last time", flush=True)
    swarm.close()


if __name__ == "__main__":
    main()
