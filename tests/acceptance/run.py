#!/usr/bin/env python3
"""Measures what a release promises on real data, with the program that `make` builds.

    tests/acceptance/run.py DATA [CHECK ...]

DATA is a folder with mnist/, california-housing.csv.gz, a9a.gz and a9a.t.gz. Without names every
check runs. Each prints its figures; the exit code is 1 when one is outside its bound.
"""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "build", "release", "daemon", "starling")
ROUND_S = 0.1  # what a round takes by itself, at most
failures = []


def report(name, figure, good):
    print(f"{'ok  ' if good else 'MISS'}  {name}: {figure}", flush=True)
    if not good:
        failures.append(name)


def up(*arguments):
    """Runs `starling up --json` to its end; gives exit code and document."""
    done = subprocess.run([PROGRAM, "up", "--json", "--listen.http=127.0.0.1:0", *arguments],
                          stdout=subprocess.PIPE, cwd=ROOT, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


def get(http, resource):
    with urllib.request.urlopen(f"http://{http}{resource}", timeout=10) as reply:
        return json.load(reply)


class Node:
    """One `starling run`; the addresses come through its ready file."""

    def __init__(self, name, *arguments):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [PROGRAM, "run", f"--node.name={name}", "--listen.control=127.0.0.1:0",
             "--listen.http=127.0.0.1:0", "--cluster.preset=local",
             "--node.log=warning", f"--ready-file=/dev/fd/{writer}", *arguments],
            pass_fds=[writer], cwd=ROOT)
        os.close(writer)
        with os.fdopen(reader) as stream:
            self.addresses = json.loads(stream.readline())

    def get(self, resource):
        return get(self.addresses["http"], resource)

    def alive(self):
        return sum(m["state"] == "alive" for m in self.get("/v1/members")["members"])

    def round(self):
        return self.get("/v1/status")["run"]["round"]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def wait(condition, seconds):
    """Seconds until the condition held, or None."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        if condition():
            return time.monotonic() - started
        time.sleep(0.01)
    return None


# ---------------------------------------------------------------- the checks

def check_mnist(data):
    for kind in ("ring", "torus", "random"):
        code, result = up("-n", "8", "-c", "configs/mnist.ini", f"--data.path={data}/mnist",
                          f"--topology.kind={kind}")
        worst = min(node["accuracy"] for node in result["nodes"])
        report(f"MNIST on a {kind} of 8", f"worst node {worst:.4f} in {result['wall_s']:.1f} s",
               code == 0 and worst >= 0.97)


def check_alone(data):
    rounds = 6000
    code, result = up("-n", "1", "-c", "configs/mnist.ini", f"--data.path={data}/mnist",
                      "--data.shard=0/8", "--stop.accuracy=", f"--stop.rounds={rounds}")
    best = max(p["accuracy"] for p in result["series"] if "accuracy" in p)
    report(f"MNIST alone on 1/8 for {rounds} rounds",
           f"best {best:.4f}, last {result['nodes'][0]['accuracy']:.4f}", code == 0 and best < 0.97)


def mix64(x):
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def held_out(row, fraction, seed):
    state = mix64(mix64(seed) ^ ((row * 0xD1B54A32D192ED03) & ((1 << 64) - 1)))
    return (mix64(state) >> 11) * 2.0 ** -53 < fraction


def solve(matrix, vector):
    """Gaussian elimination with pivoting."""
    n = len(vector)
    rows = [list(row) + [value] for row, value in zip(matrix, vector)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(k + 1, n):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k])]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (rows[k][n] - sum(rows[k][j] * x[j] for j in range(k + 1, n))) / rows[k][k]
    return x


def closed_form_rmse(path):
    """Least squares on all training rows, judged on the rows that the program holds out."""
    with gzip.open(path, "rt", newline="") as stream:
        rows = [row for row in csv.reader(stream)]
    header, rows = rows[0], [row for row in rows[1:] if all(row)]
    target, word = header.index("median_house_value"), header.index("ocean_proximity")
    words = sorted({row[word] for row in rows})
    numbers = [c for c in range(len(header)) if c not in (target, word)]
    scale = [max(abs(float(row[c])) for row in rows) for c in numbers]

    def features(row):  # a word less than there are: the constant stands for it
        return ([1.0] + [float(row[c]) / s for c, s in zip(numbers, scale)] +
                [float(row[word] == w) for w in words[1:]])

    size = 1 + len(numbers) + len(words) - 1
    normal, moment, test = [[0.0] * size for _ in range(size)], [0.0] * size, []
    for index, row in enumerate(rows):
        x, y = features(row), float(row[target])
        if held_out(index, 0.2, 1):
            test.append((x, y))
            continue
        for i in range(size):
            moment[i] += x[i] * y
            for j in range(size):
                normal[i][j] += x[i] * x[j]
    w = solve(normal, moment)
    errors = [(sum(a * b for a, b in zip(w, x)) - y) ** 2 for x, y in test]
    return (sum(errors) / len(errors)) ** 0.5, len(test)


def check_house_prices(data):
    path = f"{data}/california-housing.csv.gz"
    best, test_rows = closed_form_rmse(path)
    code, result = up("-n", "8", "-c", "configs/house-prices.ini", f"--data.path={path}")
    worst = max(node["rmse"] for node in result["nodes"])
    report("house prices, held-out RMSE",
           f"worst node {worst:.0f}, closed form {best:.0f} on {test_rows} rows, "
           f"ratio {worst / best:.4f}", code == 0 and worst <= 1.02 * best)


def check_a9a(data):
    nodes = [Node("node-0", *A9A(data))]
    nodes += [Node(f"node-{k}", *A9A(data), f"--join={nodes[0].addresses['control']}")
              for k in range(1, 4)]
    wait(lambda: all(node.round() > 3000 for node in nodes), 60)
    memory = [int(line.split()[1]) for node in nodes
              for line in open(f"/proc/{node.process.pid}/status") if line.startswith("VmRSS")]
    accuracy = min(node.get("/v1/status")["run"]["eval"]["accuracy"] for node in nodes)
    for node in nodes:
        node.stop()
    report("a9a, sparse logistic regression on 4 nodes",
           f"worst node {accuracy:.4f}, resident memory {max(memory) / 1000:.1f} MB",
           accuracy > 0.84)


def A9A(data):
    return ["--data.source=libsvm", f"--data.path={data}/a9a.gz",
            f"--data.test-path={data}/a9a.t.gz", "--optim.learning-rate=0.5",
            "--topology.kind=ring", "--cluster.expect=4", "--eval.every=500"]


def check_reference(_):
    code, result = up("-n", "16", "-c", "configs/reference.ini")
    error = result["series"][-1]["distance_to_optimum"]
    relative = abs(error / 0.44347281 - 1)
    report("reference problem, 16 processes", f"err {error:.9f}, off by {relative:.1e}",
           code == 0 and relative < 1e-4)


def check_join(data):
    """A ninth node; then one is killed."""
    common = ["--data.source=digits", "--model.kind=mlp", "--topology.kind=ring",
              "--data.partition=iid"]
    nodes = [Node("node-0", *common, "--cluster.expect=8")]
    seed = nodes[0].addresses["control"]
    nodes += [Node(f"node-{k}", *common, "--cluster.expect=8", f"--join={seed}")
              for k in range(1, 8)]
    wait(lambda: all(node.round() > 100 for node in nodes), 60)
    started = time.monotonic()
    nodes.append(Node("node-8", *common, f"--join={nodes[5].addresses['control']}"))
    up_after = time.monotonic() - started
    seen = wait(lambda: all(node.alive() == 9 for node in nodes), 20)
    report("a ninth node is listed by all nine",
           f"{(seen or 99) + up_after:.2f} s after its start ({up_after:.2f} s of it loading)",
           seen is not None and seen + up_after <= 3)
    wait(lambda: nodes[8].round() > nodes[0].round() - 5 > 200, 20)
    series = nodes[8].get("/v1/convergence")["series"]
    report("it starts from a neighbour's model",
           f"first round {series[0]['round']}, first loss {series[0]['loss']:.4f} (2.30 at random)",
           series[0]["round"] > 1 and series[0]["loss"] < 1)
    longest, patience = gaps(nodes[:8])
    report("no round stalls for more than one patience",
           f"longest gap between rounds {longest:.3f} s, patience {patience:.3f} s",
           longest <= patience + ROUND_S)
    nodes[2].process.kill()
    rest = nodes[:2] + nodes[3:]
    dead = wait(lambda: all(any(m["state"] == "dead" for m in node.get("/v1/members")["members"])
                            for node in rest), 30)
    before = [node.round() for node in rest]
    on = wait(lambda: all(node.round() > b + 50 for node, b in zip(rest, before)), 20)
    longest, patience = gaps(rest)
    report("after kill -9 the rest go on",
           f"dead for all after {dead or 99:.1f} s; longest gap between rounds {longest:.3f} s, "
           f"patience {patience:.3f} s",
           dead is not None and on is not None and longest <= patience + ROUND_S)
    for node in nodes:
        node.stop()


def gaps(nodes):
    """The longest time between two rounds of any of these nodes, and the longest patience."""
    longest = 0
    for node in nodes:
        times = [p["time_s"] for p in node.get("/v1/convergence")["series"]]
        longest = max(longest, max(b - a for a, b in zip(times, times[1:])))
    patience = max(e["patience_s"] for n in nodes for e in n.get("/v1/neighbors")["neighbors"])
    return longest, patience


CHECKS = {"mnist": check_mnist, "alone": check_alone, "house-prices": check_house_prices,
          "a9a": check_a9a, "reference": check_reference, "join": check_join}


def main():
    if len(sys.argv) < 2 or any(name not in CHECKS for name in sys.argv[2:]):
        print(__doc__, "Checks:", ", ".join(CHECKS), file=sys.stderr)
        return 2
    for name in sys.argv[2:] or CHECKS:
        CHECKS[name](os.path.abspath(sys.argv[1]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
