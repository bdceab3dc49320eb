#!/usr/bin/env python3
"""Asks whether the program says what surprises in tables, and refuses what it cannot use.

    tests/acceptance/tables.py [TABLE ...]

The tables are those of messy_tables.py and foreign_tables.py. Of each, `starling data` must tell what `says` holds, and
name exactly the columns to leave out that tell rows apart and nothing else; `up` must tell the
same. Of the files that nobody can learn from, it must say the line and the mistake. The exit code
is 1 when something was not said. bench/tables.py asks how well the tables are learned.
"""
import functools
import os
import sys
import tempfile

import foreign_tables
import messy_tables

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import watch  # noqa: E402
from nodes.program import starling  # noqa: E402

MAKERS = {**messy_tables.MAKERS, **foreign_tables.MAKERS}
# Columns that may be of use for all the program knows: it says what they are.
SAID = {"titanic": ["PassengerId"]}
BROKEN = {  # a file, and what must be said of it
    "thousands": ("size;price\n" + "".join(f"1,{i:03};{i}\n" for i in range(50)),
                  "data.decimal = comma"),
    "two-marks": ("size;price\n" + "".join(f"{3 + i}{',.'[i % 2]}5;{i}\n" for i in range(50)),
                  "decimal point"),
    "two-units": ("size;price\n" + "".join(f"{i} {('kg', 'lb')[i % 2]};{i}\n" for i in range(50)),
                  "several units"),
    "two-orders": ("size;price\n13/1/2024;1\n1/13/2024;2\n" + "1/2/2024;3\n" * 50, "month first"),
    "no-order": ("size;price\n" + "".join(f"{1 + i % 9}/{1 + i % 7}/2024;{i}\n" for i in range(50)),
                 "whether day or month comes first"),
    "ragged": ("size,price\n" + "1,2\n" * 30 + "1,2,3\n", "line 32: 3 fields, expected 2"),
    "open-quote": ("size,price\n1,2\n\"1,2\n", "line 3: a quote is never closed"),
    "latin1": ("größe,price\n1,2\n".encode("latin-1"), "is not UTF-8"),
    "no-header": ("1,2\n3,4\n", "data.header = false"),
    "twice": ("a,a,price\n1,2,3\n", "names two columns \"a\""),
    "one-column": ("price\n1\n", "only one column"),
    "no-target": ("size,cost\n1,2\n", "data.target = \"price\" is no column"),
    "empty": ("", "empty, expected a table"),
    "one-word": ("size,price\n" + "".join(f"{i},{3 * i}\n" for i in range(99)) + "b1g,5\n",
                 "line 101 holds \"b1g\""),
}
report = functools.partial(watch.report, fault="MISS ")


def said_by(*words):
    """The exit code of a command, and all that it said."""
    done = starling(*words, expect=None)
    return done.returncode, done.stdout + done.stderr


def look(path, *arguments):
    return said_by("data", path, *arguments)


def check_table(table):
    keys = [f"--data.target={table.target}", *table.keys]
    said = SAID.get(table.name, [])
    found = [name for name in table.ignore if name not in said]
    if found:
        code, text = look(table.train, *keys)
        proposal = f"data.ignore = {','.join(found)} leaves"
        report(f"{table.name}, refused", proposal, code != 0 and proposal in text)
        for name in said:
            report(f"{table.name}, said of {name}", "counts the rows",
                   f"column {name} counts" in text)
    if table.ignore:
        keys.append(f"--data.ignore={','.join(table.ignore)}")
    code, text = look(table.train, *keys)
    unsaid = [words for words in table.says if words not in text]
    report(table.name, f"not said: {unsaid}" if unsaid else f"{len(table.says)} surprises said",
           code == 0 and not unsaid)


def check_up(table):
    """Whoever trains without having looked is told the same."""
    ignore = [f"--data.ignore={','.join(table.ignore)}"] if table.ignore else []
    code, text = said_by("up", "-n", "2", "--data.source=csv", f"--data.path={table.train}", *ignore,
                         f"--data.target={table.target}", *table.keys, "--stop.rounds=1", "--optim.learning-rate=0.01",
                         "--listen.http=127.0.0.1:0", f"--output={table.train}.safetensors")
    unsaid = [words for words in table.says if words not in text]
    report(f"{table.name}, up", f"not said: {unsaid}" if unsaid else "said too",
           code == 0 and not unsaid)


def check_broken(folder, name, content, words):
    path = os.path.join(folder, f"{name}.csv")
    with open(path, "wb") as stream:
        stream.write(content if isinstance(content, bytes) else content.encode())
    code, text = look(path, "--data.target=price")
    said = " ".join(text.split())
    report(f"broken: {name}", said[:200], code != 0 and words in said)


def main():
    wanted = sys.argv[1:] or [*MAKERS, "broken"]
    unknown = sorted(set(wanted) - set(MAKERS) - {"broken"})
    if unknown:
        sys.exit(f"unknown table {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            if name == "broken":
                for broken, (content, words) in BROKEN.items():
                    check_broken(folder, broken, content, words)
            else:
                table = MAKERS[name](folder)
                check_table(table)
                check_up(table)
    return 1 if watch.failures else 0


if __name__ == "__main__":
    sys.exit(main())
