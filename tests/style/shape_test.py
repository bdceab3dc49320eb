#!/usr/bin/env python3
"""Measures the shape of the code: decisions in a function, public methods of a class, virtuals of an
interface.

    shape_test.py REPOSITORY [--all]

Prints the largest of each, or everything with --all; the exit code is 1 where a limit is passed. A
function's number is McCabe's cyclomatic complexity, 1 + its if, for, while, case, catch, ?, && and
||; lambdas count for the function around them. It reads text, not a syntax tree: what the formatter
of this project leaves is enough.
"""
import re
import sys
from pathlib import Path

LAYERS = ("base", "topology", "optim", "models", "gossip", "sim", "daemon", "clients")
COMPLEXITY_LIMIT, METHODS_LIMIT, VIRTUALS_LIMIT = 15, 20, 6
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


def methods_of(words, body, name):
    """Public methods, and virtual ones, of a class; constructors and operators do not count."""
    is_public = re.search(r"\bstruct\b", words) is not None
    public = virtual = 0
    for declaration in re.split(r";|(?<=public:)|(?<=private:)|(?<=protected:)", flat(body)):
        text = " ".join(declaration.split())
        section = re.match(r"(public|private|protected):", text)
        if section:
            is_public = section[1] == "public"
            continue
        call = re.match(r"(?:[^(]*[\s*&])?([\w~]+)\s*\(", re.sub(r"<[^<>]*>", "", text))
        if not call or call[1].lstrip("~") == name.split("::")[-1] or "operator" in text or "friend" in text:
            continue
        if re.search(r"\b(?:using|static_assert|return)\b", text) or "=" in text[:call.start(1)]:
            continue
        public += is_public
        virtual += text.startswith("virtual ")
    return public, virtual


def main():
    root, everything = Path(sys.argv[1]), "--all" in sys.argv[2:]
    functions, public, virtual = [], [], []
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c"):
                continue
            text, own, classes = code_of(path), [], []
            walk(text, 0, len(text), "", own, classes)
            place = path.relative_to(root)
            functions += [(count, f"{place}:{line} {name}") for count, name, line in own]
            if path.suffix == ".cpp":
                classes = []  # what only one file sees
            for name, words, body in classes:
                methods, virtuals = methods_of(words, body, name)
                public.append((methods, f"{place} {name}"))
                virtual.append((virtuals, f"{place} {name}"))
    broken = False
    for what, rows, limit in (("complexity of a function", functions, COMPLEXITY_LIMIT),
                              ("public methods of a class", public, METHODS_LIMIT),
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
