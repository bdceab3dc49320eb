#!/usr/bin/env python3
"""Half an hour of everything at once: a fleet with keys under churn, one member of which lies.

    tests/acceptance/storm.py [--nodes N] [--seconds S] [--every S] [--seed N] [--data DIR] [--json FILE]

Every few seconds one event of a fixed seed: a kill -9, a stop, a cut, a thin link, a restart, a leave, a
join under a new name, a revocation. The last of the N nodes is a valid member that sends lies in turn
(tests/tools/liar.cpp). Beside it, at the same time and on as many nodes, a calm run has neither churn nor
liar, and averages with the rule mean. Afterwards all is healed, and judged are

  exit codes and reports of sanitizers: none but 0, and -9 where this program killed
  accuracy of the honest nodes, beside that of the calm run; in less than ten minutes, in which neither has
    learned all, beside the calm run after as many steps
  descriptors and memory of those that were never ended, of the last third beside the second; not in less
    than ten minutes
  revoked names: no member counts them

Each node lies in a network namespace of its own, which needs root, iproute2, nftables and util-linux;
elsewhere the nodes are on loopback, and no link is cut or thin. STARLING in the environment names the
program when it is not the newest below build/, LIAR the one that lies.
"""
import argparse
import collections
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from storm_fleet import Fleet  # finds the package nodes

from nodes import namespaces as networks
from nodes.program import all_lies
from nodes.watch import failures, report, spread, wait

ACCURACY_POINTS = 1.5  # less than the calm run, at most
EARLY_ACCURACY_POINTS = 3  # the same while it still rises
FLAT = 0.05  # growth of descriptors and memory
LONG_S = 600  # before that a node still fills its tables
DOWN_SHARE = 0.25  # of the nodes, at most
MEET_S, HEAL_S, END_S = 120, 180, 90
REVOKED_GRACE_S = 30
FIRST_ROUNDS = 5


class Storm:
    """Draws the events. An event has a slot, a number of turns that it lasts, and an end."""

    KINDS = ("kill", "stop", "cut", "deafen", "thin", "restart", "leave", "join", "revoke")
    ON_WITNESSES = ("stop", "cut", "deafen", "thin")  # which go on afterwards

    def __init__(self, fleet, options):
        self.fleet, self.chance = fleet, random.Random(options.seed)
        self.most_down = int(DOWN_SHARE * options.nodes)
        self.kinds = [kind for kind in self.KINDS if kind in options.events]
        self.counts = collections.Counter()
        self.turn = 0

    def is_possible(self, kind):
        if kind in ("cut", "deafen", "thin") and not self.fleet.network:
            return False
        if kind == "join":
            return bool(self.targets(kind))
        if kind == "thin":
            return True
        return self.fleet.down() < self.most_down

    def targets(self, kind):
        if kind == "join":
            return [slot for slot in self.fleet.slots if slot.state == "free" and slot.until is None]
        return [slot for slot in self.fleet.slots
                if slot.state == "up" and slot.role != "liar" and slot.calm_turn < self.turn
                and (slot.role != "witness" or kind in self.ON_WITNESSES)]

    def step(self):
        self.turn += 1
        for slot in self.fleet.slots:
            if slot.until is not None and slot.until <= self.turn:
                self.end(slot)
        possible = [kind for kind in self.kinds if self.is_possible(kind)]
        if not possible:
            return "nothing"
        kind = self.chance.choice(possible)
        targets, lasts = self.targets(kind), self.chance.randint(1, 4)
        if not targets:
            return "nothing: all that may be hit are"
        slot = self.chance.choice(targets)
        self.counts[kind] += 1
        text = f"{kind} {slot.name or f'at place {slot.index}'}"
        slot.until = self.turn + lasts if kind != "join" else None
        slot.event, slot.calm_turn = kind, self.turn
        getattr(self.fleet, "begin_" + kind)(slot)
        return text + (f" -> {slot.name}" if kind == "join" else f", {lasts} turns")

    def end(self, slot):
        event, slot.until, slot.event, slot.calm_turn = slot.event, None, None, self.turn
        getattr(self.fleet, "end_" + event)(slot)

    def end_all(self):
        for slot in self.fleet.slots:
            if slot.until is not None:
                self.end(slot)


class Record:
    """What was seen of the fleet, a row for each look."""

    def __init__(self, fleet):
        self.fleet, self.begun = fleet, time.monotonic()
        self.rows = []
        self.naming = collections.Counter()
        self.told = collections.Counter()  # looks at which an honest node named the liar
        self.ghosts = {}  # revoked names that a node counted long after: name -> seconds

    def look(self):
        documents = self.fleet.ask_all("/v1/status")
        honest = {slot: d for slot, d in documents.items() if slot.role != "liar"}
        evaluations = [d["run"]["eval"] for d in honest.values() if d["run"].get("eval")]
        accuracies = [e["accuracy"] for e in evaluations if e.get("accuracy") is not None]
        row = {"time_s": round(time.monotonic() - self.begun, 1), "asked": len(documents),
               "accuracy": statistics.mean(accuracies) if accuracies else None,
               "worst": min(accuracies) if accuracies else None,
               "round": max((d["run"]["round"] for d in honest.values()), default=0),
               "steps": statistics.median([d["run"]["steps"] for slot, d in honest.items()
                                           if slot.role == "witness"] or [0]),
               "witnesses": self.witnesses()}
        self.rows.append(row)
        self.note_reasons(honest)
        self.note_ghosts()
        return row

    def witnesses(self):
        return {slot.name: {"memory_kib": slot.node.kib("VmRSS"), "descriptors": slot.descriptors()}
                for slot in self.fleet.slots if slot.role == "witness"}

    def note_reasons(self, documents):
        liar = next((slot.name for slot in self.fleet.slots if slot.role == "liar"), None)
        for document in documents.values():
            reasons = [text for text in document["node"]["reasons"]
                       if text.startswith(f"vectors of {liar} are not averaged")]
            self.told["looks"] += 1
            self.told["named"] += bool(reasons)
            for text in reasons:
                self.naming[re.sub(r"\d[\d,.]*", "#", text.replace(liar, "LIAR"))] += 1

    def note_ghosts(self):
        now = time.monotonic()
        for slot, document in self.fleet.ask_all("/v1/members").items():
            if now - slot.calm_since < REVOKED_GRACE_S:
                continue
            for member in document["members"]:
                since = self.fleet.revoked.get(member["name"])
                if since and member["state"] == "alive" and now - since > REVOKED_GRACE_S:
                    self.ghosts[member["name"]] = now - since


def growth(rows, figure):
    """By witness, the mean of the last third of the rows over that of the second."""
    third = len(rows) // 3
    found = {}
    for name in rows[0]["witnesses"]:
        counts = [row["witnesses"][name][figure] for row in rows]
        before, after = statistics.mean(counts[third:2 * third]), statistics.mean(counts[2 * third:])
        found[name] = {"before": before, "after": after, "growth": after / before - 1}
    return found


def run(options, network):
    """The figures of a run."""
    with tempfile.TemporaryDirectory(prefix="starling-storm-") as folder:
        with Fleet(network, options, folder) as fleet:
            met = fleet.settle(MEET_S)
            fleet.train(FIRST_ROUNDS, MEET_S)
            storm, record = Storm(fleet, options), Record(fleet)
            while (elapsed := time.monotonic() - record.begun) < options.seconds:
                text = "" if options.calm else storm.step()
                row = record.look()
                if not options.calm:
                    print(f"{elapsed:7.1f} s  {text:32} round {row['round']}, {row['asked']} answer, "
                          f"{percent(row['accuracy'])}", flush=True)
                fleet.look_after(storm)
                time.sleep(max(0, options.every * len(record.rows) - (time.monotonic() - record.begun)))
            storm.end_all()
            healed = fleet.settle(HEAL_S)
            trained = fleet.train(options.settled, HEAL_S)
            last = record.look()
            codes = fleet.stop(END_S)
            return {"met_s": met, "healed_s": healed, "trained_s": trained, "last": last,
                    "events": dict(storm.counts), "rows": record.rows, "wrong_ends": fleet.wrong_ends,
                    "exit_codes": codes, "reports": fleet.reports(), "ghosts": record.ghosts,
                    "back_s": fleet.back_s, "lost": fleet.lost, "leave_s": fleet.leave_s,
                    "out_s": fleet.out_s, "told": dict(record.told),
                    "naming": record.naming.most_common(20),
                    "memory": growth(record.rows, "memory_kib"),
                    "descriptors": growth(record.rows, "descriptors")}


def judge(options, found, calm):
    report("events", ", ".join(f"{kind} {n}" for kind, n in sorted(found["events"].items())) or "none", True)
    report("all meet, in s", found["met_s"], found["met_s"] is not None)
    report("all agree after the last event, in s", found["healed_s"], found["healed_s"] is not None)
    report(f"each trains {options.settled} rounds more, in s", found["trained_s"],
           found["trained_s"] is not None)
    report("ends that nobody asked for", found["wrong_ends"] or "none", not found["wrong_ends"])
    report("exit codes at the end", found["exit_codes"], set(found["exit_codes"]) <= {"0"})
    report("reports of sanitizers and failed assertions", found["reports"] or "none", not found["reports"])
    report("a node that starts again, to a round beyond the others'", spread(found["back_s"]),
           not found["lost"])
    for text in found["lost"]:
        print(f"      {text}")
    report("a leave", spread(found["leave_s"]), True)
    report("a revoked node is counted by no witness after", spread(found["out_s"]), not found["ghosts"])
    told = found["told"]
    report("looks at honest nodes that named the liar", f"{told['named']} of {told['looks']}", True)
    for text, count in found["naming"]:
        print(f"      {count:6} {text}")
    is_long = options.seconds >= LONG_S
    for figure in ("memory", "descriptors"):
        for name, one in found[figure].items():
            report(f"{figure} of {name}, third by third{'' if is_long else ' (too short to judge)'}",
                   f"{one['before']:.0f}, {one['after']:.0f}: {100 * one['growth']:+.1f} %",
                   not is_long or one["growth"] <= FLAT)
    judge_accuracy(options, found, calm)


def judge_accuracy(options, found, calm):
    if calm is None:
        return report("the calm run", "it failed", False)
    for row, other in sample(found["rows"], calm["rows"]):
        print(f"      {row['time_s']:7.0f} s  {accuracy_text(row)}; calm {accuracy_text(other)}")
    last, is_long = found["last"], options.seconds >= LONG_S
    other = calm["last"] if is_long else min([*calm["rows"], calm["last"]],
                                             key=lambda row: abs(row["steps"] - last["steps"]))
    less = [100 * (theirs - own) if theirs is not None and own is not None else 100
            for own, theirs in ((last["accuracy"], other["accuracy"]), (last["worst"], other["worst"]))]
    report(f"accuracy at the end, points below the calm run{'' if is_long else ' after as many steps'}",
           f"{less[0]:.2f}, of the worst node {less[1]:.2f} "
           f"({accuracy_text(last)}; calm {accuracy_text(other)})",
           max(less) <= ACCURACY_POINTS if is_long else less[0] <= EARLY_ACCURACY_POINTS)


def accuracy_text(row):
    return (f"{percent(row['accuracy'])}, worst {percent(row['worst'])}, {row['steps']:.0f} steps, "
            f"round {row['round']}")


def percent(share):
    return "-" if share is None else f"{100 * share:.2f} %"


def sample(rows, others, count=10):
    """Pairs of rows of about the same time."""
    for k in range(1, count + 1):
        row = rows[len(rows) * k // count - 1]
        yield row, min(others, key=lambda other: abs(other["time_s"] - row["time_s"]))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--every", type=float, default=5, help="seconds between two events")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", default=",".join(Storm.KINDS), help="names with commas, or none")
    parser.add_argument("--degree", type=int, default=6, help="of the graph, which is random")
    parser.add_argument("--data", help="folder of the files of MNIST; else the built-in digits")
    parser.add_argument("--mbit", type=float, default=8, help="of a link, each way")
    parser.add_argument("--rule", default="clip", help="exchange.aggregation of the run with the liar")
    parser.add_argument("--lies", help="names with commas; else all")
    parser.add_argument("--lie-seconds", type=int, default=60, help="of each, before the next")
    parser.add_argument("--settled", type=int, default=30, help="rounds after the last event")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--no-namespaces", action="store_true")
    parser.add_argument("--calm", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--beside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.events = [] if options.events == "none" else options.events.split(",")
    for kind in set(options.events).difference(Storm.KINDS):
        parser.error(f"{kind}: there are {', '.join(Storm.KINDS)}")
    if not options.calm:
        options.lies = options.lies or ",".join(all_lies())
    return options


def run_both(options, has_namespaces):
    """The calm run is a program beside this one."""
    with tempfile.TemporaryDirectory(prefix="starling-calm-") as folder:
        path = os.path.join(folder, "calm.json")
        calm = subprocess.Popen([sys.executable, *sys.argv, "--calm", "--json", path], start_new_session=True)
        sys.argv += ["--beside", path]
        options.beside = path
        try:
            return networks.run_inside() if has_namespaces else storm(options, None)
        finally:
            if calm.poll() is None:
                os.killpg(calm.pid, signal.SIGKILL)  # the session is of its processes alone
            calm.wait()


def storm(options, network):
    found = run(options, network)
    if not options.calm:
        wait(lambda: os.path.exists(options.beside), MEET_S + HEAL_S + END_S, 0.5)
        calm = json.loads(Path(options.beside).read_text()) if os.path.exists(options.beside) else None
        judge(options, found, calm)
        found["calm"] = calm
    if options.json:
        Path(options.json + ".new").write_text(json.dumps(found))
        os.rename(options.json + ".new", options.json)
    return 1 if failures else 0


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    lacking = "so it was asked" if options.no_namespaces else networks.why_not()
    if lacking and not options.calm:
        print(f"no links are cut or thin: {lacking}", flush=True)
    if networks.is_inside():
        with networks.Network(options.nodes + Fleet.SPARE) as network:
            network.limit(options.mbit * 1e6)
            return storm(options, network)
    if not options.calm:
        return run_both(options, not lacking)
    return storm(options, None) if lacking else networks.run_inside()


if __name__ == "__main__":
    sys.exit(main())
