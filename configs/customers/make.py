#!/usr/bin/env python3
"""Draws the tables of this folder: a bank and a shop with other columns of the same customers.

The bank knows who could not pay back a loan, and little else; the shop knows what its customers buy. Each has
some customers whom the other does not know.
Usage: make.py FOLDER
"""
import csv
import math
import pathlib
import random
import sys

CUSTOMERS = 360
KNOWN = 0.95  # by each
BANK = ["customer", "age", "income", "loans", "job", "default"]
SHOP = ["customer", "visits", "basket", "returns", "pays"]


def customer(random, number):
    thrift = random.gauss(0, 1)  # what neither writes down
    income = math.exp(random.gauss(7.9 + 0.1 * thrift, 0.35))
    loans, visits = random.randint(0, 4), max(0, round(random.gauss(9 - 2 * thrift, 3)))
    returns = max(0, round(random.gauss(2 - thrift, 1.2)))
    pays = random.choices(["card", "later", "cash"], (5, 3 * math.exp(-thrift), 2))[0]
    job = random.choice(["nurse", "clerk", "smith", "driver"])
    risk = (0.7 * (loans - 2) - 1.2 * (math.log(income) - 7.9) - 1.1 * thrift + 0.35 * (returns - 2)
            + 0.8 * (pays == "later") - 0.7)
    default = "yes" if random.random() < 1 / (1 + math.exp(-1.5 * risk)) else "no"
    name = f"C{number:04d}"
    return {"customer": name, "age": random.randint(19, 80), "income": f"{income:.0f}", "loans": loans, "job": job,
            "default": default, "visits": visits, "basket": f"{math.exp(random.gauss(3.4, 0.4)):.2f}",
            "returns": returns, "pays": pays}


def write(path, columns, rows):
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row[column] for column in columns] for row in rows)


def main():
    folder = pathlib.Path(sys.argv[1])
    chance = random.Random(57)
    rows = [customer(chance, number) for number in range(CUSTOMERS)]
    for site, columns in enumerate((BANK, SHOP)):
        known = [row for row in rows if chance.random() < KNOWN]
        chance.shuffle(known)
        write(folder / f"site-{site}.csv", columns, known)


if __name__ == "__main__":
    main()
