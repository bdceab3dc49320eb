#!/usr/bin/env python3
"""The algorithms of few exchanges on the reference problem, computed from their equations alone.

  tests/acceptance/low_communication.py [--program build/release/daemon/starling] [--real]
  tests/acceptance/low_communication.py --print

Each method is written down here once more, after docs/algorithms.md and without a line of the
program, on lists of numbers. The errors after some rounds are compared with those of the simulator,
which runs the daemon's code: on the problem of the documentation, and on other shapes
(n, d, m, h, noise, S). With --real they are compared with real processes instead. Prints a line a
run; fails when one is off. --print only prints what the equations say, as
tests/sim/local_steps_test.cpp holds it.
"""
import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MASK = (1 << 64) - 1
SEED = 77  # of the matchings


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def number(s, k):
    return (mix64((s << 32) | k) >> 11) * 2.0**-53 * 2 - 1


def solve(matrix, right):
    """By elimination with pivots."""
    n = len(right)
    rows = [list(row) + [b] for row, b in zip(matrix, right)]
    for c in range(n):
        best = max(range(c, n), key=lambda r: abs(rows[r][c]))
        rows[c], rows[best] = rows[best], rows[c]
        for r in range(c + 1, n):
            f = rows[r][c] / rows[c][c]
            rows[r] = [a - f * b for a, b in zip(rows[r], rows[c])]
    x = [0.0] * n
    for c in reversed(range(n)):
        x[c] = (rows[c][n] - sum(rows[c][k] * x[k] for k in range(c + 1, n))) / rows[c][c]
    return x


class Problem:
    def __init__(self, n=16, d=10, m=20, h=1.0, noise=0.1, seed=1000):
        self.n, self.d = n, d
        self.keys = {"n": n, "d": d, "m": m, "h": h, "noise": noise, "seed": seed}
        self.normal, self.right = [], []
        for i in range(n):
            a = [[number(seed + i, r * d + c) for c in range(d)] for r in range(m)]
            x = [number(seed + 900, c) + h * number(seed + 500 + i, c) for c in range(d)]
            b = [sum(p * q for p, q in zip(a[r], x)) + noise * number(seed + 700 + i, r)
                 for r in range(m)]
            self.normal.append([[sum(a[r][j] * a[r][k] for r in range(m)) / m for k in range(d)]
                                for j in range(d)])
            self.right.append([sum(a[r][j] * b[r] for r in range(m)) / m for j in range(d)])
        total = [[sum(self.normal[i][j][k] for i in range(n)) for k in range(d)] for j in range(d)]
        self.optimum = solve(total, [sum(self.right[i][j] for i in range(n)) for j in range(d)])

    def gradient(self, i, x):
        return [sum(a * b for a, b in zip(row, x)) - right
                for row, right in zip(self.normal[i], self.right[i])]

    def error(self, models):
        squared = sum((a - b)**2 for x in models for a, b in zip(x, self.optimum))
        return math.sqrt(squared / self.n)

    def zeros(self):
        return [[0.0] * self.d for _ in range(self.n)]


# ---- who averages with whom in outer step t: the rows of W, as {j: w_ij} without w_ii

def complete(n, t):
    return [{j: 1 / n for j in range(n) if j != i} for i in range(n)]


def ring(n, t):
    return [{j: 1 / 3 for j in ((i - 1) % n, (i + 1) % n)} for i in range(n)]


def torus(n, t):
    side = math.isqrt(n)
    near = lambda r, c: ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
    return [{(a % side) * side + b % side: 1 / 5 for a, b in near(i // side, i % side)}
            for i in range(n)]


def pairs(n, t):
    order = list(range(n))
    stride = 64 * -(-n // 64)
    for k in range(n - 1, 0, -1):
        j = mix64(((SEED << 32) + t * stride + k) & MASK) % (k + 1)
        order[k], order[j] = order[j], order[k]
    weights = [{} for _ in range(n)]
    for a, b in zip(order[::2], order[1::2]):
        weights[a][b] = weights[b][a] = 1 / 2
    return weights


def mixed(weights, vectors, share=1):
    return [[x + share * sum(w * (vectors[j][k] - x) for j, w in row.items())
             for k, x in enumerate(vectors[i])] for i, row in enumerate(weights)]


# ---- the methods: each yields the models after every outer step

def steps_of(problem, x, h, gamma, correction=None):
    after = []
    for i, model in enumerate(x):
        for _ in range(h):
            g = problem.gradient(i, model)
            c = correction[i] if correction else [0.0] * problem.d
            model = [a - gamma * b - e for a, b, e in zip(model, g, c)]
        after.append(model)
    return after


def outer(problem, graph, h, rounds, gamma, alpha, beta, is_slow):
    x, v = problem.zeros(), problem.zeros()
    for t in range(rounds):
        average = mixed(graph(problem.n, t), steps_of(problem, x, h, gamma))
        for i in range(problem.n):
            for k in range(problem.d):
                delta = x[i][k] - average[i][k]
                if is_slow:
                    v[i][k] = beta * v[i][k] + delta / gamma
                    x[i][k] -= alpha * gamma * v[i][k]
                else:
                    v[i][k] = beta * v[i][k] + delta
                    x[i][k] -= alpha * (delta + beta * v[i][k])
        yield x


def diloco(problem, graph, h, rounds, gamma):
    return outer(problem, graph, h, rounds, gamma, 0.7, 0.9, False)


def slowmo(problem, graph, h, rounds, gamma):
    return outer(problem, graph, h, rounds, gamma, 1.0, 0.7, True)


def noloco(problem, graph, h, rounds, gamma):
    x, v = problem.zeros(), problem.zeros()
    for t in range(rounds):
        weights = graph(problem.n, t)
        after = steps_of(problem, x, h, gamma)
        delta = mixed(weights, [[a - b for a, b in zip(p, q)] for p, q in zip(x, after)])
        mean = mixed(weights, x)
        for i in range(problem.n):
            for k in range(problem.d):
                v[i][k] = 0.5 * v[i][k] - 0.7 * delta[i][k] - 0.7 * (x[i][k] - mean[i][k])
        x = [[a + b for a, b in zip(p, q)] for p, q in zip(x, v)]
        yield x


def led(problem, graph, h, rounds, gamma):
    x, y = problem.zeros(), problem.zeros()
    for t in range(rounds):
        each = [[value / h for value in row] for row in y]
        after = steps_of(problem, x, h, gamma, each)
        x = mixed(graph(problem.n, t), after, 1 / 2)
        y = [[a + b - c for a, b, c in zip(*rows)] for rows in zip(y, after, x)]
        yield x


def kgt(problem, graph, h, rounds, gamma):
    """With adam inside: beta .9 and .95, gamma falling to zero by a cosine of the outer steps."""
    x, c, m, v = problem.zeros(), problem.zeros(), problem.zeros(), problem.zeros()
    taken = 0
    for t in range(rounds):
        rate = gamma * 0.5 * (1 + math.cos(math.pi * t / rounds))
        z, after = problem.zeros(), [list(row) for row in x]
        for _ in range(h):
            taken += 1
            for i in range(problem.n):
                g = problem.gradient(i, after[i])
                for k in range(problem.d):
                    d = g[k] + c[i][k]
                    z[i][k] += d / h
                    m[i][k] = 0.9 * m[i][k] + 0.1 * d
                    v[i][k] = 0.95 * v[i][k] + 0.05 * d * d
                    root = math.sqrt(v[i][k] / (1 - 0.95**taken)) + 1e-8
                    after[i][k] -= rate * m[i][k] / (1 - 0.9**taken) / root
        weights = graph(problem.n, t)
        x, known = mixed(weights, after), mixed(weights, z)
        c = [[p + q - r for p, q, r in zip(*rows)] for rows in zip(c, known, z)]
        yield x


# Method, its graph, H, rounds, gamma, and after which rounds to compare.
ROWS = [
    (diloco, complete, 5, 100, 0.1), (diloco, complete, 20, 100, 0.1),
    (slowmo, complete, 5, 100, 0.1), (diloco, ring, 5, 100, 0.1),
    (noloco, pairs, 5, 100, 0.1), (noloco, pairs, 20, 100, 0.1), (noloco, ring, 5, 100, 0.1),
    (led, pairs, 5, 100, 0.1), (led, pairs, 20, 100, 0.1), (led, ring, 5, 100, 0.1),
    (led, torus, 5, 100, 0.1),
    (kgt, pairs, 5, 100, 0.05), (kgt, torus, 5, 100, 0.05), (kgt, pairs, 20, 100, 0.05),
]
SHAPES = [dict(n=10, d=4, m=12, h=0.5, noise=0.3, seed=7),
          dict(n=7, d=13, m=25, h=1.5, noise=0.0, seed=42)]
SHAPE_ROWS = [(diloco, complete, 3, 60, 0.1), (slowmo, ring, 4, 60, 0.1), (noloco, pairs, 7, 60, 0.1),
              (led, pairs, 4, 60, 0.1), (led, ring, 10, 60, 0.05), (kgt, pairs, 6, 60, 0.05)]

KEYS = {
    diloco: ["--optim.algorithm=dpsgd", "--optim.outer=nesterov"],
    slowmo: ["--optim.algorithm=dpsgd", "--optim.outer=slowmo"],
    noloco: ["--optim.algorithm=noloco"],
    led: ["--optim.algorithm=led"],
    kgt: ["--optim.algorithm=kgt", "--optim.local-optimizer=adam", "--optim.adam-beta2=0.95"],
    complete: ["--topology.kind=complete"],
    ring: ["--topology.kind=ring"],
    torus: ["--topology.kind=torus"],
    pairs: ["--topology.kind=complete", "--exchange.schedule=matching", f"--topology.seed={SEED}"],
}


def by_equations(problem, method, graph, h, rounds, gamma):
    wanted = (1, 10, rounds)
    models = enumerate(method(problem, graph, h, rounds, gamma), 1)
    return [problem.error(x) for t, x in models if t in wanted]


def ran(options, problem, method, graph, h, rounds, gamma):
    keys = KEYS[method] + KEYS[graph] + [f"--data.reference.{k}={v}" for k, v in problem.keys.items()]
    keys += [f"--optim.local-steps={h}", f"--optim.learning-rate={gamma}",
             f"--stop.rounds={rounds}", "--eval.every=100"]
    if method is kgt:
        keys.append(f"--optim.learning-rate-schedule=cosine:{rounds}")
    words = [options.program, "up" if options.real else "simulate", "-n", str(problem.n),
             "-c", str(ROOT / "configs/reference.ini"), "--json"] + keys
    if options.real:
        words.append("--listen.http=127.0.0.1:0")
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    error = {p["round"]: p["distance_to_optimum"] for p in json.loads(done.stdout)["series"]}
    return [error[t] for t in (1, 10, rounds)]


def is_alike(found, wanted):
    return all(abs(a - b) <= (1e-8 if b > 1e-3 else 1e-5) * b if b > 1e-6 else a <= 10 * b + 1e-13
               for a, b in zip(found, wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/daemon/starling"))
    parser.add_argument("--real", action="store_true", help="in real processes")
    parser.add_argument("--print", action="store_true", help="only what the equations say")
    options = parser.parse_args()
    runs = [(Problem(), row) for row in ROWS]
    # With an odd number one is without a partner in each round: the program counts its next pair
    # for the steps of both rounds, the equation of led does not.
    runs += [(Problem(**shape), row) for shape in SHAPES for row in SHAPE_ROWS
             if row[:2] != (led, pairs) or shape["n"] % 2 == 0]
    are_sound = True
    for problem, row in runs:
        wanted = by_equations(problem, *row)
        found = wanted if options.print else ran(options, problem, *row)
        is_sound = is_alike(found, wanted)
        are_sound &= is_sound
        method, graph, h, rounds, gamma = row
        print(f"{'ok ' if is_sound else 'OFF'} {tuple(problem.keys.values())} {method.__name__} "
              f"{graph.__name__} H={h} R={rounds} gamma={gamma}: "
              + ", ".join(f"{x:.9e}" for x in wanted)
              + ("" if is_sound else ", not " + ", ".join(f"{x:.9e}" for x in found)), flush=True)
    return 0 if are_sound else 1


if __name__ == "__main__":
    sys.exit(main())
