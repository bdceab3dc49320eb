#!/usr/bin/env python3
"""Three sites of nodes over thin links: one site is cut off for a while, and a node of another is killed meanwhile.

    tests/acceptance/sites.py [--nodes N] [--cut SECONDS] [--codec NAME]

N nodes, each in a network namespace of its own, train an exact algorithm over clusters: a thin link leads from each
site to the others. All must come to the optimum of all; each side of the cut trains on; and once the site is back, all
that are left must come to the optimum of those. Needs root, iproute2 and util-linux, else it is skipped. STARLING in
the environment names the program when it is not the newest below build/.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from cluster import Sited, networks  # noqa: E402
from nodes.watch import elapsed, failures, report, rest, wait  # noqa: E402
from normal_equations import KEYS as PROBLEM  # noqa: E402
from settings import MOST_OFF, REACH_S, farthest  # noqa: E402

SITES, THIN_BITS = 3, 20e6
CUT_OFF, BEREAVED = 0, 1  # sites


def await_optimum(fleet, when):
    arrived = wait(lambda: farthest(fleet) <= MOST_OFF, REACH_S, .5)
    report(f"{when}: all at the optimum", f"{elapsed(arrived)}, {farthest(fleet):.1e} off", arrived is not None)


def rounds_of(nodes):
    return [node.look().get("run", {}).get("round", 0) for node in nodes]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=12)
    parser.add_argument("--cut", type=float, default=60)
    parser.add_argument("--codec", default="auto")
    options = parser.parse_args()
    if not networks.is_inside():
        return networks.run_inside_or_skip()
    keys = [*PROBLEM, f"--data.reference.n={options.nodes}", "--model.kind=linear", "--model.precision=f64",
            "--optim.algorithm=ed", "--optim.learning-rate=.05", "--optim.batch-size=0",
            "--topology.sequence=clusters:10", f"--exchange.codec={options.codec}"]
    with networks.Sites(options.nodes, SITES, THIN_BITS) as network, Sited(options.nodes, network, keys) as fleet:
        network.limit(1e9)
        await_optimum(fleet, "undisturbed")
        network.cut(CUT_OFF)
        rest(5)
        fleet.nodes.pop(SITES + BEREAVED).kill()
        rest(10)
        before = rounds_of(fleet.nodes)
        rest(options.cut - 15)
        gained = [last - first for first, last in zip(before, rounds_of(fleet.nodes))]
        report("rounds of each node during the cut", gained, min(gained) > 10)
        network.heal(CUT_OFF)
        await_optimum(fleet, "after the cut and the death")
        ended = [node.name for node in fleet.nodes if node.process.poll() is not None]
        report("nobody ended or started again", len(ended), not ended)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
