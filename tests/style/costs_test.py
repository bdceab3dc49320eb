#!/usr/bin/env python3
"""What a change costs: the table of docs/architecture.md, written from the headers.

    costs_test.py REPOSITORY

The first comment of a header may say "To add a fault: its kind here, a rule in sim/faults.cpp." Each such
sentence is a row; `here` stands for that header. Every file that a row names exists. With TEST_REWRITE set
the table is written, else it is compared; the exit code is 1 where it differs.
"""
import os
import re
import sys
from pathlib import Path

LAYERS = ("base", "topology", "optim", "models", "gossip", "sim", "daemon", "tests/fuzz")
SENTENCE = re.compile(r"To add (.+?): (.+?)\.(?= [A-Z]|$)")
PATH = re.compile(r"\b(?:[\w-]+/)+(?:[\w-]+\.\w+)?|\b[\w-]+\.(?:h|cpp|js|html|json)\b")
HEAD = "| to add | touch |\n|---|---|\n"


def first_comment(header):
    lines = []
    for line in header.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return " ".join(line for line in lines if line)


def shown(path):
    if path.startswith("docs/") and path.endswith(".md"):
        return f"[{path[5:]}]({path[5:]})"
    return f"`{path}`"


def rows(root, wrong):
    names = {file.name for layer in LAYERS for file in (root / layer).rglob("*.*")}
    for header in sorted(file for layer in LAYERS for file in (root / layer).rglob("*.h")):
        for what, text in SENTENCE.findall(first_comment(header)):
            name = str(header.relative_to(root))
            text = re.sub(r"\bhere\b", f"in {name}", text.replace("`", ""))
            for path in PATH.findall(text):
                if not (root / path).exists() and path not in names:
                    wrong.append(f"{name}: \"{path}\" is no file and no folder")
            yield f"| {what} | {PATH.sub(lambda found: shown(found[0]), text)} |"


def main():
    root = Path(sys.argv[1])
    page, wrong = root / "docs/architecture.md", []
    table = HEAD + "\n".join(rows(root, wrong)) + "\n"
    text = page.read_text(encoding="utf-8")
    begin = text.index(HEAD)
    end = text.index("\n\n", begin) + 1
    if text[begin:end] != table:
        if os.environ.get("TEST_REWRITE"):
            page.write_text(text[:begin] + table + text[end:], encoding="utf-8")
        else:
            wrong.append("docs/architecture.md: \"What a change costs\" is not what the headers say; TEST_REWRITE=1 writes it")
    if table.count("\n") < 20:
        wrong.append(f"only {table.count(chr(10)) - 2} sentences \"To add …: …\" were found")
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


sys.exit(main())
