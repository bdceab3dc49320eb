#!/usr/bin/env python3
"""How many local steps the nodes choose on thin links, and what that does: optim.local-steps=auto
beside one step a round, in turn, in one run.

  bench/step_pace.py                    four nodes in a ring, 100 and 50 Mbit/s
  bench/step_pace.py 200mbit            another link; also loopback
  bench/step_pace.py --share 0.3        optim.exchange-share
  bench/step_pace.py --json             one JSON document

A node is a process in a network namespace of its own, whose link tc limits at both ends. What is
measured begins when all nodes have taken the same number of steps for a while. `waiting` is the part
of the time in which a node waits for vectors, also of neighbours that compute.
Needs root and iproute2.
"""

import argparse
import contextlib
import json
import statistics
import sys
import time

from cluster import Failure, Starling, networks

BATCH, SAMPLES, LEARNING_RATE = 64, 4000, 0.01
HIDDEN = (512, 256)  # 2.1 MB of parameters
STILL_S, STILL_ROUNDS = 15, 8  # without a change of the steps, then they are at rest
REST_LIMIT_S = 300
MEASURED_S, MEASURED_ROUNDS = 15, 6  # at least


def arguments(steps, share):
    layers = [f"--model.hidden={','.join(map(str, HIDDEN))}", "--model.kind=mlp"]
    return [*layers, "--data.source=digits", f"--data.samples={SAMPLES}", "--topology.kind=ring",
            "--optim.algorithm=dpsgd", "--optim.local-optimizer=sgd",
            f"--optim.batch-size={BATCH}", f"--optim.learning-rate={LEARNING_RATE}",
            f"--optim.local-steps={steps}", f"--optim.exchange-share={share}",
            "--eval.every=1000000000", "--stop.rounds=100000000"]


def statuses(cluster):
    documents = cluster.all("/v1/status")
    if not all(documents):
        raise Failure("a node does not answer")
    return documents


def steps_of(documents):
    return [document["run"].get("local_steps", 0) for document in documents]


def rest(cluster):
    """Waits until all nodes take equally many steps and go on doing so; returns how many."""
    end, seen = time.monotonic() + REST_LIMIT_S, []
    while time.monotonic() < end:
        documents = statuses(cluster)
        now, rounds = steps_of(documents), documents[0]["run"]["round"]
        if now != seen or len(set(now)) > 1 or now[0] == 0:
            seen, since, first = now, time.monotonic(), rounds
        elif time.monotonic() - since >= STILL_S and rounds - first >= STILL_ROUNDS:
            return now[0]
        time.sleep(0.5)
    raise Failure(f"the number of steps does not come to rest: {seen}")


def wait_measured(cluster, first):
    time.sleep(MEASURED_S)
    cluster.wait_rounds(first + MEASURED_ROUNDS, REST_LIMIT_S)


def turn(nodes, network, steps, share):
    with Starling(nodes, network, arguments(steps, share)) as cluster:
        if not cluster.wait_rounds(1, 60):
            raise Failure("not every node did a first round")
        chosen = rest(cluster)
        before, begun = statuses(cluster), time.monotonic()
        wait_measured(cluster, max(document["run"]["round"] for document in before))
        after, elapsed = statuses(cluster), time.monotonic() - begun
        pairs = list(zip(before, after))

        def rate(*path):
            def value(document):
                for key in path:
                    document = document[key]
                return document
            return statistics.mean(value(b) - value(a) for a, b in pairs) / elapsed
        return {"local_steps": chosen, "steps_per_s": rate("run", "steps"),
                "rounds_per_s": rate("run", "round"), "waiting": rate("time", "wait_s"),
                "mixing": rate("time", "mix_s"), "computing": rate("time", "compute_s"),
                "sent_bytes_per_s": rate("traffic", "sent_bytes"),
                "reason": after[0]["run"].get("local_steps_reason", "")}


def link_of(text):
    if text == "loopback":
        return 0
    if not text.endswith("mbit"):
        raise argparse.ArgumentTypeError(f"{text}: expected loopback, or a link such as 200mbit")
    return float(text[:-4]) * 1e6


def describe(name, steps, figures):
    print(f"{name:>9}  local-steps={steps:<4}  H {figures['local_steps']:>4}  "
          f"{figures['steps_per_s']:7.1f} steps/s  waiting {figures['waiting']:.3f}  "
          f"mixing {figures['mixing']:.3f}  computing {figures['computing']:.3f}  "
          f"{figures['sent_bytes_per_s'] / 1e6:6.2f} MB/s", flush=True)
    if figures["reason"]:
        print(f"{'':>11}{figures['reason']}")


def measure(options):
    rows = []
    for name in options.links or ["100mbit", "50mbit"]:
        bits_per_s = link_of(name)
        with networks.Network(options.nodes) if bits_per_s else contextlib.nullcontext() as network:
            if network:
                network.limit(bits_per_s)
            for steps in ("1", "auto"):
                figures = turn(options.nodes, network, steps, options.share)
                rows.append({"link": name, "setting": steps, **figures})
                if not options.json:
                    describe(name, steps, figures)
    if options.json:
        print(json.dumps({"nodes": options.nodes, "share": options.share, "rows": rows}, indent=2))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("links", nargs="*")
    parser.add_argument("-n", "--nodes", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not networks.is_inside():
        if lacking := networks.why_not(networks.TOOLS_WITHOUT_LOSS):
            print(f"skipped: {lacking}")
            return 0
        return networks.run_inside()
    try:
        measure(options)
    except Failure as failure:
        print(f"bench/step_pace.py: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
