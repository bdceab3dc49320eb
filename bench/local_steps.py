#!/usr/bin/env python3
"""Many local steps on unequal data: MNIST, one digit a node, adamw inside, in the simulator.

  bench/local_steps.py --data FOLDER          with the files of MNIST
  options: --steps H (20), --rounds R (200), --vectors V, --seeds N (3), --rate G (.001), --only NAME, --json

Ten nodes, an mlp of 64 hidden units, batches of 64, the learning rate falling to nothing by a
cosine of the rounds. A row is the mean of the seeds, at the end: test accuracy of the mean node and
of the worst, the consensus distance as the nodes say it, and what a node has sent. `one node
with all` has every digit and takes as many steps as each of the ten. The simulator runs the daemon's
code, so bytes are those of real messages. With --vectors each row has as many rounds as a node
sends V vectors in, by `starling plan`, so that all graphs are compared at equal bytes.
"""
import argparse
import json
import statistics

from cluster import document

NODES, HIDDEN, BATCH, WEIGHT_DECAY = 10, 64, 64, 0.01
EVERY_DIGIT = "one node with all"
MATCHING = ["--topology.kind=complete", "--topology.sequence=matching"]
COMPLETE, RING = ["--topology.kind=complete"], ["--topology.kind=ring"]
TORUS, RANDOM = ["--topology.kind=torus"], ["--topology.kind=random"]
BASE_2, BASE_4 = ["--topology.sequence=base:2"], ["--topology.sequence=base:4"]
METHODS = {
    EVERY_DIGIT: ["--optim.algorithm=dpsgd", "--data.partition=iid"],
    "dpsgd, complete": ["--optim.algorithm=dpsgd", *COMPLETE],
    "dpsgd, ring": ["--optim.algorithm=dpsgd", *RING],
    "dpsgd, torus": ["--optim.algorithm=dpsgd", *TORUS],
    "dpsgd, random": ["--optim.algorithm=dpsgd", *RANDOM],
    "dpsgd, matching": ["--optim.algorithm=dpsgd", *MATCHING],
    "dpsgd, base:2": ["--optim.algorithm=dpsgd", *BASE_2],
    "dpsgd, base:4": ["--optim.algorithm=dpsgd", *BASE_4],
    "diloco, complete": ["--optim.algorithm=dpsgd", "--optim.outer=nesterov", *COMPLETE],
    "diloco, ring": ["--optim.algorithm=dpsgd", "--optim.outer=nesterov", *RING],
    "noloco, matching": ["--optim.algorithm=noloco", *MATCHING],
    "kgt, complete": ["--optim.algorithm=kgt", *COMPLETE],
    "kgt, ring": ["--optim.algorithm=kgt", *RING],
    "kgt, torus": ["--optim.algorithm=kgt", *TORUS],
    "kgt, random": ["--optim.algorithm=kgt", *RANDOM],
    "kgt, matching": ["--optim.algorithm=kgt", *MATCHING],
    "kgt, base:2": ["--optim.algorithm=kgt", *BASE_2],
    "kgt, base:4": ["--optim.algorithm=kgt", *BASE_4],
}


def rounds_of(options, name):
    if not options.vectors or name == EVERY_DIGIT:
        return options.rounds
    graph = [key for key in METHODS[name] if key.startswith("--topology.")]
    return round(options.vectors / document("plan", "-n", NODES, *graph)["vectors_per_round"])


def run(options, name, seed):
    rounds = rounds_of(options, name)
    found = document(
        "simulate", "-n", 1 if name == EVERY_DIGIT else NODES, f"--seed={seed}", "--data.source=idx",
        f"--data.path={options.data}", "--data.partition=by-label", "--model.kind=mlp", f"--model.hidden={HIDDEN}",
        f"--optim.local-steps={options.steps}", f"--optim.batch-size={BATCH}", "--optim.local-optimizer=adamw",
        f"--optim.weight-decay={WEIGHT_DECAY}", f"--optim.learning-rate={options.rate}",
        f"--optim.learning-rate-schedule=cosine:{rounds}", f"--stop.rounds={rounds}",
        f"--eval.every={rounds}", *METHODS[name])
    last, nodes = found["series"][-1], found["nodes"]
    return {"rounds": rounds, "accuracy": last["accuracy"], "worst": min(node["accuracy"] for node in nodes),
            "distance": last.get("distance", 0),
            "megabytes": statistics.mean(node["sent_bytes"] for node in nodes) / 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--vectors", type=int)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.001)
    parser.add_argument("--only", action="append", choices=METHODS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    if not options.json:
        print("| | rounds | accuracy | of the worst node | distance of the models | MB sent a node |")
        print("|---|---|---|---|---|---|")
    for name in options.only or METHODS:
        runs = [run(options, name, seed) for seed in range(1, options.seeds + 1)]
        row = {key: statistics.mean(one[key] for one in runs) for key in runs[0]}
        rows[name] = row
        if not options.json:
            print(f"| {name} | {row['rounds']:.0f} | {row['accuracy']:.4f} | {row['worst']:.4f} | {row['distance']:.2g} "
                  f"| {row['megabytes']:.1f} |", flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
