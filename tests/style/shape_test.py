#!/usr/bin/env python3
"""Measures the shape of the code: decisions in a function, methods and members of a class, the files it
is spread over, virtuals of an interface.

    shape_test.py REPOSITORY [--all]

Prints the largest of each, or everything with --all; the exit code is 1 where a limit is passed. A
function's number is McCabe's cyclomatic complexity, 1 + its if, for, while, case, catch, ?, && and
||; lambdas count for the function around them. It reads text, not a syntax tree: what the formatter
of this project leaves is enough.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

LAYERS = ("base", "topology", "optim", "models", "gossip", "sim", "daemon", "clients")
COMPLEXITY_LIMIT, WIDTH_LIMIT, SPREAD_LIMIT, VIRTUALS_LIMIT = 15, 40, 2, 6
SHOWN = 5
DECISION = re.compile(r"\b(?:if|for|while|case|catch)\b|&&|\|\||\?")
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)


def code_of(path):
    """The text without comments, literals and directives; lines keep their numbers."""
    text = NO_CODE.sub(lambda m: "\n" * m[0].count("\n"), path.read_text(encoding="utf-8"))
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.M)
    return text


def end_of_block(text, begin):
    """Behind the brace that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def blocks(text, begin, end):
    """(head, begin, end) of the blocks between the places that lie in no other block."""
    head = begin
    place = begin
    while place < end:
        if text[place] == "{":
            stop = end_of_block(text, place)
            yield text[head:place], place, stop
            # What goes on behind an initializer in braces is the same head.
            if not re.match(r"\s*[,({]", text[stop:stop + 40]):
                head = stop
            place = stop
            continue
        if text[place] in ";":
            head = place + 1
        place += 1


def walk(text, begin, end, scope, functions, classes):
    for head, start, stop in blocks(text, begin, end):
        words = " ".join(head.split())
        named = re.search(r"\b(?:class|struct)\s+([\w:]+)[^;()]*$", re.sub(r"template <[^>]*>", "", words))
        if re.search(r"\bnamespace\b[^()]*$", words):
            walk(text, start + 1, stop - 1, scope, functions, classes)
        elif named and "enum" not in words:
            name = scope + named[1]
            classes.append((name, words, text[start + 1:stop - 1]))
            walk(text, start + 1, stop - 1, name + "::", functions, classes)
        elif "(" in words and not re.search(r"=\s*$", words):
            name = re.search(r"([\w:~]+|operator\W+)\s*\(", words)
            count = 1 + len(DECISION.findall(text[start:stop]))
            functions.append((count, scope + (name[1] if name else "?"), text.count("\n", 0, start) + 1))


def flat(body):
    """The declarations of a class, without what stands in their braces."""
    place, out = 0, []
    while place < len(body):
        if body[place] == "{":
            place = end_of_block(body, place)
            out.append("{};")
        else:
            out.append(body[place])
            place += 1
    return "".join(out)


def width_of(words, body, name):
    """Methods and data members, of any access, and virtual methods of a class. Constructors, operators,
    constants and nested types do not count."""
    width = virtual = 0
    for declaration in re.split(r";|\b(?:public|private|protected):", flat(body)):
        text = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", " ".join(declaration.split())))
        text = re.sub(r"^template ", "", text)
        if not text or re.match(r"(?:using|static_assert|friend|class|struct|union|enum|static constexpr)\b", text):
            continue
        if text == "{}" or text.startswith(",") or "operator" in text:
            continue
        call = re.match(r"(?:[^(={]*[\s*&])?([\w~]+)\s*\(", text)
        if call and call[1].lstrip("~") == name.split("::")[-1].split("<")[0]:
            continue
        virtual += text.startswith("virtual ")
        # Several members of one type stand in one declaration.
        width += 1 if call else len(re.sub(r"\{[^}]*\}|\([^)]*\)", "", text).split(","))
    return width, virtual


def spread_of(definitions, name, place):
    """The files that define methods of a class of this name within the folder of its header."""
    return {file for file, function in definitions[place.parent] if function.startswith(name + "::")} | {place}


def main():
    root, everything = Path(sys.argv[1]), "--all" in sys.argv[2:]
    functions, classes, definitions = [], [], defaultdict(list)  # by folder
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c"):
                continue
            text, own, found = code_of(path), [], []
            walk(text, 0, len(text), "", own, found)
            place = path.relative_to(root)
            functions += [(count, f"{place}:{line} {name}") for count, name, line in own]
            definitions[place.parent] += [(place, name) for _, name, _ in own]
            classes += [(place, *row) for row in found]
    width, spread, virtual = [], [], []
    for place, name, words, body in classes:
        counts = width_of(words, body, name)
        width.append((counts[0], f"{place} {name}"))
        virtual.append((counts[1], f"{place} {name}"))
        spread.append((len(spread_of(definitions, name, place)), f"{place} {name}"))
    broken = False
    for what, rows, limit in (("complexity of a function", functions, COMPLEXITY_LIMIT),
                              ("methods and members of a class", width, WIDTH_LIMIT),
                              ("files of a class", spread, SPREAD_LIMIT),
                              ("virtuals of an interface", virtual, VIRTUALS_LIMIT)):
        rows.sort(key=lambda row: (-row[0], row[1]))
        over = [row for row in rows if row[0] > limit]
        broken |= bool(over)
        print(f"{what}: at most {limit}; {len(over)} above, of {len(rows)}")
        for count, name in rows if everything else rows[:max(SHOWN, len(over))]:
            print(f"  {count:3} {'>' if count > limit else ' '} {name}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
