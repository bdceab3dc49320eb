#!/usr/bin/env python3
"""Graphs at equal bytes: MNIST, one digit a node, in the simulator.

  bench/sequences.py --data FOLDER            with the files of MNIST
  options: --vectors V (400), --steps H (5), --seeds N (3), --rate G (.1), --only GRAPH, --algorithm NAME, --json

Ten nodes, an mlp of 64 hidden units, batches of 64, sgd, the learning rate falling to nothing by a
cosine of the rounds. Each graph has as many rounds as a node may send V vectors in, by `starling
plan`. A row is the mean of the seeds, at the end: test accuracy of the mean node and of the worst,
and what a node has sent.
"""
import argparse
import json
import statistics

from cluster import document

NODES, HIDDEN, BATCH = 10, 64, 64
GRAPHS = {
    "ring": ["--topology.kind=ring"],
    "torus": ["--topology.kind=torus"],
    "random": ["--topology.kind=random"],
    "matching on complete": ["--topology.kind=complete", "--topology.sequence=matching"],
    "base:2": ["--topology.sequence=base:2"],
    "base:4": ["--topology.sequence=base:4"],
}


def rounds_of(graph, vectors):
    plan = document("plan", "-n", NODES, *GRAPHS[graph])
    return round(vectors / plan["vectors_per_round"])


def run(options, algorithm, graph, seed):
    rounds = rounds_of(graph, options.vectors)
    found = document(
        "simulate", "-n", NODES, f"--seed={seed}", "--data.source=idx", f"--data.path={options.data}",
        "--data.partition=by-label", "--model.kind=mlp", f"--model.hidden={HIDDEN}",
        f"--optim.algorithm={algorithm}", f"--optim.local-steps={options.steps}", f"--optim.batch-size={BATCH}",
        f"--optim.learning-rate={options.rate}", f"--optim.learning-rate-schedule=cosine:{rounds}",
        f"--stop.rounds={rounds}", f"--eval.every={rounds}", *GRAPHS[graph])
    last, nodes = found["series"][-1], found["nodes"]
    return {"rounds": rounds, "accuracy": last["accuracy"], "worst": min(node["accuracy"] for node in nodes),
            "megabytes": statistics.mean(node["sent_bytes"] for node in nodes) / 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--vectors", type=int, default=400)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--only", action="append", choices=GRAPHS)
    parser.add_argument("--algorithm", action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    if not options.json:
        print("| | rounds | accuracy | of the worst node | MB sent a node |")
        print("|---|---|---|---|---|")
    for algorithm in options.algorithm or ("dpsgd", "ed"):
        for graph in options.only or GRAPHS:
            runs = [run(options, algorithm, graph, seed) for seed in range(1, options.seeds + 1)]
            row = {key: statistics.mean(one[key] for one in runs) for key in runs[0]}
            rows[f"{algorithm}, {graph}"] = row
            if not options.json:
                print(f"| {algorithm}, {graph} | {row['rounds']:.0f} | {row['accuracy']:.4f} | {row['worst']:.4f} "
                      f"| {row['megabytes']:.1f} |", flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
