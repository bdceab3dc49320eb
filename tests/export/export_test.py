#!/usr/bin/env python3
"""What `starling export` writes, read back by other programs than it.

    export_test.py STARLING

Trains two nodes for some rounds, exports them in every format, and compares each number with what the
nodes say. The reader of TensorBoard's format is of its own. A server that plays a node names itself
after a path, and a member that nobody answers for.
"""
import csv
import http.server
import io
import json
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from nodes import program  # noqa: E402
from nodes.fleet import Fleet  # noqa: E402
from nodes.watch import DEADLINE_S  # noqa: E402

ROUNDS = 60
SMALL = ["--cluster.preset=local", "--data.source=digits", "--data.samples=300", "--cluster.expect=2",
         "--model.kind=softmax", "--eval.every=5", f"--stop.rounds={ROUNDS}", "--stop.stay=true"]
CURVES = ["loss", "accuracy", "rmse", "distance", "distance_to_optimum", "bytes"]
PROGRAM = sys.argv[1]


def export(url, *arguments):
    return subprocess.run([PROGRAM, "export", "--api", url, *arguments], capture_output=True,
                          timeout=DEADLINE_S)


def exported(url, *arguments):
    done = export(url, *arguments)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout.decode()


# ---- the formats

def rows_of(text):
    assert text.count("\n") == text.count("\r\n"), "RFC 4180: lines end with CR LF"
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    return [{key: value for key, value in row.items() if value != ""} for row in rows]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        (length,), (length_sum,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        assert length_sum == masked(data[:8])
        record, data = data[12:12 + length], data[12 + length:]
        assert struct.unpack("<I", data[:4])[0] == masked(record)
        yield record
        data = data[4:]


def varint(data):
    number = shift = 0
    for count, byte in enumerate(data, 1):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, data[count:]
    raise AssertionError("a number without an end")


def fields(message):
    """The fields of a message of Protocol Buffers, by number."""
    found = {}
    while message:
        key, message = varint(message)
        kind = key & 7
        if kind == 0:
            value, message = varint(message)
        else:
            size, message = (varint(message) if kind == 2 else ({1: 8, 5: 4}[kind], message))
            value, message = message[:size], message[size:]
        found[key >> 3] = value
    return found


def curves_of(path):
    """{tag: {step: (wall time, value)}} of an event file."""
    events = [fields(record) for record in records(path.read_bytes())]
    assert events[0][3] == b"brain.Event:2", events[0]
    curves = {}
    for event in events[1:]:
        value = fields(fields(event[5])[1])
        curves.setdefault(value[1].decode(), {})[event[2]] = (
            struct.unpack("<d", event[1])[0], struct.unpack("<f", value[2])[0])
    return curves


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


# ---- what is held

def csv_is_the_series(node):
    rows = rows_of(exported(node.url))
    series = node.get("/v1/convergence")["series"]
    assert len(rows) == len(series) >= ROUNDS, (len(rows), len(series))
    for row, point in zip(rows, series):
        assert row.pop("node") == "node-0"
        assert {key: float(value) for key, value in row.items()} == point, (row, point)
    assert any("accuracy" in row for row in rows) and not all("accuracy" in row for row in rows)


def csv_of_events_is_the_log(node):
    rows = rows_of(exported(node.url, "--what", "events"))
    events = node.get("/v1/events?follow=0")["events"]
    assert [row["text"] for row in rows] == [event["text"] for event in events]
    assert [int(row["sequence"]) for row in rows] == [event["sequence"] for event in events]


def without_origin(line):
    return {key: value for key, value in line.items() if key not in ("node", "record")}


def jsonl_is_both_of_all(nodes, folder):
    path = folder / "all.jsonl"
    assert exported(nodes[0].url, "--format=jsonl", "--what=all", "--all", f"--output={path}") == ""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for name, node in zip(("node-0", "node-1"), nodes):
        own = [line for line in lines if line["node"] == name]
        points = [line for line in own if line["record"] == "convergence"]
        assert [without_origin(line) for line in points] == node.get("/v1/convergence")["series"]
        events = [without_origin(line) for line in own if line["record"] == "event"]
        assert events == node.get("/v1/events?follow=0")["events"], name


def tensorboard_has_the_curves(nodes, folder):
    runs = folder / "runs"
    assert exported(nodes[0].url, "--format=tensorboard", "--all", f"--output={runs}") == ""
    assert sorted(path.name for path in runs.iterdir()) == ["node-0", "node-1"]
    for name, node in zip(("node-0", "node-1"), nodes):
        (path,) = (runs / name).iterdir()
        assert path.name.startswith("events.out.tfevents."), path
        curves = curves_of(path)
        series = node.get("/v1/convergence")["series"]
        for curve in CURVES:
            told = {point["round"]: single(point[curve]) for point in series if curve in point}
            read = {step: value for step, (_, value) in curves.get(curve, {}).items()}
            assert read == told, (name, curve)
        times = [when for when, _ in curves["loss"].values()]
        assert times == sorted(times) and 0 <= time.time() - times[-1] < 10 * DEADLINE_S, times[-1]
        length = series[-1]["time_s"] - series[0]["time_s"]
        ends = [curves["bytes"][series[k]["round"]][0] for k in (0, -1)]
        assert abs(ends[1] - ends[0] - length) < 1e-5, (ends, length)
    again = export(nodes[0].url, "--format=tensorboard", "--all", f"--output={runs}")
    assert again.returncode == 1 and b"holds events.out" in again.stderr, again


def mistakes_are_said_in_a_line(node, folder):
    for code, hint, url, arguments in [
            (2, "csv, jsonl or tensorboard", node.url, ["--format=xml"]),
            (2, "convergence, events or all", node.url, ["--what=loss"]),
            (2, "one table", node.url, ["--what=all"]),
            (2, "--output DIR", node.url, ["--format=tensorboard"]),
            (2, "draws numbers", node.url, ["--format=tensorboard", "--what=events"]),
            (2, "options only", node.url, ["more"]),
            (1, "cannot write", node.url, [f"--output={folder}/none/course.csv"]),
            (4, "expected a running node", "http://127.0.0.1:1", [])]:
        done = export(url, *arguments)
        assert done.returncode == code and not done.stdout, (arguments, done)
        assert done.stderr.count(b"\n") == 1 and hint in done.stderr.decode(), (arguments, done)
    told = subprocess.run([PROGRAM, "export", "--help"], capture_output=True, text=True)
    assert told.returncode == 0 and "starling export --all" in told.stdout


class Impostor(http.server.BaseHTTPRequestHandler):
    """A node that is named after a path, with a member that nobody answers for."""
    documents = {
        "/v1/status": {"node": {"name": "../../evil", "uptime_s": 1}},
        "/v1/convergence": {"series": [{"round": 1, "loss": 0.5}]},
        "/v1/events?follow=0": {"events": []},
        "/v1/members": {"members": [{"name": "gone", "state": "alive", "http": "127.0.0.1:1"},
                                    {"name": "dead", "state": "dead", "http": "127.0.0.1:2"},
                                    {"name": "odd", "state": "alive", "http": 7}, "odder"]}}

    def do_GET(self):
        body = json.dumps(self.documents[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def names_are_no_paths_and_gaps_are_said(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Impostor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    runs = folder / "deep" / "runs"
    done = export(url, "--format=tensorboard", "--all", f"--output={runs}")
    assert done.returncode == 4, done
    assert done.stderr.count(b"\n") == 2 and b"127.0.0.1:1" in done.stderr, done
    assert b"odd: no address for HTTP" in done.stderr, done
    assert [path.name for path in runs.iterdir()] == ["_.._.._evil"], list(runs.iterdir())
    assert not (folder / "evil").exists()
    server.shutdown()


def main():
    program.use(PROGRAM)
    with Fleet(range(2), SMALL) as fleet, tempfile.TemporaryDirectory() as name:
        nodes, folder = fleet.nodes, Path(name)
        for node in nodes:
            node.wait_for("finished")
        csv_is_the_series(nodes[0])
        csv_of_events_is_the_log(nodes[0])
        jsonl_is_both_of_all(nodes, folder)
        tensorboard_has_the_curves(nodes, folder)
        mistakes_are_said_in_a_line(nodes[0], folder)
        names_are_no_paths_and_gaps_are_said(folder)


if __name__ == "__main__":
    main()
