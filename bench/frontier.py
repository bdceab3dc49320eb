#!/usr/bin/env python3
"""Draws docs/curves/frontier.svg, loss against speed, from what bench/char_gpt.py --json prints.

  bench/frontier.py figures.json                 the last link in it, which is the thinnest
  bench/frontier.py figures.json --link loopback
  bench/frontier.py a.json b.json                together; the later file replaces a title
  bench/frontier.py figures.json --out FILE.svg

A line is an algorithm, a codec and a schedule; its points are numbers of local steps H. The shape
of a mark is the codec, its colour the schedule, and `dpsgd` is dashed. To the right of one guide
nodes train at least 6 times as fast as DDP, and below the other the loss is at most 5 % above its.
Losses are those of runs of all steps, on any link.
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

from chart import Axis, Line, Panel, svg

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs/curves/frontier.svg"
DDP = "DDP"
SPEED_GOAL, LOSS_GOAL = 6, 1.05  # beside DDP
MARK = {"f32": "circle", "bf16": "circle", "i8": "square", "i4": "diamond", "top:5%": "triangle"}
COLOUR = {"complete": "blue", "ring": "green", "matching": "orange"}
DASH = {"dpsgd": "dashed", "diloco": "dotted"}
LOSS_STEP = 0.1  # of the limits of the axis
TITLE = "Loss held out against speed, {link}"
SPEED = "samples/s, all nodes together; beside the marks H, the steps an exchange"


def read(paths):
    """link: {title: turns} of all files."""
    found = {}
    for path in paths:
        for link, titles in json.loads(path.read_text()).items():
            found.setdefault(link, {}).update(titles)
    return found


def points_of(found, link):
    """title: (samples/s on the link, loss), where both were measured."""
    losses = {title: max(turns[-1]["losses"]) for titles in found.values()
              for title, turns in titles.items() if not turns[-1].get("is_short")}
    rates = {title: statistics.median(turn["samples_per_s"] for turn in turns)
             for title, turns in found[link].items()}
    for title in rates.keys() - losses.keys():
        print(f"{title}: not drawn, it has no loss of all steps", file=sys.stderr)
    return {title: (rate, losses[title]) for title, rate in rates.items() if title in losses}


def word_of(words, table, usual):
    return next((table[word] for word in words if word in table), table[usual])


def starling_lines(points):
    """A line for each row of char_gpt.py, its points by H."""
    rows = {}
    for title, point in points.items():
        name, _, local_steps = title.rpartition(", H = ")
        if name:
            rows.setdefault(name, []).append((int(local_steps), point))
    for name, marks in rows.items():
        words, marks = name.split(", "), sorted(marks)
        yield Line(name, [point for _, point in marks], word_of(words, COLOUR, "complete"),
                   DASH.get(words[0], "solid"), word_of(words, MARK, "f32"),
                   tuple(str(local_steps) for local_steps, _ in marks))


def reference_lines(points):
    for title, point in points.items():
        if ", H = " not in title and not title.startswith("one process"):
            yield Line(title, [point], "ink", mark="cross")


def limits(values, step):
    """Whole steps around all values."""
    return step * (min(values) // step), step * (max(values) // step + 1)


def panel_of(points):
    lines = [*reference_lines(points), *starling_lines(points)]
    rate, loss = points[DDP]
    fast, good = SPEED_GOAL * rate, LOSS_GOAL * loss
    speeds = [x for line in lines for x, _ in line.points] + [fast]
    left, right = min(speeds) / 1.25, max(speeds) * 1.25
    low, high = limits([y for line in lines for _, y in line.points] + [good], LOSS_STEP)
    # The upright one leaves the plot at its foot, where its label then stands.
    guides = {f"{SPEED_GOAL} × DDP's samples/s": [(fast, high), (fast, low - LOSS_STEP)],
              f"{LOSS_GOAL} × DDP's loss": [(left, good), (right, good)]}
    lines += [Line(label, ends, "purple", "dotted") for label, ends in guides.items()]
    return Panel(Axis(SPEED, left, right, log=True), Axis("loss held out", low, high), lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--link")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    found = read(options.figures)
    link = options.link or list(found)[-1]
    if link not in found:
        parser.error(f"--link={link}: expected {', '.join(found)}")
    points = points_of(found, link)
    if DDP not in points:
        sys.exit(f"{link}: {DDP} has no speed there or no loss; let char_gpt.py measure it too")
    drawing = svg([panel_of(points)], TITLE.format(link=link), width=1000, height=560)
    options.out.write_text(drawing)


if __name__ == "__main__":
    main()
