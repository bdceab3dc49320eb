#!/usr/bin/env python3
"""Every path that the documentation names exists.

    docs_test.py REPOSITORY

A path is what stands between backticks or in the parentheses of a link and begins with a folder of this
repository; * and a name in capitals stand for any name. A link to a heading finds that heading. Lines of prose have at most 120
characters. The version of the protocol is that of gossip/wire/wire.h, and the table of constants is true.
Prints what is not so; exit code 1 if anything is not.
"""
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
FOLDERS = "base|topology|optim|models|gossip|sim|daemon|tests|bench|configs|deploy|docs|clients"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(ROOT.glob("docs/*.md"))


def exists(place, pattern):
    return any(place.glob(re.sub(r"/[A-Z]+/", "/*/", pattern).rstrip("/")))


def headings(page):
    """As links name them."""
    for title in re.findall(r"^#+ (.*)", page.read_text(), re.M):
        yield re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))


def long_prose(page):
    """All but tables, headings, code, and lines that are one link or picture."""
    is_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        is_code ^= line.startswith("```")
        is_other = re.match(r"    |[|#]| *([-*] )?!?\[[^]]*\]\([^)]*\)$", line)
        if len(line) > 120 and not is_code and not is_other:
            yield f"line {number} has {len(line)} characters; at most 120"


def page_faults(page):
    text = page.read_text()
    for path in set(re.findall(rf"`((?:{FOLDERS})/[\w./*-]*)`", text)):
        if not exists(ROOT, path):
            yield f"{path} is not there"
    for link, heading in set(re.findall(r"\]\(([\w./-]*)(?:#([^)]+))?\)", text)):
        if link and not (page.parent / link).exists():
            yield f"{link} is not there"
        elif heading and heading not in headings(page.parent / link if link else page):
            yield f"no heading for {link}#{heading}"
    yield from long_prose(page)


def version_faults():
    version = re.search(r"kProtocolVersion = (\d+);", (ROOT / "gossip/wire/wire.h").read_text())[1]
    wire = (ROOT / "docs/wire.md").read_text()
    if not re.search(rf"^Version {version}\.", wire, re.M):
        yield f"docs/wire.md: does not begin with Version {version}."
    for other in re.findall(r"[Vv]ersion \d+ of the protocol", wire + (ROOT / "docs/protocol.md").read_text()):
        yield f"docs: {other}: the first lines of docs/wire.md alone name the version"


def constant_faults():
    """Rows of constants: | `NAME` | `VALUE` | `FILE` |, as in the code."""
    rows = re.findall(r"^\| `(k[A-Z][A-Za-z_]*)` \| `(.*?)` \| `(.*?)` \|", (ROOT / "docs/wire.md").read_text(), re.M)
    for name, value, path in rows:
        if f"{name} = {value};" not in (ROOT / path).read_text():
            yield f"docs/wire.md: {name} = {value} is not in {path}"
    if len(rows) < 15:
        yield f"docs/wire.md: only {len(rows)} constants were found"


def thin_patterns():
    """A pattern that finds nothing checks nothing."""
    text = "".join(page.read_text() for page in PAGES)
    counts = len(re.findall(rf"`(?:{FOLDERS})/", text)), len(re.findall(r"\]\([\w./-]*#", text))
    if counts[0] < 100 or counts[1] < 30:
        yield f"only {counts[0]} paths and {counts[1]} links to headings were found"


faults = [f"{page.relative_to(ROOT)}: {fault}" for page in PAGES for fault in page_faults(page)]
faults += [*version_faults(), *constant_faults(), *thin_patterns()]
print("\n".join(faults))
sys.exit(1 if faults else 0)
