"""Line charts as SVG: panels of lines, each labelled at its end, readable on light and on dark. The
points of a line may have marks, and words beside them.

The same lines give the same bytes: nothing is drawn from time, chance or an unordered set.
"""
import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

# On light, on dark; told apart with every common colour blindness (after Okabe and Ito).
COLOURS = {
    "blue": ("#0068a8", "#5db4f0"),
    "orange": ("#c47a00", "#f2b134"),
    "green": ("#00805c", "#2fc79d"),
    "red": ("#c4430a", "#ff8652"),
    "purple": ("#9a4480", "#e79ac8"),
    "olive": ("#7d7000", "#e3d84e"),
    "ink": ("#24292f", "#e6e6e6"),
}
DASHES = {"solid": "", "dashed": "7 4", "dotted": "2 3"}
# Outlines around the point, px.
MARKS = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "square": "M-4-4h8v8h-8z",
    "diamond": "M0-5.5L5.5 0L0 5.5L-5.5 0z",
    "triangle": "M0-5L5 4h-10z",
    "cross": "M-4-4L4 4M-4 4L4-4",
}
# Of the middle of a word from its mark, px.
WORD_SIDES = ((11, -9), (-11, -9), (11, 9), (-11, 9), (0, -13), (0, 13), (15, 0), (-15, 0))
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TICKS_MOST = 6
LEFT, TOP, BOTTOM = 62, 30, 46  # margins of a panel, px
LABEL_HEIGHT = 15
CHARACTER_WIDTH = 7.0  # of a label, px


@dataclass
class Line:
    label: str
    points: list  # of (x, y), x growing; what is not finite is left out
    colour: str
    dash: str = "solid"
    mark: str = ""  # one of MARKS at every point
    words: tuple = ()  # beside the points, one each


@dataclass
class Axis:
    label: str
    low: float
    high: float
    log: bool = False

    def place(self, value):
        """0 at the low end, 1 at the high end."""
        if self.log:
            return math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self):
        """Values and their texts."""
        if not self.log:
            step = nice_step((self.high - self.low) / TICKS_MOST)
            count = math.floor((self.high - self.low) / step + 1e-9)
            values = [self.low + k * step for k in range(count + 1)]
            return [(value, f"{value:,.10g}") for value in values]
        low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        if high - low < 3:
            values = [m * 10.0**k for k in range(low - 1, high + 1) for m in (1, 2, 5)]
            return [(v, f"{v:.10g}") for v in values if self.low <= v * (1 + 1e-9) and v <= self.high * (1 + 1e-9)]
        every = max(1, math.ceil((high - low) / TICKS_MOST))
        return [(10.0**k, power_of_ten(k)) for k in range(high, low - 1, -every)]


@dataclass
class Panel:
    x: Axis
    y: Axis
    lines: list = field(default_factory=list)
    title: str = ""


def nice_step(least):
    """The smallest of 1, 2, 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= least * (1 - 1e-9))


def power_of_ten(k):
    return {0: "1", 1: "10"}.get(k) or "10" + str(k).translate(SUPERSCRIPTS)


def spread(wanted, low, high, gap):
    """Places within the limits, as near to those wanted as a gap between any two allows."""
    order = sorted(range(len(wanted)), key=lambda k: (wanted[k], k))
    blocks = []  # of neighbours that touch: the first place, how many

    def put(first, count):
        first = max(low, min(first, high - (count - 1) * gap))
        if blocks and blocks[-1][0] + blocks[-1][1] * gap > first:
            before, many = blocks.pop()
            first = (before * many + (first - many * gap) * count) / (many + count)
            put(first, many + count)
        else:
            blocks.append((first, count))

    for k in order:
        put(wanted[k], 1)
    places = [first + k * gap for first, count in blocks for k in range(count)]
    return [place for _, place in sorted(zip(order, places))]


def style():
    def rules(index):
        ground, grid, text = (("#ffffff", "#e4e7eb", "#24292f"), ("#0d1117", "#2a313a", "#e6e6e6"))[index]
        lines = "".join(f".{name}{{stroke:{pair[index]}}}" for name, pair in COLOURS.items())
        return f".ground{{fill:{ground}}}.grid{{stroke:{grid}}}.axis{{stroke:{text}}}text{{fill:{text}}}{lines}"

    shared = "text{font:12px system-ui,sans-serif}.title{font-weight:600}"
    shared += ".line{fill:none;stroke-width:2;stroke-linejoin:round}"
    shared += ".grid,.axis,.lead{fill:none;stroke-width:1}"
    return f"<style>{shared}{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"


def text(x, y, what, anchor="start", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(what)}</text>'


def polyline(pixels, line):
    """One point a pixel column and what lies beyond, so that the size does not grow with the run."""
    last = len(pixels) - 1
    kept = [p for k, p in enumerate(pixels) if k in (0, last) or int(pixels[k + 1][0]) != int(p[0])]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in kept)
    dash = f' stroke-dasharray="{DASHES[line.dash]}"' if DASHES[line.dash] else ""
    return f'<polyline class="line {line.colour}"{dash} points="{path}"/>'


def marks(drawn):
    """All marks of (line, pixels), and their words on the side of each where there is most room."""
    taken = []
    for line, pixels in drawn:
        for x, y in pixels if line.mark else ():
            taken.append((x, y))
            yield (f'<path class="ground {line.colour}" stroke-width="2" d="{MARKS[line.mark]}"'
                   f' transform="translate({x:.1f} {y:.1f})"/>')
    for line, pixels in drawn:
        for (x, y), word in zip(pixels, line.words):
            others = [place for place in taken if place != (x, y)]

            def room(side):
                return min((math.dist(side, other) for other in others), default=0)

            place = max(((x + dx, y + dy) for dx, dy in WORD_SIDES), key=room)
            taken.append(place)
            yield text(place[0], place[1] + 4, word, "middle")


class Frame:
    """Where a panel lies: the plot within its margins."""

    def __init__(self, panel, left, top, width, height):
        label_width = 26 + CHARACTER_WIDTH * max(len(line.label) for line in panel.lines)
        self.panel, self.left, self.top = panel, left + LEFT, top + TOP
        self.width, self.height = width - LEFT - label_width, height - TOP - BOTTOM
        self.right, self.bottom = self.left + self.width, self.top + self.height

    def x(self, value):
        return self.left + self.width * self.panel.x.place(value)

    def y(self, value):
        return self.bottom - self.height * self.panel.y.place(value)

    def pixels(self, line):
        """Up to where the line leaves the plot for good."""
        points = [(x, y) for x, y in line.points if math.isfinite(y) and x <= self.panel.x.high * (1 + 1e-9)]
        points = [(self.x(x), self.y(y)) for x, y in points]
        inside = [k for k, (_, y) in enumerate(points) if self.top <= y <= self.bottom]
        last = inside[-1] if inside else 0
        return points[: last + 2]

    def axes(self):
        middle, centre = self.left + self.width / 2, self.top + self.height / 2
        for value, label in self.panel.y.ticks():
            y = self.y(value)
            yield f'<path class="grid" d="M{self.left:.1f} {y:.1f}H{self.right:.1f}"/>'
            yield text(self.left - 7, y + 4, label, "end")
        for value, label in self.panel.x.ticks():
            x = self.x(value)
            yield f'<path class="axis" d="M{x:.1f} {self.bottom:.1f}v5"/>'
            yield text(x, self.bottom + 19, label, "middle")
        yield f'<path class="axis" d="M{self.left:.1f} {self.top:.1f}V{self.bottom:.1f}H{self.right:.1f}"/>'
        yield text(middle, self.bottom + 38, self.panel.x.label, "middle")
        turned = self.left - 46
        yield text(turned, centre, self.panel.y.label, "middle", f' transform="rotate(-90 {turned:.1f} {centre:.1f})"')
        if self.panel.title:
            yield text(self.left, self.top - 11, self.panel.title, extra=' class="title"')

    def labels(self, drawn):
        """Beside the plot, or at its foot for a line that leaves it there."""
        beside = []
        for line, pixels in drawn:
            x, y = pixels[-1]
            if y > self.bottom:
                yield text(min(x, self.right) + 6, self.bottom - 7, line.label)
            else:
                beside.append((line, min(x, self.right), max(self.top, y)))
        places = spread([y for _, _, y in beside], self.top + 4, self.bottom - 4, LABEL_HEIGHT)
        for (line, x, y), place in zip(beside, places):
            yield f'<path class="lead {line.colour}" d="M{x:.1f} {y:.1f}L{self.right + 14:.1f} {place:.1f}"/>'
            yield text(self.right + 18, place + 4, line.label)

    def draw(self, name):
        place = f'x="{self.left:.1f}" y="{self.top:.1f}" width="{self.width:.1f}" height="{self.height:.1f}"'
        yield f'<clipPath id="{name}"><rect {place}/></clipPath>'
        yield from self.axes()
        drawn = [(line, self.pixels(line)) for line in self.panel.lines]
        yield f'<g clip-path="url(#{name})">'
        for line, pixels in drawn:
            yield polyline(pixels, line)
        yield "</g>"
        yield from marks(drawn)
        yield from self.labels(drawn)


def svg(panels, title, columns=1, width=820, height=420):
    """A figure; `height` is of one row of panels."""
    rows = math.ceil(len(panels) / columns)
    each = width / columns
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height * rows}" role="img">']
    parts += [f"<title>{escape(title)}</title>", style(), '<rect class="ground" width="100%" height="100%"/>']
    for k, panel in enumerate(panels):
        frame = Frame(panel, each * (k % columns), height * (k // columns), each, height)
        parts += frame.draw(f"plot{k}")
    return "\n".join(parts + ["</svg>", ""])
