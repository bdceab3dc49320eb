#!/usr/bin/env python3
"""What a fleet costs: to start, a round, and in memory for each known member.

    fleet.py [50 400 1000]            simulated founders: seconds to start and do five rounds
    fleet.py --rounds [16 1000]       microseconds of a simulated node's round, after the start
    fleet.py --processes [64]         real processes: seconds until all know all, CPU while they idle, memory

Seconds are of this program's own CPU time; those of the wall stand beside. Memory for each known member is the
peak of all nodes of a simulation beyond an empty one, or the resident memory of a process beyond that of one of
four, divided by the members that are known. STARLING names another program to measure.
"""
import argparse
import os
import resource
import statistics
import subprocess
import time

from cluster import Failure, Starling, program

PROBLEM = ["--data.source=reference", "--topology.kind=random", "--eval.every=1000000"]
START_ROUNDS = 5
LONG_ROUNDS = {16: 4000, 400: 120, 1000: 60, 4000: 15}
AGREE_S_LIMIT = 120
IDLE_S = 10


def simulate(nodes, rounds):
    """CPU seconds, seconds, and peak KiB."""
    command = [program(), "simulate", "-n", str(nodes), f"--data.reference.n={nodes}", f"--stop.rounds={rounds}",
               *PROBLEM, "--json"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise Failure(f"exit code {os.waitstatus_to_exitcode(status)} of {' '.join(command)}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss


def starts(sizes):
    empty = simulate(2, START_ROUNDS)[2]
    print("founders   CPU s     s   KiB a known member")
    for nodes in sizes:
        cpu, seconds, peak = simulate(nodes, START_ROUNDS)
        print(f"{nodes:8} {cpu:7.2f} {seconds:5.1f} {(peak - empty) / nodes**2:9.2f}", flush=True)


def rounds(sizes):
    print("nodes   µs a node's round")
    for nodes in sizes:
        more = LONG_ROUNDS.get(nodes, 60)
        start, whole = simulate(nodes, START_ROUNDS)[0], simulate(nodes, START_ROUNDS + more)[0]
        print(f"{nodes:5} {(whole - start) / (nodes * more) * 1e6:10.1f}", flush=True)


def cluster_of(nodes):
    """Seconds until all know all, CPU of one process while all are paused, and its median resident KiB."""
    arguments = [*PROBLEM, f"--data.reference.n={nodes}", "--stop.rounds=20", "--stop.stay=true", "--security.insecure=true"]
    began = time.monotonic()
    with Starling(nodes, None, arguments) as cluster:
        if cluster.settle(AGREE_S_LIMIT) is None:
            raise Failure(f"{nodes} processes do not know each other after {AGREE_S_LIMIT} s")
        agreed = time.monotonic() - began
        cluster.wait(lambda: all(d and d["node"]["state"] == "finished" for d in cluster.all("/v1/status")), AGREE_S_LIMIT)
        time.sleep(IDLE_S)
        before = sum(node.cpu_seconds() for node in cluster.nodes)
        time.sleep(IDLE_S)
        idle = (sum(node.cpu_seconds() for node in cluster.nodes) - before) / IDLE_S
        return agreed, idle, statistics.median(node.kib("VmRSS") for node in cluster.nodes)


def processes(sizes):
    least = cluster_of(4)[2]
    print("processes   agree s   idle, cores   KiB a known member")
    for nodes in sizes:
        agreed, idle, resident = cluster_of(nodes)
        print(f"{nodes:9} {agreed:9.1f} {idle:13.3f} {(resident - least) / (nodes - 4):13.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rounds", action="store_true")
    what.add_argument("--processes", action="store_true")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    if options.rounds:
        rounds(options.sizes or [16, 1000])
    elif options.processes:
        processes(options.sizes or [64])
    else:
        starts(options.sizes or [50, 400, 1000])


if __name__ == "__main__":
    main()
