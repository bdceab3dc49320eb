#!/usr/bin/env python3
"""Seconds until every node of a ring classifies 97 % of MNIST's test images, and how much of the
nodes' time evaluates: Starling beside D-PSGD in PyTorch over gloo, in turn, the same network,
step and batch, one thread a process, about a tenth of the time for evaluations.

  accuracy.py DATA [--nodes 2 4 8] [--pairs 5] [--accuracy 0.97] [--without-peer] [STARLING-SETTING ...]

DATA holds the files of MNIST. The clock starts before the processes do, and stops when every node
has the accuracy on all test images; PyTorch's "trained" leaves out what it takes to import and connect.
"""

import argparse
import statistics
import time

import cluster

HIDDEN, BATCH, LEARNING_RATE = 128, 32, 0.1
LIMIT_S = 120
LOOK_ROUNDS = 150  # of PyTorch, so that it too evaluates for about a tenth of the time


def starling(options, nodes):
    """Seconds to the goal, rounds, and the share of the time in which the nodes evaluated."""
    begun = time.monotonic()
    arguments = ["--topology.kind=ring", "--data.source=idx", f"--data.path={options.data}",
                 "--model.kind=mlp", f"--model.hidden={HIDDEN}", f"--optim.batch-size={BATCH}",
                 f"--optim.learning-rate={LEARNING_RATE}", "--optim.algorithm=dpsgd",
                 "--optim.local-optimizer=sgd", f"--stop.accuracy={options.accuracy}",
                 *options.settings]
    with cluster.Starling(nodes, None, arguments) as fleet:
        statuses = []

        def reached():
            statuses[:] = fleet.all("/v1/status")
            return all(s and s["run"].get("end", {}).get("model") for s in statuses)
        if not fleet.wait(reached, LIMIT_S):
            raise cluster.Failure(f"starling has not reached {options.accuracy} in {LIMIT_S} s")
        seconds = time.monotonic() - begun
    times = [status["time"] for status in statuses]
    whole = sum(t[key] for t in times for key in ("compute_s", "mix_s", "wait_s", "other_s"))
    share = sum(t["evaluate_s"] for t in times) / whole
    return seconds, statistics.median(s["run"]["round"] for s in statuses), share


def peer(options, nodes):
    """Seconds to the goal, with and without the start, and rounds."""
    begun = time.monotonic()
    with cluster.Peers(nodes, None, str(HIDDEN), BATCH, LEARNING_RATE, options.data) as peers:
        answer = peers.ask(f"goal {options.accuracy} {LIMIT_S} {LOOK_ROUNDS}")
    if answer["reached_s"] is None:
        raise cluster.Failure(f"PyTorch has not reached {options.accuracy} in {LIMIT_S} s")
    return time.monotonic() - begun, answer["reached_s"], answer["rounds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--nodes", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--accuracy", type=float, default=0.97)
    parser.add_argument("--without-peer", action="store_true")
    options, options.settings = parser.parse_known_args()
    for nodes in options.nodes:
        ours, theirs = [], []
        for _ in range(options.pairs):
            ours.append(starling(options, nodes))
            if not options.without_peer:
                theirs.append(peer(options, nodes))
        seconds, rounds, share = map(statistics.median, zip(*ours))
        text = f"n={nodes}: Starling {seconds:.2f} s, {rounds:.0f} rounds, {share:.1%} evaluating"
        if theirs:
            started, trained, peer_rounds = map(statistics.median, zip(*theirs))
            text += (f"; PyTorch {started:.2f} s (trained {trained:.2f}), {peer_rounds:.0f} rounds;"
                     f" {started / seconds:.2f}x ({trained / seconds:.2f}x)")
        print(text, flush=True)


if __name__ == "__main__":
    main()
