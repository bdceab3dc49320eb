#!/usr/bin/env python3
"""Draws docs/curves/*.svg and writes the second half of docs/curves.md, "Measured curves", from runs
of `starling simulate`.

  bench/curves.py              everything
  bench/curves.py ring loss    some figures, the page stays as it is
  bench/curves.py --program build/bench/daemon/starling

All times are virtual and every seed is fixed: one program gives the same bytes again.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chart import Axis, Line, Panel, svg

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/curves.md"
FOLDER = ROOT / "docs/curves"
REFERENCE = "-n 16 -c configs/reference.ini"
TORUS = REFERENCE + " --topology.kind=torus"
NO_GOAL = " --stop.rounds=0"
ADMM = "--optim.algorithm=admm --optim.admm-penalty=0.5"
ADMM_IN_STEP = ADMM + " --optim.admm-relaxation=0.9"
# One colour for an algorithm in all figures.
COLOUR = {"dpsgd": "blue", "dpsgd-pipelined": "orange", "qg": "olive", "ed": "red", "gt": "green", "admm": "purple"}
# So that lines that run as one are both seen.
DASH = {"dpsgd-pipelined": "dashed", "gt": "dashed", "ed, f32": "dashed", "ed, 5 steps": "dotted"}
ERROR = "error, RMS over the nodes of ‖x − x*‖"
OPTIMUM_NORM = 1.91677854441  # ‖x*‖ of the reference problem
DOUBLES = (1e-16, 10)  # the errors that double precision tells apart


@dataclass
class Figure:
    """`command` and one of the `variants`, label to keys, make one line."""

    name: str
    title: str
    panels: list
    says: str
    command: str
    variants: dict
    columns: int = 1
    height: int = 420
    after: str = ""


class Simulator:
    def __init__(self, program):
        self.program, self.done = program, {}

    def __call__(self, *words):
        """The JSON document of a run; the same run is made once."""
        words = " ".join(words)
        if words not in self.done:
            print("simulate " + words, file=sys.stderr, flush=True)
            command = [self.program, "simulate", *words.split(), "--json"]
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if not run.stdout:
                sys.exit(run.stderr or f"{command}: no output")
            self.done[words] = json.loads(run.stdout)
            if "violations" in self.done[words]:
                sys.exit(f"{words}: {self.done[words]['violations']}")
        return self.done[words]


# ---------------------------------------------------------------- what runs hold

def by_round(run, what="distance_to_optimum"):
    return [(point["round"], point[what]) for point in run["series"] if what in point]


def at_round(run, round):
    return dict(by_round(run))[round]


def rms(nodes):
    """Of the errors; who has not begun is at 0."""
    values = [node.get("distance_to_optimum", OPTIMUM_NORM) for node in nodes]
    return math.sqrt(sum(v * v for v in values) / len(values))


def mean(nodes, what):
    values = [node[what] for node in nodes if what in node]
    return sum(values) / len(values) if values else math.nan


def by_time(run, figure=rms, nodes=slice(None)):
    points = [(record["time_s"], figure(record["nodes"][nodes])) for record in run["trace"]]
    return [point for point in points if math.isfinite(point[1])]


def by_bytes(run):
    """Thousands of bytes of parameters that a node has sent."""
    return [(mean(record["nodes"], "sent_bytes") / 1e3, rms(record["nodes"])) for record in run["trace"]]


def first_below(points, level):
    return next((x for x, y in points if y <= level), None)


def short(value):
    return "–" if value is None else f"{value:.2g}"


# ---------------------------------------------------------------- figures

ROUND_VARIANTS = {
    "dpsgd": "--optim.algorithm=dpsgd",
    "dpsgd-pipelined": "--optim.algorithm=dpsgd-pipelined",
    "qg": "--optim.algorithm=qg --optim.learning-rate=0.01",
    "ed": "--optim.algorithm=ed",
    "gt": "--optim.algorithm=gt",
    "admm": ADMM_IN_STEP,
}


def rounds_figure(simulate, kind, title):
    command = f"{REFERENCE} --topology.kind={kind} --stop.rounds=1000"
    runs = {name: simulate(command, keys) for name, keys in ROUND_VARIANTS.items()}
    lines = [Line(name, by_round(run), COLOUR[name], DASH.get(name, "solid")) for name, run in runs.items()]
    panel = Panel(Axis("rounds", 0, 1000), Axis(ERROR, *DOUBLES, log=True), lines)
    return Figure(kind, title, [panel], "", command, ROUND_VARIANTS), runs


def ring(simulate):
    figure, runs = rounds_figure(simulate, "ring", "Error against rounds, ring of 16")
    end = {name: short(at_round(run, 1000)) for name, run in runs.items()}
    figure.says = f"""\
The reference problem: every node holds a least-squares problem of its own. Averaging alone ends in a
bias, {end['dpsgd']} for `dpsgd` and {end['dpsgd-pipelined']} for `dpsgd-pipelined`; `qg`, at a tenth of
their learning rate, swings and ends at {end['qg']}. `ed` and `gt` go on to the optimum ({end['ed']} and
{end['gt']} after 1,000 rounds), and `admm`, which solves its own problem in every round where the
others take one step, is at rounding error ({short(at_round(runs['admm'], 200))}) after 200."""
    return figure


def torus(simulate):
    figure, runs = rounds_figure(simulate, "torus", "Error against rounds, torus 4×4")
    end = {name: short(at_round(run, 1000)) for name, run in runs.items()}
    light = simulate(figure.command, ADMM_IN_STEP.replace("penalty=0.5", "penalty=0.1"))
    figure.says = f"""\
The same on a better connected graph, at twice the traffic. The biases shrink, of `dpsgd` to
{end['dpsgd']}, of `dpsgd-pipelined` to {end['dpsgd-pipelined']}, of `qg` to {end['qg']}. `ed` and `gt`
run as one ({end['ed']}, {end['gt']}): here the learning rate limits them, and not the graph. `admm` is
no faster than on the ring: its penalty of 0.5 suits the ring and is large here. With 0.1 its error
after 50 rounds is {short(at_round(light, 50))} instead of {short(at_round(runs['admm'], 50))}."""
    return figure


def traffic(simulate):
    command = f"{REFERENCE} --stop.rounds=2000 --sim.trace=0.05"
    variants = {name: keys for name, keys in ROUND_VARIANTS.items() if name != "dpsgd-pipelined"}
    variants["ed, f32"] = "--optim.algorithm=ed --exchange.codec=f32"
    variants["ed, 5 steps"] = "--optim.algorithm=ed --optim.local-steps=5"
    points = {name: by_bytes(simulate(command, keys)) for name, keys in variants.items()}
    lines = [Line(name, values, COLOUR[name.split(",")[0]], DASH.get(name, "solid")) for name, values in points.items()]
    x = Axis("parameters sent by a node, thousands of bytes", 0, 160)
    sent = {name: first_below(values, 1e-6) for name, values in points.items()}
    says = f"""\
The ring again. A vector of ten doubles is 80 bytes, and a round sends two of them, or four with `gt`.
To an error of 1e-6 a node sends {sent['ed']:.0f} kB with `ed`, {sent['gt']:.0f} kB with `gt` and
{sent['admm']:.0f} kB with `admm`. Single precision on the wire (`ed, f32`) halves that to
{sent['ed, f32']:.0f} kB and ends at its rounding error; five local steps a round (`ed, 5 steps`) come
down to {sent['ed, 5 steps']:.0f} kB and stay exact."""
    panel = Panel(x, Axis(ERROR, *DOUBLES, log=True), lines)
    return Figure("traffic", "Error against bytes sent, ring of 16", [panel], says, command, variants)


LOSSES = {"0 %": ("0", "ink"), "10 %": ("0.1", "blue"), "30 %": ("0.3", "olive"), "50 %": ("0.5", "red")}
LOSS_VARIANTS = {
    "dpsgd, missing = late": "--optim.algorithm=dpsgd --exchange.missing=late",
    "dpsgd, missing = reuse": "--optim.algorithm=dpsgd --exchange.missing=reuse",
    "ed": "--optim.algorithm=ed",
    "admm": ADMM,
}
LOSS_SECONDS = 100


def medians(runs):
    """The curve of medians of runs with one trace, and that of what a node has sent, kB."""
    curves = [by_time(run) for run in runs]
    curve = [(points[0][0], statistics.median(y for _, y in points)) for points in zip(*curves)]
    return curve, statistics.median(mean(run["nodes"], "sent_bytes") / 1e3 for run in runs)


def loss(simulate):
    command = f"{TORUS}{NO_GOAL} --sim.seconds={LOSS_SECONDS} --sim.trace=0.5"
    panels, end, quick, sent = [], {}, {}, {}
    for title, keys in LOSS_VARIANTS.items():
        lines = []
        for label, (share, colour) in LOSSES.items():
            seeds = (1,) if share == "0" else (1, 2, 3)
            runs = [simulate(command, keys, f"--sim.loss={share} --seed={seed}") for seed in seeds]
            points, sent[title, label] = medians(runs)
            lines.append(Line(label, points, colour))
            end[title, label] = short(points[-1][1])
            quick[title, label] = short(first_below(points, 1e-6))
        limits = (0.03, 3) if title.startswith("dpsgd") else DOUBLES
        x, y = Axis("virtual time, s", 0, LOSS_SECONDS), Axis(ERROR, *limits, log=True)
        panels.append(Panel(x, y, lines, title))
    late, reuse = list(LOSS_VARIANTS)[:2]
    says = f"""\
Torus 4×4; this share of all frames never arrives, those of membership and of the handshakes of edges
too, so that training begins later where more is lost. Each curve with loss is the median of three
seeds. Up to 30 % loss costs time and no accuracy: `dpsgd` reaches the floor that it has without
({end[late, '30 %']} with `late`, {end[reuse, '30 %']} with `reuse`), `ed` and `admm` the optimum. To
1e-6 `ed` takes {quick['ed', '0 %']} s, {quick['ed', '10 %']} s at 10 % and {quick['ed', '30 %']} s at
30 %; `admm` takes {quick['admm', '0 %']}, {quick['admm', '10 %']} and {quick['admm', '30 %']} s.

At 50 % `ed` has come to {end['ed', '50 %']} after {LOSS_SECONDS} s, `admm` to {end['admm', '50 %']};
`dpsgd` to {end[late, '50 %']} with `late` and {end[reuse, '50 %']} with `reuse`. Edges open late there,
and few vectors are sent: {sent[late, '50 %']:.0f} kB a node with `late` and {sent[reuse, '50 %']:.0f} kB
with `reuse`, where it is {sent[late, '0 %'] / 1e3:.1f} MB without loss."""
    title = "Error against time where messages are lost, torus 4×4"
    command += " --sim.loss=SHARE --seed=SEED"
    return Figure("loss", title, panels, says, command, LOSS_VARIANTS, columns=2, height=330)


@dataclass
class Schedule:
    algorithm: str
    keys: str
    colour: str
    dash: str = "solid"


SCHEDULES = {
    "rounds": Schedule("dpsgd", "", "blue"),
    "ssp": Schedule("dpsgd", "--exchange.schedule=ssp", "ink", "dotted"),
    "async": Schedule("dpsgd", "--exchange.schedule=async", "olive"),
    "adpsgd": Schedule("adpsgd", "--exchange.schedule=pairwise", "orange"),
    "quorum 3/4": Schedule("dpsgd", "--exchange.quorum=0.75", "ink", "dashed"),
    "pairwise-ed": Schedule("pairwise-ed", "--exchange.schedule=pairwise", "red"),
    "async gt": Schedule("gt", "--exchange.schedule=async", "green"),
    "async admm": Schedule("admm", "--exchange.schedule=async --optim.admm-penalty=0.5", "purple"),
}
STRAGGLER_SECONDS = 40
OTHERS, STRAGGLER = slice(0, -1), slice(-1, None)
LEVEL_LOSS, LEVEL_ERROR = 0.65, 0.2


def keys_of(schedule):
    return f"--optim.algorithm={schedule.algorithm} {schedule.keys}".strip()


def seconds_to(points, level, start):
    time = first_below(points, level)
    return None if time is None else time - start


def times_to_levels(run):
    """Seconds of training until the mean loss and the error of the others are at their levels."""
    start = next(r["time_s"] for r in run["trace"] if r["nodes"][0]["round"] > 0)
    of_loss = by_time(run, lambda nodes: mean(nodes, "loss"), OTHERS)
    return seconds_to(of_loss, LEVEL_LOSS, start), seconds_to(by_time(run, nodes=OTHERS), LEVEL_ERROR, start)


def straggler_table(with_one, without):
    columns = ["", "algorithm", "loss, without", "with", "error, without", "with"]
    columns += ["error at the end", "of the straggler"]
    rows = [columns, ["---"] * len(columns)]
    for name, schedule in SCHEDULES.items():
        loss, error = zip(times_to_levels(without[name]), times_to_levels(with_one[name]))
        last = with_one[name]["trace"][-1]["nodes"]
        times = ["–" if t is None else f"{t:.2f} s" for t in (*loss, *error)]
        rows.append([name, f"`{schedule.algorithm}`", *times, short(rms(last[OTHERS])), short(rms(last[STRAGGLER]))])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def straggler(simulate):
    command = f"{TORUS}{NO_GOAL} --optim.learning-rate=0.02 --sim.trace=0.02"
    slow = f"{command} --sim.seconds={STRAGGLER_SECONDS} --sim.straggler=10"
    with_one = {name: simulate(slow, keys_of(s)) for name, s in SCHEDULES.items()}
    without = {name: simulate(f"{command} --sim.seconds=10", keys_of(s)) for name, s in SCHEDULES.items()}

    def panel(nodes, title, label):
        lines = [Line(n, by_time(with_one[n], nodes=nodes), s.colour, s.dash) for n, s in SCHEDULES.items()]
        y = Axis(label, 1e-5, 10, log=True)
        return Panel(Axis("virtual time, s", 0, STRAGGLER_SECONDS), y, lines, title)

    panels = [panel(OTHERS, "the fifteen others", ERROR), panel(STRAGGLER, "the straggler", "error, ‖x − x*‖")]
    end = {name: run["trace"][-1]["nodes"] for name, run in with_one.items()}
    says = f"""\
Torus 4×4, γ = 0.02; the last node takes ten times as long for a step. Where all wait (`rounds`, and
`ssp` as soon as its slack is used up) all go at the pace of the straggler. Where nobody waits for it,
`dpsgd` (`async`, `quorum 3/4`) and `adpsgd` are fast and end beside the optimum, at
{short(rms(end['async'][OTHERS]))} with `async`, because the straggler's data count for little: the optimum of the
data of the fifteen alone is .097 away. `pairwise-ed`, `async gt` (at twice the traffic) and `async admm` go on
to the optimum. A step of `admm` is the exact solution of the node's own small problem, here at the price
of one gradient.

The mean on the left is over the fifteen others, so that the straggler cannot spoil it. Nor does it here:
over all sixteen the error of `async` after {STRAGGLER_SECONDS} s is {short(rms(end['async']))}, for that of the straggler itself, on the
right, is {short(rms(end['async'][STRAGGLER]))}."""
    prose = f"""\
Seconds of training until the fifteen others have a mean training loss of {LEVEL_LOSS} (from 2.1; the
least is .625) and an error of {LEVEL_ERROR}, without and with the straggler; and the errors after
{STRAGGLER_SECONDS} s with it. The trace has one record in 0.02 s;
`tests/sim/schedule_test.cpp` holds the ratios for another straggler."""
    after = filled(prose) + "\n\n" + straggler_table(with_one, without)
    title = "Error against time with one straggler, torus 4×4"
    variants = {name: keys_of(s) for name, s in SCHEDULES.items()}
    return Figure("straggler", title, panels, says, slow, variants, columns=2, height=400, after=after)


DIGITS_VARIANTS = {
    "dpsgd": "--optim.algorithm=dpsgd",
    "qg": "--optim.algorithm=qg",
    "ed": "--optim.algorithm=ed",
    "gt": "--optim.algorithm=gt",
    "admm": "--optim.algorithm=admm --optim.admm-penalty=0.3 --optim.admm-relaxation=0.9",
}


def digits(simulate):
    command = (
        "-n 10 --data.source=digits --data.partition=by-label --topology.kind=ring --model.kind=softmax"
        " --optim.local-steps=5 --stop.rounds=400 --eval.every=10"
    )
    runs = {name: simulate(command, keys) for name, keys in DIGITS_VARIANTS.items()}
    lines = [Line(name, by_round(run, "accuracy"), COLOUR[name]) for name, run in runs.items()]
    end = {name: f"{lines[k].points[-1][1]:.3f}" for k, name in enumerate(runs)}
    early = {name: f"{dict(by_round(run, 'accuracy'))[50]:.3f}" for name, run in runs.items()}
    says = f"""\
Images of digits drawn by the program, one digit on each of ten nodes in a ring; softmax regression, γ =
0.1, five local steps of 32 images a round; accuracy on held-out images of all ten digits, mean over the
nodes. `dpsgd` is at {end['dpsgd']} after 400 rounds: five steps on one digit pull the nodes apart
faster than two neighbours bring them together; `qg` comes to {end['qg']}, `gt` to {end['gt']}, `ed` to
{end['ed']} and `admm` to {end['admm']}. After 50 rounds `ed` has {early['ed']}, `admm` {early['admm']},
`gt`, at twice the traffic, {early['gt']}, `dpsgd` {early['dpsgd']}."""
    panel = Panel(Axis("rounds", 0, 400), Axis("accuracy, mean over the nodes", 0, 1), lines)
    title = "Accuracy against rounds, one digit a node, ring of 10"
    return Figure("digits", title, [panel], says, command, DIGITS_VARIANTS)


FIGURES = {"ring": ring, "torus": torus, "traffic": traffic, "loss": loss, "straggler": straggler, "digits": digits}

# ---------------------------------------------------------------- page

HEADING = "## Measured curves\n"
INTRODUCTION = """\
The rest of this page and its figures are made by `bench/curves.py` from `starling simulate`: `make
curves` makes all of it again, `bench/curves.py FIGURE...` some of the figures. Times are virtual: a step
takes 10 ms and a message 1 ms, and the first round begins when all have met, after half a second where
nothing is lost. The reference problem is that of [algorithms.md](algorithms.md#the-reference-problem):
sixteen nodes, full gradients, double precision, γ = 0.1 where nothing else is said."""


def filled(prose):
    """Paragraphs in lines of one width, whatever the figures in them."""
    wrap = partial(textwrap.fill, width=120, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(wrap(paragraph) for paragraph in prose.split("\n\n"))


def section(figure):
    width = max(len(label) for label in figure.variants)
    lines = [f"    {label:{width}}  {keys}" for label, keys in figure.variants.items()]
    parts = [
        f"### {figure.title}",
        f"![{figure.title}](curves/{figure.name}.svg)",
        filled(figure.says),
        f"`bench/curves.py {figure.name}`, which runs",
        f"    starling simulate {figure.command} --json",
        "with, for each " + ("panel:" if len(figure.panels) == len(figure.variants) else "line:"),
        "\n".join(lines),
        figure.after,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--program", default=ROOT / "build/release/daemon/starling", type=Path, help="the binary")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.figures) - set(FIGURES))
    if unknown:
        parser.error(f"unknown figure {', '.join(unknown)}; expected {', '.join(FIGURES)}")
    program = arguments.program.resolve()
    if not program.is_file():
        sys.exit(f"{program}: not there; build first: make")

    simulate = Simulator(program)
    FOLDER.mkdir(exist_ok=True)
    sections = []
    for name in arguments.figures or FIGURES:
        figure = FIGURES[name](simulate)
        width = 820 if figure.columns == 1 else 1000
        drawing = svg(figure.panels, figure.title, figure.columns, width, figure.height)
        (FOLDER / f"{name}.svg").write_text(drawing)
        sections.append(section(figure))
    if not arguments.figures:
        by_hand = PAGE.read_text().partition(HEADING)[0]
        PAGE.write_text(by_hand + "\n".join([HEADING, filled(INTRODUCTION) + "\n", *sections]))


if __name__ == "__main__":
    main()
