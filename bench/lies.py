#!/usr/bin/env python3
"""What one of 16 nodes that lies costs the others, by lie, topology and rule of averaging.

    lies.py DATA [--rules mean clip] [--topologies ring torus random] [--lies 1e6 drift ...] [--rounds 300]
                 [--SECTION.KEY=VALUE ...]

Simulated nodes learn softmax regression on the files of MNIST in DATA, each on its share, with dpsgd;
the last one sends lies (starling simulate --sim.lie). Printed are the mean accuracy of the 15 honest
nodes and that of the worst of them, in percent, and how much less these are than without lies and
with the rule mean. Other arguments are settings.
"""
import argparse
import sys

import markdown
from cluster import all_lies, document

NODES = 16
HEADINGS = ["topology", "rule", "lie", "mean, %", "less", "worst, %", "less"]
COMMON = ["--optim.algorithm=dpsgd", "--optim.batch-size=32", "--optim.learning-rate=0.1"]
SHAPES = {"ring": ["--topology.kind=ring"], "torus": ["--topology.kind=torus"],
          "random": ["--topology.kind=random", "--topology.degree=6"],
          "complete": ["--topology.kind=complete"]}


def accuracies(options, rule, shape, lie):
    found = document("simulate", "-n", NODES, "--seed", 1, "--data.source=idx", "--model.kind=softmax",
                     f"--data.path={options.data}", f"--exchange.aggregation={rule}", f"--sim.lie={lie}",
                     f"--stop.rounds={options.rounds}", f"--eval.every={options.rounds}", *COMMON, *SHAPES[shape],
                     *options.settings, expect=None)
    nodes = [node.get("accuracy") or 0 for node in found["nodes"][:NODES - 1]]
    return 100 * sum(nodes) / len(nodes), 100 * min(nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="folder of the files of MNIST")
    parser.add_argument("--rules", nargs="+", default=["mean", "clip"])
    parser.add_argument("--topologies", nargs="+", default=["ring", "torus", "random"], choices=list(SHAPES))
    parser.add_argument("--lies", nargs="+", default=None)
    parser.add_argument("--rounds", type=int, default=300)
    options, options.settings = parser.parse_known_args()
    print(markdown.table(HEADINGS))
    for shape in options.topologies:
        clean = accuracies(options, "mean", shape, "none")
        for rule in options.rules:
            for lie in ["none", *(options.lies or all_lies())]:
                mean, worst = accuracies(options, rule, shape, lie)
                print(f"| {shape} | {rule} | {lie} | {mean:.1f} | {clean[0] - mean:.1f} | {worst:.1f} | "
                      f"{clean[1] - worst:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
