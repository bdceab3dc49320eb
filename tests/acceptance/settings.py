#!/usr/bin/env python3
"""Sets every agreed live key of real processes again and again, while some join and some die.

    tests/acceptance/settings.py [--nodes N] [--turns T]

N nodes train an exact algorithm. In each of T turns, an even number, every key gets another value, each change at
another node; three nodes join and two are killed meanwhile. Afterwards all must know the same values, since the same
rounds, by the same nodes; nobody may have ended; and with the last values, with which the run is exact, all must come
to the optimum of those that are left. STARLING in the environment names the program when it is not the newest below
build/.
"""
import argparse
import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes.fleet import Fleet  # noqa: E402
from nodes.watch import asking, elapsed, failures, report, rest, wait  # noqa: E402
from normal_equations import KEYS as PROBLEM, optimum  # noqa: E402

MOST_OFF = 1e-9  # from the optimum
PAUSE_S, REACH_S = .25, 180
# One value a turn, in turn.
TURNS = {
    "optim.learning-rate": [".1", ".05"],
    "optim.learning-rate-schedule": ["inverse:100000", "constant"],
    "optim.local-steps": ["2", "1"],
    "optim.algorithm": ["gt", "ed"],
    "optim.admm-penalty": [".2", ".1"],
    "optim.admm-relaxation": [".6", ".5"],
    "optim.outer-learning-rate": [".8", ""],
    "optim.outer-momentum": [".8", ""],
    "optim.outer-pull": [".6", ".7"],
    "exchange.codec": ["i8", "native"],
    "exchange.parts": ["2", "1"],
    "exchange.liars": ["2", "1"],
    "exchange.staleness": ["2", "3"],
    "topology.kind": ["ring", "random"],
    "topology.degree": ["6", "4"],
    "topology.probability": [".2", ".1"],
    "topology.seed": ["7", "1"],
    "stop.rounds": ["10000000", "0"],
    "stop.seconds": ["100000", "0"],
    "stop.samples": ["100000000000", "0"],
    "stop.loss": ["1e-300", ""],
    "stop.of": ["worst", "mean"],
    "stop.patience": ["100000", "0"],
}
# These do not go with each other, or with parts: each is set, and set back, at one node, which knows of both at once.
SET_BACK = [("exchange.quorum", ".5", "1"), ("exchange.schedule", "ssp", "rounds"),
            ("topology.sequence", "matching", "still"),
            ("exchange.aggregation", "clip", "mean")]


def set_at(node, terms):
    """The node's answer to a call that sets the terms."""
    answer = node.fetch("/v1/settings", "POST", json.dumps(terms).encode(),
                        content_type="application/json")
    return answer.status, answer.data.decode()


def known(node):
    """The changes as the node knows them; None: it does not answer."""
    document = node.look("/v1/settings")
    return {key: {name: entry.get(name) for name in ("value", "since_round", "by")}
            for key, entry in document.items() if entry.get("by")} or None


def exchange_of(document):
    run = document.get("run", {})
    return run.get("algorithm"), run.get("schedule"), run.get("codec", {}).get("name")


def farthest(fleet):
    """From the optimum: the first problems are dealt among those that are left."""
    goal = optimum(range(len(fleet.nodes)))
    models = [struct.unpack(f"<{len(data) // 8}d", data)
              for data in asking.map(lambda node: node.model(), fleet.nodes)]
    return max(math.inf if len(x) != len(goal) else math.dist(x, goal) for x in models)


def turn(fleet, number, refused):
    """Sets each key, and adds the changes that were refused. Returns how many it tried."""
    apart = [(place, key, values[number % 2]) for place, (key, values) in enumerate(TURNS.items())]
    together = [(0, key, value) for key, *values in SET_BACK for value in values]
    for place, key, value in apart + (together if number % 2 else []):
        node = fleet.nodes[(number + place) % len(fleet.nodes)]
        status, answer = set_at(node, {key: value})
        if status >= 300:
            refused.append(f"{key} = {value}: {answer}")
        rest(PAUSE_S)
    return len(apart) + (len(together) if number % 2 else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    keys = [*PROBLEM, f"--data.reference.n={options.nodes + 3}",
            "--model.kind=linear", "--model.precision=f64", "--optim.algorithm=ed", "--optim.learning-rate=.05",
            "--optim.batch-size=0", "--topology.kind=random", f"--cluster.expect={options.nodes}"]
    changes, refused = 0, []
    with Fleet(range(options.nodes), keys) as fleet:
        met = wait(lambda: min(fleet.rounds()) > 10, 120)
        report(f"{options.nodes} nodes train", elapsed(met), met is not None)
        for number in range(options.turns):
            if number in (2, 4, 6):
                fleet.add([options.nodes + number // 2 - 1], ["--cluster.expect=0"])
            if number in (3, 5):
                fleet.nodes.pop(number).kill()
            changes += turn(fleet, number, refused)
            if number == 0:
                said = [("gt", "rounds", "i8")] * len(fleet.nodes)
                taken = wait(lambda: [exchange_of(document) for document in fleet.all()] == said, 60)
                report("all exchange by the values of the first turn", elapsed(taken), taken is not None)
        report(f"{changes} changes are taken", f"{len(refused)} refused", not refused)
        for text in refused[:5]:
            print(text)
        first = fleet.nodes[0]
        same = wait(lambda: known(first) and all(known(node) == known(first) for node in fleet.nodes), 60)
        report("all know the same values, since the same rounds, by the same nodes", elapsed(same), same is not None)
        arrived = wait(lambda: farthest(fleet) <= MOST_OFF, REACH_S, .5)
        report("all at the optimum", f"{elapsed(arrived)}, {farthest(fleet):.1e} off", arrived is not None)
        ended = [node.name for node in fleet.nodes if node.process.poll() is not None]
        report("nobody ended or started again", len(ended), not ended)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
