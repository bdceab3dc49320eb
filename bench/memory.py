#!/usr/bin/env python3
"""How many times its model a node holds in memory, by algorithm, and beside it the ring in PyTorch.

    memory.py [--only dpsgd ed gt adpsgd attached torch] [--nodes 2 3] [--seconds 10]

An mlp of 83 MB learns on loopback, one sample a step, each node with its neighbours on a ring; the
attached trainer holds 100 MB in the segment that both share. Printed are the resident memory of the
first node when it has settled, the median of looks in the last half of the time, and its peak, both
with the program and with the segment, over the bytes of the model; with --program of several builds
in turn. Of PyTorch the anonymous memory of a process beyond that of one whose model is small counts.
"""
import argparse
import os
import statistics
import sys
import time

from attach_exchange import COMMON, arguments as attached_arguments
from cluster import Peers, Starling, kib_of, program, why_no_torch

HIDDEN = (4096, 5000)
ATTACHED_MB = 100
LOOK_S = .1


def parameters(inputs, classes=10):
    units = (inputs, *HIDDEN, classes)
    return sum((above + 1) * below for above, below in zip(units, units[1:]))


def starling(name, nodes, seconds):
    """Times the model: settled, and at its peak."""
    if name == "attached":
        given, model = attached_arguments("trainer", ATTACHED_MB * 250_000), ATTACHED_MB * 1_000_000
    else:
        given = [argument for argument in COMMON if "algorithm" not in argument]
        given += [f"--optim.algorithm={name}", "--data.source=reference", "--model.kind=mlp",
                  *(f"--model.hidden={units}" for units in HIDDEN), "--optim.batch-size=1",
                  "--optim.learning-rate=0.000001"]
        model = 4 * parameters(64)
    with Starling(nodes, None, ["--topology.kind=ring", *given]) as cluster:
        node = cluster.nodes[0]
        if not cluster.wait_rounds(3, 120):
            raise SystemExit(f"{name}: no round in two minutes: {node.last_words()}")
        end, seen = time.monotonic() + seconds, []
        while time.monotonic() < end:
            time.sleep(LOOK_S)
            seen.append(node.kib("VmRSS"))
        settled, peak = statistics.median(seen[len(seen) // 2:]), node.kib("VmHWM")
    return 1024 * settled / model, 1024 * peak / model


def torch_kib(nodes, hidden):
    """The anonymous memory of the largest process of the ring."""
    with Peers(nodes, None, hidden, 1, 1e-6) as peers:
        peers.ask("ring 5")
        session = peers.process.pid
        found = [int(p) for p in os.listdir("/proc") if p.isdigit()]
        return max(kib_of(p, "RssAnon") for p in found if session_of(p) == session)


def session_of(process):
    try:
        return os.getsid(process)
    except OSError:
        return 0


def torch(nodes):
    held = torch_kib(nodes, ",".join(map(str, HIDDEN))) - torch_kib(nodes, "none")
    return 1024 * held / (4 * parameters(784))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=["dpsgd", "ed", "gt", "adpsgd", "attached", "torch"])
    parser.add_argument("--nodes", nargs="*", type=int, default=[2, 3])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--program", nargs="*", default=[program()])
    options = parser.parse_args()
    for name in options.only:
        for nodes in options.nodes:
            if name == "torch":
                print(f"{name}, {nodes} nodes: " + (why_no_torch() or f"{torch(nodes):.2f}"), flush=True)
                continue
            for build in options.program:
                os.environ["STARLING"] = build
                settled, peak = starling(name, nodes, options.seconds)
                print(f"{name}, {nodes} nodes: {settled:.2f}, at its peak {peak:.2f}  ({build})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
