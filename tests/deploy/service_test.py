#!/usr/bin/env python3
"""A node under a supervisor that is a socket, as systemd is one.

    service_test.py STARLING

The node says that it is ready once its ports are open, feeds the watchdog while its loop turns and
not while it stands still, says what it does, and says that it stops before it ends.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

PROGRAM = sys.argv[1]
DEADLINE_S = 60
LIMIT_S = 2  # of the watchdog


class Supervisor:
    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"{folder}/notify")
        ready_file = Path(folder) / "ready"
        environment = {**os.environ, "NOTIFY_SOCKET": f"{folder}/notify",
                       "WATCHDOG_USEC": str(LIMIT_S * 1_000_000)}
        environment.pop("WATCHDOG_PID", None)
        self.process = subprocess.Popen(
            [PROGRAM, "run", "--listen.control=127.0.0.1:0",
             "--listen.http=127.0.0.1:0", "--data.samples=500", "--model.kind=softmax",
             "--stop.rounds=1000000000", "--node.log=warning", f"--ready-file={ready_file}"],
            env=environment)
        self.ready_file = ready_file

    def hear(self, timeout_s):
        """The next datagram, or None."""
        self.socket.settimeout(timeout_s)
        try:
            return self.socket.recv(4096).decode()
        except (TimeoutError, BlockingIOError):
            return None

    def hear_until(self, begin):
        heard = []
        while not heard or not heard[-1].startswith(begin):
            heard.append(self.hear(DEADLINE_S))
            assert heard[-1] is not None, f"no {begin}: {heard}"
        return heard


def main():
    with tempfile.TemporaryDirectory() as folder:
        supervisor = Supervisor(folder)
        try:
            heard = supervisor.hear_until("READY=1")
            assert heard == ["STATUS=reads its data", "READY=1"], heard
            http = json.loads(supervisor.ready_file.read_text())["http"]
            urllib.request.urlopen(f"http://{http}/v1/status", timeout=DEADLINE_S).close()
            for _ in range(3):
                supervisor.hear_until("WATCHDOG=1")
            assert "training, round" in supervisor.hear_until("STATUS=")[-1]
            # A process that does not run feeds nobody.
            supervisor.process.send_signal(signal.SIGSTOP)
            while supervisor.hear(0) is not None:
                pass
            os.waitid(os.P_PID, supervisor.process.pid, os.WSTOPPED)
            while supervisor.hear(0) is not None:
                pass
            assert supervisor.hear(LIMIT_S) is None
            supervisor.process.send_signal(signal.SIGCONT)
            supervisor.hear_until("WATCHDOG=1")
            supervisor.process.terminate()
            supervisor.hear_until("STOPPING=1")
            assert supervisor.process.wait(DEADLINE_S) == 0
        finally:
            supervisor.process.kill()


main()
