#!/usr/bin/env python3
"""Whether the mean of all models stays when a third of all packets is lost, in real processes.

    tests/acceptance/lossy_mean.py [--nodes N] [--seconds S]

N nodes with different initial models and learning rate 0 average with each other while nft drops
30 % of the packets between them, in a network namespace of their own. Then the loss ends, and once
all models are the same it must be the mean of the initial ones. Needs root, util-linux, iproute2
and nftables, else it is skipped.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

import churn

MODEL = ["--data.samples=400", "--model.kind=mlp", "--model.hidden=8", "--optim.learning-rate=0"]
HTTP_HOST = "127.0.0.2"  # whose packets are not lost
RULES = """
table inet starling {
  chain input {
    type filter hook input priority 0;
    ip saddr 127.0.0.1 ip daddr 127.0.0.1 meta l4proto tcp numgen random mod 100 < 30 drop
  }
}
"""
STAYS_S = 15
LIMIT = 1e-6  # of the drift, relative, for single precision


def model(address):
    """The parameters of a node."""
    with urllib.request.urlopen(f"http://{address}/v1/model", timeout=5) as reply:
        data = reply.read()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])["parameters"]
    assert header["dtype"] == "F32", header
    return struct.unpack_from(f"<{header['shape'][0]}f", data, 8 + length)


def norm(x):
    return sum(a * a for a in x) ** 0.5


def distance(x, y):
    return norm([a - b for a, b in zip(x, y)]) / norm(y)


class Run:
    """`starling run` of its own initial model."""

    def __init__(self, index, arguments):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [churn.PROGRAM, "run", f"--node.name=node-{index}", f"--node.seed={index + 1}",
             "--listen.control=127.0.0.1:0",
             f"--listen.http={HTTP_HOST}:0", "--node.log=warning",
             f"--ready-file=/dev/fd/{writer}", *MODEL, *arguments],
            pass_fds=[writer], cwd=churn.ROOT)
        os.close(writer)
        with os.fdopen(reader) as ready:
            self.addresses = json.loads(ready.readline())

    def model(self):
        return model(self.addresses["http"])

    def status(self):
        with urllib.request.urlopen(f"http://{self.addresses['http']}/v1/status", timeout=5) as r:
            return json.load(r)

    def stop(self):
        self.process.kill()
        self.process.wait()


def is_training(run):
    try:
        return run.status()["node"]["state"] == "training"
    except urllib.error.HTTPError:  # it has not started yet
        return False


def drift(runs, mean):
    return max(distance(run.model(), mean) for run in runs)


def initial_model(index):
    alone = Run(index, [])
    try:
        churn.wait(lambda: is_training(alone), 20)
        return alone.model()
    finally:
        alone.stop()


def check(options):
    initial = [initial_model(index) for index in range(options.nodes)]
    mean = [sum(x) / len(initial) for x in zip(*initial)]
    print(f"initial models are {min(distance(x, mean) for x in initial):.3g} or more from their mean")
    runs = []
    try:
        for index in range(options.nodes):
            join = [f"--join={runs[0].addresses['control']}"] if runs else []
            runs.append(Run(index, [f"--cluster.expect={options.nodes}", *join]))
        churn.wait(lambda: all(is_training(run) for run in runs), 30)
        subprocess.run(["nft", "-f", "-"], input=RULES, text=True, check=True)
        before = [run.status()["run"]["round"] for run in runs]
        time.sleep(options.seconds)
        rounds = [run.status()["run"]["round"] - b for run, b in zip(runs, before)]
        print(f"rounds of a node in {options.seconds:.0f} s with loss: {min(rounds)} to {max(rounds)}")
        subprocess.run(["nft", "flush", "ruleset"], check=True)
        # Vectors that are late come in the end, and until then the mean is not whole.
        exact = churn.wait(lambda: drift(runs, mean) <= LIMIT, 180, 1)
        churn.report("all models are the mean of the initial ones after", churn.elapsed(exact),
                     exact is not None)
        time.sleep(STAYS_S)
        far = drift(runs, mean)
        churn.report(f"their distance from it {STAYS_S} s later", f"{far:.3g}", far <= LIMIT)
        given_up = sum(run.status()["consensus"]["abandoned_edges"] for run in runs)
        churn.report("edges given up", given_up, given_up == 0)
    finally:
        for run in runs:
            run.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60, help="with loss")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        lacking = [tool for tool in ("unshare", "ip", "nft") if not shutil.which(tool)]
        if lacking or os.geteuid() != 0:
            print(f"skip  needs root and {' '.join(lacking) or 'its tools'}")
            return 0
        return subprocess.run(["unshare", "--net", sys.executable, __file__, "--inside",
                               f"--nodes={options.nodes}",
                               f"--seconds={options.seconds}"]).returncode
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    check(options)
    return 1 if churn.failures else 0


if __name__ == "__main__":
    sys.exit(main())
