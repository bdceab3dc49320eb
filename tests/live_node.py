"""A node in a process of its own, for tests in Python: free ports, questions, and waiting on conditions."""
import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

SKIPPED = 77  # the exit code of a test that lacks a program, for ctest
DEADLINE_S = 60


def eventually(condition, what):
    """What the condition gives, once it gives something that is true."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            found, reason = condition(), "not yet"
        except (urllib.error.URLError, OSError) as error:
            found, reason = None, error
        if found:
            return found
        assert time.monotonic() < deadline, f"{what}: {reason}"
        threading.Event().wait(0.05)


class LiveNode:
    """`starling run ARGUMENTS`, once its ports are open."""

    def __init__(self, program, name, *arguments):
        ready, tell = os.pipe()
        self.name = name
        self.process = subprocess.Popen(
            [program, "run", f"--node.name={name}", "--listen.control=127.0.0.1:0",
             "--listen.http=127.0.0.1:0", f"--ready-file=/dev/fd/{tell}", "--node.log=warning", *arguments],
            pass_fds=[tell], stdout=subprocess.DEVNULL)
        os.close(tell)
        with os.fdopen(ready) as pipe:
            line = pipe.readline()
        assert line, f"{name} does not start"
        self.addresses = json.loads(line)
        self.url = f"http://{self.addresses['http']}"

    def get(self, resource):
        with urllib.request.urlopen(self.url + resource, timeout=30) as answer:
            return json.load(answer)

    def post(self, resource):
        request = urllib.request.Request(self.url + resource, data=b"", method="POST")
        urllib.request.urlopen(request, timeout=30).close()

    def state(self):
        return self.get("/v1/status")["node"]["state"]

    def state_of_member(self, name):
        members = self.get("/v1/members")["members"]
        return next(member["state"] for member in members if member["name"] == name)

    def wait_for(self, state):
        eventually(lambda: self.state() == state, f"{self.name} becomes {state}")

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
