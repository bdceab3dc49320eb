#!/usr/bin/env python3
"""What a trainer beside the daemon pays: a step between exchanges, and an exchange of 100 MB.

    attach_step.py [--windows 200]

The best of many windows, against a daemon that only answers (tests/clients/fake_daemon.py). Beside
the exchange stands one pass over the same memory, which is what looking for NaN costs.
"""
import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "clients" / "python"), str(ROOT / "tests" / "clients")]
import numpy  # noqa: E402
from fake_daemon import FakeDaemon  # noqa: E402

import starling  # noqa: E402

STEPS = 10_000  # of a window
EXCHANGES = 20
NUMBERS = 25_000_000  # f32, 100 MB


def attached(daemon, tensors, counts):
    """Attached to a daemon that asks for rounds of so many steps each."""
    def script(daemon):
        trainer = daemon.accept()
        trainer.welcome()
        for count in counts:
            trainer.step(count)
            trainer.done()
        trainer.end()
    daemon.run(script)
    return starling.attach(tensors=tensors, socket=daemon.path)


def best(windows, work):
    """Seconds of the fastest of so many calls."""
    spent = []
    for _ in range(windows):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return min(spent)


def steps_of(swarm, loss):
    def work():
        step = swarm.step
        for _ in range(STEPS):
            step(loss=loss)
    return work


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=200)
    windows = parser.parse_args().windows
    with FakeDaemon() as daemon:
        swarm = attached(daemon, {"w": numpy.zeros(10)}, [windows * STEPS + 1])
        seconds = best(windows, steps_of(swarm, 0.5)) / STEPS
        print(f"step() between exchanges   {1e6 * seconds:8.3f} µs")
        swarm.step()
    for label, numbers in (("of 40 bytes", 10), ("of 100 MB", NUMBERS)):
        with FakeDaemon() as daemon:
            tensors = {"w": numpy.zeros(numbers, dtype="float32")}
            swarm = attached(daemon, tensors, [1] * (EXCHANGES + 1))
            seconds = best(EXCHANGES, swarm.step)
            passed = best(EXCHANGES, swarm.tensors["w"].sum)
            print(f"exchange {label:17} {1e6 * seconds:8.1f} µs, one pass over the memory "
                  f"{1e6 * passed:.1f} µs, copied {swarm.status.copied_bytes} bytes")
            swarm.step()


if __name__ == "__main__":
    main()
