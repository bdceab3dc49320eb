#!/usr/bin/env python3
"""Several processes that are one node: replicas, and shards of one model.

    group_test.py

Exit code 77, and a word, where there is no python3-torch.
"""
import multiprocessing
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path

from torch_support import FakeDaemon, starling, torch

SIZE = 2


class Shard(torch.nn.Parameter):
    """What this client uses of a DTensor: the first dimension is dealt out to the processes."""

    class Place:
        dim = 0

    placements = (Place(),)
    whole = (3, 2)

    def to_local(self):
        return self.as_subclass(torch.Tensor)

    @property
    def shape(self):
        return torch.Size(self.whole)


def join(folder, rank):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank,
                                         world_size=SIZE)


def replicas(rank, socket, optimizer_of):
    """Two processes of DistributedDataParallel; returns what each saw."""
    torch.manual_seed(3)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    optimizer = optimizer_of(model.parameters())
    swarm = starling.attach(model, optimizer, socket=socket, keep=[])
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.eye(2).repeat(4, 1) * torch.arange(1.0, 9)[:, None]),
        batch_size=1)
    batches = []
    for batch, in swarm.batches(loader):
        batches.append(batch.tolist())
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        swarm.step(loss=float(rank))
    print(batches, model.module.weight.tolist(), swarm.end_reason, flush=True)


def shards(rank, socket):
    model = torch.nn.Module()
    rows = (slice(0, 2), slice(2, 3))[rank]
    whole = torch.arange(6.0).view(3, 2)
    model.weight = Shard(whole[rows].clone())
    model.bias = torch.nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([model.weight, model.bias], lr=1.0)
    swarm = starling.attach(model, optimizer, socket=socket)
    while swarm.is_running:
        model.weight.grad = torch.full_like(model.weight.to_local(), 1.0 + rank)
        model.bias.grad = torch.ones(1)
        optimizer.step()
        swarm.step(samples=5)
    print(model.weight.to_local().tolist(), model.bias.tolist(), flush=True)


def dies(rank, socket):
    model = torch.nn.Linear(2, 1, bias=False)
    swarm = starling.attach(model, torch.optim.SGD(model.parameters(), lr=1.0), socket=socket)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while swarm.step():
            pass
    except RuntimeError:
        print("rank 1 is gone", flush=True)


def refused(_, socket):
    try:
        starling.attach(torch.nn.Linear(2, 1), socket=socket)
    except starling.Refused as error:
        print(error, flush=True)


CHILDREN = {
    "sgd": lambda rank, socket: replicas(rank, socket, lambda p: torch.optim.SGD(p, lr=1.0)),
    "adam": lambda rank, socket: replicas(rank, socket, lambda p: torch.optim.Adam(p, lr=0.1)),
    "shards": shards, "dies": dies, "refused": refused}


def play(child, rank, folder, socket):
    """What it prints is in the file of its rank."""
    os.dup2(os.open(folder / str(rank), os.O_CREAT | os.O_WRONLY), sys.stdout.fileno())
    join(folder, rank)
    CHILDREN[child](rank, socket)


class Groups(unittest.TestCase):
    def played(self, child, script):
        """What the processes print, one after the other."""
        with tempfile.TemporaryDirectory() as folder, FakeDaemon() as daemon:
            # Forked, for PyTorch takes two seconds to import; before the daemon's thread begins.
            children = [multiprocessing.get_context("fork").Process(
                target=play, args=(child, rank, Path(folder), daemon.path))
                for rank in range(SIZE)]
            for process in children:
                process.start()
            daemon.run(script)
            for process in children:
                process.join(timeout=120)
            return [(Path(folder) / str(rank)).read_text().strip() for rank in range(SIZE)]

    def test_replicas_take_what_the_network_gives_and_deal_out_its_share(self):
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            seen.append([row["name"] for row in trainer.table])
            trainer.welcome(algorithm="gt")
            trainer.write("weight", [10, 20])
            trainer.write("weight", [0.5, 0.25], "correction")
            trainer.step(2, place=1, nodes=2, corrects=True, tracks=True)
            done = trainer.done()
            seen.append((done["samples"], done["loss"], list(trainer.numbers("weight")),
                         list(trainer.numbers("weight", "gradient"))))
            trainer.write("weight", [30, 40])
            trainer.end(model=True)
        printed = self.played("sgd", script)
        # Of the eight samples the processes of node 1 of 2 take the third and fourth in turn.
        self.assertEqual(printed, ["[[[3.0, 0.0]], [[7.0, 0.0]]] [[30.0, 40.0]] enough rounds",
                                   "[[[0.0, 4.0]], [[0.0, 8.0]]] [[30.0, 40.0]] enough rounds"])
        # Mean gradients (1.5, 2) and (3.5, 4), and twice the correction.
        self.assertEqual(seen, [["weight"], (4, 0.5, [10 - 5 - 1, 20 - 6 - 0.5], [3.0, 3.25])])

    def test_each_process_reads_and_writes_its_own_rows(self):
        seen = []

        def script(daemon):
            trainer = daemon.accept()
            seen.append(list(trainer.numbers("weight")))
            trainer.welcome()
            trainer.step(2)
            done = trainer.done()
            seen.append((done["samples"], list(trainer.numbers("weight")),
                         list(trainer.numbers("bias"))))
            trainer.write("weight", [10, 11, 12, 13, 14, 15])
            trainer.end(model=True)
        printed = self.played("shards", script)
        self.assertEqual(seen, [[0, 1, 2, 3, 4, 5], (20, [-2, -1, 0, 1, 0, 1], [-1])])
        self.assertEqual(printed, ["[[10.0, 11.0], [12.0, 13.0]] [-1.0]", "[[14.0, 15.0]] [-1.0]"])

    def test_the_state_of_the_optimizer_comes_back_to_all_processes(self):
        kept = []

        def first(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.done()
            kept.append(trainer.save()[1])
            trainer.end()

        def second(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            self.assertNotIn("refusal", trainer.load(kept[0]))
            trainer.step()
            trainer.done()
            trainer.end()
        alone = self.played("adam", first)
        self.assertEqual(len(alone), SIZE)
        again = self.played("adam", second)
        weights = {text.split("]] ")[1] for text in again}
        self.assertEqual(len(weights), 1, again)  # both stepped with the same moments

    def test_a_process_that_dies_ends_the_others(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.hear_nothing_more()
        self.assertEqual(self.played("dies", script), ["rank 1 is gone", ""])

    def test_a_refusal_reaches_all_processes(self):
        def script(daemon):
            daemon.accept().say("refused", reason="no room")
        first, second = self.played("refused", script)
        self.assertIn("no room", first)
        self.assertRegex(second, "^at rank 0 of this node: .*no room")


if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    unittest.main()
