#!/usr/bin/env python3
"""Cuts the connection between two nodes in the middle of a vector, and counts what is sent again.

    tests/acceptance/cut.py [--mbit RATE] [--hidden UNITS] [--rounds R] [WAY ...]

Two nodes with a model of about 100 MB lie in network namespaces on a thin link. They train R rounds
undisturbed, and R rounds in which a cut comes while half of a vector has passed the link. What is
cut is the connection that has carried most: that for vectors. A vector that was cut off has to go on from its first missing chunk. Ways:

  reset    both ends of the connection are closed at once, by ss -K
  refuse   packets of that connection are answered by a reset for half a second
  silence  packets of that connection vanish for 20 s, longer than it bears; a new one passes

The bytes at the interface, beside those of the undisturbed rounds, say what was sent again, and the
chunks that a node refused because others before them were lost say what was sent in vain. Needs
root, iproute2, nftables and util-linux, else it is skipped. STARLING in the environment names the
program when it is not the newest below build/.
"""
import argparse
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from cluster import Starling, networks  # noqa: E402
from nodes.namespaces import CONTROL_PORT  # noqa: E402
from nodes.watch import failures, report  # noqa: E402

WAYS = ("reset", "refuse", "silence")
REFUSE_S, SILENCE_S = 0.5, 20
REFUSE = """
table inet cut {{
  chain {hook} {{
    type filter hook {hook} priority 0;
    meta l4proto tcp tcp dport {port} {verdict}
    meta l4proto tcp tcp sport {port} {verdict}
  }}
}}
"""
MIDDLE = 0.5  # of the vectors under way have passed when the cut comes
FIRST_ROUND = 2  # whose vectors are cut; those before are of the start
ROUND_S_LIMIT = 60
REST_S, REST_S_LIMIT, REST_BYTES = 2, 60, 1 << 20
# What is lost with a connection for each of the two vectors: 16 chunks of ZeroMQ's queue, and two
# socket buffers.
CHUNK_BYTES = 256 << 10
LOST_BYTES_LIMIT = 16 * CHUNK_BYTES + 2 * (4 << 20)


def payload_bytes(options):
    return 4 * ((784 + 1) * options.hidden + (options.hidden + 1) * 10)


def arguments(options):
    return ["--data.source=digits", "--data.samples=400", "--model.kind=mlp",
            f"--model.hidden={options.hidden}", "--topology.kind=ring", "--optim.algorithm=dpsgd",
            "--optim.batch-size=4", "--optim.learning-rate=0.001", "--eval.every=1000000000",
            "--eval.samples=4", f"--stop.rounds={options.rounds}", "--stop.stay=true"]


def bulk_port(network):
    """The port of the end that has dialled the connection that has carried most."""
    lines = networks.run(*network.prefix(0), "ss", "-tinHO").splitlines()

    def carried(line):
        return sum(int(count) for count in re.findall(r"bytes_(?:sent|received):(\d+)", line))

    ends = max(lines, key=carried).split()[3:5]
    return next(port for port in (int(end.rsplit(":", 1)[1]) for end in ends) if port != CONTROL_PORT)


def cut(network, way):
    port = bulk_port(network)
    if way == "reset":
        networks.run(*network.prefix(0), "ss", "-K", f"( sport = :{port} or dport = :{port} )")
        return
    verdict = "reject with tcp reset" if way == "refuse" else "drop"
    for hook in ("input", "output") if way == "silence" else ("input",):
        networks.run(*network.prefix(0), "nft", "-f", "-",
                     text=REFUSE.format(hook=hook, port=port, verdict=verdict))
    time.sleep(SILENCE_S if way == "silence" else REFUSE_S)
    networks.run(*network.prefix(0), "nft", "flush", "ruleset")


def await_middle(cluster, network, payload):
    """Of the vectors of a round; what has passed of the two together."""
    cluster.wait_rounds(FIRST_ROUND, ROUND_S_LIMIT)
    begin = network.sent_bytes()
    cluster.wait(lambda: network.sent_bytes() - begin >= MIDDLE * 2 * payload, ROUND_S_LIMIT)
    return (network.sent_bytes() - begin) / (2 * payload)


def edges(cluster):
    return [edge for document in cluster.all("/v1/neighbors") for edge in document["neighbors"]]


def run(network, options, way=None):
    """What a run of the rounds came to, with a cut or without."""
    sent, began = network.sent_bytes(), time.monotonic()
    found = {"passed": None}
    with Starling(2, network, arguments(options)) as cluster:
        if way:
            found["passed"] = await_middle(cluster, network, payload_bytes(options))
            cut(network, way)
        done = cluster.wait_rounds(options.rounds, ROUND_S_LIMIT + options.rounds * options.round_s)
        found["rounds"] = cluster.rounds()
        await_rest(cluster, network)
        found["repeated"] = sum(edge["repeated_bytes"] for edge in edges(cluster))
        found["rejected"] = cluster.rejected()
    found["sent"], found["seconds"] = network.sent_bytes() - sent, time.monotonic() - began
    found["done"] = done
    return found


def await_rest(cluster, network):
    """For vectors under way when all are done."""
    last = [0]

    def is_at_rest():
        time.sleep(REST_S)
        last[0], before = network.sent_bytes(), last[0]
        return last[0] - before < REST_BYTES

    cluster.wait(is_at_rest, REST_S_LIMIT)


def text(found):
    refused = ", ".join(f"{count} {why}" for why, count in found["rejected"].items()) or "nothing"
    return (f"{found['sent'] / 1e6:.1f} MB at the interface in {found['seconds']:.0f} s, rounds "
            f"{found['rounds']}, repeated_bytes {found['repeated'] / 1e6:.1f} MB, "
            f"refused: {refused}")


def judge(options, way, usual, found):
    payload, limit = payload_bytes(options), 2 * LOST_BYTES_LIMIT  # both vectors were under way
    where = f"{way} at {found['passed']:.0%} of two vectors of {payload / 1e6:.0f} MB"
    print(f"      {way}: {text(found)}")
    report(f"{way}: all {options.rounds} rounds are done", found["rounds"], found["done"])
    if way != "silence":  # in which rounds go by without an exchange
        again = found["sent"] - usual["sent"]
        report(f"{where}: sent more than undisturbed",
               f"{again / 1e6:.1f} MB, at most {limit / 1e6:.1f}", again <= limit)
    gap = found["rejected"].get("incomplete", 0) * CHUNK_BYTES
    report(f"{where}: came behind a gap and was refused",
           f"{gap / 1e6:.1f} MB, at most {limit / 1e6:.1f}", gap <= limit)
    report(f"{where}: sent from the first missing chunk on",
           f"{found['repeated'] / 1e6:.1f} MB, of {(1 - found['passed']) * 2 * payload / 1e6:.1f}",
           found["repeated"] <= (1 - found["passed"]) * 2 * payload + limit)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbit", type=float, default=400, help="of the link, each way")
    parser.add_argument("--hidden", type=int, default=31400, help="units; 795 numbers each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("way", nargs="*", help="all without it")
    options = parser.parse_args()
    options.way = options.way or WAYS
    for way in set(options.way).difference(WAYS):
        parser.error(f"{way}: there are {', '.join(WAYS)}")
    options.round_s = 3 * payload_bytes(options) * 8 / (options.mbit * 1e6)
    return options


def main():
    options = read_options()
    if not networks.is_inside():
        return networks.run_inside_or_skip()
    with networks.Network(2) as network:
        network.limit(options.mbit * 1e6)
        usual = run(network, options)
        print(f"      undisturbed: {text(usual)}")
        least = usual["rounds"][0] * 2 * payload_bytes(options)
        report("bytes of the undisturbed rounds beside the least", f"{usual['sent'] / least:.3f}",
               usual["done"] and usual["sent"] <= 1.05 * least)
        for way in options.way:
            judge(options, way, usual, run(network, options, way))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
