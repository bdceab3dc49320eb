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

import markdown
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
    name: str
    title: str
    panels: list
    says: str
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
    return Figure(kind, title, [panel], ""), runs


def ring(simulate):
    figure, runs = rounds_figure(simulate, "ring", "Error against rounds, ring of 16")
    end = {name: short(at_round(run, 1000)) for name, run in runs.items()}
    figure.says = f"""\
Every node holds a least-squares problem of its own. Averaging alone ends in a
bias, {end['dpsgd']} for `dpsgd`, {end['dpsgd-pipelined']} for `dpsgd-pipelined`, {end['qg']} for `qg` at a
tenth of their learning rate. `ed` and `gt` go on to the optimum ({end['ed']} and {end['gt']} after 1,000
rounds); `admm`, which solves its own problem in each round, is at rounding error
({short(at_round(runs['admm'], 200))}) after 200."""
    return figure


def torus(simulate):
    figure, runs = rounds_figure(simulate, "torus", "Error against rounds, torus 4×4")
    end = {name: short(at_round(run, 1000)) for name, run in runs.items()}
    light = simulate(f"{TORUS} --stop.rounds=1000", ADMM_IN_STEP.replace("penalty=0.5", "penalty=0.1"))
    figure.says = f"""\
Twice the traffic, and smaller biases: {end['dpsgd']}, {end['dpsgd-pipelined']} and {end['qg']}. `ed` and
`gt` run as one ({end['ed']}, {end['gt']}), as the learning rate limits them. `admm` with a penalty of 0.1
in place of 0.5, which suits the ring, has {short(at_round(light, 50))} after 50 rounds, not
{short(at_round(runs['admm'], 50))}."""
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
A vector is 80 bytes, and a round sends two, with `gt` four. To an error of 1e-6 a node sends
{sent['ed']:.0f} kB with `ed`, {sent['gt']:.0f} kB with `gt` and {sent['admm']:.0f} kB with `admm`. Single
precision on the wire (`ed, f32`) halves that and ends at its rounding error; five local steps a round
(`ed, 5 steps`) take {sent['ed, 5 steps']:.0f} kB and stay exact."""
    panel = Panel(x, Axis(ERROR, *DOUBLES, log=True), lines)
    return Figure("traffic", "Error against bytes sent, ring of 16", [panel], says)


LOSSES = {"0 %": ("0", "ink"), "10 %": ("0.1", "blue"), "30 %": ("0.3", "olive"), "50 %": ("0.5", "red")}
LOSS_VARIANTS = {
    "dpsgd, missing = late": "--optim.algorithm=dpsgd --exchange.missing=late",
    "dpsgd, missing = reuse": "--optim.algorithm=dpsgd --exchange.missing=reuse",
    "ed": "--optim.algorithm=ed",
    "admm": ADMM,
}
LOSS_SECONDS = 100


def medians(runs):
    """The curve of medians of runs with one trace."""
    curves = [by_time(run) for run in runs]
    return [(points[0][0], statistics.median(y for _, y in points)) for points in zip(*curves)]


def loss(simulate):
    command = f"{TORUS}{NO_GOAL} --sim.seconds={LOSS_SECONDS} --sim.trace=0.5"
    panels, end, quick = [], {}, {}
    for title, keys in LOSS_VARIANTS.items():
        lines = []
        for label, (share, colour) in LOSSES.items():
            seeds = (1,) if share == "0" else (1, 2, 3)
            runs = [simulate(command, keys, f"--sim.loss={share} --seed={seed}") for seed in seeds]
            points = medians(runs)
            lines.append(Line(label, points, colour))
            end[title, label] = short(points[-1][1])
            quick[title, label] = short(first_below(points, 1e-6))
        limits = (0.03, 3) if title.startswith("dpsgd") else DOUBLES
        x, y = Axis("virtual time, s", 0, LOSS_SECONDS), Axis(ERROR, *limits, log=True)
        panels.append(Panel(x, y, lines, title))
    late, reuse = list(LOSS_VARIANTS)[:2]
    says = f"""\
This share of all frames never arrives; curves with loss are medians of three seeds. Up to 30 % costs
time and no accuracy: `dpsgd` reaches its floor ({end[late, '30 %']} with `late`, {end[reuse, '30 %']} with
`reuse`), `ed` and `admm` the optimum. To 1e-6 `ed` takes {quick['ed', '0 %']} s, {quick['ed', '10 %']} s
at 10 % and {quick['ed', '30 %']} s at 30 %; `admm` {quick['admm', '0 %']}, {quick['admm', '10 %']} and
{quick['admm', '30 %']} s. At 50 % `ed` has {end['ed', '50 %']} after {LOSS_SECONDS} s, `admm`
{end['admm', '50 %']}, `dpsgd` {end[late, '50 %']} with `late` and {end[reuse, '50 %']} with `reuse`."""
    title = "Error against time where messages are lost, torus 4×4"
    return Figure("loss", title, panels, says, columns=2, height=330)


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
LEVEL_ERROR = 0.2


def keys_of(schedule):
    return f"--optim.algorithm={schedule.algorithm} {schedule.keys}".strip()


def time_to_level(run):
    """Seconds of training until the error of the others is at the level."""
    start = next(r["time_s"] for r in run["trace"] if r["nodes"][0]["round"] > 0)
    time = first_below(by_time(run, nodes=OTHERS), LEVEL_ERROR)
    return None if time is None else time - start


def straggler_table(with_one, without):
    rows = []
    for name in SCHEDULES:
        times = [time_to_level(without[name]), time_to_level(with_one[name])]
        error = short(rms(with_one[name]["trace"][-1]["nodes"][OTHERS]))
        rows.append([name, *("–" if t is None else f"{t:.2f} s" for t in times), error])
    return markdown.table(["", "without", "with", "error at the end"], rows)


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
    says = f"""\
γ = 0.02; the last node takes ten times as long for a step. Where all wait (`rounds`, and `ssp` once its
slack is used up) all go at its pace. Where nobody waits, `dpsgd` (`async`, `quorum 3/4`) and `adpsgd` are
fast and end beside the optimum, because the straggler's data count for little; `pairwise-ed`, `async gt`
and `async admm` go on to the optimum."""
    prose = f"""\
Seconds until the fifteen others have an error of {LEVEL_ERROR}, without and with the straggler, and their error
after {STRAGGLER_SECONDS} s with it:"""
    after = filled(prose) + "\n\n" + straggler_table(with_one, without)
    title = "Error against time with one straggler, torus 4×4"
    return Figure("straggler", title, panels, says, columns=2, height=400, after=after)


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
Images of one digit on each of ten nodes, softmax regression, five local steps of 32 images a round;
accuracy on held-out images of all digits. `dpsgd` has {end['dpsgd']} after 400 rounds: five steps on one
digit pull the nodes apart faster than two neighbours bring them together. `qg` has {end['qg']}, `gt`
{end['gt']}, `ed` {end['ed']}, `admm` {end['admm']}; after 50 rounds `ed` has {early['ed']}, `admm`
{early['admm']}, `gt` {early['gt']}."""
    panel = Panel(Axis("rounds", 0, 400), Axis("accuracy, mean over the nodes", 0, 1), lines)
    title = "Accuracy against rounds, one digit a node, ring of 10"
    return Figure("digits", title, [panel], says)


FIGURES = {"ring": ring, "torus": torus, "traffic": traffic, "loss": loss, "straggler": straggler, "digits": digits}

# ---------------------------------------------------------------- page

HEADING = "## Measured curves\n"
INTRODUCTION = """\
`make curves` draws the figures from `starling simulate` and writes the rest of this page; a figure's command
draws that one and prints its runs. Times are virtual: a step takes 10 ms, a message 1 ms. The problem is [the reference problem](algorithms.md#the-reference-problem): sixteen nodes, full
gradients, double precision, γ = 0.1."""


def filled(prose):
    """Paragraphs in lines of one width, whatever the figures in them."""
    wrap = partial(textwrap.fill, width=120, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(wrap(paragraph) for paragraph in prose.split("\n\n"))


def section(figure):
    picture = f"![{figure.name}](curves/{figure.name}.svg)"
    run = f"    bench/curves.py {figure.name}"
    parts = [f"### {figure.title}", picture, filled(figure.says), figure.after, run]
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
