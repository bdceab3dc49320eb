#!/usr/bin/env python3
"""Several processes that are one node: DistributedDataParallel within, Starling between the nodes.

    starling up -n 2 --optim.algorithm=dpsgd --optim.local-steps=10 --stop.rounds=30 \
        --trainer "python3 mnist_ddp.py --processes 2"
    mnist_ddp.py --alone 300          # one process, all images

torchrun starts the processes as well: "torchrun --standalone --nproc-per-node=2 mnist_ddp.py".
Every process calls attach, step and close. The processes of a node average their gradients in each
step; the nodes average their parameters at every exchange.
"""
import argparse
import os
import socket
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import starling  # noqa: E402
from mnist_files import DEFAULT_FOLDER, images_and_labels  # noqa: E402


def accuracy_of(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


def train(options):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    if "RANK" in os.environ:  # one of several processes
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.rate, momentum=0.9)
    data = torch.utils.data.TensorDataset(*images_and_labels(options.data, "train", 784))
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch, shuffle=True)

    swarm = (starling.alone(options.alone) if options.alone
             else starling.attach(model, optimizer, samples=len(data), wait=True, timeout=600))
    for images, labels in swarm.batches(loader):  # the share of this process
        loss = functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        swarm.step(loss=loss)
    if int(os.environ.get("RANK", 0)) == 0:
        accuracy = accuracy_of(model, *images_and_labels(options.data, "t10k", 784))
        print(f"{swarm.end_reason}: accuracy {100 * accuracy:.2f} %", flush=True)
    swarm.close()


def train_as(rank, options, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(options.processes), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    train(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER,
                        help="folder of train-images-idx3-ubyte.gz and its three neighbours")
    parser.add_argument("--alone", type=int, metavar="STEPS", help="without a daemon")
    parser.add_argument("--processes", type=int, default=1, help="of this node")
    parser.add_argument("--batch", type=int, default=32, help="of each process")
    parser.add_argument("--rate", type=float, default=0.02)
    options = parser.parse_args()
    if options.processes == 1:
        return train(options)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return torch.multiprocessing.spawn(train_as, (options, port), options.processes)


if __name__ == "__main__":
    main()
