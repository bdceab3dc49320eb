#!/usr/bin/env python3
"""What nodes keep in memory of the data of a file: their share, or all of it.

  bench/data_memory.py DATA                 a folder of idx files of 784 pixels, by 8 nodes
  bench/data_memory.py DATA -n 4 --before PROGRAM   beside another build

Starts nodes that share the data, then ends half of them, so that the others read what was theirs. Memory is the
private one of a process (heap and stacks, of /proc/PID/smaps_rollup), of the median node, beyond that of a node
with a few hundred samples, whose buffers are as large. `goal` is 1.1 x its share + the test set.
"""
import argparse
import os
import re
import statistics
import tempfile
from pathlib import Path

import cluster
from cluster import Starling, write_images

WAIT_S = 60
SAMPLE_BYTES = 785
FEW, FEW_TEST, TEST = 4096, 512, 10_000
COMMON = ["--security.insecure=true", "--model.kind=softmax", "--stop.rounds=1000000000", "--eval.every=1000000",
          "--topology.kind=random", "--data.source=idx"]


def private_mib(pid):
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kib) for kib in re.findall(r"^Private_\w+: +(\d+) kB", text, re.M)) / 1024


def few_images(folder):
    for prefix, count in (("train", FEW), ("t10k", FEW_TEST)):
        write_images(folder, prefix, bytes(784 * count), bytes(i % 10 for i in range(count)))
    return folder


def samples(nodes):
    return [d["run"]["shard"]["samples"] if d else 0 for d in nodes.all("/v1/status")]


def median_of(nodes):
    return statistics.median(private_mib(p.pid) for p in nodes.processes)


def measure(data, count):
    """Private MiB of the median node, with all of them and after half have left, and its share of the samples."""
    results = []
    with Starling(count, None, [*COMMON, f"--data.path={data}"]) as nodes:
        def are_dealt():
            shares = samples(nodes)
            return min(shares) > 0 and (not results or sum(shares) == results[0][1])

        if not nodes.wait_rounds(50, WAIT_S) or not nodes.wait(are_dealt, WAIT_S):
            raise cluster.Failure("the nodes do not train")
        results.append((median_of(nodes), sum(samples(nodes)), count))
        for node in nodes.nodes[count // 2:]:
            node.stop()
        del nodes.nodes[count // 2:]
        if not nodes.wait(are_dealt, WAIT_S):
            raise cluster.Failure("the nodes do not take over what others had")
        nodes.wait_rounds(max(nodes.rounds()) + 50, WAIT_S)
        results.append((median_of(nodes), sum(samples(nodes)), count // 2))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("-n", type=int, default=8)
    parser.add_argument("--before", help="another build of starling")
    options = parser.parse_args()
    print("program   nodes   of its data, MiB   share, MiB   goal, MiB")
    for name, program in (("before", options.before), ("now", cluster.program())):
        if not program:
            continue
        os.environ["STARLING"] = program
        with tempfile.TemporaryDirectory() as folder:
            least = measure(few_images(folder), options.n)
        for (mib, total, nodes), (without, few, _) in zip(measure(options.data, options.n), least):
            share, test = (count * SAMPLE_BYTES / 2**20 for count in (total / nodes, TEST))
            few_mib = (few / (nodes if name == "now" else 1) + FEW_TEST) * SAMPLE_BYTES / 2**20
            print(f"{name:7} {nodes:7} {mib - without + few_mib:18.1f} {share:12.1f} {1.1 * share + test:11.1f}", flush=True)


if __name__ == "__main__":
    main()
