#!/usr/bin/env python3
"""Holds a federation of hospitals beside scikit-learn: of each hospital alone, and of all rows in one place.

  bench/hospitals.py                        three seeds
  bench/hospitals.py 4 5                    other seeds
  bench/hospitals.py --set=model.l2=0       with a setting over the defaults

The hospitals are those of tests/acceptance/hospitals.py: 500 to 4,000 rows each, few of whose patients come
back, and many codes. Five nodes with a file each learn by the defaults, and in 300 rounds; the measure is the
area under the curve on the rows of a test file. Fails where Starling is more than 0.01 below scikit-learn's
default on all rows, or not above the mean of the hospitals alone.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import markdown
from cluster import PYTHON, ROOT, document, starling

sys.path.insert(0, str(ROOT / "tests/acceptance"))
import hospitals as table

WITHIN = 0.01
RUNS = {"defaults": [], "300 rounds": ["--stop.rounds=300"]}


def federation(folder, hospitals, settings):
    model = Path(folder) / "model.safetensors"
    starling("up", "-n", len(hospitals.sites), "--listen.http=127.0.0.1:0", f"--output={model}",
             f"--data.path={folder}/hospital-{{i}}.csv", f"--data.target={table.TARGET}", *settings, timeout=600)
    return document("evaluate", model, hospitals.test)["auc"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*", type=int, default=[1, 2, 3], metavar="SEED")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of `up`")
    arguments = parser.parse_args()
    if subprocess.run([PYTHON, "-c", "import sklearn"], capture_output=True).returncode:
        sys.exit("python3-sklearn is absent: deploy/install-packages bench")
    settings = [f"--{setting}" for setting in arguments.set]
    print(markdown.table(["seed", *RUNS, "alone, mean", "alone, best", "all rows", "verdict"]))
    missed = 0
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as folder:
            hospitals = table.make(folder, seed)
            alone = [hospitals.learned_by_scikit(site) for site in hospitals.sites]
            joined = hospitals.learned_by_scikit(hospitals.joined)
            areas = [federation(folder, hospitals, [*keys, *settings]) for keys in RUNS.values()]
        mean = sum(alone) / len(alone)
        good = min(areas) >= joined - WITHIN and min(areas) > mean
        missed += not good
        figures = " | ".join(f"{area:.4f}" for area in [*areas, mean, max(alone), joined])
        print(f"| {seed} | {figures} | {'good' if good else 'MISSED'} |", flush=True)
    print(f"\n{missed} missed")
    return 1 if missed else 0


sys.exit(main())
