#!/usr/bin/env python3
"""Draws the tables of this folder: four hospitals that ask who will come back within a month.

Each hospital has patients of its own: other ages, other wards, other sizes. The rule by which patients
come back is the same everywhere; the smallest hospital has seen nobody who came back in an emergency.
Usage: make.py FOLDER
"""
import csv
import math
import pathlib
import random
import sys

WARDS = {"heart": 0.9, "surgery": -0.3, "lungs": 0.6, "bones": -0.8}
HOSPITALS = [  # rows, mean age, weights of the wards, share of missing cells
    (1400, 62, (4, 3, 2, 1), 0.02),
    (420, 71, (1, 2, 5, 2), 0.05),
    (160, 48, (1, 5, 1, 3), 0.01),
    (60, 57, (2, 2, 2, 2), 0.10),
]
COLUMNS = ["age", "ward", "smoker", "pressure", "kidney", "days", "medicines", "outcome"]


def patient(random, age_mean, ward_weights, missing):
    age = min(98, max(18, random.gauss(age_mean, 13)))
    ward = random.choices(list(WARDS), ward_weights)[0]
    smoker = random.random() < 0.28
    pressure = random.gauss(118 + 0.35 * (age - 50), 14)
    kidney = math.exp(random.gauss(0.05 + 0.006 * (age - 50), 0.3))
    days = 1 + int(random.expovariate(0.2))
    medicines = random.randint(0, 3) + int(age / 25)
    risk = (0.055 * (age - 60) + WARDS[ward] + 0.7 * smoker + 0.03 * (pressure - 122) + 1.1 * (kidney - 1.1)
            + 0.10 * (days - 5) - 0.25 * (medicines - 4))
    grade = risk + random.gauss(0, 0.7)
    outcome = "home" if grade < 0.4 else "return" if grade < 1.9 else "emergency"
    cells = [f"{age:.0f}", ward, "yes" if smoker else "no", f"{pressure:.0f}", f"{kidney:.2f}", str(days),
             str(medicines)]
    return [("NA" if random.random() < missing else cell) for cell in cells] + [outcome]


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def main(folder):
    generator = random.Random(20)
    everybody, test = [], []
    for index, (count, *kind) in enumerate(HOSPITALS):
        rows = []
        while len(rows) < count:
            row = patient(generator, *kind)
            if index < 3 or row[-1] != "emergency":
                rows.append(row)
        write(folder / f"hospital-{index}.csv", rows)
        everybody += rows
        test += [patient(generator, *kind) for _ in range(500)]
    write(folder / "all.csv", everybody)
    write(folder / "test.csv", test)


main(pathlib.Path(sys.argv[1]))
