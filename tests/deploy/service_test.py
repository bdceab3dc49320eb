#!/usr/bin/env python3
"""A node under a supervisor that is a socket, as systemd is one.

    service_test.py STARLING

The node says that it is ready once its ports are open, feeds the watchdog while its loop turns and
not while it stands still, says what it does, and says that it stops before it ends.
"""
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from nodes import program  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.watch import DEADLINE_S  # noqa: E402

program.use(sys.argv[1])
LIMIT_S = 2  # of the watchdog
SMALL = ["--data.samples=500", "--model.kind=softmax", "--stop.rounds=1000000000"]


class Supervisor:
    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"{folder}/notify")
        os.environ.pop("WATCHDOG_PID", None)
        self.node = Node("node", *SMALL, environment={
            "NOTIFY_SOCKET": f"{folder}/notify", "WATCHDOG_USEC": str(LIMIT_S * 1_000_000)})

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
            supervisor.node.await_ready().get("/v1/status")
            for _ in range(3):
                supervisor.hear_until("WATCHDOG=1")
            assert "training, round" in supervisor.hear_until("STATUS=")[-1]
            # A process that does not run feeds nobody.
            supervisor.node.signal(signal.SIGSTOP)
            while supervisor.hear(0) is not None:
                pass
            os.waitid(os.P_PID, supervisor.node.process.pid, os.WSTOPPED)
            while supervisor.hear(0) is not None:
                pass
            assert supervisor.hear(LIMIT_S) is None
            supervisor.node.signal(signal.SIGCONT)
            supervisor.hear_until("WATCHDOG=1")
            supervisor.node.signal(signal.SIGTERM)
            supervisor.hear_until("STOPPING=1")
            assert supervisor.node.process.wait(DEADLINE_S) == 0
        finally:
            supervisor.node.kill()


main()
