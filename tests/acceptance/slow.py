"""A slow node among real processes, for the check `slow` of churn.py.

The nodes solve the reference problem (docs/algorithms.md), whose optimum every node knows, in
rounds. The last node is slow: it runs for a share of each period, is stopped for the rest, and has
the lowest priority beside two busy loops in the first seconds. Then something happens to it or to
its neighbour. All must end in the optimum of all data, and D-PSGD, which has a bias, where the
simulator ends without a slow node.
"""
import contextlib
import json
import math
import signal
import subprocess
import sys
import threading
import time

from fleet import Cluster, PROGRAM, ROOT, asking, elapsed, report, rounds, wait

NETWORKS = (("ring", 8), ("grid", 12))
QUICK_NETWORKS = (("ring", 4), ("grid", 6))
ALGORITHMS = ("ed", "gt", "admm", "dpsgd")
DISTANCE = 1e-9
FLOOR_SHARE = 0.01  # of its floor that dpsgd may be off
FLOOR_ROUNDS = 3000
BEGIN_ROUND = 40  # on the way down
BUSY_S = 3
STAYS_S = 2
LOOK_S = 0.25
# How much slower: for how long it runs and stands, again and again.
DUTIES = {10: (0.002, 0.018), 50: (0.002, 0.098)}


def arguments(kind, count, algorithm):
    return ["--data.source=reference", f"--data.reference.n={count}", "--data.reference.d=8",
            "--data.reference.m=15", "--data.reference.h=1.5", "--data.reference.noise=0.2",
            f"--topology.kind={kind}", f"--optim.algorithm={algorithm}", "--model.kind=linear",
            "--model.precision=f64", "--optim.learning-rate=0.2", "--optim.batch-size=0",
            "--optim.admm-penalty=0.5"]


def floor(kind, count, algorithm):
    """Root mean square distance from the optimum in which the simulator ends."""
    if algorithm != "dpsgd":
        return 0.0
    done = subprocess.run([PROGRAM, "simulate", "-n", str(count), "--json", "--eval.every=100",
                           f"--stop.rounds={FLOOR_ROUNDS}", *arguments(kind, count, algorithm)],
                          cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return root_mean_square([n["distance_to_optimum"] for n in json.loads(done.stdout)["nodes"]])


def root_mean_square(values):
    return math.sqrt(sum(value * value for value in values) / len(values))


class Throttle:
    """Lets a process run for a share of the time, until the end of the block."""

    def __init__(self, node, factor):
        self.node = node
        self.run_s, self.stand_s = DUTIES.get(factor, (0, 0))
        self.ran_s = 0.0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.turn)

    def turn(self):
        while not self.ending.is_set():
            self.node.signal(signal.SIGSTOP)
            time.sleep(self.stand_s)
            self.node.signal(signal.SIGCONT)
            began = time.monotonic()
            time.sleep(self.run_s)
            self.ran_s += time.monotonic() - began

    def __enter__(self):
        self.began = time.monotonic()
        if self.stand_s:
            self.thread.start()
        return self

    def __exit__(self, *_):
        if self.stand_s:
            self.ending.set()
            self.thread.join()

    def share(self):
        """Of the time in which the process was not stopped."""
        return self.ran_s / (time.monotonic() - self.began) if self.stand_s else 1.0


@contextlib.contextmanager
def busy_loops(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def distances(cluster):
    """Of all nodes, each as it says; infinite where it has no model, or knows of fewer members."""
    def of(node):
        document = node.get("/v1/status")
        if not document or document["members"]["alive"] != len(cluster.nodes):
            return math.inf
        return document["run"].get("distance_to_optimum", math.inf)
    return list(asking.map(of, cluster.nodes))


def is_arrived(cluster, goal):
    found = distances(cluster)
    if goal:
        return abs(root_mean_square(found) - goal) <= FLOOR_SHARE * goal
    return max(found) <= DISTANCE


def stop(cluster, seconds):
    slow = cluster.nodes[-1]
    slow.signal(signal.SIGSTOP)
    time.sleep(seconds)
    slow.signal(signal.SIGCONT)


def restart_neighbor(cluster, after_s):
    neighbor = cluster.nodes[-2]
    neighbor.kill()
    time.sleep(after_s)
    neighbor.start(cluster.seeds())
    neighbor.await_ready()


# What happens, how much slower the node is, and whether it joins late.
CASES = (
    ("slow from the start", 10, False, None),
    ("slow from the start", 50, False, None),
    ("joins after 5 s", 10, True, None),
    ("stopped for 3 s", 1, False, lambda cluster: stop(cluster, 3)),
    ("stopped for 3 s", 10, False, lambda cluster: stop(cluster, 3)),
    ("stopped for 10 s", 1, False, lambda cluster: stop(cluster, 10)),
    ("stopped for 10 s", 10, False, lambda cluster: stop(cluster, 10)),
    ("a neighbour killed and restarted at once", 10, False, lambda c: restart_neighbor(c, 0)),
    ("a neighbour killed and restarted after 5 s", 10, False, lambda c: restart_neighbor(c, 5)),
)
QUICK_CASES = tuple(CASES[k] for k in (0, 2, 6, 7))


def start(kind, count, algorithm, is_late):
    """All but the last node, which begin without it where it is late."""
    def keys(index):
        return [*arguments(kind, count, algorithm), f"--data.shard={index}/{count}",
                "--stop.rounds=0", "--stop.stay=true"]

    def place(index):
        return "127.0.0.1", ["nice", "-n", "19"] if index == count - 1 else []

    extra = ["--cluster.preset=local", f"--cluster.expect={count - is_late}"]
    return Cluster(count - 1, keys, place, extra, keeps=False), keys


class Pace:
    """How long a round takes from here on."""

    def __init__(self, cluster):
        self.node = cluster.nodes[0]
        self.began, self.first = time.monotonic(), rounds([self.node])[0]

    def round_ms(self):
        done = rounds([self.node])[0] - self.first
        return 1000 * (time.monotonic() - self.began) / max(1, done)


def trial(network, algorithm, goal, case):
    """(seconds to the goal or None, the farthest at last, milliseconds of a round, share run)"""
    (kind, count), (_, factor, is_late, mishap) = network, case
    cluster, keys = start(kind, count, algorithm, is_late)
    with cluster:
        time.sleep(5 if is_late else 0)
        slow = cluster.add(count - 1, keys)
        with Throttle(slow, factor) as throttle:
            slow.await_ready()
            with busy_loops(2):
                time.sleep(BUSY_S if mishap is None else 0)
            wait(lambda: min(rounds(cluster.nodes)) > BEGIN_ROUND, 30)
            share = throttle.share()
            if mishap is None or "neighbour" in case[0]:
                return finish(cluster, goal, factor, mishap, share)
        mishap(cluster)
        with Throttle(slow, factor):
            return finish(cluster, goal, factor, None, share)


def finish(cluster, goal, factor, mishap, share):
    if mishap:
        mishap(cluster)
    pace = Pace(cluster)
    arrived = wait(lambda: is_arrived(cluster, goal), 60 + 3 * factor, LOOK_S)
    time.sleep(STAYS_S)
    stays = arrived is not None and is_arrived(cluster, goal)
    found = distances(cluster)
    off = abs(root_mean_square(found) / goal - 1) if goal else max(found)
    return arrived if stays else None, off, pace.round_ms(), share


def check_slow(options):
    for network in QUICK_NETWORKS if options.quick else NETWORKS:
        for algorithm in ALGORITHMS:
            goal = floor(*network, algorithm)
            for case in QUICK_CASES if options.quick else CASES:
                arrived, off, round_ms, share = trial(network, algorithm, goal, case)
                what = "its floor" if goal else "the optimum"
                pace = f"runs {share:.1%} of the time" if share < 1 else "of usual speed"
                report(f"{algorithm} on {network[0]}({network[1]}), a node {pace}, {case[0]}: "
                       f"all at {what} after",
                       f"{elapsed(arrived)}; {off:.2g} off; a round took {round_ms:.2f} ms",
                       arrived is not None)
