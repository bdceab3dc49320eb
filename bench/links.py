#!/usr/bin/env python3
"""Rounds over thin and lossy links, Starling beside PyTorch over gloo, in turn, in one run.

  bench/links.py                     every row
  bench/links.py 100mbit 1gbit       rows of these links; also 10mbit, 50mbit and loopback (T9)
  bench/links.py -n 4 --loss 0       of four nodes, without loss
  bench/links.py --quick             two short turns a row instead of five
  bench/links.py 1gbit --batch 1024  steps that take about as long as sending
  bench/links.py 10mbit --hidden 64  an mlp of 64 hidden units instead of the link's own model
  bench/links.py --congestion reno   TCP's congestion control in the namespaces
  bench/links.py --json              one JSON document
  bench/links.py --data FOLDER       the files of MNIST instead of drawn images

A node is a process in a network namespace of its own; tc limits both ends of its link and nft
drops packets that reach it. A figure is the median of the turns. `of bandwidth` is the time of a
round beside payload / bandwidth, what a node must receive; `wire` is what the nodes sent, without
headers, beside the least, rounds x payload; `vectors` is what Starling itself counts of that.
Where that is below 1 without a codec rounds went by without an exchange, and their time says
nothing. The payload is that of f32 with a codec or a hook too, so that its time and bytes stand
beside it. The hooks of DDP are those of PyTorch that work over gloo; bf16_compress_hook does not
(bench/hooks.py). PowerSGD takes rank 2, from its third step on, which is not timed.
Needs root, iproute2 and nftables, else those rows are skipped. See also bench/lossy.py.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass, replace

import markdown
from cluster import Failure, Peers, Starling, networks, program, sum_of, why_no_torch

BATCH, SAMPLES, LEARNING_RATE = 64, 2000, 0.02
TURNS, QUICK_TURNS = 5, 2
TURN_S, QUICK_TURN_S = 2.0, 0.8
ROUNDS_LEAST, ROUNDS_MOST = 10, 2000
TURN_S_LIMIT = 20  # after which a turn counts the rounds there were
SETTLE_S = 0.2  # for bytes under way when all are done
LOSSES = (0, 0.01, 0.05)
SIZES = (2, 4)


@dataclass(frozen=True)
class Link:
    name: str
    bits_per_s: float  # 0: loopback
    hidden: tuple

    def payload_bytes(self):
        sizes = [784, *self.hidden, 10]
        return 4 * sum((a + 1) * b for a, b in zip(sizes, sizes[1:]))


LINKS = [
    Link("loopback", 0, (256, 128)),
    Link("10mbit", 10e6, ()),
    Link("50mbit", 50e6, (519,)),
    Link("100mbit", 100e6, (256, 128)),
    Link("1gbit", 1e9, (1260,)),
]
STARLING = {
    "dpsgd": ["--optim.algorithm=dpsgd"],
    "adpsgd": ["--optim.algorithm=adpsgd", "--exchange.schedule=pairwise"],
    "dpsgd-pipelined": ["--optim.algorithm=dpsgd-pipelined"],
    "dpsgd i4": ["--optim.algorithm=dpsgd", "--exchange.codec=i4"],
    "ed i4": ["--optim.algorithm=ed", "--exchange.codec=i4"],
    "ed top:5%": ["--optim.algorithm=ed", "--exchange.codec=top:5%"],
    "complete": ["--optim.algorithm=dpsgd", "--topology.kind=complete"],
    "allreduce": ["--optim.algorithm=dpsgd", "--exchange.schedule=allreduce"],
}
PEERS = {
    "torch ring": "ring",
    "torch ddp": "ddp",
    "torch ddp fp16": "ddp-fp16",
    "torch ddp powersgd": "ddp-powersgd-2",
}


@dataclass(frozen=True)
class Row:
    link: Link
    nodes: int
    loss: float

    def vectors(self, contender):
        """That a node sends a round, and receives."""
        if contender.startswith("torch ddp") or contender == "allreduce":
            return 2 * (self.nodes - 1) / self.nodes
        if contender == "complete":
            return self.nodes - 1
        return 1 if contender == "adpsgd" else min(2, self.nodes - 1)

    def ideal_ms(self, contender):
        """Payload / bandwidth."""
        if not self.link.bits_per_s:
            return None
        payload = self.vectors(contender) * self.link.payload_bytes()
        return payload * 8 / self.link.bits_per_s * 1e3


def starling_arguments(row, options, contender, rounds):
    layers = [f"--model.hidden={units}" for units in row.link.hidden]
    data = ["--data.source=idx", f"--data.path={options.data}"] if options.data else [
        "--data.source=digits", f"--data.samples={max(SAMPLES, 20 * options.batch)}"]
    graph = [] if contender in ("complete", "allreduce") else ["--topology.kind=ring"]
    return [*STARLING[contender], *graph, f"--model.kind={'mlp' if layers else 'softmax'}", *layers, *data,
            f"--optim.batch-size={options.batch}",
            "--optim.local-optimizer=sgd",
            f"--optim.learning-rate={LEARNING_RATE}", "--eval.every=1000000000",
            f"--stop.rounds={rounds}", "--stop.stay=true"]


def sent(network):
    return network.sent_bytes() if network else None


def starling_turn(row, options, network, contender, rounds):
    before = sent(network)
    arguments = starling_arguments(row, options, contender, rounds)
    with Starling(row.nodes, network, arguments) as cluster:
        if not cluster.wait_rounds(1, TURN_S_LIMIT):
            raise Failure("not every node did a first round")
        cluster.wait_rounds(rounds, TURN_S_LIMIT)
        time.sleep(SETTLE_S)
        done, after = sum(cluster.rounds()), sent(network)
        return {"ms": cluster.round_ms(), "rounds": done, "rejected": cluster.rejected(),
                "vectors_bytes": cluster.sent_vectors_bytes(),
                "wire_bytes": after - before if network else None}


def peer_turn(row, network, peers, contender, rounds):
    before = sent(network)
    answer = peers.ask(f"{PEERS[contender]} {rounds}")
    time.sleep(SETTLE_S)
    after = sent(network)
    return {"ms": answer["ms"], "rounds": answer["rounds"] * row.nodes,
            "wire_bytes": after - before if network else None}


def figures(row, contender, turns):
    """Of all turns of one contender."""
    ms = [turn["ms"] for turn in turns]
    least = sum(turn["rounds"] for turn in turns) * row.vectors(contender)
    least *= row.link.payload_bytes()
    ideal = row.ideal_ms(contender)
    result = {"ms": statistics.median(ms), "least_ms": min(ms), "most_ms": max(ms),
              "turns": len(ms), "ideal_ms": ideal}
    if ideal:
        result["of_bandwidth"] = result["ms"] / ideal
        result["wire"] = sum(turn["wire_bytes"] for turn in turns) / least
    if contender in STARLING:
        result["vectors"] = sum(turn["vectors_bytes"] for turn in turns) / least
        result["rejected"] = sum_of(turn["rejected"] for turn in turns)
    return result


def rounds_for(turn_s, ms):
    return max(ROUNDS_LEAST, min(ROUNDS_MOST, round(turn_s / ms * 1e3)))


def turn(row, options, network, peers, contender, ms):
    rounds = rounds_for(QUICK_TURN_S if options.quick else TURN_S, ms)
    if contender in PEERS:
        return peer_turn(row, network, peers, contender, rounds)
    return starling_turn(row, options, network, contender, rounds)


def take_turns(row, options, network, peers, contenders):
    """The turns of each contender, or why it failed."""
    turns = {contender: [] for contender in contenders}
    for _ in range(QUICK_TURNS if options.quick else TURNS):
        for contender, done in turns.items():
            if isinstance(done, str):
                continue
            known = [found["ms"] for found in done]
            ms = statistics.median(known) if known else row.ideal_ms(contender) or 2
            try:
                done.append(turn(row, options, network, peers, contender, ms))
            except Failure as error:
                turns[contender] = str(error)
    return turns


def contend(row, options, network, contenders):
    """The figures of all contenders, who take turns."""
    hidden = ",".join(map(str, row.link.hidden))
    with contextlib.ExitStack() as stack:
        peers, failed = None, {}
        try:
            if set(contenders) & set(PEERS):
                peers = stack.enter_context(
                    Peers(row.nodes, network, hidden, options.batch, LEARNING_RATE, options.data))
        except Failure as error:
            failed = {c: {"failed": str(error)} for c in contenders if c in PEERS}
            contenders = [c for c in contenders if c not in PEERS]
        turns = take_turns(row, options, network, peers, contenders)
    found = {contender: {"failed": done} if isinstance(done, str)
             else figures(row, contender, done) for contender, done in turns.items()}
    return {**found, **failed}


def measure(row, options, contenders):
    if row.link.bits_per_s == 0:
        return contend(row, options, None, contenders)
    with networks.Network(row.nodes, options.congestion) as network:
        network.limit(row.link.bits_per_s)
        network.lose(row.loss)
        return contend(row, options, network, contenders)


def cells(row, contender, found):
    place = [row.link.name, str(row.nodes), f"{row.loss:.0%}", contender]
    if "failed" in found:
        return [*place, "–", "–", "–", "–", "–", found["failed"]]

    def number(key, form):
        return format(found[key], form) if found.get(key) is not None else "–"

    rejected = ", ".join(f"{count} {reason}" for reason, count in found.get("rejected", {}).items())
    return [*place, f"{found['ms']:.3g} ({found['least_ms']:.3g} to {found['most_ms']:.3g})",
            number("ideal_ms", ".3g"), number("of_bandwidth", ".2f"), number("wire", ".3f"),
            number("vectors", ".3f"), rejected or "–"]


HEADINGS = ["link", "nodes", "loss", "what", "ms a round", "payload / bandwidth", "of bandwidth",
            "wire", "vectors", "rejected"]


def wanted_rows(options):
    for link in LINKS:
        if options.links and link.name not in options.links:
            continue
        if options.hidden is not None:
            link = replace(link, hidden=options.hidden)
        if not link.bits_per_s:
            for nodes in options.nodes or [4]:
                yield Row(link, nodes, 0)
            continue
        for nodes in options.nodes or SIZES:
            for loss in options.loss if options.loss is not None else LOSSES:
                yield Row(link, nodes, loss)


def hidden_units(text):
    return () if text == "none" else tuple(int(units) for units in text.split(","))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [link.name for link in LINKS]
    parser.add_argument("links", nargs="*", metavar="LINK", help=", ".join(names))
    parser.add_argument("-n", "--nodes", type=int, action="append", help="2 and 4 by default, on loopback 4")
    parser.add_argument("--loss", type=float, action="append", help="0, .01 and .05 by default")
    parser.add_argument("--only", action="append", metavar="WHAT",
                        help=", ".join([*STARLING, *PEERS]).replace("%", "%%"))
    parser.add_argument("--hidden", type=hidden_units, metavar="UNITS",
                        help="of the model on every link: 256,128; none is softmax regression")
    parser.add_argument("--batch", type=int, default=BATCH, help="samples a local step")
    parser.add_argument("--congestion", default="", metavar="NAME",
                        help="congestion control of TCP: reno, cubic, bbr; default: the machine's")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--data", default="", help="a folder with the files of MNIST")
    options = parser.parse_args()
    for given, allowed in ((options.links, names), (options.only or [], [*STARLING, *PEERS])):
        unknown = sorted(set(given) - set(allowed))
        if unknown:
            parser.error(f"{', '.join(unknown)}: expected {', '.join(allowed)}")
    options.data = os.path.abspath(options.data) if options.data else ""
    return options


def measure_all(options, rows):
    """Each row and what was found of it, as it is found."""
    contenders = options.only or [*STARLING, *PEERS]
    torch = why_no_torch()
    if torch:
        print(f"skipped: PyTorch, {torch}", file=sys.stderr, flush=True)
        contenders = [c for c in contenders if c not in PEERS]
    for row in rows:
        found = measure(row, options, contenders)
        yield row, found


def main():
    options = read_options()
    if not program():
        sys.exit("Build first: cmake --preset bench && cmake --build build/bench")
    rows = list(wanted_rows(options))
    lacking = "" if networks.is_inside() else networks.why_not()
    if lacking:
        print(f"skipped: thin and lossy links, {lacking}", file=sys.stderr, flush=True)
        rows = [row for row in rows if not row.link.bits_per_s]
    elif not networks.is_inside():
        return networks.run_inside()
    if not options.json:
        print(markdown.table(HEADINGS), flush=True)
    document = []
    for row, found in measure_all(options, rows):
        for contender, figures_of_it in found.items():
            document.append({"link": row.link.name, "nodes": row.nodes, "loss": row.loss,
                             "what": contender, "payload_bytes": row.link.payload_bytes(),
                             **figures_of_it})
            if not options.json:
                print(markdown.row(cells(row, contender, figures_of_it)), flush=True)
    if options.json:
        print(json.dumps({"rows": document, "skipped": lacking}, indent=1))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
