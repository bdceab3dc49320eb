#!/usr/bin/env python3
"""deploy/ssh/fleet over two machines that are folders: a stub stands for ssh.

    ssh_test.py STARLING
"""
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PROGRAM = sys.argv[1]
FLEET = Path(__file__).resolve().parent.parent.parent / "deploy" / "ssh" / "fleet"
DEADLINE_S = 60
# Runs what it is given in the home folder of the machine, as sshd does.
STUB = """#!/bin/sh
case $1 in *gone*) echo "no route to $1" >&2; exit 255 ;; esac
export HOME="{folder}/${{1#*@}}"; mkdir -p "$HOME" && cd "$HOME" && shift && exec sh -c "$*"
"""


def free_ports():
    """A port whose second neighbour is free too."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            if port > 65000:
                continue
            with socket.socket() as http:
                try:
                    http.bind(("127.0.0.1", port + 2))
                    return port
                except OSError:
                    pass


class Machines:
    def __init__(self, folder):
        self.folder = Path(folder)
        stub = self.folder / "ssh"
        stub.write_text(STUB.format(folder=folder))
        stub.chmod(0o755)
        self.hosts = self.folder / "hosts"
        self.hosts.write_text("# two machines\n" + "".join(
            f"user@{name} 127.0.0.1:{free_ports()}\n" for name in ("one", "two")))
        self.environment = {**os.environ, "SSH": str(stub), "CLUSTER_KEY": f"{folder}/cluster.key"}

    def fleet(self, *arguments, expect=0):
        ended = subprocess.run([FLEET, arguments[0], self.hosts, *arguments[1:]], text=True,
                               capture_output=True, timeout=DEADLINE_S, env=self.environment)
        assert ended.returncode == expect, f"{arguments}: {ended.returncode}: {ended.stdout}{ended.stderr}"
        return ended.stdout

    def fleet_until(self, *arguments, holds):
        deadline = time.monotonic() + DEADLINE_S
        while holds not in (out := self.fleet(*arguments)):
            assert time.monotonic() < deadline, out
            threading.Event().wait(0.1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(folder)
        ini = Path(folder) / "my.ini"
        ini.write_text("[cluster]\npreset = local\n[data]\nsamples = 500\n[model]\nkind = softmax\n")
        machines.fleet("status", expect=4)
        machines.fleet("copy", PROGRAM, ini)
        machines.fleet("start", "-c", "my.ini", expect=1)
        assert "this node has no keys" in machines.fleet("logs")
        assert machines.fleet("invite", PROGRAM, "-c", str(ini)).count("is node-") == 2
        assert machines.fleet("invite", PROGRAM).count("is node-") == 0
        try:
            machines.fleet("start", "-c", "my.ini", "--stop.rounds=1000000000")
            assert machines.fleet("start", "-c", "my.ini").count("runs already") == 2
            machines.fleet_until("status", "members", holds="node-1")
            machines.fleet_until("status", holds="2 nodes train")
            assert "node-0" in machines.fleet("logs", "100")
        finally:
            said = machines.fleet("stop")
        assert said.count("left") == 2, said
        assert machines.fleet("stop").count("does not run") == 2
        # A machine that ssh does not reach is a failure and keeps nobody else from what is asked.
        with machines.hosts.open("a") as hosts:
            hosts.write("gone\n")
        machines.fleet("stop", expect=1)


main()
