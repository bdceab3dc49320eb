#!/usr/bin/env python3
"""Three sites of four nodes: 1 Gbit/s inside, one thin link from each site to the others; beside PyTorch's DDP.

  bench/sites.py --data FOLDER       with the files of MNIST
  options: --goal A (.9), --bits B (20e6), --partition P (dirichlet:0.3), --only NAME, --turns N (3), --json

A node is a process in a network namespace of its own. A row says, as the median of the turns, the
seconds from the first round until the fleet had the accuracy of the goal (stop.accuracy), rounds,
and the bytes that left the sites until then, for all contenders in turn. After 100 s a contender
has not reached it, which the row says. Softmax regression, 31 KB. Needs root, iproute2.
"""
import argparse
import json
import statistics
import sys

from cluster import Peers, Sited, networks, program, why_no_torch

NODES, SITES = 12, 3
LIMIT_S = 100
CONTENDERS = {
    "clusters:10": ["--optim.algorithm=ed", "--topology.sequence=clusters:10"],
    "clusters:4": ["--optim.algorithm=ed", "--topology.sequence=clusters:4"],
    "clusters:10 auto": ["--optim.algorithm=ed", "--topology.sequence=clusters:10", "--exchange.codec=auto"],
    "clusters:10 i4": ["--optim.algorithm=ed", "--topology.sequence=clusters:10", "--exchange.codec=i4"],
    "random": ["--optim.algorithm=ed", "--topology.kind=random"],
    "ring": ["--optim.algorithm=ed", "--topology.kind=ring"],
    "allreduce": ["--optim.algorithm=dpsgd", "--topology.kind=complete", "--exchange.schedule=allreduce"],
}
DDP = "DDP"


def turn(options, network, contender):
    if contender == DDP:
        return turn_of_ddp(options, network)
    arguments = [*CONTENDERS[contender], "--data.source=idx", f"--data.path={options.data}",
                 f"--data.partition={options.partition}", "--model.kind=softmax",
                 "--optim.batch-size=32", "--optim.local-optimizer=sgd", "--optim.learning-rate=0.1",
                 "--eval.every=10", "--eval.samples=1000", f"--stop.accuracy={options.goal}", "--stop.stay=true"]
    before = network.thin_bytes()
    with Sited(NODES, network, arguments) as fleet:
        def has_ended():
            return all(status and status["node"]["state"] == "finished" for status in fleet.all())
        is_reached = fleet.wait(has_ended, LIMIT_S, .1) is not None
        after = network.thin_bytes()
        series = fleet.nodes[0].get("/v1/convergence")["series"]
        return {"seconds": series[-1]["time_s"] - series[0]["time_s"], "rounds": max(fleet.rounds()),
                "megabytes": (after - before) / 1e6, "reached": is_reached}


def turn_of_ddp(options, network):
    """Batches and learning rate are those of the others; each process has an equal part of all classes."""
    with Peers(NODES, network, "", 32, .1, options.data, SITES) as peers:
        before = network.thin_bytes()
        answer = peers.ask(f"goal {options.goal} {LIMIT_S} 10 ddp")
        seconds = answer["reached_s"]
        return {"seconds": seconds or LIMIT_S, "rounds": answer["rounds"],
                "megabytes": (network.thin_bytes() - before) / 1e6, "reached": seconds is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--goal", type=float, default=.9)
    parser.add_argument("--bits", type=float, default=20e6)
    parser.add_argument("--partition", default="dirichlet:0.3")
    parser.add_argument("--only", action="append", choices=[*CONTENDERS, DDP])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not networks.is_inside():
        return networks.run_inside_or_skip()
    if not program():
        print("no program is built; run make bench, or set STARLING")
        return 1
    names = options.only or [*CONTENDERS, *([] if why_no_torch() else [DDP])]
    turns = {name: [] for name in names}
    with networks.Sites(NODES, SITES, options.bits) as network:
        network.limit(1e9)
        for _ in range(options.turns):
            for name in names:
                turns[name].append(turn(options, network, name))
    rows = {name: {key: statistics.median(one[key] for one in runs) for key in runs[0]} for name, runs in turns.items()}
    for name, row in rows.items():
        row["reached"] = all(one["reached"] for one in turns[name])
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    print("| | seconds to the goal | rounds | MB between sites |\n|---|---|---|---|")
    for name, row in rows.items():
        beyond = "" if row["reached"] else "not in "
        print(f"| {name} | {beyond}{row['seconds']:.1f} | {row['rounds']:.0f} | {row['megabytes']:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
