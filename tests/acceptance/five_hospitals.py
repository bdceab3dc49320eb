#!/usr/bin/env python3
"""Five hospitals train on what their programs export, and no export is touched.

    tests/acceptance/five_hospitals.py [--seeds 1,2,3] [--rounds 300]

Their tables are those of hospitals.py. Each hospital writes its own in its own way: another language,
another order, units, marks, encodings, words, missing cells, a column more. The first writes the
schema, each other a dictionary: what the program proposes, completed as a person would. They train
by them; the model predicts a table of one hospital as it is, and is judged on rows of all. Beside it:
scikit-learn's default on the joined, cleaned table, and on each hospital alone. The exit code is 1
where the area under the curve is more than .01 below the former, or below the mean of the latter.
"""
import argparse
import csv
import sys
import tempfile
from pathlib import Path

import hospitals  # finds the package nodes
from nodes.program import document, starling

WITHIN = 0.01


def comma(cell):
    return cell.replace(".", ",")


class Site:
    """How one hospital writes the rows of hospitals.py."""
    separator, ending, encoding, names, dictionary = ",", "\n", "utf-8", {}, ""

    def header(self):
        return [self.names.get(name, name) for name in hospitals.COLUMNS]

    def cells(self, row, _):
        return row

    def write(self, path, rows):
        lines = [self.separator.join(self.header())]
        lines += [self.separator.join(map(str, self.cells(list(row), index))) for index, row in enumerate(rows)]
        path.write_bytes((self.ending.join(lines) + self.ending).encode(self.encoding))


def place(name):
    return hospitals.COLUMNS.index(name)


class WithUnits(Site):
    def cells(self, row, _):
        row[place("creatinine")] += " mg/dl"
        return row


class German(Site):
    separator, ending, encoding = ";", "\r\n", "utf-8-sig"
    names = {"age": "Alter", "sex": "Geschlecht", "ward": "Station", "days": "Liegetage", "readmitted": "wieder da"}
    dictionary = "[age]\nfrom = Alter\n[sex]\nfrom = Geschlecht\nwords = w:f\n[ward]\nfrom = Station\n" \
        "words = Herz:heart, Chirurgie:surgery, Lunge:lungs, Knochen:bones, Niere:kidney, Onkologie:oncology\n" \
        "[days]\nfrom = Liegetage\n[readmitted]\nfrom = wieder da\n"
    words = dict(zip(hospitals.WARDS, ("Herz", "Chirurgie", "Lunge", "Knochen", "Niere", "Onkologie")))

    def cells(self, row, _):
        row = [comma(cell) if isinstance(cell, str) else cell for cell in row]
        row[place("sex")] = {"f": "w", "m": "m"}[row[place("sex")]]
        row[place("ward")] = self.words[row[place("ward")]]
        row[place("readmitted")] = {"yes": "ja", "no": "nein"}[row[place("readmitted")]]
        return row


class Reordered(Site):
    """UTF-16, the columns from behind, and one more, which stays home."""
    separator, encoding = "\t", "utf-16"

    def header(self):
        return [*reversed(hospitals.COLUMNS), "room"]

    def cells(self, row, index):
        row[place("sex")] = row[place("sex")].upper()
        return [*reversed(row), f"R{index}"]

    dictionary = "[sex]\nwords = F:f, M:m\n"


class Coded(Site):
    """999 for what is missing, SI units, booleans of a program."""
    dictionary = "[sodium]\nmissing = 999\n[creatinine]\nscale = 0.011312\n"

    def cells(self, row, index):
        row[place("creatinine")] = f"{float(row[place('creatinine')]) / 0.011312:.0f} µmol/l"
        if index % 25 == 7:
            row[place("sodium")] = "999"
        row[place("readmitted")] = {"yes": "TRUE", "no": "FALSE"}[row[place("readmitted")]]
        return row


class Device(Site):
    """Limits of detection, per cent that are none, thousands, R's NA."""

    def cells(self, row, index):
        value = float(row[place("creatinine")])
        row[place("creatinine")] = "<0.60 mg/dl" if value < 0.6 else f"{value:.2f} mg/dl"
        if index % 30 == 3:
            row[place("pulse")] = "NA"
        row[place("ward")] = f'"{row[place("ward")]}"'
        return row


SITES = (WithUnits(), German(), Reordered(), Coded(), Device())


def read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))[1:]


def export(folder, tables):
    """The five exports, the schema and the dictionaries."""
    for index, (site, path) in enumerate(zip(SITES, tables.sites)):
        site.write(folder / f"export-{index}.csv", read(path))
        (folder / f"site-{index}.ini").write_text(site.dictionary or "# nothing differs\n", encoding="utf-8")
    starling("data", "export-0.csv", f"--data.target={hospitals.TARGET}", "--write-schema=schema.ini", cwd=folder)
    proposed = starling("data", "export-1.csv", "--data.schema=schema.ini", "--write-dictionary=german.ini", cwd=folder,
                        expect=None)
    text = (folder / "german.ini").read_text(encoding="utf-8")
    assert "[sex]" in text and "?" in text, (proposed.stdout, text)


def train(folder, settings):
    starling("up", "-n", len(SITES), "--data.path=export-{i}.csv", "--data.shard=all", "--data.schema=schema.ini",
             "--data.dictionary=site-{i}.ini", "--listen.http=127.0.0.1:0", "--output=model.safetensors", *settings,
             cwd=folder)


def area(folder, test, *settings):
    return document("evaluate", "model.safetensors", test, *settings, cwd=folder)["auc"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rounds", type=int, help="also with --stop.rounds")
    arguments = parser.parse_args()
    missed = 0
    for seed in map(int, arguments.seeds.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            tables = hospitals.make(folder, seed)
            export(folder, tables)
            joined = tables.learned_by_scikit(tables.joined)
            alone = [tables.learned_by_scikit(path) for path in tables.sites]
            mean = sum(alone) / len(alone)
            for settings in [[]] + ([[f"--stop.rounds={arguments.rounds}"]] if arguments.rounds else []):
                train(folder, settings)
                figure = area(folder, tables.test)
                SITES[1].write(folder / "german-test.csv", read(tables.test))
                translated = area(folder, "german-test.csv", "--data.dictionary=site-1.ini")
                good = figure >= joined - WITHIN and figure >= mean and abs(figure - translated) < 1e-3
                missed += not good
                print(f"{'ok  ' if good else 'MISS'}  seed {seed} {' '.join(settings) or 'by default'}: {figure:.4f}, a German "
                      f"export {translated:.4f}; scikit-learn joined {joined:.4f}, alone {mean:.4f} "
                      f"({', '.join(f'{one:.3f}' for one in alone)})", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
