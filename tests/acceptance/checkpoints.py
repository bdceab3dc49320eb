#!/usr/bin/env python3
"""Ends nodes in every way, starts them again, and looks at what they go on from.

    checkpoints.py PROGRAM kills [--kills 500] [--seed 1]   kill -9 at random moments, a checkpoint each 100 ms
    checkpoints.py PROGRAM full                             a disk without room, by a small tmpfs (root)
    checkpoints.py PROGRAM trainer [--kills 500]            kill -9 of a node and its trainer at random moments
    checkpoints.py PROGRAM stop                             SIGTERM beside dead peers and clients that hang
"""
import argparse
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from nodes import program  # noqa: E402
from nodes.fleet import Fleet  # noqa: E402
from nodes.namespaces import Place  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.watch import SKIPPED, eventually, rest  # noqa: E402

RING = ["--topology.kind=ring", "--data.source=digits", "--model.kind=mlp", "--optim.batch-size=32",
        "--cluster.preset=local", "--optim.learning-rate=0.05"]


def generations(folder):
    """The numbers of those that are on the disk, and of what is half written nothing."""
    return sorted(int(path.name) for path in (folder / "checkpoints").glob("[0-9]" * 12))


def about(folder):
    """What the manifest of the newest generation says."""
    newest = folder / "checkpoints" / f"{generations(folder)[-1]:012d}"
    return json.loads((newest / "manifest.json").read_text().splitlines()[0])["about"]


def life(folder, chance, *arguments):
    """The generations before it and what it printed: a node that is killed, with its trainer, at some moment of a
    quarter of a second after it has saved."""
    before, log = generations(folder), folder.with_suffix(".log")
    log.unlink(missing_ok=True)
    node = Node("alone", f"--node.data-dir={folder}", "--node.log=info", "--checkpoint.every=0.1s", *arguments,
                log=log, place=Place(prefix=("setsid",)))
    try:
        eventually(lambda: generations(folder)[-1:] > before[-1:], f"it saves: {log}")
        rest(chance.uniform(0, 0.25))
    finally:
        os.killpg(node.process.pid, signal.SIGKILL)
        node.process.wait()
    return before, log.read_text()


# ---- kill -9 at random moments

def kill_one(folder, kills, seed):
    """One node that is killed again and again; what was lost, a line each."""
    chance = random.Random(seed)
    found, losses, shortest = [], [], []
    for kill in range(kills):
        before, text = life(folder, chance, *RING)
        taken = re.search(r"found the checkpoint of round (\d+), generation (\d+)", text)
        if before:
            if "passed over" in text:
                losses.append(f"kill {kill}: {text.splitlines()[0]}")
            if not taken or int(taken.group(2)) != before[-1]:
                losses.append(f"kill {kill}: went on from {taken and taken.group(2)} of {before}")
            elif found and int(taken.group(1)) < found[-1]:
                losses.append(f"kill {kill}: round {taken.group(1)} behind {found[-1]}")
        if taken:
            found.append(int(taken.group(1)))
        shortest.append(len(generations(folder)))
    return losses, found[-1] if found else 0, min(shortest[2:], default=0)


def kills(options, folder):
    share = options.kills // 4
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda k: kill_one(folder / f"alone-{k}", share, options.seed + k), range(4)))
    losses = [loss for end in ends for loss in end[0]]
    print(f"{4 * share} kills in {time.monotonic() - began:.0f} s: {len(losses)} lost; last rounds "
          f"{[end[1] for end in ends]}, at least {min(end[2] for end in ends)} generations on the disk")
    for loss in losses:
        print(" ", loss)
    return not losses


# ---- a disk

def full(_, folder):
    if os.geteuid() != 0:
        print("full: needs root for a tmpfs", file=sys.stderr)
        sys.exit(SKIPPED)
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], check=True)
    node = Node("node-0", f"--node.data-dir={disk}/state", "--checkpoint.every=0.2s", "--checkpoint.keep=3", *RING)
    try:
        node.await_ready()
        eventually(lambda: len(generations(disk / "state")) == 3, "it keeps three")
        try:
            with open(disk / "ballast", "wb", buffering=0) as ballast:
                while True:
                    ballast.write(bytes(65536))
        except OSError:
            pass
        full_at = node.get("/v1/status")["checkpoint"]["generation"]
        eventually(lambda: node.get("/v1/status")["checkpoint"]["generation"] > full_at + 5, "the oldest give way")
        print("on a full disk five more checkpoints: the oldest give way")
        return True
    finally:
        node.kill()
        subprocess.run(["umount", "-l", disk], check=True)


# ---- an attached trainer

TRAINER = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy, starling
class Count:
    value = 0
    def state_dict(self): return {"value": self.value}
    def load_state_dict(self, state): self.value = state["value"]
count, tensors = Count(), {"w": numpy.zeros(1000, numpy.float64)}
swarm = starling.attach(tensors=tensors, keep=[count])
w = swarm.tensors["w"]
said = False
while True:
    w += 1
    count.value += 1
    if not swarm.step(loss=1.0):
        break
    if not said:
        print(count.value, float(w.min()), float(w.max()), flush=True)
        said = True
"""


def trainer(options, folder):
    """Each step adds one to all parameters and to a counter of the trainer's: what comes back must agree."""
    chance = random.Random(options.seed)
    script = folder / "trainer.py"
    script.write_text(TRAINER)
    command = f"'{sys.executable}' '{script}' '{program.ROOT / 'clients/python'}'"
    reached, wrong = 0, []
    for kill in range(options.kills):
        _, text = life(folder / "state", chance, "--model.precision=f64", "--optim.algorithm=dpsgd", "--trainer", command)
        said = re.search(r"^(\d+) (\S+) (\S+)$", text, re.M)
        if not said:
            wrong.append(f"kill {kill}: the trainer said nothing")
            continue
        count, least, most = (float(number) for number in said.groups())
        if not (count == least == most):
            wrong.append(f"kill {kill}: a count of {count} and parameters of {least} to {most}")
        if kill and count < 3:
            wrong.append(f"kill {kill}: began afresh")
        reached = count
    print(f"{options.kills} kills: {len(wrong)} disagree; the count came to {reached:.0f}")
    for each in wrong[:10]:
        print(" ", each)
    return not wrong


# ---- the end

def stop(*_):
    with Fleet(range(4), RING, keeps=True, more=["--cluster.expect=4"]) as fleet:
        eventually(lambda: min(fleet.rounds()) > 20, "all nodes train")
        first, *gone, still = fleet.nodes
        host, port = first.addresses["http"].rsplit(":", 1)
        clients = [socket.create_connection((host, int(port))) for _ in range(30)]
        for client in clients[:10]:
            client.sendall(b"GET /v1/status HTTP/1.1\r\n")  # and no more
        for client in clients[20:]:
            client.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for node in gone:
            node.kill()
        still.signal(signal.SIGSTOP)
        began = time.monotonic()
        code = first.stop(30)
        took = time.monotonic() - began
        print(f"SIGTERM beside two dead neighbours, one that stands still and 30 clients: exit code {code} after {took:.2f} s, "
              f"saved round {about(Path(fleet.path(0)))['round']}")
        return code == 0 and took <= 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("what", choices=["kills", "full", "trainer", "stop"])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program.use(options.program)
    with tempfile.TemporaryDirectory(prefix="starling-checkpoints-") as folder:
        return 0 if globals()[options.what](options, Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
