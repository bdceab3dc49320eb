#!/usr/bin/env python3
"""Every row of the reference tables of docs/algorithms.md, in real processes.

  tests/acceptance/reference_rows.py [--program build/release/daemon/starling]

For each algorithm it starts sixteen daemons on the reference problem and compares the error after
1, 10, 100 and 1000 rounds with the known number: to eight digits, small errors to five, and of the
smallest only how small they are. Then it draws other shapes (n, d, m, h, noise, S) of the problem
from a seed and compares daemons with the simulator. Prints a line a run; fails when one is off.
"""
import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

MOMENTUM = ["--optim.learning-rate=0.01", "--optim.momentum=0.9"]
ROWS = [
    ("ring", "dpsgd", [], [1.855937474, 1.423108371, 4.526391141e-01, 4.434728101e-01]),
    ("ring", "dpsgd-pipelined", [], [1.857365205, 1.432946441, 4.683270580e-01, 4.587217475e-01]),
    ("ring", "gt", [], [1.855937474, 1.407353603, 9.658200177e-02, 2.346412837e-10]),
    ("ring", "ed", [], [1.856303922, 1.404374481, 8.509944394e-02, 8.207503256e-12]),
    ("ring", "dpsgd", MOMENTUM + ["--optim.local-optimizer=momentum"],
     [1.910622788, 1.677079141, 4.447967459e-01, 4.434728101e-01]),
    ("ring", "qg", MOMENTUM, [1.910622788, 1.832948995, 1.987505962e-01, 6.942291109e-02]),
    ("ring", "extra", [], [1.857365205, 1.405600193, 8.500716993e-02, 7.191863345e-12]),
    ("torus", "extra", [], [1.857365205, 1.387224196, 8.526784707e-02, 6.238953587e-12]),
    ("ring", "admm", ["--optim.admm-penalty=0.5"],
     [1.592726589, 6.128121053e-01, 1.082367216e-04, 6.453111036e-16]),
    ("ring", "admm", ["--optim.admm-penalty=0.1"],
     [1.479446804, 9.959113236e-01, 1.468726917e-01, 1.263351692e-07]),
    ("torus", "dpsgd", [], [1.855480754, 1.389712731, 1.104511751e-01, 6.305571529e-02]),
    ("torus", "gt", [], [1.855480754, 1.385745484, 8.541739802e-02, 6.196937671e-12]),
    ("torus", "ed", [], [1.856012030, 1.386516517, 8.535082478e-02, 6.118754164e-12]),
    ("torus", "qg", MOMENTUM, [1.910618352, 1.832300464, 1.832171298e-01, 6.841201075e-03]),
    ("torus", "admm", ["--optim.admm-penalty=0.5"],
     [1.702186690, 4.471019597e-01, 2.183631523e-06, 1.013321707e-15]),
]
ROUNDS = (1, 10, 100, 1000)


def errors(program, command, nodes, keys):
    """By round: sqrt(mean ||x_i - x*||^2)."""
    words = [program, command, "-n", str(nodes), "-c", str(ROOT / "configs/reference.ini"), "--json",
             "--stop.rounds=1000", "--eval.every=100"]
    if command == "up":
        words.append("--listen.http=127.0.0.1:0")
    done = subprocess.run(words + keys, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words + keys)}: {done.stderr}")
    return {p["round"]: p["distance_to_optimum"] for p in json.loads(done.stdout)["series"]}


def is_as_known(value, known):
    if known > 1e-3:
        return abs(value - known) <= 1e-8 * known
    if known > 1e-6:
        return abs(value - known) <= 1e-5 * known
    return value <= 10 * known


def say(what, found, wanted):
    sound = all(is_as_known(a, b) for a, b in zip(found, wanted))
    print(f"{'ok ' if sound else 'OFF'} {what}: " + ", ".join(f"{x:.9e}" for x in found), flush=True)
    return sound


def other_shapes(seed):
    rng = random.Random(seed)
    for _ in range(3):
        yield {"n": rng.randint(3, 12), "d": rng.randint(2, 15), "m": rng.randint(20, 40),
               "h": round(rng.uniform(0, 2), 2), "noise": round(rng.uniform(0, 0.5), 2),
               "seed": rng.randint(1, 10**6)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/daemon/starling"))
    parser.add_argument("--seed", type=int, default=1, help="of the other shapes")
    options = parser.parse_args()
    sound = True
    for kind, algorithm, keys, wanted in ROWS:
        keys = [f"--topology.kind={kind}", f"--optim.algorithm={algorithm}"] + keys
        error = errors(options.program, "up", 16, keys)
        sound &= say(" ".join(keys), [error[r] for r in ROUNDS], wanted)
    print(f"other shapes, seed {options.seed}, against the simulator")
    for shape in other_shapes(options.seed):
        for algorithm in ("dpsgd", "qg", "ed", "gt", "admm"):
            keys = [f"--data.reference.{key}={value}" for key, value in shape.items()]
            keys += [f"--optim.algorithm={algorithm}", "--optim.learning-rate=0.05"]
            real = errors(options.program, "up", shape["n"], keys)
            simulated = errors(options.program, "simulate", shape["n"], keys)
            sound &= say(" ".join(keys), [real[r] for r in ROUNDS],
                         [max(simulated[r], 1e-13) for r in ROUNDS])
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
