#!/usr/bin/env python3
"""The pages of docs/ that are looked up in, beside the program.

    pages_test.py STARLING REPOSITORY settings|look-up

settings: keys, values and scopes are those of `starling config --json`, the help is that of `starling config`.
look-up: the resources are those of daemon/rest/page/openapi.json, the metrics those of
that file and of daemon/rest/metrics_text.cpp, and what does not go together is what `starling config` refuses.
TEST_REWRITE=1 writes the tables anew.
"""
import difflib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

PROGRAM, REPOSITORY, NAME = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]
PAGE = REPOSITORY / "docs" / f"{NAME}.md"
BEGIN = f"<!-- The tables below are written by tests/system/pages_test.py {NAME} with TEST_REWRITE=1. -->\n"
ENVIRONMENT = {key: text for key, text in os.environ.items() if not key.startswith("STARLING_")}


def ask(*arguments):
    return subprocess.run([PROGRAM, "config", *arguments], env=ENVIRONMENT, cwd="/",
                          capture_output=True, text=True, timeout=60)


def config(*arguments):
    answer = ask(*arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


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


def settings():
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
        text += f"| `{key}` | {value} | {setting['scope']}{', live' if setting['live'] else ''} | {cell(helps[key])} |\n"
    return text


def openapi():
    return json.loads((REPOSITORY / "daemon/rest/page/openapi.json").read_text())


def resources():
    document = openapi()
    rows = [f"| `{verb.upper()} {path}` | {cell(resource['summary'])} |\n"
            for path, verbs in document["paths"].items() for verb, resource in verbs.items()]
    assert len(rows) > 15, rows
    return "\n## Resources of a node\n\n| resource | what it answers or does |\n|---|---|\n" + "".join(rows)


def metrics_of_fields(part):
    """(name, kind, what it is), where a field of openapi.json has a series; the reader is metrics_text.cpp."""
    if isinstance(part, dict):
        if "x-metric" in part:
            series, _, words = part["x-metric"].partition(": ")
            kind, name = series.split()[:2]
            yield name, kind.partition("/")[0], words or part.get("description", "")
        part = list(part.values())
    for more in part if isinstance(part, list) else ():
        yield from metrics_of_fields(more)


def metrics():
    source = (REPOSITORY / "daemon/rest/metrics_text.cpp").read_text()
    rows = {}
    for name, kind, words in metrics_of_fields(openapi()):
        rows.setdefault(name, (kind, words))
    for kind, name, words in re.findall(r'\b(gauge|counter)\(\s*"(\w+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', source):
        rows[name] = kind, "".join(re.findall(QUOTED, words))
    assert len(rows) > 40, len(rows)
    text = "\n## Metrics\n\n| metric | kind | what it is |\n|---|---|---|\n"
    return text + "".join(f"| `{name}` | {kind} | {cell(words)} |\n" for name, (kind, words) in sorted(rows.items()))


QUOTED = r'"((?:[^"\\]|\\.)*)"'
CHOICES = ("exchange.schedule", "optim.local-optimizer", "exchange.codec", "exchange.aggregation", "optim.outer")
MORE = ("exchange.masks=true", "exchange.quorum=0.5", "optim.local-steps=4", "optim.exchange-share=0.5",
        "optim.pace=2", "optim.clip=1", "data.weight=steps", "stop.keep=best")


def values_of(key):
    """Those that the program names where a value is none of them."""
    return ask(f"--{key}=?").stderr.split("expected one of ")[1].strip().split(", ")


def reason_of(answer, algorithms):
    """Why, with `it` for the algorithm, and what goes."""
    why, use = answer.stderr.strip().split('": ', 1)[1].split("; use ")
    names = "|".join(sorted(algorithms, key=len, reverse=True))
    return re.sub(rf"(?<![\w-])({names})(?![\w-])", "it", why) + "; use " + use


def refusals(algorithms):
    """(choice, reason) and the algorithms that are refused with it."""
    refused = defaultdict(list)
    schedules = values_of("exchange.schedule")
    choices = [f"{key}={value}" for key in CHOICES for value in values_of(key)] + list(MORE)
    for algorithm in algorithms:
        own = f"--optim.algorithm={algorithm}"
        place = next(name for name in schedules if ask(own, f"--exchange.schedule={name}").returncode == 0)
        for choice in choices:
            # The later one of a command line holds.
            answer = ask(own, f"--exchange.schedule={place}", f"--{choice}")
            if answer.returncode != 0:
                refused[choice, reason_of(answer, algorithms)].append(algorithm)
    return sorted(refused.items(), key=lambda row: choices.index(row[0][0]))


def together():
    rows = defaultdict(list)  # choices that are refused alike
    for (choice, reason), algorithms in refusals(values_of("optim.algorithm")[1:]):
        rows[reason, ", ".join(algorithms)].append(f"`{choice}`")
    assert len(rows) > 30, rows
    text = "\n## What does not go together\n\n| choice | refused with | why, and what goes |\n|---|---|---|\n"
    for (reason, algorithms), choices in rows.items():
        text += f"| {', '.join(choices)} | {algorithms} | {cell(reason)} |\n"
    return text


def look_up():
    return together() + resources() + metrics()


def main():
    page = PAGE.read_text()
    head, mark, _ = page.partition(BEGIN)
    assert mark, f"{PAGE} has no line {BEGIN}"
    expected = head + mark + {"settings": settings, "look-up": look_up}[NAME]()
    if os.environ.get("TEST_REWRITE"):
        PAGE.write_text(expected)
    elif page != expected:
        sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), expected.splitlines(True),
                                                   str(PAGE), "the program"))
        sys.exit(f"docs/{NAME}.md is out of date; TEST_REWRITE=1 with this test writes it anew")


main()
