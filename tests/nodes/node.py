"""One node in a process of its own, what it says, and what is done to it."""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from .namespaces import Place, connect
from .program import ROOT, Failure, program
from .watch import eventually

LAST_WORDS = 500  # characters of a log


class Node:
    """`starling run ARGUMENTS`. Its ports are known once await_ready() has returned; a start after an end keeps
    them. Without a path for its log it writes to standard error. `command`: what runs in place of the program."""

    def __init__(self, name, *arguments, place=Place(), log=None, command=(), environment=None):
        self.name, self.arguments, self.place, self.log = name, arguments, place, log
        self.command, self.environment = command, environment or {}
        self.process, self.ready, self.addresses = None, None, {}
        self.seen = 0  # the newest event that died() has read
        self.start()

    # ---- its process

    def start(self, *more):
        reader, writer = os.pipe()
        control = self.addresses.get("control", f"{self.place.host}:{self.place.port}")
        with contextlib.ExitStack() as stack:
            log = stack.enter_context(open(self.log, "ab")) if self.log else None
            self.process = subprocess.Popen(
                [*self.place.prefix, *(self.command or (program(), "run")), f"--node.name={self.name}",
                 "--node.log=warning", f"--listen.control={control}",
                 f"--listen.http={self.addresses.get('http', '127.0.0.1:0')}", f"--ready-file=/dev/fd/{writer}",
                 *map(str, self.arguments), *map(str, more)],
                pass_fds=[writer], cwd=ROOT, stdout=log or subprocess.DEVNULL, stderr=log,
                env={**os.environ, **self.environment})
        os.close(writer)
        self.ready, self.started, self.seen = os.fdopen(reader), time.monotonic(), 0

    def await_ready(self):
        """The node, once its ports are open."""
        with self.ready as pipe:
            line = pipe.readline()
        if not line:
            self.process.wait()
            raise Failure(f"{self.name} does not start: {self.last_words()}")
        self.addresses = json.loads(line)
        return self

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=60):
        """Has it take leave; its exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def words(self):
        """All that it has printed to its log."""
        return Path(self.log).read_text(errors="replace") if self.log else ""

    def last_words(self):
        return self.words().strip()[-LAST_WORDS:] or "no output"

    def of_system(self, what):
        """A file of /proc."""
        return Path(f"/proc/{self.process.pid}/{what}").read_bytes()

    def kib(self, row):
        return kib_of(self.process.pid, row)

    def cpu_seconds(self):
        fields = self.of_system("stat").decode().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # ---- what it says

    @property
    def url(self):
        return f"http://{self.addresses['http']}"

    def fetch(self, resource, method="GET", body=None, timeout_s=30, **headers):
        """Its whole answer: status, headers and data. No answer is an OSError."""
        host, port = self.addresses["http"].rsplit(":", 1)
        address = host.strip("[]"), int(port)
        connection = http.client.HTTPConnection(*address)
        try:
            connection.sock = connect(self.place.namespace, address, timeout_s)
            connection.request(method, resource, body, {k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            # A stream of events has no end.
            is_stream = answer.headers.get_content_type() == "text/event-stream"
            answer.data = b"" if is_stream else answer.read()
            return answer
        except http.client.HTTPException as error:
            raise ConnectionError(f"{self.name}: {error!r}") from error
        finally:
            connection.close()

    def data(self, resource, method="GET", body=None, timeout_s=30):
        """The bytes of an answer that is no refusal."""
        answer = self.fetch(resource, method, body, timeout_s)
        if answer.status >= 300:
            raise OSError(f"{method} {resource} of {self.name}: {answer.status} {answer.data[:200]}")
        return answer.data

    def get(self, resource):
        return json.loads(self.data(resource))

    def look(self, resource="/v1/status"):
        """The document, or {} where it does not answer in five seconds."""
        try:
            return json.loads(self.data(resource, timeout_s=5))
        except (OSError, ValueError, KeyError):
            return {}

    def post(self, resource):
        self.data(resource, "POST", b"")

    def state(self):
        return self.get("/v1/status")["node"]["state"]

    def wait_for(self, state):
        eventually(lambda: self.state() == state, f"{self.name} becomes {state}")

    def round(self):
        return self.look().get("run", {}).get("round", 0)

    def reasons(self):
        return self.look().get("node", {}).get("reasons", [])

    def members(self):
        """By their names; none where it does not answer."""
        return {member["name"]: member for member in self.look("/v1/members").get("members", [])}

    def alive(self):
        """How many members it counts."""
        return self.look().get("members", {}).get("alive", 0)

    def died(self):
        """Whose deaths it has told since the last call."""
        events = self.look(f"/v1/events?follow=0&since={self.seen}").get("events", [])
        self.seen = events[-1]["sequence"] if events else self.seen
        return [event["text"] for event in events if event["kind"] == "died"]

    def model(self):
        """The numbers of its model as bytes, without the head that names the round; none where it has none."""
        try:
            return numbers_of(self.data("/v1/model"))
        except OSError:
            return b""


def kib_of(process, row):
    """A row of a process's memory, such as VmRSS, VmHWM, RssAnon."""
    return int(re.search(rf"^{row}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(), re.M)[1])


def numbers_of(file):
    """The bytes of a file of safetensors that are numbers."""
    return file[8 + int.from_bytes(file[:8], "little"):]
