#!/usr/bin/env python3
"""Holds Starling beside scikit-learn on tables of the kinds that people have.

  bench/tables.py                 every table of tests/acceptance/messy_tables.py
  bench/tables.py adult wine      some of them
  bench/tables.py --set=optim.batch-size=128    with a setting over the defaults

Each is learned by four nodes with one command, `starling up -n 4 --data.path=...`, and judged by
`starling evaluate` on a test file; scikit-learn's same model, without a penalty, learns from all
training rows in one place and is judged on the same test file. Fails when Starling's accuracy is
less than 0.99 of scikit-learn's, or its root mean squared error more than 1.01 of it.
"""
import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import PYTHON, ROOT, peer_environment, program

sys.path.insert(0, str(ROOT / "tests/acceptance"))
import messy_tables

NODES = 4
WITHIN = 0.01
TRAINING_S_LIMIT = 600


def keys_of(table):
    path = f"{table.train.parent}/site-{{i}}.csv" if table.sites else table.train
    ignore = [f"--data.ignore={','.join(table.ignore)}"] if table.ignore else []
    return ["--data.source=csv", f"--data.path={path}", f"--data.target={table.target}", *ignore, *table.keys]


def run(command):
    begin = time.monotonic()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=TRAINING_S_LIMIT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    return done, time.monotonic() - begin


def learn(table, settings):
    """Scores and seconds of Starling, and what `evaluate` said."""
    model = table.train.with_suffix(".safetensors")
    _, seconds = run([program(), "up", "-n", NODES, "--listen.http=127.0.0.1:0", f"--output={model}", *keys_of(table), *settings])
    done, _ = run([program(), "evaluate", "--json", model, table.test, *table.keys])
    return json.loads(done.stdout), seconds, done.stderr.strip().splitlines()


def peer(table):
    specification = json.dumps(dataclasses.asdict(table), default=str)
    return json.loads(run([PYTHON, ROOT / "bench/sklearn_table.py", specification])[0].stdout)


def judge(table, settings):
    """A row of the report, whether it is good, and what was said."""
    theirs = peer(table)
    what = "accuracy" if table.classifies else "rmse"
    try:
        scores, seconds, said = learn(table, settings)
    except (RuntimeError, subprocess.TimeoutExpired) as failure:
        return [table.name, what, "-", f"{theirs[what]:.5g}", "-", "-", f"{theirs['seconds']:.1f}", "FAILED"], False, [str(failure)]
    ratio = scores[what] / theirs[what]
    good = ratio >= 1 - WITHIN if table.classifies else ratio <= 1 + WITHIN
    figures = [f"{scores[what]:.5g}", f"{theirs[what]:.5g}", f"{ratio:.4f}", f"{seconds:.1f}", f"{theirs['seconds']:.1f}"]
    return [table.name, what, *figures, "good" if good else "MISSED"], good, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(messy_tables.MAKERS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of `up`")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tables) - set(messy_tables.MAKERS))
    if unknown:
        parser.error(f"unknown table {', '.join(unknown)}; expected {', '.join(messy_tables.MAKERS)}")
    if subprocess.run([PYTHON, "-c", "import sklearn"], capture_output=True).returncode:
        sys.exit("python3-sklearn is absent: deploy/install-packages bench")
    settings = [f"--{setting}" for setting in arguments.set]
    print("| table | what | Starling, 4 nodes | scikit-learn, all rows | ratio | s | s | verdict |\n|" + " --- |" * 8)
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.tables or messy_tables.MAKERS:
            row, good, said = judge(messy_tables.MAKERS[name](folder), settings)
            missed += not good
            print("| " + " | ".join(row) + " |", *(f"    {line}" for line in said), sep="\n", flush=True)
    print(f"\n{missed} missed")
    return 1 if missed else 0


sys.exit(main())
