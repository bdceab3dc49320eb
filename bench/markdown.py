"""Tables as the pages of docs/ have them."""


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(headings, rows=()):
    return "\n".join(map(row, [headings, ["---"] * len(headings), *rows]))
