"""The fleet of storm.py: nodes with keys, and what is done to them."""
import dataclasses
import glob
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import namespaces as networks  # noqa: E402
from nodes.keys import cluster_key, ticket  # noqa: E402
from nodes.namespaces import Place  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.program import Failure, liar_program, program, run  # noqa: E402
from nodes.watch import asking, wait  # noqa: E402

WITNESSES = 4  # are never ended
SPARE_PLACES = 2  # for those who join beyond the first ones
BACK_S = 90
THIN_BITS_PER_S = 1e6
CUT = """
table inet storm {{
  chain input {{
    type filter hook input priority 0
    iifname "eth0" drop
  }}
  chain output {{
    type filter hook output priority 0
    {output}
  }}
}}
"""
REPORT = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|check failed|"
                    r"terminate called|assertion", re.I)



class Slot:
    """A place for a node: a namespace, or an address of loopback."""

    def __init__(self, index, role):
        self.index, self.role = index, role  # witness, ordinary or liar
        self.name, self.node, self.former = None, None, None  # the former node is one that has ended
        self.state = "free"  # free up killed stopped cut thin ending revoked
        self.until, self.event = None, None  # of what is done to it
        self.calm_since = time.monotonic()  # nothing was done to it since
        self.calm_turn = 0  # the same in turns of the storm

    @property
    def process(self):
        return self.node.process if self.node else None

    def is_asked(self):
        return self.state in ("up", "thin") and self.node.addresses

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Fleet:
    SPARE = SPARE_PLACES

    def __init__(self, network, options, folder):
        self.network, self.options, self.folder = network, options, folder
        self.names, self.revoked = 0, {}
        self.wrong_ends, self.lost = [], []
        self.back_s, self.leave_s, self.out_s = [], [], []
        self.threads = []
        self.key = cluster_key(folder)
        roles = ["witness"] * WITNESSES + ["ordinary"] * (options.nodes - WITNESSES - 1)
        roles += ["ordinary" if options.calm else "liar"] + ["ordinary"] * SPARE_PLACES
        self.slots = [Slot(index, role) for index, role in enumerate(roles)]

    def __enter__(self):
        try:
            self.start(self.slots[0], "founder")
            self.slots[0].node.await_ready()
            for slot in self.slots[1:self.options.nodes]:
                self.start(slot, "founder")
            for slot in self.slots[1:self.options.nodes]:
                slot.node.await_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for slot in self.slots:
            if slot.node:
                slot.node.kill()
        for thread in self.threads:
            thread.join()

    def path(self, name):
        return os.path.join(self.folder, name)

    # ---- processes

    def settings(self):
        options = self.options
        data = ["--data.source=digits"]
        if options.data:
            data = ["--data.source=idx", f"--data.path={options.data}"]
        rule = "mean" if options.calm else options.rule
        return [*data, "--model.kind=softmax", "--optim.algorithm=dpsgd", "--optim.batch-size=32",
                f"--optim.learning-rate={0.1 if options.data else 0.5}",
                f"--exchange.aggregation={rule}", "--topology.kind=random",
                f"--topology.degree={options.degree}", "--eval.every=20",
                "--checkpoint.every=10s", "--node.log=warning"]

    def start(self, slot, who):
        """`who`: "again" the node that was there, a "new" one, or a "founder" of the first model."""
        if who == "again":
            slot.node = slot.node or slot.former
            slot.node.start()
        else:
            slot.name = f"node-{self.names}"
            self.names += 1
            joins = [other.node.addresses["control"] for other in self.slots[:WITNESSES]
                     if other.node and other.node.addresses and other is not slot]
            # Of the first node nobody is there to be joined.
            path = ticket(self.key, slot.name, self.path(f"{slot.name}.ticket"), joins or ["127.0.0.1:9"])
            how = {} if slot.role != "liar" else {"command": [liar_program()], "environment": {
                "LIES": self.options.lies, "LIE_SECONDS": str(self.options.lie_seconds)}}
            slot.node = Node(
                slot.name, f"--ticket-file={path}", f"--node.data-dir={self.path(slot.name)}", *self.settings(),
                *([f"--cluster.expect={self.options.nodes}"] if who == "founder" else []),
                log=self.path(f"{slot.name}.log"), **how,
                place=dataclasses.replace(self.network.place(slot.index), port=0) if self.network else Place())
        slot.state, slot.calm_since = "up", time.monotonic()

    def start_in_background(self, slot, who):
        """And measures how long it takes to a round beyond those of the others."""
        begun, goal = time.monotonic(), self.round()
        self.start(slot, who)
        node, process = slot.node, slot.process

        def watch():
            try:
                node.await_ready()
            except Failure as error:
                return slot.process is not process or slot.state != "up" or self.lost.append(str(error))
            found = wait(lambda: slot.process is not process or slot.state != "up" or
                         node.round() > goal, BACK_S, 0.2)
            if found is None:
                self.lost.append(f"{slot.name} is not beyond round {goal} after {BACK_S} s")
            elif slot.process is process and slot.state == "up":
                self.back_s.append(round(time.monotonic() - begun, 2))

        self.threads.append(threading.Thread(target=watch))
        self.threads[-1].start()

    def is_wrong(self, slot, wanted):
        code = slot.process.returncode
        if code not in wanted:
            self.wrong_ends.append(f"{slot.name}: exit code {code}, {slot.node.last_words()}")

    def look_after(self, storm):
        """Of those that end, and those that ended although nobody asked."""
        for slot in self.slots:
            if slot.process is None or slot.process.poll() is None:
                continue
            if slot.state == "ending":
                self.leave_s.append(round(time.monotonic() - slot.told, 2))
                self.is_wrong(slot, {0})
                slot.state, slot.former, slot.node = "free", slot.node, None
            elif slot.state not in ("free", "killed"):
                self.is_wrong(slot, set())
                slot.state, slot.former, slot.node = "free", slot.node, None

    def tell_end(self, slot):
        slot.state, slot.told = "ending", time.monotonic()
        slot.process.send_signal(signal.SIGTERM)

    def await_end(self, slot):
        """Of one that was told to end."""
        if slot.process is None:
            return
        try:
            slot.process.wait(60)
        except subprocess.TimeoutExpired:
            self.wrong_ends.append(f"{slot.name} does not end")
            slot.node.kill()
        self.look_after(None)

    # ---- questions

    def ask_all(self, resource, slots=None):
        slots = [slot for slot in slots or self.slots if slot.is_asked()]
        answers = list(asking.map(lambda slot: slot.node.look(resource), slots))
        return {slot: answer for slot, answer in zip(slots, answers) if answer}

    def round(self):
        """The furthest of the witnesses."""
        documents = self.ask_all("/v1/status", self.slots[:WITNESSES])
        return max((d["run"]["round"] for d in documents.values()), default=0)

    def live(self):
        return [slot for slot in self.slots if slot.state != "free"]

    def down(self):
        """Nodes that are not there, or that the others do not hear."""
        lacking = max(0, self.options.nodes - len(self.live()))
        return lacking + sum(slot.state in ("killed", "stopped", "cut", "revoked", "ending")
                             for slot in self.slots)

    def settle(self, seconds):
        """Seconds until all count all as alive, or None."""
        def is_settled():
            self.look_after(None)
            live = self.live()
            answers = self.ask_all("/v1/status", live)
            return len(answers) == len(live) and all(d["members"]["alive"] == len(live)
                                                     for d in answers.values())
        return wait(is_settled, seconds, 0.25)

    def train(self, rounds, seconds):
        """Seconds until each has so many rounds more, and an evaluation of one of them."""
        begin = {slot: d["run"]["round"] for slot, d in self.ask_all("/v1/status").items()}

        def is_done():
            answers = self.ask_all("/v1/status")
            return all(slot in answers and
                       answers[slot]["run"].get("eval", {}).get("round", 0) >= begin[slot] + rounds
                       for slot in begin if slot.state != "free")
        return wait(is_done, seconds, 0.25)

    def stop(self, seconds):
        live = self.live()
        for slot in live:
            slot.process.send_signal(signal.SIGTERM)
        for slot in live:
            try:
                slot.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.wrong_ends.append(f"{slot.name} does not end")
        counts = {}
        for slot in live:
            code = str(slot.process.returncode)
            counts[code] = counts.get(code, 0) + 1
        return counts

    def reports(self):
        found = []
        for path in glob.glob(self.path("*.log")):
            with open(path, errors="replace") as stream:
                found += [f"{os.path.basename(path)}: {line.strip()}" for line in stream
                          if REPORT.search(line)]
        return found[:20]

    # ---- what is done to a node, and its end

    def begin_kill(self, slot):
        slot.state = "killed"  # before it ends, for those who watch its start
        slot.node.kill()

    def end_kill(self, slot):
        self.start_in_background(slot, "again")

    @staticmethod
    def turn(slot, state):
        slot.state = state if slot.process else "free"
        slot.calm_since = time.monotonic()

    def begin_stop(self, slot):
        slot.process.send_signal(signal.SIGSTOP)
        self.turn(slot, "stopped")

    def end_stop(self, slot):
        if slot.process:
            slot.process.send_signal(signal.SIGCONT)
        self.turn(slot, "up")

    def begin_cut(self, slot, output='oifname "eth0" drop'):
        networks.run(*self.network.prefix(slot.index), "nft", "-f", "-", text=CUT.format(output=output))
        self.turn(slot, "cut")

    def end_cut(self, slot):
        networks.run(*self.network.prefix(slot.index), "nft", "delete", "table", "inet", "storm")
        self.turn(slot, "up")

    def begin_deafen(self, slot):
        self.begin_cut(slot, "")

    def end_deafen(self, slot):
        self.end_cut(slot)

    def begin_thin(self, slot):
        self.network.limit(THIN_BITS_PER_S, [slot.index])
        self.turn(slot, "thin")

    def end_thin(self, slot):
        self.network.limit(self.options.mbit * 1e6, [slot.index])
        self.turn(slot, "up")

    def begin_restart(self, slot):
        self.tell_end(slot)

    def end_restart(self, slot):
        self.await_end(slot)
        self.start_in_background(slot, "again")

    def begin_leave(self, slot):
        self.tell_end(slot)

    def end_leave(self, slot):
        self.await_end(slot)
        self.start_in_background(slot, "new")

    def begin_join(self, slot):
        self.start_in_background(slot, "new")

    def begin_revoke(self, slot):
        name, begun = slot.name, time.monotonic()
        teller = next(witness for witness in self.slots if witness.is_asked())
        run(*teller.node.place.prefix, program(), "revoke", name, "--cluster-key", self.key, "--api", teller.node.url)
        self.revoked[name] = begun
        slot.state = "revoked"

        def is_out():
            answers = self.ask_all("/v1/members", self.slots[:WITNESSES]).values()
            return answers and not any(member["name"] == name and member["state"] == "alive"
                                       for document in answers for member in document["members"])

        def watch():
            found = wait(is_out, BACK_S, 0.2)
            if found is not None:
                self.out_s.append(round(time.monotonic() - begun, 2))
            else:
                self.lost.append(f"{name} is revoked, and a witness counts it")

        self.threads.append(threading.Thread(target=watch))
        self.threads[-1].start()

    def end_revoke(self, slot):
        self.tell_end(slot)
        self.end_leave(slot)
