#!/usr/bin/env python3
"""Ends runs of real processes and measures how: all nodes with one model, and how soon.

    tests/acceptance/end.py [--times T] [--data MNIST] CHECK ...

Checks: loopback kill phases bytes thin grow losses cut slow trainers. Each prints its figures; the
exit code is 1 when one is outside its bound. phases, bytes, thin, grow and losses need root,
iproute2, nftables and util-linux, else they are skipped; slow needs the files of MNIST, trainers
numpy. STARLING in the environment names the program when it is not the newest below build/.
"""
import argparse
import contextlib
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from ending_fleet import LIMIT_S, Fleet, is_one, outcome
from nodes import namespaces as networks
from nodes.program import PYTHON, ROOT, program
from nodes.watch import failures, report, wait

SMALL = ["--data.samples=2000", "--model.kind=softmax", "--optim.batch-size=16"]
PATIENCE_S = 10  # kSettlePatience and two seconds
TRAINER = """
import hashlib, sys, time
sys.path.insert(0, sys.argv[1])
import numpy, starling
goal, step_s = float(sys.argv[2]), float(sys.argv[3])
swarm = starling.attach(tensors={"w": numpy.zeros(1000, numpy.float32)}, wait=True, timeout=60)
steps = 0
while swarm.is_running:
    for _ in range(1000):
        swarm.tensors["w"] += (goal - swarm.tensors["w"]) / 8
        time.sleep(step_s)
        steps += 1
        if not swarm.step(loss=1.0):
            break
digest = hashlib.sha256(swarm.tensors["w"].tobytes()).hexdigest()[:16]
print(f"trained {steps} steps, ended with {digest}: {swarm.end_reason}", flush=True)
"""


# ---------------------------------------------------------------- on loopback

def check_loopback(options):
    for kind in ("ring", "random"):
        took, good = [], True
        for _ in range(options.times):
            with Fleet(range(16), [*SMALL, f"--topology.kind={kind}", "--stop.rounds=100",
                                   "--cluster.preset=local"]) as fleet:
                took.append(fleet.end_took())
                good = good and is_one(fleet.nodes)
        report(f"16 nodes on a {kind}: from the end to the last exit",
               f"median {statistics.median(took):.2f} s, worst {max(took):.2f} s of {len(took)}, "
               f"one model: {good}", good and statistics.median(took) <= 2)


def kill_one(fleet, victim, took, wrong):
    """Adds the seconds from its death to the last exit of the others, and what is wrong there."""
    victim.process.kill()
    victim.thread.join()
    others = [node for node in fleet.nodes if node is not victim]
    took.append(max(0, fleet.await_end(others, 60) - victim.ended))
    if not is_one(others):
        wrong.append(f"without {victim.name}: {outcome(others)}")


def check_kill(options):
    """At a random moment of the first 300 ms."""
    took, wrong = [], []
    for turn in range(options.times):
        chance = random.Random(turn)
        with Fleet(range(8), [*SMALL, "--model.kind=mlp", "--model.hidden=256",
                              "--topology.kind=ring", "--stop.rounds=30"]) as fleet:
            fleet.await_announcement()
            time.sleep(chance.uniform(0, 0.3))
            kill_one(fleet, chance.choice(fleet.nodes), took, wrong)
    report("kill -9 of one of 8 within 300 ms of the end: the others' last exit after it",
           f"worst {max(took):.2f} s of {len(took)}; wrong ends: {wrong}",
           not wrong and max(took) <= PATIENCE_S)


# ---------------------------------------------------------------- in namespaces

def first_in(fleet, phase):
    """The first node that is found in the phase."""
    found = []

    def look():
        found.extend(n for n in fleet.nodes if n.look().get("node", {}).get("state") == phase)
        return found
    wait(look, LIMIT_S, 0.002)
    return found[0]


def check_phases(options, network):
    """Each phase takes a while on a thin link."""
    network.limit(10e6)
    for phase in ("ending", "settling", "sealing"):
        took, wrong = [], []
        for _ in range(options.times):
            with Fleet(range(6), ["--data.samples=2000", "--model.kind=mlp", "--model.hidden=128",
                                  "--topology.kind=ring", "--stop.rounds=5"], network) as fleet:
                kill_one(fleet, first_in(fleet, phase), took, wrong)
        report(f"kill -9 of one of 6 in {phase}: the others' last exit after it",
               f"worst {max(took):.2f} s of {len(took)}; wrong ends: {wrong}",
               not wrong and max(took) <= PATIENCE_S)


def check_bytes(options, network):
    network.limit(40e6)
    for kind, edges in (("ring", 6), ("complete", 15)):
        with Fleet(range(6), ["--data.samples=2000", "--model.kind=mlp", "--model.hidden=2000",
                              f"--topology.kind={kind}", "--stop.rounds=5"], network) as fleet:
            begun = fleet.await_announcement()
            before = network.sent_bytes()
            took = fleet.await_end() - begun
            sent = network.sent_bytes() - before
            vector = len(fleet.nodes[0].parameters())
            report(f"bytes from the end on, {kind} of 6",
                   f"{sent / vector / edges:.2f} vectors of {vector} bytes an edge, {took:.1f} s",
                   sent <= 4 * vector * edges and is_one(fleet.nodes))


def check_thin(options, network):
    network.limit(10e6)
    took, good = [], True
    for _ in range(options.times):
        with Fleet(range(6), [*SMALL, "--topology.kind=ring", "--stop.rounds=50"],
                   network) as fleet:
            took.append(fleet.end_took())
            good = good and is_one(fleet.nodes)
    report("6 nodes at 10 Mbit/s, 31 KB: from the end to the last exit",
           f"median {statistics.median(took):.2f} s, worst {max(took):.2f} s, one model: {good}",
           good and max(took) <= 3)


def apart(fleet, spreads, ended):
    """Collects how far apart the rounds of all nodes are until it is told to end."""
    while not ended.wait(0.25):
        documents = [node.look() for node in fleet.nodes if not node.ended]
        known = [d["run"]["round"] for d in documents
                 if d and d["node"]["state"] in ("training", "waiting", "mixing", "computing")]
        if known:
            spreads.append((max(known) - min(known), min(known)))


def grown(network, first, later, options):
    """Those of `later` join at round 8. (outcome, one model, farthest apart once all had joined)"""
    count = len(first) + len(later)

    def keys(index):
        return ["--data.partition=by-label", f"--data.shard={index}/{count}", "--model.kind=mlp",
                f"--model.hidden={options.hidden}", f"--stop.rounds={options.rounds}",
                "--optim.algorithm=ed", "--topology.kind=ring"]

    with Fleet(first, keys, network) as fleet:
        if later:
            fleet.await_round(8)
            new = fleet.add(later)
            wait(lambda: min(fleet.rounds(new)) > 8, LIMIT_S)
        spreads, ended = [(0, 0)], threading.Event()
        thread = threading.Thread(target=apart, args=(fleet, spreads, ended))
        thread.start()
        try:
            fleet.await_end()
        finally:
            ended.set()
            thread.join()
        accuracy = [n.last().get("run", {}).get("eval", {}).get("accuracy", 0) for n in fleet.nodes]
        far = [number for spread, number in spreads if spread > 2]
        told = f"{len(far)} of {len(spreads)} looks beyond 2, at rounds {far[:1]} to {far[-1:]}"
        return (f"{outcome(fleet.nodes)}, rounds within {max(spreads)[0]} ({told})",
                is_one(fleet.nodes), max(spreads)[0], min(accuracy))


def check_grow(options, network):
    """Of six every second was there before, of more every fifth."""
    network.limit(options.mbit * 1e6)
    count, limit = options.nodes, f"{options.mbit:.0f} Mbit/s"
    first = list(range(0, count, 2 if count <= 6 else 5))
    later = [k for k in range(count) if k not in first]
    figures, good, spread, accuracy = grown(network, first, later, options)
    report(f"{len(first)} nodes become {count} at {limit}", figures, good and spread <= 2)
    figures, good, _, together = grown(network, range(count), [], options)
    report(f"{count} nodes from the start on", figures, good)
    report("who joins costs no accuracy", f"{accuracy:.4f} and {together:.4f}",
           accuracy >= together - 0.01)


def check_losses(options, network):
    network.limit(40e6)
    cases = (("path of three, its middle is killed", "path", 3, [1], signal.SIGKILL),
             ("star of six, its hub is killed", "star", 6, [0], signal.SIGKILL),
             ("ring of six, half is killed", "ring", 6, [0, 2, 4], signal.SIGKILL),
             ("ring of six, half leaves", "ring", 6, [1, 3, 5], signal.SIGTERM))
    for name, kind, count, victims, number in cases:
        keys = ["--data.samples=2000", "--model.kind=mlp", "--model.hidden=128",
                f"--topology.kind={kind}", f"--stop.rounds={options.rounds}"]
        with Fleet(range(count), keys, network) as fleet:
            fleet.await_round(options.rounds // 4)
            for k in victims:
                fleet.nodes[k].process.send_signal(number)
            rest = [node for k, node in enumerate(fleet.nodes) if k not in victims]
            begun = fleet.await_announcement()
            took = fleet.await_end(rest) - begun
            report(name, f"{outcome(rest)}, the end took {took:.1f} s", is_one(rest))


# ---------------------------------------------------------------- one that is late

def check_cut(options):
    """What a node says that was stopped while the others ended and went."""
    with Fleet(range(4), [*SMALL, "--topology.kind=ring", "--stop.rounds=100000"]) as fleet:
        fleet.await_round(50)
        late, rest = fleet.nodes[0], fleet.nodes[1:]
        late.process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        for node in rest:
            subprocess.run([program(), "stop", "--api", f"http://{node.addresses['http']}"],
                           capture_output=True, check=True)
        fleet.await_end(rest)
        late.process.send_signal(signal.SIGCONT)
        found = wait(lambda: late.ended, 60)
        said = late.look().get("summary") if found is None else late.last_words().splitlines()[-1]
        report("stopped while the others ended and went",
               f"exit code {late.process.returncode} after {found or 60:.1f} s: {said}",
               found is not None and late.process.returncode not in (0, 2, 3))


# ---------------------------------------------------------------- a slow node

SLOW_ROWS = (("rounds", "ring", "ed"), ("async", "ring", "ed"), ("ssp", "ring", "ed"),
             ("matching", "ring", "ed"), ("pairwise", "ring", "pairwise-ed"),
             ("pairwise", "ring", "adpsgd"), ("allreduce", "complete", "ed"),
             ("async", "ring", "gt"), ("async", "ring", "admm"))


class Ninth:
    """Lets it run for a ninth of the time, in turns of 90 ms, until the end of the block."""

    RUN_S, STAND_S = 0.01, 0.08

    def __init__(self, node):
        self.node, self.ending = node, threading.Event()
        self.thread = threading.Thread(target=self.turn)

    def turn(self):
        while not self.ending.is_set():
            self.node.signal(signal.SIGSTOP)
            time.sleep(self.STAND_S)
            self.node.signal(signal.SIGCONT)
            time.sleep(self.RUN_S)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def accuracies(nodes):
    """At their last evaluations, in order."""
    known = [n.look().get("run", {}).get("eval", {}).get("accuracy") for n in nodes]
    return sorted(one for one in known if one is not None) or [0]


def check_slow(options):
    """MNIST, one digit a node; all are equal, or one is stopped for 8/9 of the time."""
    for schedule, kind, algorithm in SLOW_ROWS:
        if options.row and f"{schedule}/{algorithm}" not in options.row:
            continue
        is_sequence = schedule == "matching"
        way = f"--{'topology.sequence' if is_sequence else 'exchange.schedule'}={schedule}"

        def keys(index):
            return ["--data.source=idx", f"--data.path={options.data}", "--data.partition=by-label",
                    f"--data.shard={index}/10", "--model.kind=softmax", f"--topology.kind={kind}",
                    f"--optim.algorithm={algorithm}", way,
                    "--optim.learning-rate=0.3", "--optim.batch-size=64", "--stop.rounds=600",
                    "--eval.every=100", "--cluster.preset=local"]
        for is_slow in (False, True):
            with Fleet(range(10), keys) as fleet:
                fleet.await_round(1)
                with contextlib.ExitStack() as stack:
                    if is_slow:
                        stack.enter_context(Ninth(fleet.nodes[3]))
                    begun = fleet.await_announcement()
                    before = accuracies(fleet.nodes)
                    took = fleet.await_end() - begun
                known = [n.last()["run"].get("eval", {}).get("accuracy", 0) for n in fleet.nodes]
                report(f"{schedule}, {algorithm}, {'one slow' if is_slow else 'all equal'}",
                       f"{outcome(fleet.nodes)}, before by themselves {before[0]:.4f} to "
                       f"{before[-1]:.4f}, the end took {took:.1f} s",
                       is_one(fleet.nodes) and min(known) >= 0.912)


# ---------------------------------------------------------------- trainers

def check_trainers(options):
    """Four, one of which is slow: a loop of its own ends in its middle."""
    for schedule, slow_s, rounds in (("rounds", 0.05, 10), ("async", 0.05, 20), ("async", 0.5, 5)):
        def keys(index):
            step_s = slow_s if index == 1 else 0.005
            command = f"{PYTHON} {script} {ROOT}/clients/python {index} {step_s}"
            return ["--model.kind=external", "--optim.algorithm=dpsgd", f"--trainer={command}",
                    "--optim.local-steps=20", f"--trainer.socket={folder}/{index}.sock",
                    f"--exchange.schedule={schedule}", f"--stop.rounds={rounds}",
                    "--topology.kind=complete"]
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "trainer.py")
            with open(script, "w") as stream:
                stream.write(TRAINER)
            with Fleet(range(4), keys) as fleet:
                took = fleet.end_took()
                ends = [re.findall(r"trained (\d+) steps, ended with (\w+)", node.words())
                        for node in fleet.nodes]
                texts = {text for end in ends for _, text in end}
                steps = [int(count) for end in ends for count, _ in end]
                report(f"trainers of 20 local steps, one with {20 * slow_s:g} s, {schedule}",
                       f"{outcome(fleet.nodes)}, the end took {took:.1f} s, steps {steps}, "
                       f"tensors {', '.join(sorted(texts))}",
                       is_one(fleet.nodes) and len(texts) == 1 and len(steps) == 4)


# ---------------------------------------------------------------- the program

CHECKS = {"loopback": (check_loopback, 0), "kill": (check_kill, 0), "phases": (check_phases, 6),
          "bytes": (check_bytes, 6), "thin": (check_thin, 6), "grow": (check_grow, 15),
          "losses": (check_losses, 6), "cut": (check_cut, 0),
          "slow": (check_slow, 0), "trainers": (check_trainers, 0)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="+", choices=CHECKS, metavar="CHECK")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--hidden", type=int, default=2000)
    parser.add_argument("--mbit", type=float, default=40, help="of the links in grow")
    parser.add_argument("--nodes", type=int, default=6, help="at the end of grow")
    parser.add_argument("--row", nargs="*", help="of slow, as async/ed")
    parser.add_argument("--data", default=os.path.join(ROOT.parent, "shared/data/mnist"),
                        help="a folder with the files of MNIST")
    options = parser.parse_args()
    needs_network = [CHECKS[name][1] for name in options.checks if CHECKS[name][1]]
    if needs_network and not networks.is_inside():
        return networks.run_inside_or_skip()
    for name in options.checks:
        check, nodes = CHECKS[name]
        if nodes:
            with networks.Network(nodes) as network:
                check(options, network)
        else:
            check(options)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
