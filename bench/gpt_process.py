#!/usr/bin/env python3
"""One process of bench/char_gpt.py: it trains the transformer of the example char_gpt.py.

  gpt_process.py swarm ...     beside the daemon that started it
  gpt_process.py ddp ...       one process of DistributedDataParallel over gloo
  gpt_process.py alone ...     on all the text
  gpt_process.py judge ...     prints the losses of saved models (--model) on the text held out

A process that trains leaves PLACE.json and PLACE.pt in the folder --out: what its steps took, and
its model. All draw the same first model, and process k its windows from one seed of its own. Times
are from exchange --warm-up on, for processes do not start at once and the first vector of an edge
is whole; or from the third step of DDP on, for PowerSGD begins after two.
"""
import argparse
import gzip
import importlib.util
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import hooks
import torch
import torch.distributed as dist

ROOT = Path(__file__).resolve().parent.parent
PORT = 29500
JUDGED_WINDOWS, JUDGED_BATCH = 512, 64
GLOO_PATIENCE = timedelta(minutes=10)
DDP_WARM_UP_STEPS = hooks.WHOLE_STEPS + 1


def load_example():
    path = ROOT / "clients/python/examples/char_gpt.py"
    sys.path.append(str(path.parent))  # of what it imports
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load_example()


@dataclass
class Text:
    train: str
    test: str
    alphabet: dict

    @classmethod
    def read(cls, path):
        """The last tenth is held out, as in the example."""
        text = gzip.decompress(path.read_bytes()).decode()
        kept = len(text) * 9 // 10
        return cls(text[:kept], text[kept:], {c: k for k, c in enumerate(sorted(set(text)))})

    def numbers_of(self, part):
        return torch.tensor([self.alphabet[letter] for letter in part])


def learning_rate_share(step, steps):
    """Rises for a twentieth of the steps, then falls to nothing by a cosine."""
    rise = max(1, steps // 20)
    if step < rise:
        return (step + 1) / rise
    return (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise))) / 2


class Training:
    """The steps that every contender takes; `model` may be wrapped."""

    def __init__(self, options, model, numbers):
        self.options, self.model, self.numbers = options, model, numbers
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
        self.schedule = None

    def begin(self, place):
        """After attach, which replaces the method `step` that a schedule wraps."""
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: learning_rate_share(step, self.options.steps))
        torch.manual_seed(2 + place)

    def step(self):
        loss = example.loss_of(self.model, *example.windows_of(self.numbers, self.options.batch))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.schedule.step()
        return loss


def train_alone(options, model, text):
    training = Training(options, model, text.numbers_of(text.train))
    training.begin(0)
    began = time.monotonic()
    for _ in range(options.steps):
        training.step()
    return 0, {"seconds": time.monotonic() - began, "steps": options.steps}


def train_ddp(options, model, text):
    dist.init_process_group("gloo", init_method=f"tcp://{options.address}:{PORT}",
                            rank=options.place, world_size=options.nodes, timeout=GLOO_PATIENCE)
    mine = text.numbers_of(example.lines_of(text.train, options.place, options.nodes))
    wrapped = hooks.distributed(model, options.hook, gradient_as_bucket_view=True)
    training = Training(options, wrapped, mine)
    training.begin(options.place)
    for _ in range(DDP_WARM_UP_STEPS):
        training.step()
    dist.barrier()
    began, timed = time.monotonic(), options.steps - DDP_WARM_UP_STEPS
    for _ in range(timed):
        training.step()
    dist.barrier()
    return options.place, {"seconds": time.monotonic() - began, "steps": timed}


def train_swarm(options, model, text):
    """The run ends when the daemon says so (stop.rounds)."""
    training = Training(options, model, None)
    swarm = example.starling.attach(model, training.optimizer, wait=True, timeout=600)
    place, nodes = swarm.status.place, swarm.status.nodes
    if nodes != options.nodes:
        sys.exit(f"the network has {nodes} nodes and not {options.nodes}")
    training.numbers = text.numbers_of(example.lines_of(text.train, place, nodes))
    training.begin(place)
    while swarm.status.exchanges < options.warm_up:
        swarm.step(loss=training.step(), samples=options.batch)
    began, first = time.monotonic(), swarm.status
    while swarm.step(loss=training.step(), samples=options.batch):
        pass
    last = swarm.status
    return place, {"seconds": time.monotonic() - began, "steps": last.steps - first.steps,
                   "waited_seconds": last.waited_seconds - first.waited_seconds}


TRAIN = {"swarm": train_swarm, "ddp": train_ddp, "alone": train_alone}


def make_model(options, text):
    torch.manual_seed(1)
    return example.Transformer(len(text.alphabet), options.width, options.layers)


def judged_loss(model, numbers):
    """The mean over windows one behind the other."""
    window = example.WINDOW
    count = min(JUDGED_WINDOWS, (len(numbers) - 1) // window)
    letters = numbers[:count * window].view(count, window)
    following = numbers[1:count * window + 1].view(count, window)
    total = 0.0
    with torch.no_grad():
        for rows in torch.arange(count).split(JUDGED_BATCH):
            total += example.loss_of(model, letters[rows], following[rows]).item() * len(rows)
    return total / count


def judge(options, text):
    model = make_model(options, text).eval()
    losses = []
    for path in options.models:
        model.load_state_dict(torch.load(path))
        losses.append(judged_loss(model, text.numbers_of(text.test)))
    print(json.dumps(losses))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=[*TRAIN, "judge"])
    parser.add_argument("--model", dest="models", action="append", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--place", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--warm-up", type=int, default=1, help="exchanges of swarm, not timed")
    parser.add_argument("--hook", choices=hooks.HOOKS, default="", help="of ddp")
    return parser.parse_args()


def main():
    options = read_options()
    torch.set_num_threads(1)
    text = Text.read(options.data)
    if options.role == "judge":
        return judge(options, text)
    model = make_model(options, text)
    place, figures = TRAIN[options.role](options, model, text)
    torch.save(model.state_dict(), options.out / f"{place}.pt")
    (options.out / f"{place}.json").write_text(json.dumps(figures))
    if options.hook:
        os._exit(0)  # for the threads of gloo may abort an orderly exit after PowerSGD
    return 0


if __name__ == "__main__":
    sys.exit(main())
