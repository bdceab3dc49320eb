"""Waiting for conditions with a deadline, and what a check prints of what it found."""
import concurrent.futures
import importlib
import statistics
import sys
import threading
import time

SKIPPED = 77  # the exit code of a test that lacks something, for ctest
DEADLINE_S = 60
LOOK_S = 0.05
failures = []
asking = concurrent.futures.ThreadPoolExecutor(32)


def needed(module):
    """The module; without it this test ends, with SKIPPED and a word."""
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"skipped: python3-{module} is not installed")
        sys.exit(SKIPPED)


def rest(seconds):
    threading.Event().wait(seconds)


def wait(condition, seconds, look_s=LOOK_S):
    """Seconds until the condition held, or None."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        if condition():
            return time.monotonic() - started
        rest(look_s)
    return None


def eventually(condition, what, seconds=DEADLINE_S):
    """What the condition gives, once it gives something that is true; who does not answer yet is asked again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = condition()
            seen = found
        except OSError as error:
            found, seen = None, error
        if found:
            return found
        assert time.monotonic() < deadline, f"{what}: not in {seconds} s; last seen: {seen}"
        rest(LOOK_S)


def report(name, figure, good, fault="SHORT"):
    print(f"{'ok' if good else fault:{len(fault)}} {name}: {figure}", flush=True)
    if not good:
        failures.append(name)


def spread(times):
    if not times:
        return "never"
    return f"median {statistics.median(times):.2f} s, worst {max(times):.2f} s of {len(times)}"


def elapsed(time_s):
    return "never" if time_s is None else f"{time_s:.2f} s"
