#!/usr/bin/env python3
"""Measures what a release promises on real data, with the program that `make` builds.

    tests/acceptance/run.py DATA [CHECK ...]

DATA is a folder with mnist/, california-housing.csv.gz, a9a.gz and a9a.t.gz. Without names every
check runs: mnist alone house-prices a9a; reference, which compares real processes with the simulator,
by every way of averaging and on problems of other shapes; and few-exchanges, the same of ways with many
local steps. Each prints its figures; the exit code is 1 when one is outside its bound.
"""
import csv
import functools
import gzip
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from normal_equations import mix64, solve
from nodes import watch  # noqa: E402
from nodes.fleet import Fleet  # noqa: E402
from nodes.program import document, up  # noqa: E402

report = functools.partial(watch.report, fault="MISS ")


def check_mnist(data):
    for kind in ("ring", "torus", "random"):
        result = up("-n", "8", "-c", "configs/mnist.ini", f"--data.path={data}/mnist", f"--topology.kind={kind}")
        worst = min(node["accuracy"] for node in result["nodes"])
        report(f"MNIST on a {kind} of 8", f"worst node {worst:.4f} in {result['wall_s']:.1f} s", worst >= 0.97)


def check_alone(data):
    rounds = 6000
    result = up("-n", "1", "-c", "configs/mnist.ini", f"--data.path={data}/mnist", "--data.shard=0/8",
                "--stop.accuracy=", f"--stop.rounds={rounds}")
    best = max(p["accuracy"] for p in result["series"] if "accuracy" in p)
    report(f"MNIST alone on 1/8 for {rounds} rounds",
           f"best {best:.4f}, last {result['nodes'][0]['accuracy']:.4f}", best < 0.97)


def held_out(row, fraction, seed):
    return (mix64(mix64(mix64(seed) ^ ((row * 0xD1B54A32D192ED03) & ((1 << 64) - 1)))) >> 11) * 2.0 ** -53 < fraction


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
    sums, test = [[0.0] * (size + 1) for _ in range(size)], []
    for index, row in enumerate(rows):
        x, y = features(row), float(row[target])
        if held_out(index, 0.2, 1):
            test.append((x, y))
            continue
        for i in range(size):
            for j, value in enumerate([*x, y]):
                sums[i][j] += x[i] * value
    w = solve(sums)
    errors = [(sum(a * b for a, b in zip(w, x)) - y) ** 2 for x, y in test]
    return (sum(errors) / len(errors)) ** 0.5, len(test)


def check_house_prices(data):
    path = f"{data}/california-housing.csv.gz"
    best, test_rows = closed_form_rmse(path)
    result = up("-n", "8", "-c", "configs/house-prices.ini", f"--data.path={path}")
    worst = max(node["rmse"] for node in result["nodes"])
    report("house prices, held-out RMSE",
           f"worst node {worst:.0f}, closed form {best:.0f} on {test_rows} rows, "
           f"ratio {worst / best:.4f}", worst <= 1.02 * best)


def check_a9a(data):
    with Fleet(range(4), ["--data.source=libsvm", f"--data.path={data}/a9a.gz", f"--data.test-path={data}/a9a.t.gz",
                          "--optim.learning-rate=0.5", "--topology.kind=ring", "--cluster.expect=4",
                          "--cluster.preset=local", "--eval.every=500"]) as fleet:
        fleet.wait(lambda: min(fleet.rounds()) > 3000, 60)
        memory = max(node.kib("VmRSS") for node in fleet.nodes)
        accuracy = min(node.get("/v1/status")["run"]["eval"]["accuracy"] for node in fleet.nodes)
    report("a9a, sparse logistic regression on 4 nodes",
           f"worst node {accuracy:.4f}, resident memory {memory / 1000:.1f} MB", accuracy > 0.84)


# ---- real processes beside the simulator, whose rows tests/sim/convergence_test.cpp and local_steps_test.cpp hold

PARTNERS = "--topology.kind=complete --topology.sequence=matching --optim.local-steps=5"
WAYS = ("dpsgd", "dpsgd-pipelined", "gt", "ed", "extra", "admm --optim.admm-penalty=0.5",
        "admm --optim.admm-penalty=0.1", "qg --optim.learning-rate=0.01",
        "dpsgd --optim.learning-rate=0.01 --optim.momentum=0.9 --optim.local-optimizer=momentum")
FEW_EXCHANGES = ("dpsgd --topology.kind=complete --optim.outer=nesterov --optim.local-steps=5",
                 "dpsgd --topology.kind=complete --optim.outer=slowmo --optim.local-steps=5",
                 f"noloco {PARTNERS}", f"led {PARTNERS}",
                 f"kgt {PARTNERS} --optim.local-optimizer=adam --optim.adam-beta2=0.95 --optim.learning-rate=0.05")
ROUNDS = (1, 10, 100, 1000)


def errors(nodes, words, *command):
    """By round: sqrt(mean ||x_i - x*||^2). With the patience of a wide network the load of the machine has no
    process done without."""
    series = document(*command, "-n", nodes, "-c", "configs/reference.ini", "--stop.rounds=1000",
                      "--eval.every=100", "--cluster.preset=wan", *words)["series"]
    found = {point["round"]: point["distance_to_optimum"] for point in series}
    return [found[number] for number in ROUNDS]


def is_as_known(value, known):
    """To eight digits, small ones to five, and of the smallest only how small they are."""
    if known > 1e-6:
        return abs(value - known) <= (1e-8 if known > 1e-3 else 1e-5) * known
    return value <= 10 * max(known, 1e-13)


def compare(nodes, text):
    words = f"--optim.algorithm={text}".split()
    real, known = errors(nodes, words, "up", "--listen.http=127.0.0.1:0"), errors(nodes, words, "simulate")
    report(f"{nodes} processes, {text}", ", ".join(f"{one:.9e}" for one in real),
           all(map(is_as_known, real, known)))


def check_reference(_):
    for kind in ("ring", "torus"):
        for way in WAYS:
            compare(16, f"{way} --topology.kind={kind}")
    chance = random.Random(1)
    for _ in range(3):
        shape = {"n": chance.randint(3, 12), "d": chance.randint(2, 15), "m": chance.randint(20, 40),
                 "h": round(chance.uniform(0, 2), 2), "noise": round(chance.uniform(0, 0.5), 2),
                 "seed": chance.randint(1, 10**6)}
        keys = " ".join(f"--data.reference.{key}={value}" for key, value in shape.items())
        for algorithm in ("dpsgd", "qg", "ed", "gt", "admm"):
            compare(shape["n"], f"{algorithm} --optim.learning-rate=0.05 {keys}")


def check_few_exchanges(_):
    for way in FEW_EXCHANGES:
        compare(16, way)


CHECKS = {"mnist": check_mnist, "alone": check_alone, "house-prices": check_house_prices,
          "a9a": check_a9a, "reference": check_reference, "few-exchanges": check_few_exchanges}


def main():
    if len(sys.argv) < 2 or any(name not in CHECKS for name in sys.argv[2:]):
        print(__doc__, "Checks:", ", ".join(CHECKS), file=sys.stderr)
        return 2
    for name in sys.argv[2:] or CHECKS:
        CHECKS[name](os.path.abspath(sys.argv[1]))
    return 1 if watch.failures else 0


if __name__ == "__main__":
    sys.exit(main())
