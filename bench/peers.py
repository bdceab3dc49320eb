#!/usr/bin/env python3
"""The peers of a cluster of Starling: the same training in PyTorch over gloo, one thread a process.

  peers.py NODES HIDDEN BATCH LEARNING_RATE [--data FOLDER] [--namespaces] [--address HOST]

Answers requests on standard input, one line of JSON each:
  ring ROUNDS   D-PSGD on a ring: a local step, then the mean with both neighbours
  ddp ROUNDS    DistributedDataParallel: the mean of the gradients of all
  ddp-fp16 ROUNDS, ddp-powersgd-2 ROUNDS   the same with a communication hook of bench/hooks.py
  mix ROUNDS, mix-all ROUNDS, sum ROUNDS   the exchange alone: the mean with both neighbours, with all, all_reduce
  goal ACCURACY SECONDS [ROUNDS] [KIND]   rounds of the ring, or of that kind, from new models until every
                node has the accuracy, which is looked at after every so many
HIDDEN are units of hidden layers, "256,128"; "none" is softmax regression. Images are drawn unless
a folder with the files of MNIST is given. With --namespaces process k runs in that of node k; with
--sites S, where node k is of site k mod S, the processes of a site follow each other.
"""

import argparse
import gzip
import json
import os
import statistics
import sys
import time

import hooks
import numpy
import torch
import torch.distributed as dist
import torch.nn as nn
from cluster import networks

PIXELS, CLASSES, DRAWN_IMAGES = 784, 10, 2000
WARM_UP_ROUNDS = 3
LOOK_ROUNDS = 5  # between two evaluations on the way to a goal
PORT = 29500


class Averager:
    """One flat vector that holds a model, and its mean with the neighbours on the ring."""

    def __init__(self, model, neighbours):
        parameters = list(model.parameters())
        self.x = torch.cat([p.data.reshape(-1) for p in parameters])
        self.gradient = torch.zeros_like(self.x)
        position = 0
        for p in parameters:
            end = position + p.numel()
            p.data = self.x[position:end].view_as(p)
            p.grad = self.gradient[position:end].view_as(p)
            position = end
        self.neighbours = neighbours
        self.received = [torch.empty_like(self.x) for _ in self.neighbours]

    def mix(self):
        # Receive first: gloo sends when it is told that the peer receives, and one who is told that
        # behind a whole vector takes turns with its neighbour.
        work = [dist.irecv(y, peer) for y, peer in zip(self.received, self.neighbours)]
        work += [dist.isend(self.x, peer) for peer in self.neighbours]
        for item in work:
            item.wait()
        for y in self.received:
            self.x.add_(y)
        self.x.mul_(1 / (1 + len(self.received)))


class Distributed:
    """A model of its own, for a hook is registered once."""

    def __init__(self, options, hook):
        self.model = hooks.distributed(make_model(options), hook)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=options.learning_rate)
        self.loss = nn.CrossEntropyLoss()

    def step(self, images, labels):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.model(images), labels).backward()
        self.optimizer.step()


class Peer:
    def __init__(self, options, rank):
        self.options, self.rank = options, rank
        self.images, self.labels = training_part(options, rank)
        self.test = held_out(options)
        self.loss = nn.CrossEntropyLoss()
        self.position, self.order = 0, torch.randperm(len(self.images))
        self.begin()
        self.distributed = {}

    def begin(self):
        """Models of the ring as they were at first, equal on all nodes."""
        torch.manual_seed(1)
        self.model = make_model(self.options)
        # To the left first on every node: else two nodes get both vectors at once, and two none.
        self.averager = self.averager_with(-1, 1)

    def averager_with(self, *places):
        """With the nodes so many places on."""
        near = [(self.rank + place) % self.options.nodes for place in places]
        return Averager(self.model, list(dict.fromkeys(near)))

    def batch(self):
        size = self.options.batch
        if self.position + size > len(self.order):
            self.order, self.position = torch.randperm(len(self.images)), 0
        rows = self.order[self.position:self.position + size]
        self.position += size
        return self.images[rows], self.labels[rows]

    def ring(self):
        images, labels = self.batch()
        self.averager.gradient.zero_()
        self.loss(self.model(images), labels).backward()
        self.averager.x.add_(self.averager.gradient, alpha=-self.options.learning_rate)
        self.averager.mix()

    def step_of(self, kind):
        if kind == "ring":
            return self.ring
        if kind == "mix":
            return self.averager.mix
        if kind == "mix-all":
            return self.averager_with(*range(1, self.options.nodes)).mix
        if kind == "sum":
            return lambda: dist.all_reduce(self.averager.x)
        if kind not in self.distributed:
            hook = kind.partition("-")[2]
            self.distributed[kind] = Distributed(self.options, hook)
        return lambda: self.distributed[kind].step(*self.batch())

    def rounds(self, kind, count):
        step = self.step_of(kind)
        for _ in range(WARM_UP_ROUNDS):
            step()
        start = time.monotonic()
        for _ in range(count):
            step()
        return {"ms": (time.monotonic() - start) / count * 1e3, "rounds": count + WARM_UP_ROUNDS}

    def goal(self, accuracy, seconds, look=LOOK_ROUNDS, kind="ring"):
        """All stop at one round: whether every node is there goes round with the vectors."""
        self.begin()
        self.distributed.clear()
        step = self.step_of(kind)
        step()
        start, done = time.monotonic(), 0
        answer = {"reached_s": None}
        while answer["reached_s"] is None:
            for _ in range(int(look)):
                step()
            done += int(look)
            elapsed = time.monotonic() - start
            votes = torch.tensor([float(self.accuracy() >= accuracy), float(elapsed < seconds)])
            dist.all_reduce(votes, op=dist.ReduceOp.MIN)
            if votes[0] == 1:
                answer["reached_s"] = elapsed
            if votes[1] == 0:
                break
        elapsed = time.monotonic() - start
        return {**answer, "rounds": done, "rounds_per_s": done / elapsed, "distance": distance(self)}

    def accuracy(self):
        images, labels = self.test
        model = next((one.model for one in self.distributed.values()), self.model)
        with torch.no_grad():
            return float((model(images).argmax(1) == labels).float().mean())


def distance(peer):
    """From the mean of all, relative to it."""
    mean = peer.averager.x.clone()
    dist.all_reduce(mean)
    mean /= peer.options.nodes
    return float((peer.averager.x - mean).norm() / mean.norm())


def make_model(options):
    torch.manual_seed(1)
    sizes = [PIXELS, *options.hidden, CLASSES]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def read_idx(folder, name, header):
    for path, opener in ((f"{name}.gz", gzip.open), (name, open)):
        if os.path.exists(os.path.join(folder, path)):
            with opener(os.path.join(folder, path), "rb") as file:
                return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)
    raise FileNotFoundError(os.path.join(folder, name))


def read_set(folder, prefix):
    images = read_idx(folder, f"{prefix}-images-idx3-ubyte", 16).reshape(-1, PIXELS)
    labels = read_idx(folder, f"{prefix}-labels-idx1-ubyte", 8)
    return torch.from_numpy(images / numpy.float32(255)), torch.from_numpy(labels.astype("int64"))


def training_part(options, rank):
    if not options.data:
        torch.manual_seed(2)
        return torch.rand(DRAWN_IMAGES, PIXELS), torch.randint(0, CLASSES, (DRAWN_IMAGES,))
    images, labels = read_set(options.data, "train")
    own = torch.randperm(len(images), generator=torch.Generator().manual_seed(2))
    own = own[rank::options.nodes]
    return images[own], labels[own]


def held_out(options):
    return read_set(options.data, "t10k") if options.data else (None, None)


def work(options, rank, requests, answers):
    if options.namespaces:
        in_site, site = rank % (options.nodes // options.sites), rank // (options.nodes // options.sites)
        networks.set_namespace(f"/run/netns/node-{in_site * options.sites + site}")
        os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{options.address}:{PORT}", rank=rank,
                            world_size=options.nodes)
    peer = Peer(options, rank)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in requests:
        kind, *numbers = line.split()
        answer = peer.goal(*map(float, numbers[:3]), *numbers[3:]) if kind == "goal" else peer.rounds(
            kind, int(numbers[0]))
        print(json.dumps(answer), file=answers, flush=True)


def start(options, rank):
    """A child for one node; where it takes requests and where it answers."""
    request, answer = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(request[1])
        try:
            work(options, rank, os.fdopen(request[0]), os.fdopen(answer[1], "w"))
        finally:
            os._exit(0)
    os.close(request[0])
    os.close(answer[1])
    return os.fdopen(request[1], "w", buffering=1), os.fdopen(answer[0])


def of_all(answers):
    """One answer of those of all nodes: the median time, the farthest model."""
    result = dict(answers[0])
    if "ms" in result:
        result["ms"] = statistics.median(a["ms"] for a in answers)
    if "distance" in result:
        result["distance"] = max(a["distance"] for a in answers)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int)
    parser.add_argument("hidden", type=lambda text: [int(h) for h in text.split(",") if h != "none"])
    parser.add_argument("batch", type=int)
    parser.add_argument("learning_rate", type=float)
    parser.add_argument("--data", default="")
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--sites", type=int, default=1)
    parser.add_argument("--address", default="127.0.0.1")
    options = parser.parse_args()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    children = [start(options, rank) for rank in range(options.nodes)]

    def reply():
        lines = [answers.readline() for _, answers in children]
        if not all(lines):
            sys.exit("peers.py: a process ended")
        print(json.dumps(of_all([json.loads(line) for line in lines])), flush=True)

    reply()
    for line in sys.stdin:
        for requests, _ in children:
            requests.write(line)
        reply()


main()
