#!/usr/bin/env python3
"""Types what docs/running.md says into three network namespaces.

    tests/acceptance/several_machines.py

The page's my.ini, its firewall and its commands are taken from it as they stand. Then all three have
to be members, to train, and to leave with exit code 0. With the ports of the third shut they have to
train too, and the doctor of the first has to name one of these ports. Needs root, iproute2, nftables
and util-linux, else it is skipped. STARLING in the environment names the program when it is not the
newest below build/.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import namespaces as networks  # noqa: E402
from nodes.program import ROOT, program  # noqa: E402
from nodes.watch import DEADLINE_S, failures, report, wait  # noqa: E402

NODES = 3


def blocks(page):
    """The page's code blocks by language, in order."""
    found = {}
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```", page, re.M | re.S):
        found.setdefault(language, []).append(text)
    return found


class Machines:
    def __init__(self, network, program, folder):
        self.network, self.program, self.folder = network, program, folder
        self.processes = {}

    def shell(self, k, line):
        command = re.sub("^starling ", self.program + " ", line)
        return ["nsenter", f"--net={self.network.path(k)}", "sh", "-c", "exec " + command]

    def type(self, k, line):
        return subprocess.run(self.shell(k, line), cwd=self.folder, capture_output=True, text=True)

    def start(self, k, line):
        log = open(os.path.join(self.folder, f"{k}.log"), "w")
        self.processes[k] = subprocess.Popen(self.shell(k, line), cwd=self.folder, stderr=log)

    def ask(self, k, command):
        done = self.type(k, f"starling {command} --json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def alive(self, k):
        members = self.ask(k, "members").get("members", [])
        return sum(member["state"] == "alive" for member in members)

    def round(self, k):
        return self.ask(k, "status").get("run", {}).get("round", 0)

    def doctor_fails(self, k, check, words):
        done = self.type(k, "starling doctor --json")
        findings = json.loads(done.stdout)["findings"] if done.stdout else []
        return any(finding["severity"] == "FAIL" and finding["check"] == check
                   and words in finding["seen"] for finding in findings)

    def end(self):
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(20) for process in self.processes.values()]
        self.processes = {}
        return codes


def eventually(claim):
    return wait(claim, DEADLINE_S, 0.1) is not None


def main():
    if not networks.is_inside():
        return networks.run_inside_or_skip()
    with open(os.path.join(ROOT, "docs", "running.md")) as stream:
        page = blocks(stream.read())
    keys, firewall, runs, looks = ([line for line in text.splitlines() if line]
                                   for text in page["sh"])
    with tempfile.TemporaryDirectory() as folder, networks.Network(NODES) as network:
        with open(os.path.join(folder, "my.ini"), "w") as stream:
            # Longer than the page's run, so that it is under way when it is looked at.
            stream.write(page["ini"][0].replace("rounds = 2000", "rounds = 2000000"))
        machines = Machines(network, program(), folder)
        for k in range(NODES):
            networks.run("ip", "-n", f"node-{k}", "addr", "add", f"10.0.0.{k + 1}/24",
                         "dev", "eth0")
            for line in firewall:
                done = machines.type(k, line)
                report(f"machine {k + 1}", line + done.stderr, done.returncode == 0)
        for line in keys:
            done = machines.type(0, line)
            report("keys", line + done.stderr * done.returncode, done.returncode == 0)
        for k, line in enumerate(runs):
            machines.start(k, line)
        met = eventually(lambda: all(machines.alive(k) == NODES for k in range(NODES)))
        report("members", f"{[machines.alive(k) for k in range(NODES)]} alive", met)
        trains = eventually(lambda: all(machines.round(k) > 10 for k in range(NODES)))
        report("training", f"rounds {[machines.round(k) for k in range(NODES)]}", trains)
        for line in looks:
            report("look", line, machines.type(0, line).returncode == 0)
        codes = machines.end()
        report("leaving", f"exit codes {codes}", codes == [0] * NODES)

        machines.type(2, "nft insert rule inet starling input tcp dport 7600 drop")
        for k, line in enumerate(runs):
            machines.start(k, line)
        met = eventually(lambda: all(machines.alive(k) == NODES for k in range(NODES)))
        trains = eventually(lambda: all(machines.round(k) > 10 for k in range(NODES)))
        report("a shut port on machine 3", "all meet and train", met and trains)
        report("a shut port on machine 3", "the doctor of machine 1 names one",
               eventually(lambda: machines.doctor_fails(0, "ports", "the port of ")))
        listed = [member.get("http") for member in machines.ask(0, "members")["members"]]
        report("addresses of HTTP", f"{listed}", listed.count(None) == NODES - 1)
        machines.end()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
