#!/usr/bin/env python3
"""tests/README.md, the map of laws, beside the tests.

    laws_test.py REPOSITORY

A law of the checkers stands with the planted bugs that it finds (tests/planted/found.txt); every other
law is the sentence of a test's name, under its file. TEST_REWRITE=1 writes the page anew. Exit code 1 where
it differs, or where a planted bug is found by no law that there is.
"""
import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
PAGE = ROOT / "tests" / "README.md"
HEAD = """# The map of laws
For everyone who changes the program. After this page you know which law holds what you change, and where it is.
`TEST_REWRITE=1 tests/style/laws_test.py .` writes this page, and a test compares it.

A line of a file is a law. Run one by its file or its name: `build/test/tests/test_sim -sf="*end_test.cpp"`,
`build/test/tests/test_gossip -tc="A newcomer*"`. A file with a short form (`tests/lengths.h`) is in full in
`build/release`, or with `TEST_FULL=1`.

## Laws of the simulator
The checkers watch these in every simulated run. A planted bug (`base/planted.h`) is a mistake that
`tests/planted` switches on; the law beside it is the one that finds it first.
"""


def files(pattern):
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", pattern], cwd=ROOT, capture_output=True,
                           text=True, check=True).stdout.split()
    return sorted(name for name in names if (ROOT / name).is_file())


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def laws_of_checkers():
    """By their names, the files that watch them."""
    found = {}
    for name in files("sim/*.cpp"):
        for law in re.findall(r'(?:violated|report_)\(\s*"([^"]+)"', text_of(name)):
            found.setdefault(law, set()).add(name)
    return found


def planted():
    """By each bug, the law that finds it."""
    return dict(line.split(": ") for line in text_of("tests/planted/found.txt").splitlines() if not line.startswith("#"))


def of_checkers():
    laws, bugs = laws_of_checkers(), planted()
    lines = ["| law | watched in | finds the planted bugs |", "|---|---|---|"]
    for law in sorted(laws):
        finds = ", ".join(f"`{bug}`" for bug in sorted(bugs) if bugs[bug] == law)
        lines.append(f"| {law} | {', '.join(f'`{name}`' for name in sorted(laws[law]))} | {finds or '–'} |")
    return lines


def of_cpp(text):
    joined = re.sub(r'"\s*\n\s*"', "", text)
    return re.findall(r'^\s*(?:TEST_CASE|TEST_CASE_TEMPLATE|SCENARIO)\("([^"]+)"|^TEST_CASE_FIXTURE\(\w+,\s*"([^"]+)"', joined, re.M)


def of_python(text):
    return [(name.replace("_", " "), "") for name in re.findall(r"^    def test_(\w+)\(", text, re.M)]


def first_sentence(text):
    """Of the comment or docstring that a file begins with."""
    if text.startswith("//"):
        comment = re.match(r"(?://.*\n)+", text)[0].replace("//", "")
    else:
        comment = (re.search(r'^"""(.*?)"""', text, re.M | re.S) or [None, ""])[1]
    words = " ".join(comment.split())
    return (re.match(r".*?[.:](?= |$)", words) or [words])[0].rstrip(":")


def of_files():
    lines = []
    for layer in sorted({Path(name).parent.name for name in files("tests/*_test.*")} - {"style"}):
        lines += ["", f"## {layer}/"]
        for name in files(f"tests/{layer}/*_test.*"):
            text = text_of(name)
            laws = [a or b for a, b in (of_cpp if name.endswith(".cpp") else of_python)(text)]
            short = " Has a short form." if "tests/lengths.h" in text else ""
            about = first_sentence(text)
            lines += ["", f"### {Path(name).name}", *([(about + short).strip()] if about or short else [])]
            lines += [f"- {law}" for law in laws]
    return lines


def main():
    laws, bugs = laws_of_checkers(), planted()
    names = re.search(r"kBugs = \{(.*?)\};", text_of("base/planted.h"), re.S)[1]
    wrong = [f"tests/planted/found.txt: {bug} is not there" for bug in re.findall(r'^\s*"(\w+)"', names, re.M)
             if bugs.get(bug) not in laws]
    page = HEAD + "\n" + "\n".join(of_checkers() + of_files()) + "\n"
    if os.environ.get("TEST_REWRITE"):
        PAGE.write_text(page, encoding="utf-8")
    there = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    wrong += difflib.unified_diff(there, page.splitlines(), "tests/README.md", "what it is", lineterm="", n=0)
    print("\n".join(wrong[:40]))
    return 1 if wrong else 0


sys.exit(main())
