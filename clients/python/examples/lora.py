#!/usr/bin/env python3
"""Adapters of low rank (LoRA) for a network that is trained already, on a node or alone.

    starling up -n 4 --model.kind=external --trainer "python3 clients/python/examples/lora.py"
    lora.py --alone 400

The script trains a network on the images of MNIST, freezes its parameters, and adapts the network
to images turned by 90 degrees, of which a node holds those of its own digits only. Each layer gets
two factors: A, drawn from the seed and frozen, and B, which is trained and exchanged. With A equal
on all nodes, the mean of the products B·A is the product with the mean of B. With --both that is
not so, and attach warns of it. The lines with `swarm` are what Starling adds to the loop.
"""
import argparse
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import starling  # noqa: E402
from mnist_files import DEFAULT_FOLDER, images_and_labels  # noqa: E402


class Adapted(nn.Module):
    """A frozen linear layer and the product of two factors beside it."""

    def __init__(self, layer, rank, trains_both):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features ** 0.5,
                                   requires_grad=trains_both)
        self.lora_B = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, inputs):
        return self.layer(inputs) + inputs @ self.lora_A.t() @ self.lora_B.t()


def accuracy_of(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


def trained_network(images, labels, steps):
    """The same numbers on all nodes of one machine: seed and order are the same."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 128),
                          nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        batch = torch.randint(len(images), (64,))
        optimizer.zero_grad()
        functional.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimizer.step()
    return model


def bytes_of(parameters):
    return sum(parameter.numel() * parameter.element_size() for parameter in parameters)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER,
                        help="folder of train-images-idx3-ubyte.gz and its three neighbours")
    parser.add_argument("--alone", type=int, metavar="STEPS", help="without a daemon, all digits")
    parser.add_argument("--before", type=int, default=500, help="steps of the network itself")
    parser.add_argument("--rank", type=int, default=32, help="of the factors")
    parser.add_argument("--both", action="store_true", help="train A too")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=5e-3)
    parser.add_argument("--every", type=int, default=50, help="steps between evaluations")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    images, labels = images_and_labels(options.data, "train", 28, 28)
    tests, answers = images_and_labels(options.data, "t10k", 28, 28)
    model = trained_network(images, labels, options.before)
    images, tests = (some.rot90(1, (1, 2)).contiguous() for some in (images, tests))
    whole = bytes_of(model.parameters())
    before = accuracy_of(model, tests, answers)
    model = nn.Sequential(*(Adapted(layer, options.rank, options.both)
                            if isinstance(layer, nn.Linear) else layer for layer in model))
    adapters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(adapters, lr=options.rate)

    swarm = (starling.alone(options.alone) if options.alone
             else starling.attach(model, optimizer, samples=len(images), wait=True, timeout=600))
    place, nodes = swarm.status.place, swarm.status.nodes
    torch.manual_seed(1000 + place)  # of the order of the data
    mine = labels % nodes == place
    data = torch.utils.data.TensorDataset(images[mine], labels[mine])
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch, shuffle=True)
    for batch, wanted in swarm.batches(loader, own=True):
        loss = functional.cross_entropy(model(batch), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        swarm.step(loss=loss)
        if swarm.status.steps % options.every == 0:
            swarm.log(accuracy=accuracy_of(model, tests, answers))
    accuracy = accuracy_of(model, tests, answers)
    print(f"{swarm.end_reason}: accuracy {100 * accuracy:.2f} %, before {100 * before:.2f} %; "
          f"{bytes_of(adapters) / 1e3:.1f} kB of adapters, {whole / 1e3:.1f} kB of the network",
          flush=True)
    swarm.close()


if __name__ == "__main__":
    main()
