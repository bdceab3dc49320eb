"""The program under test: $STARLING, or the newest of build/bench and build/release."""
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("BENCH_PYTHON", "/usr/bin/python3")  # the one that has PyTorch and scikit-learn


class Failure(Exception):
    """Something that was to run did not; the text says what."""


def use(path):
    """Has all nodes run the program at this path."""
    os.environ["STARLING"] = str(Path(path).resolve())


def program():
    """Its path; empty where none is built."""
    built = [ROOT / "build" / kind / "daemon/starling" for kind in ("bench", "release")]
    built = sorted((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
    return os.environ.get("STARLING") or (str(built[-1]) if built else "")


def liar_program():
    """That of tests/tools/liar.cpp, of the same build."""
    return os.environ.get("LIAR") or os.path.join(os.path.dirname(program()), "..", "tests", "liar")


def run(*words, expect=(0,), **how):
    """What a command came to, its output as text; a Failure when its exit code is no expected one."""
    words = [str(word) for word in words]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
    if expect is not None and done.returncode not in expect:
        raise Failure(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def starling(*words, **how):
    """The same of a command of the program."""
    return run(program(), *words, **{"cwd": ROOT, **how})


def document(*words, **how):
    """The JSON that it prints."""
    return json.loads(starling(*words, "--json", **how).stdout)


def up(*words, **how):
    """The document of `starling up`, whose HTTP has a port of its own."""
    return document("up", "--listen.http=127.0.0.1:0", *words, **how)


def all_lies():
    """The names that the program knows, from the error that lists them."""
    said = starling("simulate", "--sim.lie=?", expect=None).stderr
    names = said.split("one of")[-1].replace(",", " ").replace(".", " . ").split()
    return [name for name in names if name not in ("none", "or", "and", ".")]
