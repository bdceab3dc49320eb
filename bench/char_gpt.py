#!/usr/bin/env python3
"""A transformer of PyTorch on four nodes: Starling beside DistributedDataParallel over gloo.

  bench/char_gpt.py --data tiny-shakespeare.txt.gz   on loopback and over links of 50 Mbit/s
  bench/char_gpt.py --data FILE --links loopback     one of them
  bench/char_gpt.py --data FILE --algorithm diloco   these instead of dpsgd and kgt
  bench/char_gpt.py --data FILE --only "DDP" "H = 64"   what has one of these in its name
  bench/char_gpt.py --data FILE --only "DDP" "PyTorch" "i4" "i8" "top" --local-steps 1 2 4 16
                                                     what bench/frontier.py draws
  bench/char_gpt.py --data FILE --json               one JSON document

Every node holds the lines of other speakers; H is `optim.local-steps`. All contenders begin with
one model, take the same optimizer and schedule, and see as many samples: --steps batches of --batch
windows a node. With several learning rates (--rate) each is shown with the one with which it ends
best. `one process` sees the samples in as many steps of n times the batch, which is what DDP
computes, and in n times as many steps of the same batch. The loss is that of the text held out, of
the node whose model is worst. `sent` is what a node sends a step, without headers of packets; the
first two steps of PowerSGD are whole (bench/hooks.py), which a short turn shows.

AdamW is inside: ed, extra and pairwise-ed are refused there, and kgt is exact. top:P% is refused
with dpsgd.

On thin links only speed is measured, and losses are those on loopback, for all average the same
vectors there: DDP takes --short steps at a time, before and after the H of each row, and Starling
so many or a few exchanges. --long takes all steps of Starling there too, and gives their losses.
`samples/s` is of all nodes together, once the edges have sent whole vectors; `× DDP` is beside DDP
on the same link. `waits` is the share of the time in which trainers wait for their daemons.
Thin links need root and iproute2. PyTorch needs a libblas.so.3 that is fast (libopenblas0-pthread).
"""
import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import markdown
from cluster import PYTHON, ROOT, Failure, Starling, networks, peer_environment, program, why_no_torch

NODES = 4
LINKS = {"loopback": 0, "50mbit": 50e6}
WINDOW = 64  # characters of a sample, as in the example
# Exchanges that are not timed: the first vector of an edge is whole, whatever the codec, and the
# partners of a matching meet at random, all three in 12 with a chance of .98.
WARM_UP, WARM_UP_MATCHING = 1, 12
TIMED_LEAST = 4  # exchanges of a turn on a thin link
RUN_S_LIMIT = 1800
DDP = "DDP"
HOOKS = {
    DDP: "",
    "PyTorch, gradients as f16": "fp16",
    "PyTorch, PowerSGD": "powersgd-2",
    "PyTorch, PowerSGD of rank 8": "powersgd-8",
}
ALGORITHMS = {
    "dpsgd": ["--optim.algorithm=dpsgd"],
    "diloco": ["--optim.algorithm=dpsgd", "--optim.outer=nesterov"],
    "kgt": ["--optim.algorithm=kgt"],
}
SCHEDULES = {
    "complete": ["--topology.kind=complete"],
    "matching": ["--topology.kind=complete", "--topology.sequence=matching"],
    "ring": ["--topology.kind=ring"],
}
USUAL = ("f32", "complete")  # which go without saying
ROWS = [
    ("dpsgd", "f32", "complete"),
    ("dpsgd", "bf16", "complete"),
    ("dpsgd", "i4", "complete"),
    ("dpsgd", "i4", "ring"),
    ("dpsgd", "i8", "matching"),
    ("diloco", "f32", "complete"),
    ("diloco", "i4", "complete"),
    ("diloco", "i4", "ring"),
    ("kgt", "f32", "complete"),
    ("kgt", "f32", "matching"),
    ("kgt", "i4", "complete"),
    ("kgt", "i4", "ring"),
    ("kgt", "i8", "matching"),
    ("kgt", "top:5%", "complete"),
    ("kgt", "top:5%", "ring"),
]


def name_of(algorithm, codec, schedule):
    """Such as "kgt, i4, ring"."""
    return ", ".join(word for word in (algorithm, codec, schedule) if word not in USUAL)


def settings_of(algorithm, codec, schedule):
    return [*ALGORITHMS[algorithm], f"--exchange.codec={codec}", *SCHEDULES[schedule]]


STARLING = {name_of(*row): settings_of(*row) for row in ROWS}


@dataclass
class Contender:
    name: str
    local_steps: int = 0  # 0: not of Starling
    settings: list = field(default_factory=list)

    @property
    def warm_up(self):
        return WARM_UP_MATCHING if "matching" in self.name else WARM_UP

    @property
    def title(self):
        return f"{self.name}, H = {self.local_steps}" if self.local_steps else self.name


class Bench:
    """What is measured over one link; `network` is None on loopback."""

    def __init__(self, options, link, network):
        self.options, self.link, self.network = options, link, network
        self.rate = options.rate[0]
        self.found = {}

    def words(self, role, steps, batch):
        options = self.options
        return [PYTHON, str(ROOT / "bench/gpt_process.py"), role, f"--data={options.data}",
                f"--width={options.width}", f"--layers={options.layers}", f"--batch={batch}",
                f"--rate={self.rate}", f"--steps={steps}", f"--nodes={NODES}"]

    def sent_bytes(self):
        if self.network:
            return self.network.sent_bytes()
        if not networks.is_inside():
            return None  # loopback is the whole machine's
        words = ["ip", "-s", "-j", "link", "show", "lo"]
        counts = json.loads(networks.run(*words))[0]["stats64"]["tx"]
        return counts["bytes"] - networks.HEADER_BYTES * counts["packets"]

    def alone(self, share):
        """One process; `share` of the samples of all nodes is in a step."""
        batch = self.options.batch * NODES // share
        with tempfile.TemporaryDirectory() as folder:
            steps = self.options.steps * share
            words = [*self.words("alone", steps, batch), f"--out={folder}"]
            wait_all([subprocess.Popen(words)])
            return self.outcome(folder, 1, steps, None, batch)

    def ddp(self, steps, hook):
        address = self.network.address(0) if self.network else "127.0.0.1"
        device = "eth0" if self.network else "lo"
        before = self.sent_bytes()
        with tempfile.TemporaryDirectory() as folder:
            words = [*self.words("ddp", steps, self.options.batch), f"--out={folder}",
                     f"--address={address}", *([f"--hook={hook}"] if hook else [])]
            wait_all([subprocess.Popen([*self.prefix(k), *words, f"--place={k}"],
                                       env={**os.environ, "GLOO_SOCKET_IFNAME": device})
                      for k in range(NODES)])
            return self.outcome(folder, NODES, steps, before)

    def starling(self, contender, steps):
        before, local_steps = self.sent_bytes(), contender.local_steps
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_RUNTIME_DIR"] = folder  # where the sockets of the trainers are
            exchanges = steps // local_steps
            warm_up = max(min(contender.warm_up, exchanges - TIMED_LEAST), WARM_UP)
            trainer = " ".join(f"'{word}'" for word in [
                *self.words("swarm", steps, self.options.batch), f"--out={folder}",
                f"--warm-up={warm_up}"])
            arguments = [f"--trainer={trainer}", f"--optim.local-steps={local_steps}",
                         f"--stop.rounds={exchanges}", *contender.settings]
            with Starling(NODES, self.network, [*arguments, *self.options.setting]) as cluster:
                wait_all(cluster.processes)
            return self.outcome(folder, NODES, steps, before)

    def prefix(self, k):
        return self.network.prefix(k) if self.network else []

    def outcome(self, folder, processes, steps, before, batch=None):
        """Of what the processes left in the folder; `seconds` are those of the steps timed."""
        texts = [Path(folder, f"{k}.json").read_text() for k in range(processes)]
        figures = [json.loads(text) for text in texts]
        seconds = max(one["seconds"] for one in figures)
        samples = sum(one["steps"] for one in figures) * (batch or self.options.batch)
        sent = None if before is None else (self.sent_bytes() - before) / processes / steps
        waited = [one["waited_seconds"] / seconds for one in figures if "waited_seconds" in one]
        return {"steps": steps, "seconds": seconds, "samples_per_s": samples / seconds,
                "sent_bytes_per_step": sent, "losses": self.judge(folder, processes),
                "waited_share": statistics.mean(waited) if waited else None}

    def judge(self, folder, processes):
        models = [f"--model={Path(folder, f'{k}.pt')}" for k in range(processes)]
        done = subprocess.run([*self.words("judge", 1, 1), *models], stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise Failure("the models cannot be judged")
        return json.loads(done.stdout)

    def is_short(self, contender):
        return self.network and not (self.options.long and contender.local_steps)

    def take(self, contender):
        """Keeps and prints what was found, at the rate with which its loss is least."""
        steps, local_steps = self.options.steps, contender.local_steps
        if self.is_short(contender):
            exchanges = self.options.short // (local_steps or 1)
            steps = max(exchanges, contender.warm_up + TIMED_LEAST) * (local_steps or 1)
        is_short = bool(self.is_short(contender))
        rates = self.options.rate[:1] if is_short else self.options.rate
        figures = min((self.run(contender, steps, rate) for rate in rates),
                      key=lambda one: max(one["losses"]))
        self.keep(contender.title, {**figures, "is_short": is_short})

    def run(self, contender, steps, rate):
        self.rate = rate
        figures = (self.starling(contender, steps) if contender.local_steps
                   else self.ddp(steps, HOOKS[contender.name]))
        return {**figures, "rate": rate}

    def keep(self, title, figures):
        self.found.setdefault(title, []).append(figures)
        print(f"{self.link}: {title}: {json.dumps(figures)}", file=sys.stderr, flush=True)


def wait_all(processes):
    try:
        codes = [process.wait(RUN_S_LIMIT) for process in processes]
    finally:
        for process in processes:
            process.kill()
    if any(codes):
        raise Failure(f"processes ended with {codes}")


def measure(options, link, network, contenders):
    """What is found of each title, a list of turns."""
    bench = Bench(options, link, network)
    ddp = [c for c in contenders if not c.local_steps]
    if not network and not options.only:
        bench.keep(f"one process, batch × {NODES}", bench.alone(1))
        bench.keep(f"one process, steps × {NODES}", bench.alone(NODES))
    for contender in ddp:
        bench.take(contender)
    starling = [c for c in contenders if c.local_steps]
    for _, row in itertools.groupby(starling, key=lambda contender: contender.name):
        for contender in [*row, *(ddp if network else ())]:
            bench.take(contender)
    return bench.found


def measure_links(options, contenders):
    found = {}
    for link in options.links:
        with contextlib.ExitStack() as stack:
            network = None
            if LINKS[link]:
                network = stack.enter_context(networks.Network(NODES))
                network.limit(LINKS[link])
            found[link] = measure(options, link, network, contenders)
    return found


def row_of(options, link, title, turns, of_ddp, losses):
    """The cells of a row. `of_ddp`: samples/s of DDP on this link; `losses`: by title. The seconds
    are those of all samples at the pace seen."""
    rates = [turn["samples_per_s"] for turn in turns]
    rate, last = statistics.median(rates), turns[-1]
    loss = losses.get(title) if last.get("is_short") else max(last["losses"])
    sent = last["sent_bytes_per_step"]
    spread = f" ({min(rates):.1f} to {max(rates):.1f})" if len(rates) > 1 else ""
    waited = last.get("waited_share")
    samples = options.steps * options.batch * NODES
    return [link, title, "–" if loss is None else f"{loss:.4f}",
            f"{sent / 1e6:.3f}" if sent is not None else "–", f"{samples / rate:,.0f}",
            f"{rate:.1f}{spread}", f"{rate / of_ddp:.2f}" if of_ddp else "–",
            f"{waited:.0%}" if waited is not None else "–", f"{last.get('rate', '–')}"]


HEADINGS = ["link", "what", "loss held out", "MB sent a step and node", "seconds", "samples/s",
            "× DDP", "waits", "rate"]


def table_of(options, found):
    lines = []
    losses = {title: max(turns[-1]["losses"]) for titles in found.values()
              for title, turns in titles.items() if not turns[-1].get("is_short")}
    for link, titles in found.items():
        rates = [turn["samples_per_s"] for turn in titles.get(DDP, [])]
        of_ddp = statistics.median(rates) if rates else None
        for title, turns in titles.items():
            lines.append(row_of(options, link, title, turns, of_ddp, losses))
    return markdown.table(HEADINGS, lines)


def contenders_of(options):
    all_of_them = [Contender(name) for name in HOOKS]
    for name, settings in STARLING.items():
        all_of_them += [Contender(name, h, settings) for h in options.local_steps]
    if not options.only:
        wanted = {DDP, *options.algorithm}
        return [c for c in all_of_them if c.name in wanted]
    return [c for c in all_of_them if any(word in c.title for word in options.only)]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=os.path.abspath)
    parser.add_argument("--links", nargs="+", default=list(LINKS), choices=LINKS)
    parser.add_argument("--local-steps", nargs="+", type=int, default=[1, 16, 64], metavar="H")
    parser.add_argument("--algorithm", nargs="+", choices=STARLING, default=["dpsgd", "kgt"])
    parser.add_argument("--only", nargs="+", metavar="TEXT")
    parser.add_argument("--steps", type=int, default=640, help="of a node; a multiple of each H")
    parser.add_argument("--short", type=int, default=24)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--batch", type=int, default=4, help=f"windows of {WINDOW} characters")
    parser.add_argument("--rate", nargs="+", type=float, default=[1e-3],
                        help="learning rates; speed is measured with the first")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--setting", action="append", default=[], metavar="KEY=VALUE",
                        type=lambda text: f"--{text}", help="of the daemons")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if any(options.steps % h for h in options.local_steps):
        parser.error(f"--steps={options.steps}: expected a multiple of {options.local_steps}")
    return options


def main():
    options = read_options()
    torch = why_no_torch()
    if torch or not program():
        sys.exit(torch or "Build first: cmake --preset bench && cmake --build build/bench")
    lacking = "" if networks.is_inside() else networks.why_not(networks.TOOLS_WITHOUT_LOSS)
    if lacking:
        print(f"skipped: thin links, {lacking}", file=sys.stderr, flush=True)
        options.links = [link for link in options.links if not LINKS[link]]
    elif not networks.is_inside():
        return networks.run_inside()
    os.environ.update(peer_environment())
    found = measure_links(options, contenders_of(options))
    print(json.dumps(found, indent=1) if options.json else table_of(options, found))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as error:
        sys.exit(f"char_gpt.py: {error}")
