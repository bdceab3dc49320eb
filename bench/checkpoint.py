#!/usr/bin/env python3
"""What checkpoints cost the training meanwhile, and how much memory they take.

    checkpoint.py [--megabytes 100] [--pairs 5] [--seconds 15] [--nodes 1]

Nodes train an mlp of so many MB, in turn without checkpoints and with one after the other, so that a
disk thread always writes. The figure is the ratio of the times of their rounds, pair by pair, and how much
of the time a checkpoint was under way. The memory is that of the process beyond the same without.
"""
import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from cluster import Starling

INPUTS, CLASSES = 784, 10
COMMON = ["--topology.kind=ring", "--optim.algorithm=dpsgd", "--eval.every=1000000000", "--model.kind=mlp",
          "--stop.rounds=1000000000", "--cluster.preset=wan", "--optim.learning-rate=0.000001",
          "--data.samples=2000"]


def window(folder, saves, options):
    """Seconds of a round, seconds of a checkpoint, the part of the time that one was under way, MB of memory."""
    hidden = round((options.megabytes * 250_000 - CLASSES) / (INPUTS + 1 + CLASSES))
    every = "0.001s" if saves else "0"
    with Starling(options.nodes, None, [
            *COMMON, f"--model.hidden={hidden}", f"--optim.batch-size={options.batch}", f"--checkpoint.every={every}",
            "--checkpoint.keep=1", f"--node.data-dir={folder}/{{node}}"]) as cluster:
        round_s, first, last = cluster.pace(
            options.seconds, lambda status: not saves or status["checkpoint"].get("generation", 0) >= 2)
        elapsed = round_s * (last["run"]["round"] - first["run"]["round"])
        count = last["checkpoint"].get("generation", 0) - first["checkpoint"].get("generation", 0)
        took = last["checkpoint"].get("took_s", 0)
        return round_s, took, min(count * took / elapsed, 1), cluster.nodes[0].kib("VmHWM") / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    pairs = []
    for _ in range(options.pairs):
        with tempfile.TemporaryDirectory(prefix="starling-bench-") as folder:
            pairs.append((window(Path(folder) / "without", False, options), window(Path(folder) / "with", True, options)))
            without, saving = pairs[-1]
            print(f"{1e3 * without[0]:.1f} ms a round without, {1e3 * saving[0]:.1f} with a checkpoint of {saving[1]:.2f} s, "
                  f"{100 * saving[2]:.0f} % of the time; {without[3]:.0f} and {saving[3]:.0f} MB", flush=True)
    ratio = statistics.median(saving[0] / without[0] for without, saving in pairs)
    share = statistics.median(saving[2] for _, saving in pairs)
    more = statistics.median(saving[3] - without[3] for without, saving in pairs)
    print(f"rounds take {ratio:.3f} times as long with a checkpoint under way {100 * share:.0f} % of the time; "
          f"{more / options.megabytes:.2f} times the model in memory beyond")
    return 0


if __name__ == "__main__":
    sys.exit(main())
