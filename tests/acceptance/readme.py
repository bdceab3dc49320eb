#!/usr/bin/env python3
"""Types README.md, or other pages, into a fresh clone: every command of their indented blocks runs, and
what the README shows of their output has the shape of what they print.

    tests/acceptance/readme.py [--all] [--here] [--program PATH] [PAGE ...]

Skipped, with a word: commands for other machines, commands with a placeholder for data (FOLDER), and,
without --all, `make test`. --here uses this folder instead of a clone; --program takes a program that
is built already instead of `make`. A command that goes on until it is stopped runs for some seconds.
Exit code 1: a command failed, or printed something else.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from nodes import program  # noqa: E402
from nodes.node import Node  # noqa: E402

PROGRAMS = ("make", "starling", "build/release/daemon/starling")
ASKING = ("fleet", "status", "members", "neighbors", "topology", "convergence", "events", "doctor",
          "trace", "export")
BUILT = "build/release/daemon/starling"
PATIENCE_S = {"make": 3600, "starling": 600}
ENDLESS = re.compile(r"^starling (run\b(?!.*stop\.)|.*--watch|.*--keep|.*stop\.stay)")
ENDLESS_S = 10
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"


def blocks(text):
    """Lists of the lines of each indented block, with the section that it is in."""
    section, block = "", []
    for line in text.splitlines() + ["#"]:
        if line.startswith("    "):
            block.append(line[4:].rstrip())
            continue
        if block and line.strip():
            yield section, block
            block = []
        if line.startswith("#"):
            section = line.lstrip("# ")


def commands_of(block):
    """The commands of a block, continued lines put together; none of a block of output."""
    lines = re.sub(r"\\\n\s*", "", "\n".join(block)).splitlines()
    return [line for line in lines if line.split(" ")[0] in PROGRAMS]


def reason_to_skip(command, options):
    if re.search(r"\b(?!127\.)\d+\.\d+\.\d+\.\d+", command):
        return "needs other machines"
    if re.match(r"starling (keygen|invite|revoke)\b", command) or re.search(r"\bmy\.ini\b|\.ticket\b", command):
        return "several_machines.py types it"
    if re.search(r"\b[A-Z][A-Z_]{2,}\b", command):
        return "needs data of your own"
    if re.match(r"make test|make deb|starling simulate.*--seeds 1..[14]0+\b.*chaos", command):
        return "" if options.all else "takes long; --all runs it"
    missing = [word for word in re.findall(r"[|&] *([a-z]\w+)", re.sub("'.*?'", "", command)) if not shutil.which(word)]
    if missing:
        return f"{missing[0]} is not installed"
    if command.startswith("make") and command != "make up" and options.program:
        return "--program is built already"
    return ""


def pattern_of(line):
    """What looks like the line, whatever its numbers, units of bytes and blanks are."""
    words = []
    for word in line.split():
        if re.fullmatch("[0-9a-f]{16},?", word):  # the hash of a model
            words.append("[0-9a-f]{16},?")
            continue
        pieces = re.split(f"({NUMBER})", word)
        words.append("".join(NUMBER if k % 2 else re.escape(p) for k, p in enumerate(pieces)))
    return re.sub(r"\b[kMG]?B\b", "[kMG]?B", r"\s+".join(words))


def missing_line(shown, printed):
    """The first line of `shown` that `printed` does not have in that order; None: all are there."""
    at = 0
    for line in shown:
        if not line or line == "...":
            continue
        found = re.compile(r"^\s*" + pattern_of(line) + r"\s*$", re.M).search(printed, at)
        if not found:
            return line
        at = found.end()
    return None


class Walk:
    def __init__(self, folder, options):
        self.folder, self.options, self.failures, self.node = folder, options, 0, None
        self.program = options.program or str(folder / BUILT)

    def fail(self, text):
        print(f"FAILED  {text}", flush=True)
        self.failures += 1

    def typed(self, command):
        """The command for a shell, with the program where it is and a node where it asks one."""
        if self.options.program and command == "make up":
            command = "starling up -n 8 -c configs/ring.ini"
        command = command.replace(BUILT, "starling").replace("--api http://127.0.0.1:7680", "")
        asks = re.match(rf"starling ({'|'.join(ASKING)})\b(?!.*--api)", command)
        if asks:
            command = f"{asks[0]} --api http://{self.address_of_a_node()}{command[asks.end():]}"
        return ["bash", "-c", command]

    def address_of_a_node(self):
        """Of one that is started for the commands that ask; nobody's port is in its way."""
        if not self.node:
            program.use(self.program)
            self.node = Node("node", "--stop.rounds=0", "--data.samples=2000", "--stop.stay=true", log=os.devnull)
            self.address = self.node.await_ready().addresses["http"]
        return self.address

    def run(self, command):
        """What it prints, or None where it does not run or fails."""
        reason = reason_to_skip(command, self.options)
        if reason:
            print(f"skipped {command}: {reason}", flush=True)
            return None
        patience_s = PATIENCE_S.get(command.split(" ")[0], 600)
        if ENDLESS.search(command):
            patience_s = ENDLESS_S
        try:
            path = f"{pathlib.Path(self.program).parent}:{os.environ['PATH']}"
            done = subprocess.run(self.typed(command), cwd=self.folder, timeout=patience_s,
                                  env=os.environ | {"PATH": path},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            if isinstance(error, OSError) or not ENDLESS.search(command):
                return self.fail(f"{command}: {error}")
            print(f"ran     {command}, for {ENDLESS_S} s", flush=True)
            return error.stdout.decode() if error.stdout else ""
        is_curve = "--stop.accuracy=1 " in command and done.returncode == 3  # no node gets there
        if done.returncode != 0 and not is_curve:
            return self.fail(f"{command}: exit code {done.returncode}\n{done.stdout[-2000:]}")
        print(f"ran     {command}", flush=True)
        return done.stdout

    def compare(self, section, shown, outputs):
        """A block of output is that of a command before it in the same section."""
        if not outputs:
            return print(f"skipped output in \"{section}\": its command did not run", flush=True)
        missing = [missing_line(shown, printed) for printed in outputs]
        if None in missing:
            return print(f"as in   \"{section}\": {shown[0][:60]}", flush=True)
        return self.fail(f"\"{section}\" shows a line that nothing prints: {missing[-1]}")

    def walk(self, text, compares):
        outputs, last_section, ran = [], None, 0
        for section, block in blocks(text):
            if section != last_section:
                outputs, last_section = [], section
            commands = commands_of(block)
            if not commands and compares:
                self.compare(section, block, outputs)
            for command in commands:
                printed = self.run(command)
                if printed is not None:
                    outputs.append(printed)
                    ran += 1
        if ran == 0:
            self.fail("no command was run: is the page written in another way?")

    def end(self):
        if self.node:
            self.node.stop()


def main():
    parser = argparse.ArgumentParser(description="Types README.md or other pages into a fresh clone.")
    parser.add_argument("pages", nargs="*", default=["README.md"], metavar="PAGE")
    parser.add_argument("--all", action="store_true", help="make test too")
    parser.add_argument("--here", action="store_true", help="in this folder, not in a clone")
    parser.add_argument("--program", type=os.path.abspath, help="a program that is built already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="starling readme ") as scratch:
        folder = ROOT if options.here else pathlib.Path(scratch) / "starling"
        if not options.here:
            subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        walk = Walk(folder, options)
        try:
            for page in options.pages:
                walk.walk((folder / page).read_text(encoding="utf-8"), page == "README.md")
        finally:
            walk.end()
    print(f"{walk.failures} failures" if walk.failures else
          f"What {', '.join(options.pages)} says works.")
    sys.exit(1 if walk.failures else 0)


if __name__ == "__main__":
    main()
