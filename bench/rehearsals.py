#!/usr/bin/env python3
"""Rehearsals of the runs that were published (configs/scenarios/internet), as the table and the
picture of docs/plan-run.md.

  bench/rehearsals.py                write docs/curves/rehearsals.svg, print the table
  bench/rehearsals.py intellect-1    of these runs alone, without the picture

A run is played by the settings of its file (--only), then by those that starling rehearse tries.
Takes about two minutes.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

from chart import Axis, Line, Panel, svg
from cluster import program

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "configs" / "scenarios" / "internet"
OUT = ROOT / "docs" / "curves" / "rehearsals.svg"
COLOURS = ("blue", "orange", "green", "red", "purple")
TERABYTE = 1e12


def rehearse(path, *more):
    done = subprocess.run([program(), "rehearse", str(path), "--json", *more],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def share(found):
    """Of the time of all machines, the dead ones among them."""
    return found["goodput"] * (1 - found["away"])


def row_of(path):
    alone, search = rehearse(path, "--only"), rehearse(path)
    chosen = next((one for one in search["tries"] if one["settings"] == search.get("chosen")), None)
    return {"name": path.stem, "published": alone["published"], "file": alone["tries"][0], "chosen": chosen,
            "tries": search["tries"]}


def words_of(found):
    if not found or not found["settings"]:
        return "as the file says"
    return ", ".join(f"{key.partition('.')[2]} {value}" for key, value in found["settings"].items())


def print_table(rows):
    print("| run | published | rehearsed | sent a day, each | Starling would take | computing | sent a day, each |\n"
          "|---|---|---|---|---|---|---|")
    for row in rows:
        file, chosen = row["file"], row["chosen"] or row["file"]
        print(f"| {row['name']} | {row['published']:.1%} | {share(file):.1%} | {file['bytes_a_day'] / TERABYTE:.2g} TB | "
              f"{words_of(row['chosen'])} | {share(chosen):.1%} | {chosen['bytes_a_day'] / TERABYTE:.2g} TB |")


def panel_of(rows):
    lines = []
    for row, colour in zip(rows, COLOURS):
        marks = sorted((one["bytes_a_day"] / TERABYTE, 100 * share(one), "" if one["settings"] else "file")
                       for one in row["tries"])
        lines.append(Line(row["name"], [mark[:2] for mark in marks], colour, "dotted", "circle",
                          tuple(word for *_, word in marks)))
    spread = [x for line in lines for x, _ in line.points]
    return Panel(Axis("TB that a machine sends a day", min(spread) / 1.5, 1.5 * max(spread),
                      log=True), Axis("% of the time of all machines", 0, 100), lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN")
    options = parser.parse_args()
    paths = [FILES / f"{run}.txt" for run in options.runs] or sorted(FILES.glob("*.txt"))
    rows = [row_of(path) for path in paths]
    print_table(rows)
    if not options.runs:
        OUT.write_text(svg([panel_of(rows)], "What machines compute, by what they send", width=1000, height=520))
    return 0


if __name__ == "__main__":
    sys.exit(main())
