"""Tables as programs of several countries export them, made from fixed seeds.

Each is written twice: as the program writes it, for Starling, and plainly (points, ISO words, days
and months as columns of their own), for scikit-learn. Who reads the first as it is has what the
second says.
"""
import dataclasses
import datetime
import math
import random
from pathlib import Path

from messy_tables import Table, chance, one_of, write

FIRST = datetime.date(2022, 1, 3)
EPOCH = datetime.date(1970, 1, 1)


@dataclasses.dataclass
class Foreign(Table):
    plain: tuple = ()  # training and test file as scikit-learn is to read them
    dates: list = dataclasses.field(default_factory=list)


def grouped(value, mark, point, digits=2):
    return f"{value:,.{digits}f}".translate(str.maketrans({",": mark, ".": point}))


def season(day):
    return 1.2 * math.sin(2 * math.pi * (day.month - 1) / 12) + (0.8 if day.weekday() >= 5 else 0)


def a_day(source):
    return FIRST + datetime.timedelta(days=source.randrange(700))


def patient(source):
    """What every table below is about: numbers, a word, a yes or no, a day, an outcome."""
    cost, share = source.lognormvariate(7.5, 0.8), source.uniform(0, 100)
    crp = source.lognormvariate(0, 1.5)
    ward, by_ward = one_of(source, {"north": (5, 0.5), "south": (4, -0.4), "east": (1, 0)})
    smokes, day = source.random() < 0.3, a_day(source)
    score = 0.7 * (math.log(cost) - 7.5) + 0.0004 * cost + 0.02 * (share - 50) + 0.25 * min(crp, 6) + by_ward + \
        (0.9 if smokes else 0) + season(day) - 1.5
    return {"cost": cost, "share": share, "crp": crp, "ward": ward, "smokes": smokes, "day": day,
            "ill": chance(source, score), "missing": source.random() < 0.05}


def plain_row(row, crp):
    """Days, month and weekday are columns of their own; a limit of detection is told beside."""
    cell = "" if row["missing"] else f"{min(max(row['crp'], crp[0]), crp[1]):.3f}"
    limit = -1 if row["crp"] < crp[0] else 1 if row["crp"] > crp[1] else 0
    return [f"{row['cost']:.2f}", f"{row['share']:.1f}", cell, 0 if row["missing"] else limit, row["ward"],
            int(row["smokes"]), (row["day"] - EPOCH).days, f"m{row['day'].month}", f"w{row['day'].weekday()}",
            int(row["ill"])]


PLAIN = ["cost", "share", "crp", "limit", "ward", "smokes", "day", "month", "weekday", "ill"]
NEVER = (0, math.inf)


def make(folder, name, header, row_of, *, encoding="utf-8", ending="\n", separator=",", keys=(), crp=NEVER, says=()):
    """`row_of` writes the cells of a patient, in the order of the header, whose last is the outcome."""
    files, plain = [], []
    for part, count in (("train", 6000), ("test", 4000)):
        source = random.Random(f"{name} {part}")
        rows = [patient(source) for _ in range(count)]
        path = Path(folder) / f"{name}-{part}.csv"
        lines = [separator.join(header)] + [separator.join(row_of(row, index)) for index, row in enumerate(rows)]
        path.write_bytes((ending.join(lines) + ending).encode(encoding))
        files.append(path)
        plain.append(Path(folder) / f"{name}-{part}-plain.csv")
        write(plain[-1], PLAIN, [plain_row(row, crp) for row in rows])
    return Foreign(name, header[-1].strip('"'), *files, True, ["ward", "month", "weekday"],
                   ["cost", "share", "crp", "limit", "smokes", "day"], keys=list(keys), says=list(says),
                   separator=separator, plain=tuple(plain))


def bounded(row, low, high, digits=3):
    """A laboratory's value, with limits of detection."""
    if row["missing"]:
        return ""
    value = row["crp"]
    return f"<{low}" if value < low else f">{high}" if value > high else f"{value:.{digits}f}"


def excel_german(folder):
    def row_of(row, _):
        return [grouped(row["cost"], ".", ",") + " €", f"{row['share']:.1f}".replace(".", ",") + "%",
                "k.A." if row["missing"] else f"{row['crp']:.3f}".replace(".", ","), row["ward"],
                "ja" if row["smokes"] else "nein", f"{row['day']:%d.%m.%Y}", "krank" if row["ill"] else "gesund"]

    header = ["Umsatz", "Anteil", "CRP", "Haus", "Raucher", "größter Tag", "Befund"]
    return make(folder, "excel-german", header, row_of, encoding="cp1252", ending="\r\n", separator=";",
                keys=["--data.encoding=cp1252"], says=["decimal commas", "größter Tag as dates", "\"k.A.\""])


def excel_american(folder):
    def row_of(row, _):
        cost = "$" + grouped(row["cost"], ",", ".")
        return [cost, f"{row['share']:.1f}%", "#N/A" if row["missing"] else f"{row['crp']:.3f}", row["ward"],
                "TRUE" if row["smokes"] else "FALSE", f"{row['day'].month}/{row['day'].day}/{row['day'].year}",
                "ill" if row["ill"] else "well"]

    header = ["Cost", "Share", "CRP", "Ward", "Smokes", "Admitted", "Outcome"]
    return make(folder, "excel-american", header, row_of, encoding="utf-16", ending="\r\n", separator="\t",
                says=["with the month first", "for \"$"])


def r_export(folder):
    def row_of(row, index):
        return [f'"{index + 1}"', f"{row['cost']:.6g}", f"{row['share'] / 1e6:.3e}",
                "NA" if row["missing"] else f"{row['crp']:.3f}", f'"{row["ward"].replace("east", "NA")}"',
                "TRUE" if row["smokes"] else "FALSE", f'"{row["day"]:%Y-%m-%d}"', '"yes"' if row["ill"] else '"no"']

    header = ['""', '"cost"', '"share"', '"crp"', '"ward"', '"smokes"', '"day"', '"ill"']
    return make(folder, "r-export", header, row_of, says=["counts the rows", "day as dates"])


def sap(folder):
    def row_of(row, index):
        cost = grouped(row["cost"] - 1500, ".", ",").removeprefix("-") + ("-" if row["cost"] < 1500 else " ")
        return [f"{4711000000 + 37 * index * index % 900000007:010}", cost.strip(), grouped(row["share"], ".", ",", 1),
                "" if row["missing"] else grouped(row["crp"], ".", ",", 3), row["ward"].upper(),
                "X" if row["smokes"] else "O", f"{row['day']:%Y%m%d}", "1" if row["ill"] else "0"]

    header = ["BELNR", "DMBTR", "PROZ", "CRP", "WERKS", "KZ", "BUDAT", "STATUS"]
    return make(folder, "sap", header, row_of, separator=";", ending="\r\n", keys=["--data.ignore=BELNR"],
                says=["BUDAT as dates", "decimal commas"])


def laboratory(folder):
    def row_of(row, _):
        return [f"{row['cost'] / 1000:.5f} g/l", f"{row['share']:.1f} %", bounded(row, 0.05, 5) or "n.b.", row["ward"],
                "yes" if row["smokes"] else "no", f"{row['day']:%d-%b-%Y}".upper(), "pos" if row["ill"] else "neg"]

    header = ["protein", "saturation", "CRP", "ward", "smoker", "drawn", "finding"]
    return make(folder, "laboratory", header, row_of, encoding="utf-8-sig", separator="\t", crp=(0.05, 5),
                says=["limits such as", "drawn as dates", "\"n.b.\""])


def french_mac(folder):
    def row_of(row, _):
        return [grouped(row["cost"], "\u202f", ","), f"{row['share']:.1f}".replace(".", ","),
                "" if row["missing"] else f"{row['crp']:.3f}".replace(".", ","), row["ward"],
                "oui" if row["smokes"] else "non", f"{row['day']:%d/%m/%Y}", "malade" if row["ill"] else "sain"]

    header = ["coût", "part", "CRP", "service", "fumeur", "entrée", "état"]
    return make(folder, "french-mac", header, row_of, ending="\r", separator=";",
                says=["with the day first", "decimal commas"])


MAKERS = {"excel-german": excel_german, "excel-american": excel_american, "r-export": r_export, "sap": sap,
          "laboratory": laboratory, "french-mac": french_mac}
