#!/usr/bin/env python3
"""Holds Starling beside scikit-learn on tables of the kinds that people have.

  bench/tables.py                 every table of tests/acceptance/messy_tables.py and foreign_tables.py
  bench/tables.py adult wine      some of them
  bench/tables.py --set=optim.batch-size=128    with a setting over the defaults

Each is learned by four nodes with one command, `starling up -n 4 --data.path=...`, and judged by
`starling evaluate` on a test file; scikit-learn's same model, without a penalty, learns from all
training rows in one place and is judged on the same test file. The training files are gone before
the model is asked, and `starling predict` is held beside the Python of docs/use-model.md. Fails when
Starling's accuracy is less than 0.99 of scikit-learn's, its root mean squared error more than 1.01 of
it, or a prediction off by more than 1e-5 (relative above 1).
"""
import argparse
import csv
import dataclasses
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import markdown
from cluster import PYTHON, ROOT, Failure, program, run, starling

sys.path.insert(0, str(ROOT / "tests/acceptance"))
import foreign_tables
import messy_tables

MAKERS = {**messy_tables.MAKERS, **foreign_tables.MAKERS}

NODES = 4
WITHIN = 0.01
TRAINING_S_LIMIT = 600
PREDICTION_LIMIT = 1e-5


def keys_of(table):
    path = f"{table.train.parent}/site-{{i}}.csv" if table.sites else table.train
    ignore = [f"--data.ignore={','.join(table.ignore)}"] if table.ignore else []
    return ["--data.source=csv", f"--data.path={path}", f"--data.target={table.target}", *ignore, *table.keys]


def timed(*command):
    begin = time.monotonic()
    return run(*command, timeout=TRAINING_S_LIMIT), time.monotonic() - begin


def page_code():
    """The first piece of Python in docs/use-model.md: it predicts."""
    return re.search(r"```python\n(.*?)```", (ROOT / "docs/use-model.md").read_text(encoding="utf-8"), re.S)[1]


def comma_separated(table):
    """The test file as the page reads it: commas, a header, UTF-8 without a mark."""
    path = table.test.with_suffix(".commas.csv")
    with open(table.test, newline="", encoding="utf-8-sig") as source, open(path, "w", newline="", encoding="utf-8") as copy:
        rows, writer = csv.reader(source, delimiter=table.separator), csv.writer(copy)
        for number, row in enumerate(rows):
            if number == 0 and not table.header:
                writer.writerow(range(1, len(row) + 1))
            writer.writerow(row)
    return path


def difference(ours, theirs):
    """Largest of two answers of `predict`, line by line; infinite where words differ."""
    ours, theirs = (list(csv.reader(text.splitlines())) for text in (ours, theirs))
    if [len(row) for row in ours] != [len(row) for row in theirs]:
        return float("inf")
    largest = 0.0
    for a, b in ((a, b) for one, other in zip(ours[1:], theirs[1:]) for a, b in zip(one, other)):
        try:
            largest = max(largest, abs(float(a) - float(b)) / max(1.0, abs(float(a))))
        except ValueError:
            largest = largest if a == b else float("inf")
    return largest


def beside_the_page(model, table):
    """How far `predict` is from the page's Python on the test file, at most; nothing with dates, which it does not read."""
    with open(model, "rb") as stream:
        tensors = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    if any("of" in column for column in json.loads(tensors["__metadata__"]["starling"])["columns"]):
        return None
    script = model.parent / "predict.py"
    script.write_text(page_code(), encoding="utf-8")
    ours = starling("predict", model, table.test, *table.keys, timeout=TRAINING_S_LIMIT)
    theirs = run(PYTHON, script, model, comma_separated(table), timeout=TRAINING_S_LIMIT)
    return difference(ours.stdout, theirs.stdout)


def forget(table):
    """Who predicts has none of the data."""
    for path in table.sites or [table.train]:
        Path(path).unlink()


def learn(table, settings):
    """Scores and seconds of Starling, how far it is from the page, and what `evaluate` said."""
    model = table.train.with_suffix(".safetensors")
    _, seconds = timed(program(), "up", "-n", NODES, "--listen.http=127.0.0.1:0", f"--output={model}", *keys_of(table), *settings)
    forget(table)
    done = starling("evaluate", "--json", model, table.test, *table.keys, timeout=TRAINING_S_LIMIT)
    return json.loads(done.stdout), seconds, beside_the_page(model, table), done.stderr.strip().splitlines()


def peer(table):
    """scikit-learn reads a table of another country as plain columns."""
    specification = dataclasses.asdict(table)
    if isinstance(table, foreign_tables.Foreign):
        specification |= {"train": table.plain[0], "test": table.plain[1], "target": "ill", "separator": ","}
    specification = json.dumps(specification, default=str)
    return json.loads(run(PYTHON, ROOT / "bench/sklearn_table.py", specification, timeout=TRAINING_S_LIMIT).stdout)


def judge(table, settings):
    """A row of the report, whether it is good, and what was said."""
    theirs = peer(table)
    what = "accuracy" if table.classifies else "rmse"
    try:
        scores, seconds, off, said = learn(table, settings)
    except (Failure, subprocess.TimeoutExpired) as failure:
        return [table.name, what, "-", f"{theirs[what]:.5g}", "-", "-", "-", f"{theirs['seconds']:.1f}", "FAILED"], False, [str(failure)]
    ratio = scores[what] / theirs[what]
    good = ratio >= 1 - WITHIN if table.classifies else ratio <= 1 + WITHIN
    good = good and (off is None or off <= PREDICTION_LIMIT)
    far = "-" if off is None else f"{off:.1e}"
    figures = [f"{scores[what]:.5g}", f"{theirs[what]:.5g}", f"{ratio:.4f}", far, f"{seconds:.1f}", f"{theirs['seconds']:.1f}"]
    return [table.name, what, *figures, "good" if good else "MISSED"], good, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(MAKERS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of `up`")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tables) - set(MAKERS))
    if unknown:
        parser.error(f"unknown table {', '.join(unknown)}; expected {', '.join(MAKERS)}")
    if subprocess.run([PYTHON, "-c", "import sklearn"], capture_output=True).returncode:
        sys.exit("python3-sklearn is absent: deploy/install-packages bench")
    settings = [f"--{setting}" for setting in arguments.set]
    print(markdown.table(["table", "what", "Starling, 4 nodes", "scikit-learn, all rows", "ratio", "predict - page", "s", "s", "verdict"]))
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.tables or MAKERS:
            row, good, said = judge(MAKERS[name](folder), settings)
            missed += not good
            print(markdown.row(row), *(f"    {line}" for line in said), sep="\n", flush=True)
    print(f"\n{missed} missed")
    return 1 if missed else 0


sys.exit(main())
