#!/usr/bin/env python3
"""What lossy and changing links do to a whole cluster, in network namespaces.

  bench/lossy.py                 a ring of 16 at 0, 1, 2, 5, 10 and 30 % loss, beside a PyTorch ring
  bench/lossy.py --loss .05      at this loss; may be given several times
  bench/lossy.py falling         a link that falls from 1 Gbit/s to 10 Mbit/s and returns
  options: --seconds S of a run, --data FOLDER with the files of MNIST, --large-packets, --json

Softmax regression, 31 KB. A row says rounds a second of the median node, the largest distance
between the rounds of two nodes seen, the distance of the farthest model from the mean of all (what
the nodes say), and the time in which every node had the accuracy of the goal. The ring of PyTorch
asks all nodes every 5 rounds whether they are there. The loss begins when all are connected.
Packets lost are single frames; with --large-packets they are what the kernel hands over at once, up
to 64 KB. Skipped without root.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time

import markdown
from cluster import Failure, Peers, Starling, draw_images, networks, program, why_no_torch

NODES = 16
LOSSES = (0, 0.01, 0.02, 0.05, 0.10, 0.30)
BATCH, LEARNING_RATE = 32, 0.02
DRAWN_GOAL, MNIST_GOAL = 0.75, 0.88  # of the drawn ones: out of reach of a node alone
EVALUATION_ROUNDS = 20
LOOK_S = 0.25
FAST, SLOW = 1e9, 10e6  # bits/s
FALLING_NODES, FALLING_HIDDEN = 4, (256, 128)
PHASES = (("1 Gbit/s", FAST), ("10 Mbit/s", SLOW), ("1 Gbit/s again", FAST))
FIGURE = re.compile(r"(?<![-\w])\d+(?:\.\d+)?")  # in a reason; what else it says is the same every time


def data_arguments(options):
    return ["--data.source=idx", f"--data.path={options.data}"]


def common_arguments(options, evaluation_rounds):
    return [*data_arguments(options), "--topology.kind=ring", "--optim.algorithm=dpsgd",
            f"--optim.batch-size={BATCH}", f"--optim.learning-rate={LEARNING_RATE}",
            "--optim.local-optimizer=sgd", f"--eval.every={evaluation_rounds}"]


# ---- loss

def goal_s(document, accuracy):
    """From a node's first round until it had the accuracy."""
    points = document["series"] if document else []
    reached = [p["time_s"] for p in points if p.get("accuracy", 0) >= accuracy]
    return reached[0] - points[0]["time_s"] if reached else None


def distances(cluster):
    found = [d["consensus"].get("distance") for d in cluster.all("/v1/status") if d]
    return max((d for d in found if d is not None), default=None)


def watch(cluster, seconds):
    """How far apart rounds were, at the median look and the worst, and the rounds of each node."""
    begin, first, spreads = time.monotonic(), cluster.rounds(), []
    while time.monotonic() - begin < seconds:
        time.sleep(LOOK_S)
        rounds = cluster.rounds()
        spreads.append(max(rounds) - min(rounds))
    elapsed = time.monotonic() - begin
    done = statistics.median(b - a for a, b in zip(first, rounds))
    return {"rounds_per_s": done / elapsed, "apart": statistics.median(spreads),
            "most_apart": max(spreads)}


def starling_loss(options, network, loss):
    arguments = [*common_arguments(options, EVALUATION_ROUNDS), "--model.kind=softmax"]
    with Starling(NODES, network, arguments) as cluster:
        cluster.wait_rounds(1, options.seconds)
        network.lose(loss, small_packets=not options.large_packets)
        found = watch(cluster, options.seconds)
        times = [goal_s(d, options.goal) for d in cluster.all("/v1/convergence")]
        found["goal_s"] = max(times) if None not in times else None
        return {**found, "distance": distances(cluster), "rejected": cluster.rejected()}


def torch_loss(options, network, loss):
    with Peers(NODES, network, "", BATCH, LEARNING_RATE, options.data) as peers:
        network.lose(loss, small_packets=not options.large_packets)
        found = peers.ask(f"goal {options.goal} {options.seconds}")
        return {"rounds_per_s": found["rounds_per_s"], "apart": 0, "most_apart": 0,
                "goal_s": found["reached_s"], "distance": found["distance"]}


def attempt(run, options, network, loss):
    """The loss begins when all nodes are connected."""
    try:
        return run(options, network, loss)
    except Failure as error:
        return {"failed": str(error)}
    finally:
        network.lose(0)


def lossy_rows(options):
    contenders = {"Starling dpsgd": starling_loss}
    torch = why_no_torch()
    if torch:
        print(f"skipped: PyTorch, {torch}", file=sys.stderr)
    else:
        contenders["torch ring"] = torch_loss
    with networks.Network(NODES) as network:
        for loss in options.loss or LOSSES:
            for name, run in contenders.items():
                yield {"loss": loss, "what": name, **attempt(run, options, network, loss)}


def number(value, form=".3g", unit=""):
    return "–" if value is None else format(value, form) + unit


def lossy_cells(row):
    start = [f"{row['loss']:.0%}", row["what"]]
    if "failed" in row:
        return [*start, row["failed"], "–", "–", "–", "–"]
    rejected = ", ".join(f"{count} {why}" for why, count in row.get("rejected", {}).items())
    return [*start, number(row["rounds_per_s"]),
            f"{row['apart']:.0f}, at most {row['most_apart']}", number(row["distance"]),
            number(row["goal_s"], unit=" s"), rejected or "–"]


LOSSY_HEADINGS = ["loss", "what", "rounds/s", "rounds apart", "distance", "time to the goal",
                  "rejected"]


# ---- a link that falls

def deaths(cluster):
    """What the nodes told of others that they lost, since the last call."""
    return [f"{node.name}: {text}" for node in cluster.nodes for text in node.died()]


def phase(cluster, network, seconds, payload_bytes):
    begin, first, sent = time.monotonic(), cluster.rounds(), network.sent_bytes()
    reasons = set()
    while time.monotonic() - begin < seconds:
        time.sleep(LOOK_S)
        for document in cluster.all("/v1/status"):
            reasons |= {FIGURE.sub("…", r) for r in (document["node"]["reasons"] if document else [])}
    rounds = sum(b - a for a, b in zip(first, cluster.rounds()))
    bytes_sent = network.sent_bytes() - sent
    neighbours = [len(d["neighbors"]) if d else 0 for d in cluster.all("/v1/neighbors")]
    return {"rounds": rounds / FALLING_NODES, "bytes": bytes_sent,
            "of_least": bytes_sent / (2 * rounds * payload_bytes) if rounds else None,
            "neighbors": neighbours, "died": deaths(cluster), "reasons": sorted(reasons)}


def falling(options):
    layers = [784, *FALLING_HIDDEN, 10]
    payload_bytes = 4 * sum((a + 1) * b for a, b in zip(layers, layers[1:]))
    arguments = [*common_arguments(options, 1_000_000_000), "--model.kind=mlp",
                 *(f"--model.hidden={units}" for units in FALLING_HIDDEN)]
    with networks.Network(FALLING_NODES) as network:
        network.limit(FAST)
        with Starling(FALLING_NODES, network, arguments) as cluster:
            cluster.wait_rounds(10, options.seconds)
            deaths(cluster)
            for name, rate in PHASES:
                network.limit(rate, [1])
                found = phase(cluster, network, options.seconds, payload_bytes)
                yield {"link": name, **found, "rejected": cluster.rejected()}


def falling_cells(row):
    rejected = ", ".join(f"{count} {why}" for why, count in row["rejected"].items())
    return [row["link"], f"{row['rounds']:.0f}", number(row["of_least"], ".3f"),
            " ".join(map(str, row["neighbors"])), "; ".join(row["died"]) or "–", rejected or "–",
            "; ".join(row["reasons"]) or "–"]


FALLING_HEADINGS = ["link of node-01", "rounds a node", "bytes of the least", "neighbours", "died",
                    "rejected, from the start", "reasons the status gave"]


# ---- the whole

def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("loss", "falling"), default="loss")
    parser.add_argument("--loss", type=float, action="append")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--goal", type=float)
    parser.add_argument("--data", default="")
    parser.add_argument("--large-packets", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.goal = options.goal or (MNIST_GOAL if options.data else DRAWN_GOAL)
    return options


def show(options):
    rows, cells, headings = ((falling(options), falling_cells, FALLING_HEADINGS)
                             if options.what == "falling"
                             else (lossy_rows(options), lossy_cells, LOSSY_HEADINGS))
    if options.json:
        print(json.dumps({"goal": options.goal, "rows": list(rows)}, indent=1))
        return
    print(markdown.table(headings), flush=True)
    for row in rows:
        print(markdown.row(cells(row)), flush=True)


def main():
    options = read_options()
    if not program():
        sys.exit("Build first: cmake --preset bench && cmake --build build/bench")
    lacking = "" if networks.is_inside() else networks.why_not()
    if lacking:
        print(f"skipped: lossy links, {lacking}", file=sys.stderr)
        return 0
    if not networks.is_inside():
        return networks.run_inside()
    with tempfile.TemporaryDirectory(prefix="starling-images-") as folder:
        if not options.data:
            draw_images(folder)
        options.data = os.path.abspath(options.data or folder)
        show(options)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
