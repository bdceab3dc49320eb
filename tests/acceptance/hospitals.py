"""Five hospitals that ask whose patients come back, made from a seed: few do, and the codes of diagnoses
are many.

The rule by which patients come back is the same everywhere; ages, wards and sizes differ by hospital.

  hospitals.py FOLDER [SEED]    writes hospital-0.csv to hospital-4.csv, all.csv with all their rows, and test.csv
"""
import csv
import json
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from nodes.program import PYTHON, ROOT, run  # noqa: E402

TARGET = "readmitted"
ROWS = (500, 1200, 2000, 3200, 4000)
TEST_ROWS = 12_000
CODES = 150
COLUMNS = ["age", "sex", "ward", "code", "second_code", "days", "medicines", "earlier_stays", "creatinine",
           "sodium", "haemoglobin", "pressure", "pulse", "weight", TARGET]
WARDS = ["heart", "surgery", "lungs", "bones", "kidney", "oncology"]
START = -4.2  # of the logit: about 6.8 % come back


@dataclass
class Hospitals:
    sites: list
    joined: Path
    test: Path
    words = ["sex", "ward", "code", "second_code"]
    numbers = [name for name in COLUMNS[:-1] if name not in ("sex", "ward", "code", "second_code")]

    def learned_by_scikit(self, train):
        """The area under the curve of scikit-learn's default on the rows of this file."""
        specification = {"train": str(train), "test": str(self.test), "target": TARGET, "classifies": True, "separator": ",",
                         "header": True, "words": self.words, "numbers": self.numbers, "C": 1.0}
        done = run(PYTHON, ROOT / "bench/sklearn_table.py", json.dumps(specification), timeout=600)
        return json.loads(done.stdout)["area"]


class Rule:
    """What makes patients come back."""

    def __init__(self, seed):
        source = random.Random(f"rule {seed}")
        self.codes = [source.gauss(0, 0.6) for _ in range(CODES)]
        self.wards = {ward: source.gauss(0, 0.4) for ward in WARDS}

    def row(self, source, mean_age, wards):
        age = min(98, max(18, source.gauss(mean_age, 14)))
        ward = source.choices(WARDS, wards)[0]
        first, second = (min(CODES - 1, int(source.paretovariate(0.55)) - 1 if source.random() < 0.6
                             else source.randrange(CODES)) for _ in range(2))
        days = 1 + int(source.expovariate(0.2))
        medicines = source.randint(0, 6) + int(age / 20)
        stays = int(source.expovariate(1.0))
        creatinine = math.exp(source.gauss(0.05, 0.35))
        others = [source.gauss(139, 3), source.gauss(12.5, 1.8), source.gauss(128, 18), source.gauss(80, 12),
                  source.gauss(76, 15)]
        logit = (START + 0.022 * (age - 60) + self.wards[ward] + self.codes[first] + 0.5 * self.codes[second] +
                 0.05 * days + 0.08 * medicines + 0.42 * stays + 0.7 * (creatinine - 1) - 0.08 * (others[1] - 12.5))
        back = source.random() < 1 / (1 + math.exp(-logit))
        return [f"{age:.0f}", source.choice("fm"), ward, f"C{first:03d}", f"C{second:03d}", days, medicines, stays,
                f"{creatinine:.2f}", *(f"{value:.1f}" for value in others), "yes" if back else "no"]


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def make(folder, seed=1):
    rule = Rule(seed)
    hospitals = Hospitals([], Path(folder) / "all.csv", Path(folder) / "test.csv")
    joined, test = [], []
    for index, count in enumerate(ROWS):
        source = random.Random(f"hospital {index} {seed}")
        mean_age, wards = source.uniform(52, 70), [source.uniform(0.3, 3) for _ in WARDS]
        path = Path(folder) / f"hospital-{index}.csv"
        rows = [rule.row(source, mean_age, wards) for _ in range(count)]
        write(path, rows)
        joined += rows
        hospitals.sites.append(path)
        test += [rule.row(source, mean_age, wards) for _ in range(TEST_ROWS * count // sum(ROWS))]
    write(hospitals.joined, joined)
    write(hospitals.test, test)
    return hospitals


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
