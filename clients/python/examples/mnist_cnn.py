#!/usr/bin/env python3
"""A small convolutional network on MNIST, on a node or alone.

    starling up -n 4 --model.kind=external --trainer "python3 clients/python/examples/mnist_cnn.py"
    mnist_cnn.py --alone 400 [--batch-norm]

With --two-digits each node holds images of two digits only. The lines with `swarm` are what
Starling adds to the loop.
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

TESTED = 2000  # images, of an evaluation


class Network(nn.Module):
    """Two convolutions, dropout, two linear layers."""

    def __init__(self, batch_norm):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3)
        self.norm1 = nn.BatchNorm2d(16) if batch_norm else nn.Identity()
        self.conv2 = nn.Conv2d(16, 32, 3)
        self.norm2 = nn.BatchNorm2d(32) if batch_norm else nn.Identity()
        self.dropout = nn.Dropout(0.25)
        self.linear1 = nn.Linear(32 * 5 * 5, 64)
        self.linear2 = nn.Linear(64, 10)

    def forward(self, images):
        x = functional.max_pool2d(functional.relu(self.norm1(self.conv1(images))), 2)
        x = functional.max_pool2d(functional.relu(self.norm2(self.conv2(x))), 2)
        x = functional.relu(self.linear1(self.dropout(x.flatten(1))))
        return functional.log_softmax(self.linear2(x), dim=1)


def accuracy_of(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = (model(images[:TESTED]).argmax(dim=1) == labels[:TESTED]).float().mean().item()
    model.train()
    return right


def loader_of(images, labels, digits, batch):
    mine = torch.isin(labels, torch.tensor(digits))
    data = torch.utils.data.TensorDataset(images[mine], labels[mine])
    return torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER,
                        help="folder of train-images-idx3-ubyte.gz and its three neighbours")
    parser.add_argument("--alone", type=int, metavar="STEPS", help="without a daemon")
    parser.add_argument("--batch-norm", action="store_true")
    parser.add_argument("--settle", type=int, metavar="STEP",
                        help="from which BatchNorm takes the averaged statistics in training too")
    parser.add_argument("--two-digits", action="store_true", help="this node holds no others")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--every", type=int, default=50, help="steps between evaluations")
    parser.add_argument("--seed", type=int, default=1, help="of the first model and of chance")
    parser.add_argument("--save", type=Path, metavar="FILE", help="of the model, at the end")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = Network(options.batch_norm)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.rate)
    images, labels = images_and_labels(options.data, "train", 1, 28, 28)
    tests = images_and_labels(options.data, "t10k", 1, 28, 28)

    swarm = (starling.alone(options.alone) if options.alone
             else starling.attach(model, optimizer, samples=len(images), wait=True, timeout=600))
    place = swarm.status.place
    torch.manual_seed(1000 * options.seed + place)  # of dropout and of the order of the data
    digits = [place % 10, (place + 5) % 10] if options.two_digits else list(range(10))
    loader = loader_of(images, labels, digits, options.batch)
    for batch, wanted in swarm.batches(loader, own=options.two_digits):
        if swarm.status.steps == options.settle:
            for norm in (model.norm1.eval(), model.norm2.eval()):
                norm.train = lambda mode, norm=norm: norm  # whatever model.train() says
        loss = functional.nll_loss(model(batch), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        swarm.step(loss=loss)
        if swarm.status.steps % options.every == 0:
            accuracy = accuracy_of(model, *tests)
            swarm.log(accuracy=accuracy)
            print(f"step {swarm.status.steps}: loss {loss.item():.4f}, "
                  f"accuracy {100 * accuracy:.2f} %", flush=True)
    if options.save:
        torch.save(model.state_dict(), options.save)
    print(f"{swarm.end_reason}: accuracy {100 * accuracy_of(model, *tests):.2f} %", flush=True)
    swarm.close()


if __name__ == "__main__":
    main()
