#!/usr/bin/env python3
"""`starling rehearse` beside the fleet that it plays: eight nodes in namespaces, with links of three speeds.

  bench/rehearse.py                  every row
  bench/rehearse.py i4 clusters      these rows
  options: --seconds S (20, of a row, after its first rounds), --json

Each node has a trainer that sleeps for the time of its steps, so that two cores are enough for eight
machines. A row says, for the fleet and for the rehearsal of a file that says the same, the share of
the time that nodes compute and the seconds of a round, and the ratio of both. Needs root, iproute2.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import Starling, networks, program

ROOT = Path(__file__).resolve().parents[1]
NUMBERS, STEP_S, STEPS = 500_000, .1, 10
REGIONS = {"thin": (3, 20), "middle": (3, 50), "wide": (2, 100)}  # machines and Mbit/s
ROWS = {
    "ring": ["--topology.kind=ring", "--optim.algorithm=dpsgd"],
    "random": ["--topology.kind=random", "--topology.degree=4", "--optim.algorithm=dpsgd"],
    "i4": ["--topology.kind=ring", "--optim.algorithm=ed", "--exchange.codec=i4"],
    "base:2": ["--topology.sequence=base:2", "--optim.algorithm=ed"],
    "clusters": ["--topology.sequence=clusters:4", "--optim.algorithm=ed", "--exchange.codec=i8"],
    "overlap": ["--topology.kind=ring", "--optim.algorithm=ed", "--exchange.parts=4", "--exchange.overlap=true"],
}
SPENT = ("compute_s", "wait_s", "mix_s", "other_s")
SETTLED_ROUNDS = 4  # the first vectors of edges are whole


def sleeper():
    """A trainer whose steps take time and nothing else."""
    sys.path.insert(0, str(ROOT / "clients" / "python"))
    import numpy

    import starling
    x = numpy.zeros(NUMBERS, dtype=numpy.float32)
    swarm = starling.attach(tensors={"x": x}, steps="linear")
    time.sleep(STEP_S)
    while swarm.step(loss=1.0):
        time.sleep(STEP_S)


def region_of(index):
    """By name, for node k of the order in which a fleet plan has them."""
    for name, (machines, _) in REGIONS.items():
        if index < machines:
            return name
        index -= machines
    raise IndexError


def plan_text():
    lines = [f"model {4 * NUMBERS}B", f"step {STEP_S}s"]
    lines += [f"region {name} {machines} machines {mbit}mbit" for name, (machines, mbit) in REGIONS.items()]
    names = list(REGIONS)
    lines += [f"link {a} {b} .1ms" for a in names for b in names if a <= b]
    return "\n".join([*lines, f"set optim.local-steps={STEPS}"]) + "\n"


def rehearsal(arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(plan_text())
        file.flush()
        done = subprocess.run([program(), "rehearse", file.name, "--only", "--json", *arguments],
                              capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["tries"][0]
    return {"computing": found["goodput"], "round_s": found["round_s"]}


class Asleep(Starling):
    """Nodes with sleeping trainers, in the region of their index where the sequence is of groups."""

    def make(self, index, more):
        is_grouped = any("clusters" in word for word in self.arguments)
        return super().make(index, [*more, *([f"--node.group={region_of(index)}"] if is_grouped else [])])


def measured(arguments, network, seconds):
    trainer = f"--trainer.command={sys.executable} {Path(__file__).resolve()} --sleep"
    with Asleep(network.nodes, network,
                ["--model.kind=external", trainer, f"--optim.local-steps={STEPS}", *arguments]) as fleet:
        if not fleet.wait_rounds(SETTLED_ROUNDS, 120):
            sys.exit(f"no round in two minutes: {fleet.nodes[0].last_words()}")
        first = fleet.all()
        time.sleep(seconds)
        spent = [{key: b["time"][key] - a["time"][key] for key in SPENT} for a, b in zip(first, fleet.all())]
        return {"computing": statistics.mean(one["compute_s"] / sum(one.values()) for one in spent),
                "round_s": fleet.round_ms() / 1e3}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], help="all by default")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not networks.is_inside():
        return networks.run_inside_or_skip()
    results = {}
    nodes = sum(machines for machines, _ in REGIONS.values())
    with networks.Network(nodes) as network:
        for name, (_, mbit) in REGIONS.items():
            network.limit(mbit * 1e6, [k for k in range(nodes) if region_of(k) == name])
        for name in options.rows or ROWS:
            real, played = measured(ROWS[name], network, options.seconds), rehearsal(ROWS[name])
            results[name] = {"real": real, "rehearsed": played}
            if not options.json:
                print(f"{name:9}  computing {real['computing']:6.1%} and rehearsed {played['computing']:6.1%}, "
                      f"{played['computing'] / real['computing']:5.3f} x;  round {real['round_s']:5.2f} s and "
                      f"{played['round_s']:5.2f} s, {played['round_s'] / real['round_s']:5.3f} x", flush=True)
    if options.json:
        print(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(sleeper() if "--sleep" in sys.argv else main())
