#!/usr/bin/env python3
"""Does to real processes what happens to real machines, and measures how the others take it.

    tests/acceptance/churn.py [--nodes N] [--times T] [--seconds S] CHECK ...

Checks: kill busy stop partition restart-all join many clock duplicate silent mass wreck slow. Each
prints its figures; the exit code is 1 when one is outside its bound. `partition` and `silent` need
root and network namespaces, `clock` a C compiler, else they are skipped. STARLING in the
environment names the program when it is not build/release/daemon/starling.
"""
import argparse
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from fleet import (Cluster, DAY_S, IDLE, MILLION, PROGRAM, ROOT, SMALL, WRECK_DISTANCE,
                   WRECK_EXTRA, WRECK_KEYS, alive, asking, consensus, dead, elapsed, failures,
                   is_back, is_dead, parameters, report, rounds, spread, wait)
from normal_equations import optimum
from slow import check_slow


def check_kill(options):
    dead, back, missed = [], [], 0
    with Cluster(options.nodes, SMALL) as cluster:
        cluster.settle()
        for turn in range(options.times):
            victim = cluster.nodes[turn % options.nodes]
            others = cluster.but(victim)
            incarnation = victim.members()[victim.name]["incarnation"]
            victim.kill()
            known = cluster.until_all(others, is_dead(victim.name), 60)
            victim.start([others[0].addresses["control"]])
            listening = victim.await_ready()
            again = cluster.until_all(others, is_back(victim.name, incarnation), 60)
            missed += known is None or again is None
            dead += [known] if known is not None else []
            back += [listening + again] if again is not None else []
            cluster.settle()
    report(f"kill -9 of one of {options.nodes} known to all", spread(dead),
           not missed and max(dead) <= 7.7)
    report("its restart known to all from its start on", spread(back), not missed)


def check_busy(options):
    with Cluster(options.nodes, SMALL) as cluster:
        cluster.settle()
        cluster.deaths()
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(64)]
        time.sleep(options.seconds)
        for loop in loops:
            loop.kill()
            loop.wait()
        deaths = cluster.deaths()
    report(f"false deaths under 64 busy loops for {options.seconds:.0f} s", len(deaths),
           not deaths)


def check_stop(options):
    with Cluster(options.nodes, SMALL) as cluster:
        cluster.settle()
        cluster.deaths()
        victim = cluster.nodes[options.nodes // 2]
        others = cluster.but(victim)
        victim.signal(signal.SIGSTOP)
        time.sleep(5)
        victim.signal(signal.SIGCONT)
        time.sleep(5)
        deaths = cluster.deaths()
        report("deaths told for a stop of 5 s", len(deaths), not deaths)
        cluster.settle()
        victim.signal(signal.SIGSTOP)
        dropped = cluster.until_all(others, is_dead(victim.name), 20)
        time.sleep(max(0, 20 - (dropped or 20)))
        victim.signal(signal.SIGCONT)
        back = cluster.settle()
    report("a stop of 20 s: dropped by all after", elapsed(dropped), dropped is not None)
    report("and all agree again after its end in", elapsed(back), back is not None)


def run_ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class Halves:
    """Two network namespaces on one bridge, cut apart at the bridge, which reaches both."""

    def __init__(self):
        self.tag = f"{os.getpid() % 10000}"
        self.bridge = f"stb{self.tag}"
        self.sides = [f"sta{self.tag}", f"stz{self.tag}"]

    def __enter__(self):
        run_ip("link", "add", self.bridge, "type", "bridge")
        run_ip("addr", "add", "10.77.0.1/24", "dev", self.bridge)
        run_ip("link", "set", self.bridge, "up")
        for k, side in enumerate(self.sides):
            run_ip("netns", "add", side)
            run_ip("link", "add", side, "type", "veth", "peer", "name", "eth0", "netns", side)
            run_ip("link", "set", side, "master", self.bridge, "up")
            run_ip("-n", side, "addr", "add", f"10.77.0.{k + 2}/24", "dev", "eth0")
            run_ip("-n", side, "link", "set", "eth0", "up")
            run_ip("-n", side, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for side in self.sides:
            run_ip("netns", "del", side, check=False)
            run_ip("link", "del", side, check=False)
        run_ip("link", "del", self.bridge, check=False)

    def place(self, index):
        return f"10.77.0.{index % 2 + 2}", ["ip", "netns", "exec", self.sides[index % 2]]

    def cut(self, is_cut):
        for side in self.sides:
            subprocess.run(["bridge", "link", "set", "dev", side, "isolated",
                            "on" if is_cut else "off"], check=True)

    def cut_one_way(self, is_cut):
        """What the first half says does not reach the second."""
        run_ip("-n", self.sides[0], "route", "add" if is_cut else "del", "blackhole",
               "10.77.0.3/32")


def check_partition(options):
    try:
        with Halves() as halves:
            partition(options, halves)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip()
        print(f"skip  partition: needs root, iproute2 and network namespaces: {reason}")


def partition(options, halves):
    with tempfile.NamedTemporaryFile("w") as token:
        token.write("churn-token\n")
        token.flush()
        with Cluster(options.nodes, SMALL, halves.place, [f"--http.token-file={token.name}"],
                     {"Authorization": "Bearer churn-token"}) as cluster:
            cluster.settle()
            half = options.nodes // 2
            time.sleep(5)
            usual = max(consensus(cluster.nodes) for _ in range(10))
            for name, cut in (("a cut in halves", halves.cut),
                              ("a one-way cut", halves.cut_one_way)):
                cut(True)
                dropped = cluster.until_all(cluster.nodes, lambda m: dead(m) >= half, 30)
                before = rounds(cluster.nodes)
                time.sleep(max(0, options.cut - (dropped or 30)))
                trained = min(b - a for a, b in zip(before, rounds(cluster.nodes)))
                apart = consensus(cluster.nodes)
                cut(False)
                healed = cluster.settle(120)
                closer = wait(lambda: consensus(cluster.nodes) <= 1.5 * usual, 60)
                report(f"{name} of {options.cut:.0f} s: each half alone after", elapsed(dropped),
                       dropped is not None or name == "a one-way cut")
                report(f"{name}: least rounds of a node meanwhile", trained, trained > 0)
                report(f"{name}: all agree again after its end in", elapsed(healed),
                       healed is not None and healed <= 10)
                report(f"{name}: consensus distance {apart:.3g} is back at {usual:.3g} in",
                       elapsed(closer), closer is not None)


def check_restart_all(options):
    with Cluster(options.nodes, SMALL) as cluster:
        cluster.settle()
        time.sleep(5)  # the peers are written every few seconds
        before = {name: m["incarnation"] for name, m in cluster.nodes[0].members().items()}
        for node in cluster.nodes:
            node.kill()
        for node in cluster.nodes:
            node.start([])  # nobody is told whom to join
        for node in cluster.nodes:
            node.await_ready()
        count = options.nodes
        agreed = cluster.until_all(
            cluster.nodes,
            lambda m: alive(m) == count and all(m[n]["incarnation"] > before[n] for n in before),
            60)
        deaths = cluster.deaths()
    report(f"kill -9 of all {count} and restart without --join: all agree in", elapsed(agreed),
           agreed is not None)
    report("deaths told after it", len(deaths), not deaths)


def longest_gap(node, since_s):
    times = [p["time_s"] for p in node.get("/v1/convergence")["series"] if p["time_s"] >= since_s]
    return max((b - a for a, b in zip(times, times[1:])), default=0.0)


def contributed_at(nodes, name):
    """When the first of the nodes averaged with it, on the clock of this program."""
    times = []
    for node in nodes:
        # An answer may be a moment old, so that the start seems later than it was.
        begin = min(node.began() for _ in range(4))
        events = node.get("/v1/events?follow=0")["events"]
        times += [begin + event["time_s"] for event in events
                  if event["kind"] == "averaged" and f" {name} " in event["text"]]
    return min(times, default=None)


def check_join(options):
    listening, joined = [], []
    with Cluster(8, [*MILLION, "--cluster.expect=8"]) as cluster:
        cluster.settle()
        old = list(cluster.nodes)
        wait(lambda: all(node.get("/v1/status")["run"]["round"] > 20 for node in old), 120)
        time.sleep(10)
        gap_before = max(longest_gap(node, 5) for node in old)
        start = [node.get("/v1/convergence")["series"][-1]["time_s"] for node in old]
        for turn in range(options.times):
            node = cluster.add(8 + turn, MILLION)
            listening.append(node.await_ready())
            listens = node.started + listening[-1]
            # They are left alone meanwhile: eight that answer are as busy as eight that train.
            time.sleep(3)
            at = contributed_at(old, node.name)
            joined += [at - listens] if at is not None else []
            node.signal(signal.SIGTERM)
            node.process.wait()
            time.sleep(0.5)
        gap = max(longest_gap(node, since) for node, since in zip(old, start))
    report("a newcomer's process to listening", spread(listening), True)
    report("from there to contributing, eight training 1 M parameters", spread(joined),
           len(joined) == options.times and statistics.median(joined) <= .5)
    report("the others' longest gap between rounds", f"{gap:.2f} s; {gap_before:.2f} s before",
           True)


def trains(node):
    before = rounds([node])[0]
    return wait(lambda: rounds([node])[0] > before + 10, 30)


def check_clock(options):
    if not shutil.which("cc"):
        return print("skip  clock: needs a C compiler")
    for name, first_s, then_s in (("a day behind", 0, -DAY_S),
                                  ("right after a start ten years ahead", 3650 * DAY_S, 0)):
        back, trained = [], []
        with Cluster(8, SMALL, keeps=False) as cluster:
            cluster.settle()
            for turn in range(max(1, options.times // 4)):
                victim = cluster.nodes[1 + turn % 7]
                others = cluster.but(victim)
                for clock_s in (first_s, then_s) if first_s else (then_s,):
                    incarnation = victim.members()[victim.name]["incarnation"]
                    victim.kill()
                    victim.start([others[0].addresses["control"]], clock_s)
                    victim.await_ready()
                    again = cluster.until_all(others, is_back(victim.name, incarnation), 60)
                back += [again] if again is not None else []
                trained += [1] if trains(victim) is not None else []
                reasons = victim.get("/v1/status")["node"]["reasons"]
                report(f"reasons of a node whose clock is {name}", reasons or "none", not reasons)
        count = max(1, options.times // 4)
        report(f"a restart with a clock that is {name} known to all", spread(back),
               len(back) == count and max(back) <= 5)
        report("and it trains", f"{len(trained)} of {count}", len(trained) == count)


def start_duplicate(cluster, node, seed):
    return subprocess.Popen(
        [PROGRAM, "run", f"--node.name={node.name}", "--cluster.preset=lan", *SMALL,
         *(f"--listen.{key}=127.0.0.1:0" for key in ("control", "http")),
         f"--join={seed.addresses['control']}"], cwd=ROOT, stderr=subprocess.PIPE, text=True)


def check_duplicate(options):
    ended, told, moved, wrong = [], 0, [], []
    count = max(1, options.times // 4)
    with Cluster(8, SMALL) as cluster:
        cluster.settle()
        cluster.deaths()
        for turn in range(count):
            first = cluster.nodes[1 + turn % 7]
            began = time.monotonic()
            second = start_duplicate(cluster, first, cluster.nodes[0])
            said = second.communicate(timeout=60)[1]
            ended.append(time.monotonic() - began)
            if second.returncode != 1 or first.addresses["control"] not in said:
                wrong.append((second.returncode, said))
            reasons = first.get("/v1/status")["node"]["reasons"]
            told += any("runs under this node's name" in reason for reason in reasons)
        report("a second node under a name ends", spread(ended), not wrong and max(ended) <= 5)
        report("with exit 1 and the first one's address", wrong or "always", not wrong)
        report("the first one says so", f"{told} of {count}", told == count)
        deaths = cluster.deaths()
        report("deaths told meanwhile", len(deaths), not deaths)
        quiet = wait(lambda: not any("name" in r for n in cluster.nodes
                                     for r in n.get("/v1/status")["node"]["reasons"]), 40)
        report("no more word of it after", elapsed(quiet), quiet is not None)
        report("all agree", elapsed(cluster.settle(5)), cluster.settle(5) is not None)
        for turn in range(count):
            victim = cluster.nodes[1 + turn % 7]
            incarnation = victim.members()[victim.name]["incarnation"]
            victim.kill()
            victim.addresses = None  # it comes back elsewhere
            victim.start([cluster.nodes[0].addresses["control"]])
            victim.await_ready()
            again = cluster.until_all(cluster.but(victim), is_back(victim.name, incarnation), 60)
            moved += [again] if again is not None else []
        report("a restart at other addresses known to all", spread(moved), len(moved) == count)


class Apart(Halves):
    """The last node alone in the second namespace, whose link can go down."""

    def __init__(self, last):
        super().__init__()
        self.last = last

    def place(self, index):
        side = index == self.last
        return f"10.77.0.{side + 2}", ["ip", "netns", "exec", self.sides[side]]

    def unplug(self, is_unplugged):
        run_ip("link", "set", self.sides[1], "down" if is_unplugged else "up")


def check_silent(options):
    try:
        with Apart(options.nodes - 1) as apart:
            silent(options, apart)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip()
        print(f"skip  silent: needs root, iproute2 and network namespaces: {reason}")


def silent(options, apart):
    known, count = [], max(1, options.times // 2)
    with tempfile.NamedTemporaryFile("w") as token:
        token.write("churn-token\n")
        token.flush()
        with Cluster(options.nodes, SMALL, apart.place, [f"--http.token-file={token.name}"],
                     {"Authorization": "Bearer churn-token"}) as cluster:
            victim = cluster.nodes[-1]
            others = cluster.but(victim)
            for _ in range(count):
                cluster.settle()
                time.sleep(2)
                apart.unplug(True)
                dropped = cluster.until_all(others, is_dead(victim.name), 60)
                known += [dropped] if dropped is not None else []
                victim.kill()
                apart.unplug(False)
                victim.start([others[0].addresses["control"]])
                victim.await_ready()
            false = [text for text in cluster.deaths(others) if victim.name not in text]
    report(f"a host that is gone, of {options.nodes}, known to all", spread(known),
           len(known) == count and statistics.median(known) <= 5)
    report("deaths told of others", len(false), not false)


def check_mass(options):
    known, count, alive_count = [], 33, 3
    turns = max(1, options.times // 10)
    for _ in range(turns):
        with Cluster(count, IDLE) as cluster:
            cluster.settle(120)
            stay, go = cluster.nodes[:alive_count], cluster.nodes[alive_count:]
            for node in go:
                node.signal(signal.SIGKILL)
            dropped = cluster.until_all(stay, lambda m: dead(m) == count - alive_count, 120)
            known += [dropped] if dropped is not None else []
            for node in go:
                node.process.wait()
    report(f"30 of {count} killed at once known to the others", spread(known),
           len(known) == turns and max(known) <= 10)


def usage(node):
    """(resident MiB, CPU seconds) of the process."""
    with open(f"/proc/{node.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20, ticks


def model(node):
    """The parameters, or None when it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{node.addresses['http']}/v1/model", timeout=5) as r:
            data = r.read()
    except (urllib.error.URLError, OSError):
        return None
    return parameters(data)


def farthest(nodes, x):
    """The largest ||x_i - x|| of the nodes."""
    models = list(asking.map(model, nodes))
    return max(math.inf if y is None or len(y) != len(x) else math.dist(x, y) for y in models)


def wreck(algorithm, count, turn):
    """(seconds until the survivors were at their optimum or None, the distance in the end)."""
    def keys(index):
        return WRECK_KEYS + [f"--optim.algorithm={algorithm}", f"--data.shard={index}/12"]

    with Cluster(12, keys, keeps=False, extra=WRECK_EXTRA) as cluster:
        if cluster.settle(30) is None or wait(lambda: min(rounds(cluster.nodes)) > 50, 30) is None:
            return None, math.inf
        time.sleep(0.1 * (turn % 10))  # from the way down to the end of it
        victims = random.Random(turn).sample(cluster.nodes, count)
        for node in victims:
            node.signal(signal.SIGKILL)
        others = cluster.but(*victims)
        goal = optimum([k for k, node in enumerate(cluster.nodes) if node not in victims])
        arrived = wait(lambda: farthest(others, goal) <= WRECK_DISTANCE, 10, 0.1)
        return arrived, farthest(others, goal)


def check_wreck(options):
    for algorithm in ("ed", "gt", "admm"):
        arrived, worst = [], 0
        for turn in range(options.times):
            seconds, distance = wreck(algorithm, 1 + turn % 3, turn)
            arrived += [seconds] if seconds is not None else []
            worst = max(worst, distance)
            if seconds is None:
                print(f"      {algorithm}, trial {turn}, {1 + turn % 3} killed: {distance:.3g}")
        report(f"{algorithm}: one to three of twelve killed, the others at their optimum after",
               f"{spread(arrived)}; at most {worst:.2g} off in the end",
               len(arrived) == options.times)


def check_many(options):
    count = options.nodes if options.nodes != 16 else 256
    with Cluster(count, IDLE) as cluster:
        agreed = cluster.until_counted(count, 120)
        time.sleep(5)
        before = [usage(node) for node in cluster.nodes]
        time.sleep(10)
        after = [usage(node) for node in cluster.nodes]
    share = sum(b[1] - a[1] for a, b in zip(before, after)) / 10 / count
    report(f"{count} daemons agree after the last start in", elapsed(agreed),
           agreed is not None and agreed <= 10)
    report("resident memory of a node", f"{statistics.median(m for m, _ in after):.1f} MiB", True)
    report("CPU of an idle node", f"{100 * share:.2f} %", True)


def main():
    checks = {"kill": check_kill, "busy": check_busy, "stop": check_stop,
              "partition": check_partition, "restart-all": check_restart_all, "join": check_join,
              "many": check_many, "clock": check_clock, "duplicate": check_duplicate,
              "silent": check_silent, "mass": check_mass, "wreck": check_wreck,
              "slow": check_slow}
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30, help="of busy loops")
    parser.add_argument("--cut", type=float, default=90, help="seconds that a partition lasts")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases of slow")
    parser.add_argument("check", nargs="+", choices=checks)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing is left behind
    for check in options.check:
        checks[check](options)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
