"""Real processes and what is asked of them, for the checks of churn.py."""
import concurrent.futures
import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("STARLING") or os.path.join(ROOT, "build", "release", "daemon", "starling")
SMALL = ["--data.samples=2000", "--model.kind=softmax", "--topology.kind=ring"]
MILLION = ["--data.samples=2000", "--model.kind=mlp", "--model.hidden=1280", "--topology.kind=ring"]
# In double precision: for single, oneDNN spends 30 ms of each process on making code first.
IDLE = ["--data.samples=400", "--model.kind=softmax", "--model.precision=f64", "--stop.rounds=1",
        "--stop.stay=true"]
WRONG_CLOCK = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec* now) {
  int result = syscall(SYS_clock_gettime, id, now);
  if (id == CLOCK_REALTIME) now->tv_sec += atoll(getenv("CLOCK_OFFSET"));
  return result;
}
"""
WRECK = {"n": 12, "d": 8, "m": 15, "h": 1.5, "noise": 0.2, "seed": 1000}
WRECK_KEYS = [*(f"--data.reference.{key}={value}" for key, value in WRECK.items()),
              "--data.source=reference", "--model.kind=linear", "--model.precision=f64",
              "--topology.kind=grid", "--optim.learning-rate=0.05", "--optim.batch-size=0",
              "--optim.admm-penalty=0.5", "--stop.rounds=0", "--stop.stay=true"]
WRECK_EXTRA = ["--cluster.preset=local", "--cluster.expect=12"]
WRECK_DISTANCE = 1e-9
DAY_S = 86400
LOOK_S = 0.05
failures = []
asking = concurrent.futures.ThreadPoolExecutor(16)


def report(name, figure, good):
    print(f"{'ok   ' if good else 'SHORT'} {name}: {figure}", flush=True)
    if not good:
        failures.append(name)


def spread(times):
    if not times:
        return "never"
    return f"median {statistics.median(times):.2f} s, worst {max(times):.2f} s of {len(times)}"


def elapsed(time_s):
    return "never" if time_s is None else f"{time_s:.2f} s"


def wait(condition, seconds, look_s=LOOK_S):
    """Seconds until the condition held, or None."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        if condition():
            return time.monotonic() - started
        time.sleep(look_s)
    return None


class Node:
    """One `starling run`. A restart keeps its folder and its addresses."""

    def __init__(self, cluster, index, arguments):
        self.name = f"node-{index}"
        self.cluster = cluster
        self.arguments = arguments
        self.folder = os.path.join(cluster.folder, self.name)
        self.host, self.prefix = cluster.place(index)
        self.addresses = None
        self.seen = 0  # the newest event counted
        self.start(cluster.seeds())

    def start(self, joins, clock_s=0):
        self.started = time.monotonic()
        reader, writer = os.pipe()
        addresses = self.addresses or {k: f"{self.host}:0" for k in ("control", "http")}
        log = open(self.folder + ".log", "ab")
        kept = [f"--node.data-dir={self.folder}"] if self.cluster.keeps else []
        self.process = subprocess.Popen(
            [*self.prefix, PROGRAM, "run", f"--node.name={self.name}", *kept,
             "--cluster.preset=lan", "--node.log=warning",
             f"--ready-file=/dev/fd/{writer}", *self.cluster.extra, *self.arguments,
             *(f"--listen.{key}={addresses[key]}" for key in ("control", "http")),
             *(f"--join={seed}" for seed in joins)],
            pass_fds=[writer], cwd=ROOT, stderr=log, env=self.cluster.clock(clock_s))
        log.close()
        os.close(writer)
        self.ready = os.fdopen(reader)
        self.seen = 0

    def await_ready(self):
        self.addresses = json.loads(self.ready.readline())
        self.ready.close()
        return time.monotonic() - self.started

    def get(self, resource):
        """The document, or None when it does not answer."""
        request = urllib.request.Request(f"http://{self.addresses['http']}{resource}",
                                         headers=self.cluster.headers)
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return json.load(reply)
        except (urllib.error.URLError, OSError, ValueError):
            return None

    def began(self):
        """On the clock of this program; a little later where the answer is older."""
        uptime = self.get("/v1/status")["node"]["uptime_s"]
        return time.monotonic() - uptime

    def members(self):
        document = self.get("/v1/members")
        return {m["name"]: m for m in document["members"]} if document else {}

    def died(self):
        """Names of those whose death it told since the last call."""
        document = self.get(f"/v1/events?follow=0&since={self.seen}")
        events = document["events"] if document else []
        self.seen = events[-1]["sequence"] if events else self.seen
        return [event["text"] for event in events if event["kind"] == "died"]

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()


class Cluster:
    def __init__(self, nodes, arguments, place=None, extra=(), headers=None, keeps=True):
        self.folder = tempfile.mkdtemp(prefix="starling-churn-")
        self.place = place or (lambda index: ("127.0.0.1", []))
        self.extra, self.headers = list(extra), headers or {}
        self.keeps = keeps  # a folder for each node
        self.nodes = []
        for index in range(nodes):
            self.add(index, arguments)
            if index == 0:
                self.nodes[0].await_ready()
        for node in self.nodes[1:]:
            node.await_ready()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            if node.process.poll() is None:
                node.kill()
        shutil.rmtree(self.folder)

    def clock(self, offset_s):
        """The environment in which the clock of the machine is wrong by so much."""
        if offset_s == 0:
            return None
        shim = os.path.join(self.folder, "clock.so")
        if not os.path.exists(shim):
            subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, "-x", "c", "-"], check=True,
                           input=WRONG_CLOCK.encode())
        return {**os.environ, "LD_PRELOAD": shim, "CLOCK_OFFSET": str(offset_s)}

    def seeds(self):
        return [self.nodes[0].addresses["control"]] if self.nodes else []

    def add(self, index, arguments):
        """`arguments` are the same for all, or come from a function of the index."""
        own = arguments(index) if callable(arguments) else arguments
        self.nodes.append(Node(self, index, own))
        return self.nodes[-1]

    def but(self, *nodes):
        return [node for node in self.nodes if node not in nodes]

    def until_all(self, nodes, claim, seconds):
        """Seconds until the claim about the members was true at each, or None. Each is asked only
        until it was."""
        open_nodes = list(nodes)

        def look():
            answers = list(asking.map(lambda node: claim(node.members()), open_nodes))
            open_nodes[:] = [n for n, good in zip(open_nodes, answers) if not good]
            return not open_nodes

        return wait(look, seconds)

    def until_counted(self, count, seconds):
        """The same of the number of live members, which costs many nodes less to say."""
        open_nodes = list(self.nodes)

        def look():
            answers = list(asking.map(lambda node: node.get("/v1/status"), open_nodes))
            open_nodes[:] = [n for n, answer in zip(open_nodes, answers)
                             if not answer or answer["members"]["alive"] != count]
            return not open_nodes

        return wait(look, seconds, 0.5)

    def settle(self, seconds=60):
        count = len(self.nodes)
        return self.until_all(self.nodes, lambda m: alive(m) == count, seconds)

    def deaths(self, nodes=None):
        return [text for node in nodes or self.nodes for text in node.died()]


def alive(members):
    return sum(member["state"] == "alive" for member in members.values())


def dead(members):
    return sum(member["state"] == "dead" for member in members.values())


def consensus(nodes):
    """The largest distance from the mean that a node tells of."""
    documents = [document for document in asking.map(lambda n: n.get("/v1/status"), nodes)
                 if document]
    return max((d["consensus"].get("distance") or 0 for d in documents), default=0)


def rounds(nodes):
    documents = asking.map(lambda node: node.get("/v1/status"), nodes)
    return [document["run"]["round"] if document else 0 for document in documents]


def parameters(data):
    """Of a linear model in double precision, from the bytes of /v1/model; none of no bytes."""
    if not data:
        return ()
    length, = struct.unpack_from("<Q", data)
    return struct.unpack_from(f"<{(len(data) - 8 - length) // 8}d", data, 8 + length)


def is_dead(name):
    return lambda members: members.get(name, {}).get("state") == "dead"


def is_back(name, incarnation):
    def claim(members):
        member = members.get(name, {})
        return member.get("state") == "alive" and member.get("incarnation", 0) > incarnation
    return claim


# ---------------------------------------------------------------- the checks
