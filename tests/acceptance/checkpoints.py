#!/usr/bin/env python3
"""Ends nodes in every way, starts them again, and looks at what they go on from.

    checkpoints.py PROGRAM kills [--kills 500] [--seed 1]   kill -9 at random moments, a checkpoint each 100 ms
    checkpoints.py PROGRAM bits                             stop at one round, go on: the same bits as never stopped
    checkpoints.py PROGRAM powercut                         kill -9 of sixteen at once
    checkpoints.py PROGRAM rolling                          sixteen restarted one after the other under load
    checkpoints.py PROGRAM full                             a disk without room, by a small tmpfs (root)
    checkpoints.py PROGRAM broken                           a disk that fails, by strace
    checkpoints.py PROGRAM trainer [--kills 500]            kill -9 of a node and its trainer at random moments
    checkpoints.py PROGRAM stop                             SIGTERM beside dead peers and clients that hang
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from live_node import SKIPPED, LiveNode, eventually  # noqa: E402

RING = ["--topology.kind=ring", "--data.source=digits", "--model.kind=mlp", "--optim.batch-size=32",
        "--cluster.preset=local", "--optim.learning-rate=0.05"]


def generations(folder):
    """The numbers of those that are on the disk, and of what is half written nothing."""
    return sorted(int(path.name) for path in (folder / "checkpoints").glob("[0-9]" * 12))


def about(folder):
    """What the manifest of the newest generation says."""
    newest = folder / "checkpoints" / f"{generations(folder)[-1]:012d}"
    return json.loads((newest / "manifest.json").read_text().splitlines()[0])["about"]


class Fleet:
    """Nodes that know the first, each with a folder of its own. They end with the block."""

    def __init__(self, program, folder, count, *arguments):
        self.program, self.folder, self.count, self.arguments = program, folder, count, arguments
        self.nodes = [None] * count
        self.seed = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self, index, *more):
        seed = ["--cluster.join", self.seed] if self.seed else []
        node = LiveNode(self.program, f"node-{index}", f"--node.data-dir={self.folder_of(index)}",
                        *RING, *self.arguments, *seed, *more)
        self.nodes[index] = node
        self.seed = self.seed or node.addresses["control"]
        return node

    def start_all(self, *more):
        self.seed = None
        first = self.start(0, *more)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda index: self.start(index, *more), range(1, self.count)))
        return first

    def folder_of(self, index):
        return self.folder / f"node-{index}"

    def statuses(self):
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda node: node.get("/v1/status"), self.nodes))

    def kill(self):
        for node in self.nodes:
            if node:
                node.process.kill()
        for node in self.nodes:
            if node:
                node.process.wait()
        self.nodes = [None] * self.count


def rounds_of(fleet):
    return [status["run"]["round"] for status in fleet.statuses()]


# ---- kill -9 at random moments

def kill_one(program, folder, kills, seed):
    """One node that is killed again and again; what was lost, a line each."""
    chance = random.Random(seed)
    found, losses, shortest = [], [], []
    log = folder / "log"
    for kill in range(kills):
        before = generations(folder) if kill else []
        with open(log, "w") as errors:
            process = subprocess.Popen(
                [program, "run", f"--node.name=node-{seed}", "--listen.control=127.0.0.1:0",
                 "--listen.http=127.0.0.1:0",
                 f"--node.data-dir={folder}", "--checkpoint.every=0.1s", *RING],
                stdout=subprocess.DEVNULL, stderr=errors)
            deadline = time.monotonic() + 30
            # Until it has saved in this life, and then to any moment of the next savings.
            while not [g for g in generations_if(folder) if not before or g > before[-1]]:
                assert time.monotonic() < deadline and process.poll() is None, log.read_text()
                threading.Event().wait(0.005)
            threading.Event().wait(chance.uniform(0, 0.25))
            process.kill()
            process.wait()
        text = log.read_text()
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


def generations_if(folder):
    return generations(folder) if (folder / "checkpoints").exists() else []


def kills(options, folder):
    share = options.kills // 4
    folders = [folder / f"alone-{k}" for k in range(4)]
    for each in folders:
        each.mkdir()
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda k: kill_one(options.program, folders[k], share, options.seed + k), range(4)))
    losses = [loss for end in ends for loss in end[0]]
    print(f"{4 * share} kills in {time.monotonic() - began:.0f} s: {len(losses)} lost; last rounds "
          f"{[end[1] for end in ends]}, at least {min(end[2] for end in ends)} generations on the disk")
    for loss in losses:
        print(" ", loss)
    return not losses


# ---- bit for bit

CASES = [["dpsgd"], ["dpsgd-pipelined"], ["qg"], ["ed"], ["extra"], ["gt"], ["admm"], ["noloco", "--exchange.schedule=matching"],
         ["dpsgd", "--optim.local-optimizer=adam", "--exchange.schedule=matching"],
         ["gt", "--optim.local-optimizer=adamw", "--optim.local-steps=3"],
         ["dpsgd", "--optim.outer=nesterov", "--optim.local-steps=4"]]


def trained(program, folder, rounds, arguments, resumes):
    """The parameters of four nodes after so many rounds, as bytes."""
    command = [program, "up", "-n", "4", f"--stop.rounds={rounds}", *RING, "--eval.every=1000",
               f"--output={folder}.model", *arguments]
    command.append(f"--resume={folder}" if resumes else f"--node.data-dir={folder}")
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, f"{' '.join(command)}\n{run.stdout}{run.stderr}"
    models = []
    for index in range(4):
        node = folder / f"node-{index}"
        assert about(node)["round"] == str(rounds), f"{node}: round {about(node)['round']}"
        newest = node / "checkpoints" / f"{generations(node)[-1]:012d}"
        models.append(tensors(newest / "model.safetensors"))
    return models


def tensors(path):
    """The numbers, without the header, which names the round."""
    bytes_ = path.read_bytes()
    return bytes_[8 + int.from_bytes(bytes_[:8], "little"):]


def bits(options, folder):
    differ = 0
    for number, (algorithm, *more) in enumerate(CASES):
        for precision in ("f32", "f64"):
            arguments = [f"--optim.algorithm={algorithm}", f"--model.precision={precision}", *more]
            whole = trained(options.program, folder / f"whole-{number}-{precision}", 60, arguments, False)
            cut = folder / f"cut-{number}-{precision}"
            trained(options.program, cut, 25, arguments, False)
            same = trained(options.program, cut, 60, arguments, True) == whole
            differ += not same
            print(f"{' '.join([algorithm, *more]):70} {precision}  {'the same bits' if same else 'DIFFERS'}", flush=True)
    return differ == 0


# ---- all at once

def powercut(options, folder):
    with Fleet(options.program, folder, 16, "--cluster.expect=16", "--checkpoint.every=1s") as fleet:
        fleet.start_all()
        eventually(lambda: min(rounds_of(fleet)) > 50, "all nodes train")
        eventually(lambda: all(status["checkpoint"].get("generation", 0) > 2 for status in fleet.statuses()), "all save")
        reached = rounds_of(fleet)
        fleet.kill()
        saved = [int(about(fleet.folder_of(index))["round"]) for index in range(16)]
        fleet.start_all()
        back = time.monotonic()  # of the last one: its ports are open
        eventually(lambda: all(now > then for now, then in zip(rounds_of(fleet), saved)), "all train on")
        took = time.monotonic() - back
        fleet.kill()
        print(f"sixteen killed in rounds {min(reached)} to {max(reached)}, saved {min(saved)} to {max(saved)}; all beyond "
              f"what they had saved {took:.2f} s after the last was back")
        return took <= options.patience


# ---- one after the other

def evaluated(fleet):
    """The statuses, once every node of the fleet has evaluated its model in this life."""
    def look():
        statuses = fleet.statuses()
        return all("eval" in status["run"] for status in statuses) and statuses
    return eventually(look, "all have evaluated")


def rolling(options, folder):
    with Fleet(options.program, folder, 16, "--cluster.expect=16", "--checkpoint.every=2s", "--eval.every=20") as fleet:
        fleet.start_all()
        eventually(lambda: min(rounds_of(fleet)) > options.after, "all nodes train")
        first = evaluated(fleet)
        slowest, codes, went_back, longest = 0, set(), [], 0
        for index in range(16):
            before = rounds_of(fleet)
            node = fleet.nodes[index]
            began = time.monotonic()
            node.process.terminate()
            codes.add(node.process.wait(timeout=20))
            slowest = max(slowest, time.monotonic() - began)
            if fleet.seed == node.addresses["control"]:
                fleet.seed = fleet.nodes[(index + 1) % 16].addresses["control"]
            again = fleet.start(index, "--cluster.expect=1")
            eventually(lambda: again.get("/v1/status")["run"]["round"] > before[index], f"node-{index} trains again")
            longest = max(longest, time.monotonic() - began)
            after = rounds_of(fleet)
            print(f"node-{index} was away {time.monotonic() - began:.2f} s", file=sys.stderr, flush=True)
            went_back += [k for k in range(16) if after[k] < before[k]]
        last = evaluated(fleet)
        accuracy = [[status["run"]["eval"]["accuracy"] for status in statuses] for statuses in (first, last)]
        fleet.kill()
        print(f"sixteen restarts: exit codes {sorted(codes)}, an end took at most {slowest:.2f} s, a node was away at most "
              f"{longest:.2f} s; went back in a round: {went_back or 'nobody'}; least accuracy {min(accuracy[0]):.3f} before, "
              f"{min(accuracy[1]):.3f} after")
        return codes == {0} and slowest <= 2 and not went_back and min(accuracy[1]) >= min(accuracy[0]) - 0.005


# ---- disks

def outlives(node, trouble, cure):
    """The node trains through the trouble, says so, and saves again behind it."""
    eventually(lambda: node.get("/v1/status")["checkpoint"].get("generation", 0) > 2, "it saves")
    trouble()
    status = eventually(lambda: (s := node.get("/v1/status"))["checkpoint"].get("problem") and s, "it says what is wrong")
    reason = [reason for reason in status["node"]["reasons"] if "no checkpoint" in reason]
    assert status["node"]["state"] == "degraded" and reason, status["node"]
    eventually(lambda: node.get("/v1/status")["run"]["round"] > status["run"]["round"] + 50, "it trains on")
    cure()
    eventually(lambda: node.get("/v1/status")["checkpoint"]["generation"] > status["checkpoint"]["generation"], "it saves again")
    assert "problem" not in node.get("/v1/status")["checkpoint"]
    eventually(lambda: node.state() == "training", "it is well again")
    print("degraded:", reason[0])
    return True


def full(options, folder):
    if os.geteuid() != 0:
        print("full: needs root for a tmpfs", file=sys.stderr)
        sys.exit(SKIPPED)
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], check=True)
    try:
        def start(keep):
            return LiveNode(options.program, "node-0", f"--node.data-dir={disk}/state", "--checkpoint.every=0.2s",
                            f"--checkpoint.keep={keep}", *RING)
        node = start(1)
        ballast = disk / "ballast"

        def fill():
            with open(ballast, "wb") as file:
                try:
                    while True:
                        file.write(bytes(65536))
                        file.flush()
                except OSError:
                    pass
        sound = outlives(node, fill, ballast.unlink)
        node.kill()
        node = start(3)
        eventually(lambda: len(list(disk.glob("state/checkpoints/0*"))) == 3, "it keeps three")
        fill()
        full_at = node.get("/v1/status")["checkpoint"]["generation"]
        eventually(lambda: node.get("/v1/status")["checkpoint"]["generation"] > full_at + 5, "the oldest give way")
        node.kill()
        return sound
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def broken(options, folder):
    strace = shutil.which("strace")
    if not strace:
        print("broken: there is no strace", file=sys.stderr)
        sys.exit(SKIPPED)
    node = LiveNode(options.program, "node-0", f"--node.data-dir={folder}/state", "--checkpoint.every=0.2s", *RING)
    tracer = []

    def fail():
        tracer.append(subprocess.Popen(
            [strace, "-f", "-qq", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "-o", "/dev/null",
             "-p", str(node.process.pid)]))

    def mend():
        tracer[0].send_signal(signal.SIGINT)
        tracer[0].wait()
    sound = outlives(node, fail, mend)
    node.kill()
    return sound


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
    command = f"'{sys.executable}' '{script}' '{ROOT / 'clients/python'}'"
    state, reached, wrong = folder / "state", 0, []
    for kill in range(options.kills):
        before = generations_if(state)
        with open(folder / "log", "w") as log:
            process = subprocess.Popen(
                [options.program, "run", "--node.name=alone", "--listen.control=127.0.0.1:0",
                 "--listen.http=127.0.0.1:0", f"--node.data-dir={state}",
                 "--checkpoint.every=0.1s", "--model.precision=f64", "--optim.algorithm=dpsgd", "--trainer", command],
                stdout=log, stderr=log, start_new_session=True)
            deadline = time.monotonic() + 60
            while not [g for g in generations_if(state) if not before or g > before[-1]]:
                assert time.monotonic() < deadline and process.poll() is None, (folder / "log").read_text()
                threading.Event().wait(0.005)
            threading.Event().wait(chance.uniform(0, 0.25))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said = re.search(r"^(\d+) (\S+) (\S+)$", (folder / "log").read_text(), re.M)
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

def stop(options, folder):
    with Fleet(options.program, folder, 4, "--cluster.expect=4") as fleet:
        fleet.start_all()
        eventually(lambda: min(rounds_of(fleet)) > 20, "all nodes train")
        host, port = fleet.nodes[0].addresses["http"].rsplit(":", 1)
        clients = [socket.create_connection((host, int(port))) for _ in range(20)]
        for client in clients[:10]:
            client.sendall(b"GET /v1/status HTTP/1.1\r\n")  # and no more
        events = [socket.create_connection((host, int(port))) for _ in range(10)]
        for client in events:
            client.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for node in fleet.nodes[1:3]:
            node.process.kill()
        fleet.nodes[3].process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        fleet.nodes[0].process.terminate()
        code = fleet.nodes[0].process.wait(timeout=30)
        took = time.monotonic() - began
        print(f"SIGTERM beside two dead neighbours, one that stands still and 30 clients: exit code {code} after {took:.2f} s, "
              f"saved round {about(fleet.folder_of(0))['round']}")
        fleet.nodes[3].process.send_signal(signal.SIGCONT)
        fleet.kill()
        return code == 0 and took <= 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("what", choices=["kills", "bits", "powercut", "rolling", "full", "broken", "trainer", "stop"])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=1, help="seconds until all train after a power cut")
    parser.add_argument("--after", type=int, default=600, help="rounds before the first restart")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="starling-checkpoints-") as folder:
        return 0 if globals()[options.what](options, Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
