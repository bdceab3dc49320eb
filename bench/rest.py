#!/usr/bin/env python3
"""Asks a node that trains more than it is ever asked, and judges what its REST interface promises.

  bench/rest.py                  every part
  bench/rest.py rate slow siege  some of them
  bench/rest.py --quick          three short windows a figure instead of seven

rate   /v1/status as often as 16 connections can, while the node trains: answers/s and the 99th
       percentile. Beside it nginx, in turn: one worker, a static file as long as the status, the
       same load and the same node training beside it.
slow   what 100 requests/s cost the training, of the status and of what a page asks: rounds/s in
       windows that take turns with quiet ones and with ones in which nginx is asked as often, for
       whoever asks wakes up on the cores of the trainer too; and the processor time of the node's
       threads but the trainer's, which other processes of the machine disturb less.
siege  the 99th percentile of 100 requests/s, and what the memory grows by, while 1,000 clients send
       a byte a second, 200 read nothing of a stream of events, and four send heads and bodies of
       300 MB without a pause.

A figure is the median of its windows, with the least and the most beside it (of many windows: of the
middle half). Fails when a floor is
missed. Reads build/bench, as bench/run does.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import markdown
from cluster import ROOT, Starling

LOAD = ROOT / "build/bench/bench/bench_http_load"
CONNECTIONS = 16
RATE = 100  # requests/s of what asks now and then
RATE_FLOOR, RATE_P99_MS = 20_000, 5
SLOWER_LIMIT = 0.03
SLOW_PAIRS = 4  # of shorter windows, for each of the others: what disturbs the machine comes and goes
SIEGE_P99_MS, SIEGE_GROWTH_MB = 50, 16
SLOW_CLIENTS, STALLED_STREAMS, FLOODS = 1000, 200, 4
FLOOD_BYTES = 300_000_000
STATUS = ["/v1/status"]
PAGE = ["/v1/status", "/v1/fleet", "/v1/members", "/v1/neighbors", "/v1/convergence?since=100000000", "/v1/events?follow=0&since=0"]
TRAINING = ["--model.kind=mlp", "--model.hidden=256", "--model.hidden=128", "--data.source=digits", "--data.samples=4000",
            "--optim.batch-size=64", "--optim.local-optimizer=sgd", "--optim.learning-rate=0.0001",
            "--eval.every=1000000000", "--stop.rounds=1000000000"]
NGINX = """daemon off; worker_processes 1; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; default_type application/json; tcp_nodelay on;
  open_file_cache max=16; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port} backlog=512; root {folder}/files; }} }}
"""


class Load:
    """bench_http_load, which idles between two orders."""

    def __init__(self):
        self.process = subprocess.Popen([LOAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, port, connections, rate, seconds, paths):
        self.process.stdin.write(f"{port} {connections} {rate} {round(seconds * 1000)} {' '.join(paths)}\n")
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench_http_load ended; see above")
        return json.loads(line)


def port_of(node):
    return int(node.addresses["http"].rsplit(":", 1)[1])


def resident_mb(node):
    return node.kib("VmRSS") / 1024


def seconds_of_threads(node):
    """Processor time by thread, to the nanosecond."""
    tasks = Path(f"/proc/{node.process.pid}/task").iterdir()
    return {task.name: int((task / "schedstat").read_text().split()[0]) * 1e-9 for task in tasks}


class Nginx:
    """Serves one file, as long as a document of ours, on a free port."""

    def __init__(self, body):
        self.folder = tempfile.TemporaryDirectory(prefix="starling-nginx-")
        files = Path(self.folder.name, "files")
        files.mkdir()
        (files / "status").write_bytes(body)
        for path in (Path(self.folder.name), files):
            path.chmod(0o755)  # the worker may be another user
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        settings = Path(self.folder.name, "nginx.conf")
        settings.write_text(NGINX.format(folder=self.folder.name, port=self.port))
        self.process = subprocess.Popen([nginx(), "-p", self.folder.name, "-e", "stderr", "-c", settings])
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        sys.exit("nginx does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def nginx():
    return os.environ.get("BENCH_NGINX") or shutil.which("nginx") or shutil.which("/usr/sbin/nginx")


def figure(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


class Report:
    def __init__(self):
        self.missed = 0

    def row(self, what, values, unit, limit, good):
        """The middle half of many values stands beside the median, all of few."""
        values = sorted(values)
        skip = len(values) // 4 if len(values) > 10 else 0
        middle = statistics.median(values)
        verdict = "–" if limit is None else "good" if good(middle) else "MISSED"
        self.missed += verdict == "MISSED"
        spread = f"{figure(values[skip])} to {figure(values[-1 - skip])}"
        cells = [what, f"{figure(middle)} {unit}", spread, "–" if limit is None else f"{limit:,}", verdict]
        print(markdown.row(cells), flush=True)

    def at_least(self, what, values, unit, limit):
        self.row(what, values, unit, limit, lambda value: value >= limit)

    def at_most(self, what, values, unit, limit):
        self.row(what, values, unit, limit, lambda value: value <= limit)

    def plain(self, what, values, unit):
        self.row(what, values, unit, None, None)


def rate(node, load, report, options):
    length = load.ask(port_of(node), 1, RATE, 0.1, STATUS)["bytes"]
    peer = Nginx(b"x" * length) if nginx() else None
    ours, theirs = [], []
    for _ in range(options.windows):
        ours.append(load.ask(port_of(node), CONNECTIONS, 0, options.seconds, STATUS))
        if peer:
            theirs.append(load.ask(peer.port, CONNECTIONS, 0, options.seconds, ["/status"]))
    if peer:
        peer.stop()
    if any(found["bad"] or found["closed"] for found in ours + theirs):
        sys.exit("an answer was not of status 200, or a connection was closed")
    report.at_least(f"/v1/status, {length} bytes", [f["value"] for f in ours], "answers/s", RATE_FLOOR)
    report.at_most("its 99th percentile", [f["p99_ms"] for f in ours], "ms", RATE_P99_MS)
    if not peer:
        return print("nginx is absent: no peer beside it (nginx-light, or BENCH_NGINX=PROGRAM)")
    report.plain("nginx, a file as long", [f["value"] for f in theirs], "answers/s")
    report.plain("its 99th percentile", [f["p99_ms"] for f in theirs], "ms")
    report.plain("ours / nginx", [a["value"] / b["value"] for a, b in zip(ours, theirs)], "")


def window(node, act, seconds):
    """Rounds/s while `act` is under way, and the share of a processor of all threads but the busiest."""
    begin, first, before = time.monotonic(), node.round(), seconds_of_threads(node)
    act(seconds)
    last, after, taken = node.round(), seconds_of_threads(node), time.monotonic() - begin
    used = sorted(after[task] - before.get(task, 0) for task in after)
    return (last - first) / taken, sum(used[:-1]) / taken


def slower(beside, asked):
    """By how many percent training was, window by window."""
    return [100 * (1 - b[0] / a[0]) for a, b in zip(beside, asked)]


def slow(node, load, report, options):
    def ask(port, paths):
        return lambda seconds: load.ask(port, 4, RATE, seconds, paths)

    peer = Nginx(b"x" * 1000) if nginx() else None
    acts = {"quiet": time.sleep, "/v1/status": ask(port_of(node), STATUS), "what a page asks": ask(port_of(node), PAGE)}
    if peer:
        acts["nginx"] = ask(peer.port, ["/status"])
    seen = {name: [] for name in acts}
    for turn in range(SLOW_PAIRS * options.windows):
        names = list(acts)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            seen[name].append(window(node, acts[name], options.seconds / SLOW_PAIRS))
    if peer:
        peer.stop()
        report.plain(f"{RATE}/s asked of nginx: training slower by", slower(seen["quiet"], seen["nginx"]), "%")
    report.plain("rounds/s without requests", [rounds for rounds, _ in seen["quiet"]], "rounds/s")
    for name in ("/v1/status", "what a page asks"):
        report.plain(f"{RATE}/s of {name}: training slower by", slower(seen["quiet"], seen[name]), "%")
        beside = slower(seen["nginx" if peer else "quiet"], seen[name])
        report.at_most("than with the same asked of nginx" if peer else "the same", beside, "%", 100 * SLOWER_LIMIT)
        cost = [100 * (b[1] - a[1]) for a, b in zip(seen["quiet"], seen[name])]
        report.at_most("processor time of the node's other threads", cost, "% of a core", 100 * SLOWER_LIMIT)


class Siege:
    """What clients with bad intentions do, in a process of its own."""

    def __init__(self, port):
        self.address = ("127.0.0.1", port)
        self.process = multiprocessing.Process(target=self.run, daemon=True)
        self.process.start()

    def stop(self):
        self.process.terminate()
        self.process.join()

    def run(self):
        for k in range(FLOODS):
            threading.Thread(target=self.flood, args=(k % 2 == 0,), daemon=True).start()
        stalled = [self.connect(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
                   for _ in range(STALLED_STREAMS)]
        slow_ones = [self.connect() for _ in range(SLOW_CLIENTS)]
        text = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1000
        for k in range(1_000_000_000):
            slow_ones[k % SLOW_CLIENTS] = self.send_byte(slow_ones[k % SLOW_CLIENTS], text, k // SLOW_CLIENTS)
            if k % 20 == 0:
                time.sleep(20 / SLOW_CLIENTS)
        del stalled

    def connect(self, text=b""):
        try:
            client = socket.create_connection(self.address, timeout=5)
            client.setblocking(False)
            client.send(text)
            return client
        except OSError:
            return None

    def send_byte(self, client, text, place):
        """The client, or a new one where the server has closed it."""
        try:
            client.send(text[place % len(text):][:1])
            return client
        except (OSError, AttributeError):
            return self.connect(text[:1])

    def flood(self, is_head):
        block = b"x" * 1_000_000
        begin = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " if is_head else (
            b"POST /v1/join HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % FLOOD_BYTES)
        while True:
            try:
                with socket.create_connection(self.address, timeout=5) as client:
                    client.sendall(begin)
                    for _ in range(FLOOD_BYTES // len(block)):
                        client.sendall(block)
            except OSError:
                time.sleep(0.01)


def siege(node, load, report, options):
    quiet = [load.ask(port_of(node), 4, RATE, options.seconds, PAGE)["p99_ms"] for _ in range(3)]
    before = resident_mb(node)
    besiegers = Siege(port_of(node))
    time.sleep(3)  # until all of them are there
    found, grown = [], []
    for _ in range(options.windows):
        found.append(load.ask(port_of(node), 4, RATE, options.seconds, PAGE))
        grown.append(resident_mb(node) - before)
    besiegers.stop()
    if any(f["bad"] for f in found):
        sys.exit("an answer was not of status 200")
    report.plain("what a page asks, quiet: 99th percentile", quiet, "ms")
    report.at_most("the same under siege", [f["p99_ms"] for f in found], "ms", SIEGE_P99_MS)
    report.plain("connections lost to the siege, of 4", [f["closed"] for f in found], "")
    report.at_most("resident memory grows by", grown, "MB", SIEGE_GROWTH_MB)


PARTS = {"rate": rate, "slow": slow, "siege": siege}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="three short windows a figure")
    options = parser.parse_args()
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; expected {', '.join(PARTS)}")
    if not LOAD.exists():
        sys.exit("Build first: cmake --preset bench && cmake --build build/bench")
    options.windows, options.seconds = (3, 1.0) if options.quick else (7, 2.0)
    load, report = Load(), Report()
    print(f"Load of others at the start {os.getloadavg()[0]:.2f}.\n")
    print(markdown.table(["what", "median", "spread", "floor", "verdict"]))
    for part in options.parts or PARTS:
        with Starling(1, None, TRAINING) as cluster:
            if not cluster.wait_rounds(20, 30):
                sys.exit("the node does not train")
            PARTS[part](cluster.nodes[0], load, report, options)
    print(f"\n{report.missed} missed; load at the end {os.getloadavg()[0]:.2f}")
    return 1 if report.missed else 0


sys.exit(main())
