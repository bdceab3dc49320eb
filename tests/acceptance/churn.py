#!/usr/bin/env python3
"""Does to real processes what happens to real machines, and measures how the others take it.

    tests/acceptance/churn.py [--nodes N] [--times T] [--seconds S] CHECK ...

Checks: busy restart-all join many mass. Each prints its figures; the exit code is 1 when one is outside
its bound. STARLING in the environment names the program when it is not the newest below build/.
"""
import argparse
import os
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes.fleet import Fleet  # noqa: E402
from nodes.watch import elapsed, failures, report, spread, wait  # noqa: E402

SMALL = ["--data.samples=2000", "--model.kind=softmax", "--topology.kind=ring"]
MILLION = ["--data.samples=2000", "--model.kind=mlp", "--model.hidden=1280", "--topology.kind=ring"]
# In double precision: for single, oneDNN spends 30 ms of each process on making code first.
IDLE = ["--data.samples=400", "--model.kind=softmax", "--model.precision=f64", "--stop.rounds=1",
        "--stop.stay=true"]


def check_busy(options):
    with Fleet(range(options.nodes), SMALL) as fleet:
        fleet.settle()
        fleet.deaths()
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(64)]
        time.sleep(options.seconds)
        for loop in loops:
            loop.kill()
            loop.wait()
        deaths = fleet.deaths()
    report(f"false deaths under 64 busy loops for {options.seconds:.0f} s", len(deaths), not deaths)


def check_restart_all(options):
    with Fleet(range(options.nodes), SMALL, keeps=True) as fleet:
        fleet.settle()
        time.sleep(5)  # the peers are written every few seconds
        before = {name: member["incarnation"] for name, member in fleet.nodes[0].members().items()}
        for node in fleet.nodes:
            node.kill()
        for node in fleet.nodes:  # nobody is told whom to join
            node.arguments = [word for word in node.arguments if not word.startswith("--join=")]
            node.start()
        for node in fleet.nodes:
            node.await_ready()

        def agrees(node):
            members = node.members()
            return all(name in members and members[name]["state"] == "alive" and
                       members[name]["incarnation"] > then for name, then in before.items())
        agreed = fleet.until_all(fleet.nodes, agrees, 60)
        deaths = fleet.deaths()
    report(f"kill -9 of all {options.nodes} and restart without --join: all agree in", elapsed(agreed),
           agreed is not None and len(before) == options.nodes)
    report("deaths told after it", len(deaths), not deaths)


def longest_gap(node, since_s):
    times = [p["time_s"] for p in node.get("/v1/convergence")["series"] if p["time_s"] >= since_s]
    return max((b - a for a, b in zip(times, times[1:])), default=0.0)


def began(node):
    """On the clock of this program; an answer may be a moment old, so that the start seems later than it was."""
    return min(time.monotonic() - node.get("/v1/status")["node"]["uptime_s"] for _ in range(4))


def contributed_at(nodes, name):
    """When the first of the nodes averaged with it, on the clock of this program."""
    times = []
    for node in nodes:
        begin = began(node)
        times += [begin + event["time_s"] for event in node.get("/v1/events?follow=0")["events"]
                  if event["kind"] == "averaged" and f" {name} " in event["text"]]
    return min(times, default=None)


def check_join(options):
    listening, joined = [], []
    with Fleet(range(8), MILLION, keeps=True, more=["--cluster.expect=8"]) as fleet:
        fleet.settle()
        old = list(fleet.nodes)
        wait(lambda: min(fleet.rounds(old)) > 20, 120)
        time.sleep(10)
        gap_before = max(longest_gap(node, 5) for node in old)
        start = [node.get("/v1/convergence")["series"][-1]["time_s"] for node in old]
        for turn in range(options.times):
            node, = fleet.add([8 + turn])
            listens = time.monotonic()
            listening.append(listens - node.started)
            # They are left alone meanwhile: eight that answer are as busy as eight that train.
            time.sleep(3)
            at = contributed_at(old, node.name)
            joined += [at - listens] if at is not None else []
            node.stop()
            time.sleep(0.5)
        gap = max(longest_gap(node, since) for node, since in zip(old, start))
    report("a newcomer's process to listening", spread(listening), True)
    report("from there to contributing, eight training 1 M parameters", spread(joined),
           len(joined) == options.times and statistics.median(joined) <= .5)
    report("the others' longest gap between rounds", f"{gap:.2f} s; {gap_before:.2f} s before", True)


def check_many(options):
    count = options.nodes if options.nodes != 16 else 256
    with Fleet(range(count), IDLE, keeps=True) as fleet:
        agreed = fleet.settle(120, 0.5)
    report(f"{count} daemons agree after the last start in", elapsed(agreed), agreed is not None and agreed <= 10)


def check_mass(options):
    known, count, alive_count = [], 33, 3
    turns = max(1, options.times // 10)
    for _ in range(turns):
        with Fleet(range(count), IDLE, keeps=True) as fleet:
            fleet.settle(120)
            stay, go = fleet.nodes[:alive_count], fleet.nodes[alive_count:]
            for node in go:
                node.signal(signal.SIGKILL)
            dropped = fleet.until_all(stay, lambda node: sum(
                member["state"] == "dead" for member in node.members().values()) == count - alive_count, 120)
            known += [dropped] if dropped is not None else []
    report(f"30 of {count} killed at once known to the others", spread(known),
           len(known) == turns and max(known) <= 10)


CHECKS = {"busy": check_busy, "restart-all": check_restart_all, "join": check_join, "many": check_many,
          "mass": check_mass}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30, help="of busy loops")
    parser.add_argument("check", nargs="+", choices=CHECKS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing is left behind
    for check in options.check:
        CHECKS[check](options)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
