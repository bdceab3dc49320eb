#!/usr/bin/env python3
"""What the documentation quotes is what is there.

    quotes_test.py REPOSITORY

- docs/troubleshooting.md: the first column of its tables quotes texts of the program; … stands for what
  varies. What the program puts together from several texts is put together at a colon, a semicolon or
  a quote: every piece between these and … is in a text of the source.
- docs/wire.md: its tables of fields are the lists of gossip/wire/fields.h, its table of messages is that of
  gossip/wire/message.h, and its table of options of a socket is that of daemon/process/zmq_wire.cpp.
- docs/protocol.md: a block ```transcript NAME has lines of tests/gossip/transcripts/NAME.txt, in order;
  a line of ... stands for lines left out. Every transcript is named.
- docs/architecture.md: what its table of missing features names is missing.

Prints what differs; exit code 1 if anything does.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])


def page(name):
    return (ROOT / "docs" / name).read_text()


# ---------------------------------------------------------------- texts of the program

FOLDERS = ["base", "topology", "optim", "models", "gossip", "daemon", "clients/python/starling"]
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
JOINT = re.compile(r'"\s*\n\s*f?"')  # a text goes on in the next line
PIECES = re.compile(r'…|: |; |"')
OF_THE_SYSTEM = {"Address already in use", "No space left on device"}


def texts():
    """Of every source file, one a line; a place for a value becomes …"""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *FOLDERS], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    lines = []
    for name in names:
        if (ROOT / name).is_file() and name.endswith((".cpp", ".h", ".py")):
            lines += TEXT.findall(JOINT.sub("", (ROOT / name).read_text()))
    return "\n".join(re.sub(r"\{[^{}]*\}", "…", line.replace('\\"', '"')) for line in lines)


def symptoms():
    known, count = texts(), 0
    tables = re.search("## A node does not start.*## An alert fires", page("troubleshooting.md"), re.S)[0]
    for row in re.findall(r"^\| (?!what you see)(.*?) \|", tables, re.M):
        for quote in re.findall(r"`([^`]+)`", row):
            pieces = {piece.strip() for piece in PIECES.split(quote)} - OF_THE_SYSTEM
            count += len(pieces)
            for piece in pieces:
                if len(piece) > 3 and piece not in known:
                    yield f'docs/troubleshooting.md: "{piece}" of "{quote}" is in no text of the program'
    if count < 100:
        yield f"docs/troubleshooting.md: only {count} pieces were found"


# ---------------------------------------------------------------- fields of messages

LIST = re.compile(r"Like<([^\n]+)> auto& x\) \{\n(.*?)\n\}", re.S)
FIELD = re.compile(r"a\.(\w+)\(x\.([\w.]+)(?:, ([^)]+))?\);")
SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.M | re.S)
ROW = re.compile(r"^\| `([\w.]+)` \| `(\w+)` \| (?:`([^`]+)`)? ?\|", re.M)


def fields():
    code = {name: [(field, kind, limit) for kind, field, limit in FIELD.findall(body)]
            for name, body in LIST.findall((ROOT / "gossip/wire/fields.h").read_text())}
    table = {name: ROW.findall(body) for name, body in SECTION.findall(page("wire.md"))
             if "| field |" in body}
    for name in sorted(code.keys() | table.keys()):
        if code.get(name) != table.get(name):
            yield f"docs/wire.md: {name} is {table.get(name)}; gossip/wire/fields.h has {code.get(name)}"
    if len(code) < 15:
        yield f"gossip/wire/fields.h: only {len(code)} lists were found"


# ---------------------------------------------------------------- kinds of messages, options of sockets

KIND = re.compile(r"struct (\w+)(?: : VectorTerms)? \{\n  static constexpr MessageKind kKind\{(\d+), [^,]+, Plane::(\w+)(?:, [^}]+)?\};")
KIND_ROW = re.compile(r"^\| (\d+) \| \[(\w+)\]\(#\w+\) \| (\w+) \|", re.M)
RULE = re.compile(r'\{"(\w+)", ZMQ_\w+, ([^,]+), ([^,}]+)\}')
RULE_ROW = re.compile(r"^\| `([a-z_0-9]+)` \| (\d+|–) \| (\d+|–) \|", re.M)


def number(text):
    """Of a number, a shift or a named constant in daemon/process/zmq_wire.cpp; -1 is –."""
    left, _, shift = text.replace("'", "").replace("kControlPatience_ms", "6000").partition(" << ")
    return "–" if left == "-1" else str(int(left) << int(shift or 0))


def kinds_and_options():
    messages = (ROOT / "gossip/wire/message.h").read_text()
    code = {(count, name, plane) for name, count, plane in KIND.findall(messages)}
    table = set(KIND_ROW.findall(page("wire.md")))
    for row in sorted(code ^ table):
        yield f"docs/wire.md: {row} is not both in the table of messages and in gossip/wire/message.h"
    source = (ROOT / "daemon/process/zmq_wire.cpp").read_text()
    options = {(name, number(control), number(bulk)) for name, control, bulk in RULE.findall(source)}
    for row in sorted(options ^ set(RULE_ROW.findall(page("wire.md")))):
        yield f"docs/wire.md: {row} is not both in the table of options and in daemon/process/zmq_wire.cpp"
    if len(code) < 15 or len(options) < 10 or "kControlPatience_ms = 6000;" not in source:
        yield f"only {len(code)} kinds of messages and {len(options)} options of sockets were found"


# ---------------------------------------------------------------- what is not there yet

# The first words of a row, and a file and a pattern that it does not have while the feature is missing.
MISSING = {"more than 4,096 members": ("gossip", r"\bPassiveView")}


def missing():
    section = page("architecture.md").partition("### What is not there yet")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!feature|---)([^|]+) \|", section, re.M)
    for row in rows:
        known = [(place, text) for name, (place, text) in MISSING.items() if row.startswith(name)]
        if not known:
            yield f'docs/architecture.md: nothing here says when "{row}" is missing'
        for place, text in known:
            files = [ROOT / place] if place.endswith(".h") else sorted((ROOT / place).rglob("*.h"))
            yield from (f'docs/architecture.md: "{row}" is in {file}' for file in files
                        if re.search(text, file.read_text()))
    if len(rows) != len(MISSING):
        yield f"docs/architecture.md: {len(rows)} missing features, {len(MISSING)} are known here"


# ---------------------------------------------------------------- transcripts

def first_that_is_not_there(shown, lines):
    """The first of the lines `shown` that `lines` do not have in this order."""
    at, may_skip = 0, True
    for line in shown:
        if line == "...":
            may_skip = True
            continue
        end = len(lines) if may_skip else at + 1
        if line not in lines[at:end]:
            return line
        at, may_skip = lines.index(line, at, end) + 1, False
    return None


def transcripts():
    text = page("protocol.md")
    folder = ROOT / "tests/gossip/transcripts"
    blocks = re.findall(r"^```transcript (\w+)\n(.*?)^```", text, re.M | re.S)
    for name, block in blocks:
        line = first_that_is_not_there(block.splitlines(), (folder / f"{name}.txt").read_text().splitlines())
        if line is not None:
            yield f'docs/protocol.md: transcript {name} has no "{line}" there'
    for path in sorted(folder.glob("*.txt")):
        if not re.search(rf"\b{path.stem}\b", text):
            yield f"docs/protocol.md: the transcript {path.stem} is not named"
    if len(blocks) < 10:
        yield f"docs/protocol.md: only {len(blocks)} transcripts were found"


def main():
    wrong = [*symptoms(), *fields(), *kinds_and_options(), *missing(), *transcripts()]
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
