#!/usr/bin/env python3
"""What docs/troubleshooting.md quotes is what the program prints.

    symptoms_test.py REPOSITORY

The first column of its tables quotes texts of the program; … stands for what varies. What the program
puts together from several texts is put together at a colon, a quote or a semicolon: every piece between
these and … must be in a text of the source. Exit code 1: one is not.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
FOLDERS = ["base", "topology", "optim", "models", "gossip", "daemon", "clients/python/starling"]
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PIECES = re.compile(r'…|: |; |"')
OF_THE_SYSTEM = {"Address already in use", "No space left on device"}
JOINT = re.compile(r'"\s*\n\s*f?"')  # a text goes on in the next line


def texts():
    """Of every source file, one a line; a place for a value becomes …"""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *FOLDERS], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    lines = []
    for name in names:
        if (ROOT / name).is_file() and name.endswith((".cpp", ".h", ".py")):
            lines += TEXT.findall(JOINT.sub("", (ROOT / name).read_text()))
    return [re.sub(r"\{[^{}]*\}", "…", line.replace('\\"', '"')) for line in lines]


def quotes(page):
    """(line number, quoted text) of the first cell of each row."""
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("| ") and not line.startswith("| what you see"):
            for quote in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
                yield number, quote


def main():
    known = "\n".join(texts())
    wrong, count = 0, 0
    for number, quote in quotes((ROOT / "docs/troubleshooting.md").read_text().partition("## A node does")[2]):
        pieces = {piece.strip() for piece in PIECES.split(quote)} - OF_THE_SYSTEM
        pieces = [piece for piece in pieces if len(piece) > 3]
        count += len(pieces)
        for piece in pieces:
            if piece not in known:
                print(f'docs/troubleshooting.md: "{piece}" of "{quote}" is in no text of the program')
                wrong += 1
    if count < 80:
        print(f"only {count} pieces were found")
    return 1 if wrong or count < 80 else 0


sys.exit(main())
