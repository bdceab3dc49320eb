#!/usr/bin/env python3
"""Nodes that take unequal numbers of steps a round, or weigh unequally, from the equations alone.

  tests/acceptance/unequal_nodes.py [--program build/release/daemon/starling]
  tests/acceptance/unequal_nodes.py --print

Exact diffusion (LED) and gradient tracking (K-GT) with weights and paces are written down here once
more, after docs/algorithms.md and without a line of the program. Their errors after 1, 10 and more
rounds are compared with those of the simulator, and their limit with the optimum of the weighted
sum, from its normal equations. Prints a line a run; fails when one is off. --print only prints what
the equations say, as tests/sim/unequal_steps_test.cpp holds it.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

from low_communication import KEYS, Problem, is_alike, mixed, pairs, ring, solve, torus

ROOT = Path(__file__).resolve().parent.parent.parent
PACES = (1, 3, 2)  # of node 0, 1, ..., in turn


class Fleet:
    """What differs by node: a node steps along scale g + c / weight, `steps` times a round."""

    def __init__(self, problem, weigh, h):
        self.problem, self.weigh, self.h = problem, weigh, h
        paces = [PACES[i % len(PACES)] for i in range(problem.n)]
        self.steps = [h * pace for pace in paces]
        self.weight = paces if weigh == "steps" else [1.0] * problem.n
        self.scale = [1.0] * problem.n
        if weigh == "samples":
            rows = problem.rows
            self.steps = [h] * problem.n
            self.scale = [m * problem.n / sum(rows) for m in rows]

    def walk(self, i, x, gamma, c):
        """The model after the steps of a round, and the mean of the directions."""
        mean = [0.0] * len(x)
        for _ in range(self.steps[i]):
            g = self.problem.gradient(i, x)
            d = [self.scale[i] * a + b / self.weight[i] for a, b in zip(g, c)]
            mean = [a + b / self.steps[i] for a, b in zip(mean, d)]
            x = [a - gamma * b for a, b in zip(x, d)]
        return x, mean

    def optimum(self):
        """Where the weighted sum of all F_i is least."""
        p = self.problem
        w = [a * b for a, b in zip(self.weight, self.scale)]
        total = [[sum(w[i] * p.normal[i][j][k] for i in range(p.n)) for k in range(p.d)]
                 for j in range(p.d)]
        return solve(total, [sum(w[i] * p.right[i][j] for i in range(p.n)) for j in range(p.d)])


def led(fleet, graph, rounds, gamma):
    n, d = fleet.problem.n, fleet.problem.d
    path = [gamma * s / w for s, w in zip(fleet.steps, fleet.weight)]
    x, flows = fleet.problem.zeros(), [{} for _ in range(n)]
    for t in range(rounds):
        c = [[-sum(flow[k] for flow in flows[i].values()) for k in range(d)] for i in range(n)]
        after = [fleet.walk(i, x[i], gamma, c[i])[0] for i in range(n)]
        for i, row in enumerate(graph(n, t)):
            for j, w in row.items():
                flow = flows[i].setdefault(j, [0.0] * d)
                for k in range(d):
                    flow[k] += w / 2 * (after[j][k] - after[i][k]) / max(path[i], path[j])
        x = mixed(graph(n, t), after, 1 / 2)
        yield x


def kgt(fleet, graph, rounds, gamma):
    n = fleet.problem.n
    x, c = fleet.problem.zeros(), fleet.problem.zeros()
    for t in range(rounds):
        walked = [fleet.walk(i, x[i], gamma, c[i]) for i in range(n)]
        z = [[fleet.weight[i] * a for a in walked[i][1]] for i in range(n)]
        weights = graph(n, t)
        x, known = mixed(weights, [after for after, _ in walked]), mixed(weights, z)
        c = [[p + q - r for p, q, r in zip(*rows)] for rows in zip(c, known, z)]
        yield x


class UnequalRows(Problem):
    """Node i holds 8 + 4 i rows."""

    def __init__(self, n):
        self.rows = [8 + 4 * i for i in range(n)]
        each = [Problem(n=n, m=m) for m in self.rows]
        self.n, self.d = n, each[0].d
        self.normal = [each[i].normal[i] for i in range(n)]
        self.right = [each[i].right[i] for i in range(n)]
        self.optimum = Fleet(self, "samples", 1).optimum()


# Method, its graph, H, rounds, gamma.
ROWS = [(led, ring, 1, 400, .05), (led, torus, 2, 400, .05), (led, pairs, 2, 400, .05),
        (kgt, ring, 1, 400, .05), (kgt, torus, 2, 400, .05)]
SHAPES = [dict(), dict(n=10, d=4, m=12, h=0.5, noise=0.3, seed=7)]
NAMES = {led: "led", kgt: "kgt"}


def by_equations(fleet, method, graph, h, rounds, gamma):
    """The errors after 1, 10 and all rounds, and at the end the distance to the fleet's optimum."""
    errors, models = [], None
    for t, models in enumerate(method(fleet, graph, rounds, gamma), 1):
        if t in (1, 10, rounds):
            errors.append(fleet.problem.error(models))
    own = fleet.optimum()
    away = max(abs(a - b) for x in models for a, b in zip(x, own))
    return errors, away


def ran(options, problem, weigh, method, graph, h, rounds, gamma):
    keys = [f"--optim.algorithm={NAMES[method]}", f"--data.weight={weigh}",
            f"--sim.paces={','.join(map(str, PACES))}", f"--optim.local-steps={h}",
            f"--optim.learning-rate={gamma}", f"--stop.rounds={rounds}", "--eval.every=100"]
    keys += KEYS[graph] + [f"--data.reference.{k}={v}" for k, v in problem.keys.items()]
    words = [options.program, "simulate", "-n", str(problem.n),
             "-c", str(ROOT / "configs/reference.ini"), "--json"] + keys
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    error = {p["round"]: p["distance_to_optimum"] for p in json.loads(done.stdout)["series"]}
    return [error[t] for t in (1, 10, rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/daemon/starling"))
    parser.add_argument("--print", action="store_true", help="only what the equations say")
    options = parser.parse_args()
    runs = [(Problem(**shape), weigh, row) for shape in SHAPES for weigh in ("nodes", "steps")
            for row in ROWS if row[1] is not torus or not shape]
    runs += [(UnequalRows(5), "samples", (method, ring, 2, 1000, .2)) for method in (led, kgt)]
    are_sound = True
    for problem, weigh, row in runs:
        method, graph, h, rounds, gamma = row
        wanted, away = by_equations(Fleet(problem, weigh, h), *row)
        simulates = not options.print and weigh != "samples"
        found = ran(options, problem, weigh, *row) if simulates else wanted
        is_sound = is_alike(found, wanted)
        are_sound &= is_sound
        print(f"{'ok ' if is_sound else 'OFF'} n={problem.n} weight={weigh} {NAMES[method]} "
              f"{graph.__name__} H={h} R={rounds} gamma={gamma}: "
              + ", ".join(f"{x:.9e}" for x in wanted) + f"; {away:.1e} from the weighted optimum"
              + ("" if is_sound else "; not " + ", ".join(f"{x:.9e}" for x in found)), flush=True)
    return 0 if are_sound else 1


if __name__ == "__main__":
    sys.exit(main())
