#!/usr/bin/env python3
"""Walks optimizers of PyTorch, all algorithms, and loops that take all steps, leave some out, or take none.

    loops.py PROGRAM [--algorithms ed gt] [--optimizers sgd adam] [--rounds 300]

Two nodes and a trainer beside each, whose losses c/2 |W - T|^2 have other minima than their sum. Judged: an exact
algorithm ends at the minimum of the sum, or refuses the optimizer with a reason, whatever steps the first node leaves
out; a loop that takes none is told to go, with the reason. Printed: the distance to that minimum, |T - T'| being 4.5.
"""
import argparse
import math
import random
import re
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "clients" / "python"), str(ROOT / "clients" / "python" / "examples")]
import torch  # noqa: E402

import muon  # noqa: E402
import starling  # noqa: E402
from nodes import program  # noqa: E402
from nodes.fleet import Fleet  # noqa: E402
from nodes.watch import DEADLINE_S  # noqa: E402

EXACT = ("ed", "extra", "pairwise-ed", "gt")
ALIASES = ("led", "kgt")  # of ed and gt
TARGETS = (torch.tensor([[1.0, 5.0], [2.0, 0.0]]), torch.tensor([[3.0, 1.0], [2.0, 1.0]]))
CURVATURES = (1.0, 3.0)
MINIMUM = sum(c * t for c, t in zip(CURVATURES, TARGETS)) / sum(CURVATURES)
LEFT_OUT = 0.4


class Factored(torch.optim.Optimizer):
    """As Adafactor: second moments of rows and columns instead of numbers."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                squares, state = p.grad.square() + 1e-30, self.state[p]
                rows = state.setdefault("rows", torch.zeros(len(p), 1)).lerp_(squares.mean(1, True), 0.1)
                columns = state.setdefault("columns", torch.zeros(1, p.shape[1])).lerp_(squares.mean(0, True), 0.1)
                p.addcdiv_(p.grad, (rows * columns / rows.mean()).sqrt(), value=-group["lr"])


OPTIMIZERS = {  # and the bound on the distance: steps of a length of their own circle around the minimum
    "sgd": (lambda p: torch.optim.SGD(p, lr=0.1), 1e-5),
    "momentum": (lambda p: torch.optim.SGD(p, lr=0.03, momentum=0.8), 1e-5),
    "adam": (lambda p: torch.optim.Adam(p, lr=0.1), 0.05),
    "adamw": (lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.0), 0.05),
    "adagrad": (lambda p: torch.optim.Adagrad(p, lr=0.5), 0.05),
    "adafactor": (lambda p: Factored(p, lr=0.1), 0.05),
    "muon": (lambda p: muon.Muon(p, lr=0.1), 0.05)}
LEAVES = {"all": 0.0, "some": LEFT_OUT, "none": 1.0}


def train(socket, place, optimizer_of, share, rounds, reasons):
    """A trainer beside the node at the socket; the reason for which it was refused, if it was."""
    weight = torch.nn.ParameterDict({"w": torch.nn.Parameter(torch.zeros(2, 2))})
    optimizer = optimizer_of(weight.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda r: (1 + math.cos(math.pi * min(1, r / rounds))) / 2)
    chance = random.Random(7)
    try:
        swarm = starling.attach(weight, optimizer, socket=socket, timeout=DEADLINE_S)
        while swarm.is_running:
            if isinstance(optimizer, torch.optim.SGD) is False:
                swarm.schedule(schedule)
            optimizer.zero_grad()
            loss = 0.5 * CURVATURES[place] * (weight["w"] - TARGETS[place]).square().sum()
            loss.backward()
            if chance.random() >= share:
                optimizer.step()
            swarm.step(loss=loss)
    except starling.Error as error:
        reasons[place] = str(error).split("refuses this trainer: ")[-1]
        return None
    return weight["w"].detach().clone()


def play(algorithm, optimizer_of, share, rounds):
    """The distance of the first node's model from the minimum, and what was refused."""
    settings = ["--model.kind=external", f"--optim.algorithm={algorithm}", "--optim.local-steps=4", "--cluster.expect=2",
                f"--stop.rounds={rounds}", "--optim.learning-rate=0.1", "--node.log=error"]
    models, reasons = [None, None], {}
    with Fleet(range(2), settings, keeps=True) as fleet:
        def body(place):
            models[place] = train(f"{fleet.path(place)}/trainer.sock", place, optimizer_of, share if place == 0 else 0.0,
                                  rounds, reasons)
            if models[place] is None:
                for node in fleet.nodes:
                    node.kill()
        threads = [threading.Thread(target=body, args=(place,)) for place in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)
    distance = None if models[0] is None else float((models[0] - MINIMUM).norm())
    # The one that was not refused hears that its node was ended.
    told = [reason for reason in reasons.values() if reason.startswith(("optim.", "the limit of", "the optimizer"))]
    return distance, told[0] if told else reasons.get(0)


def judged(algorithm, mode, bound, distance, reason):
    """Whether that is right, and what it was in a word."""
    if distance is None:
        is_told = reason is not None and ("takes no step" in reason or algorithm in reason)
        return is_told and (mode == "none" or "takes no step" not in reason), f"refused: {(reason or '?')[:60]}"
    is_exact = distance < bound
    return mode != "none" and (is_exact or algorithm not in EXACT), f"{distance:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--algorithms", nargs="*")
    parser.add_argument("--optimizers", nargs="*", default=list(OPTIMIZERS))
    parser.add_argument("--rounds", type=int, default=300)
    asked = parser.parse_args()
    program.use(asked.program)
    told = program.starling("run", "--optim.algorithm=?", expect=None).stderr
    known = re.search(r"expected one of auto, (.*)", told).group(1).split(", ")
    torch.set_num_threads(1)
    faults = 0
    for algorithm in asked.algorithms or [name for name in known if name not in ALIASES]:
        for name in asked.optimizers:
            words = []
            for mode, share in LEAVES.items():
                outcome = play(algorithm, OPTIMIZERS[name][0], share, asked.rounds)
                is_right, word = judged(algorithm, mode, OPTIMIZERS[name][1], *outcome)
                faults += not is_right
                words.append(f"{mode} {word}{'' if is_right else '  WRONG'}")
            print(f"{algorithm:16} {name:10} {'; '.join(words)}", flush=True)
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
