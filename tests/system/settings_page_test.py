#!/usr/bin/env python3
"""The tables of docs/settings.md beside the program's own keys.

    settings_page_test.py STARLING REPOSITORY

Keys, values and scopes are those of `starling config --json`, the help is that of `starling config`.
TEST_REWRITE=1 writes the tables anew.
"""
import difflib
import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM, REPOSITORY = sys.argv[1], Path(sys.argv[2])
PAGE = REPOSITORY / "docs" / "settings.md"
BEGIN = "<!-- The tables below are written by tests/system/settings_page_test.py with TEST_REWRITE=1. -->\n"
ENVIRONMENT = {key: text for key, text in os.environ.items() if not key.startswith("STARLING_")}


def config(*arguments):
    return subprocess.run([PROGRAM, "config", *arguments], env=ENVIRONMENT, cwd="/", check=True,
                          capture_output=True, text=True, timeout=60).stdout


def help_by_key():
    """The comment lines above each key, as one line."""
    found, section, words = {}, "", []
    for line in config().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line.startswith("# agreed:"):
            continue
        elif line.startswith("# "):
            words.append(line[2:])
        elif line:
            found[f"{section}.{line.split(' = ')[0]}"], words = " ".join(words), []
    return found


def cell(text):
    return text.replace("|", "\\|")


def tables():
    keys, helps = json.loads(config("--json")), help_by_key()
    assert keys.keys() == helps.keys(), keys.keys() ^ helps.keys()
    assert len(keys) > 50, keys.keys()
    text, section = "", ""
    for key, setting in keys.items():
        own = key.split(".")[0]
        if own != section:
            text += f"\n### {own}\n\n| key | default | scope | what it is |\n|---|---|---|---|\n"
            section = own
        value = f"`{cell(setting['value'])}`" if setting["value"] else "–"
        text += f"| `{key}` | {value} | {setting['scope']} | {cell(helps[key])} |\n"
    return text


def main():
    page = PAGE.read_text()
    head, mark, _ = page.partition(BEGIN)
    assert mark, f"{PAGE} has no line {BEGIN}"
    expected = head + mark + tables()
    if os.environ.get("TEST_REWRITE"):
        PAGE.write_text(expected)
    elif page != expected:
        sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), expected.splitlines(True),
                                                   str(PAGE), "starling config"))
        sys.exit("docs/settings.md is out of date; TEST_REWRITE=1 with this test writes it anew")


main()
