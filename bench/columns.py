#!/usr/bin/env python3
"""Holds tables that are cut by columns beside scikit-learn on the joined table, in real processes.

  bench/columns.py            adult-like, wine-like and California, cut into 2, 3 and 5 sites
  bench/columns.py wine       one of them
  bench/columns.py --picture  all, and writes docs/curves/columns.svg

Weights and loss are to be within 1e-6 of scikit-learn's (Ridge, LogisticRegression of two and three classes),
and the predictions that the sites' scores add up to within 1e-9 of those of all weights together, from files
(--partial, --add) and of the nodes that run (--fleet). Fails where one is not. Needs python3-sklearn.
"""
import csv
import gzip
import json
import struct
import sys
import tempfile
import time
from pathlib import Path

import chart
import markdown
from cluster import ROOT, starling

ROUNDS = 1000
SITES = (2, 3, 5)
WEIGHTS_WITHIN, PREDICTIONS_WITHIN = 1e-6, 1e-9
PICTURE = ROOT / "docs/curves/columns.svg"
PICTURE_ROUNDS = 400
NAMES = {"adult": "logistic: adult-like, 4,000 rows", "wine": "softmax: wine-like, 178 rows",
         "california": "ridge: California, 20,433 rows"}
COLOURS = {2: "blue", 3: "orange", 5: "green"}
CALIFORNIA = ROOT / "../shared/data/california-housing.csv.gz"


def california(draw):
    with gzip.open(CALIFORNIA, "rt") as stream:
        rows = [row for row in csv.DictReader(stream) if all(row.values())]
    names = [name for name in rows[0] if name != "ocean_proximity"]
    return {name: [row[name] for row in rows] for name in names}, "median_house_value"


def wine(draw):
    import numpy as np
    kinds = draw.integers(0, 3, 178)
    cells = draw.normal(size=(178, 13)) @ (np.eye(13) + .2 * draw.normal(size=(13, 13)))
    cells += .8 * draw.normal(size=(3, 13))[kinds]
    columns = {f"w{k}": [repr(float(cell)) for cell in cells[:, k]] for k in range(13)}
    return columns | {"kind": [("barolo", "grignolino", "barbera")[kind] for kind in kinds]}, "kind"


def adult(draw):
    import numpy as np
    rows = 4000
    table = {"age": draw.integers(17, 90, rows), "hours": draw.integers(1, 99, rows),
             "gain": np.exp(draw.normal(3, 2, rows)).round(),
             "work": draw.choice(["private", "state", "self", "none"], rows, p=[.6, .2, .15, .05]),
             "marital": draw.choice(["single", "married", "divorced"], rows),
             "sex": draw.choice(["F", "M"], rows), "school": draw.integers(1, 16, rows),
             "region": draw.choice(list("abcde"), rows)}
    score = (.05 * (table["age"] - 40) + .03 * (table["hours"] - 40) + .3 * (table["school"] - 8)
             + 1.2 * (table["marital"] == "married") + .5 * (table["work"] == "self") - 1.5)
    table["income"] = np.where(draw.random(rows) < 1 / (1 + np.exp(-score)), "above", "below")
    return {name: [str(cell) for cell in cells] for name, cells in table.items()}, "income"


class Cut:
    """A table in the files of its sites, each with its rows in an order of its own."""

    def __init__(self, folder, table, sites):
        import numpy as np
        draw = np.random.default_rng(3)
        self.columns, self.target = globals()[table](draw)
        self.rows = len(self.columns[self.target])
        self.keys = [f"row {number}" for number in draw.permutation(self.rows)]
        self.names = [name for name in self.columns if name != self.target]
        self.holder = sites // 2
        self.parts = [list(part) for part in np.array_split(self.names, sites)]
        for site, part in enumerate(self.parts):
            names = part + [self.target] * (site == self.holder)
            with open(folder / f"site-{site}.csv", "w", newline="") as stream:
                writer = csv.writer(stream)
                writer.writerow(["id", *names])
                for row in draw.permutation(self.rows):
                    writer.writerow([self.keys[row], *(self.columns[name][row] for name in names)])


def model_of(path):
    """The card, the weights and the biases of a model's file."""
    import numpy as np
    with open(path, "rb") as stream:
        header = json.loads(stream.read(struct.unpack("<Q", stream.read(8))[0]))
        numbers = stream.read()

    def tensor(name):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(numbers[begin:end], {"F64": "<f8", "F32": "<f4"}[header[name]["dtype"]])

    card = json.loads(header["__metadata__"]["starling"])
    bias = tensor("layer0.bias")
    return card, tensor("layer0.weight").reshape(-1, len(bias)), bias


def features_of(cut, cards):
    """The columns of the sites in turn, scaled by mean and deviation or one-hot."""
    import numpy as np
    parts = []
    for card in cards:
        for column in card["columns"]:
            cells = cut.columns[column["name"]]
            if column["kind"] == "number":
                numbers = np.array(cells, dtype=float)
                parts.append(((numbers - numbers.mean()) / numbers.std())[:, None])
            else:
                parts.append(np.array([[cell == word for word in column["words"]] for cell in cells], dtype=float))
    return np.hstack(parts)


def learned_by_scikit(features, target, classifies, l2):
    """Weights, and the mean loss without the penalty."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.metrics import log_loss
    rows = len(target)
    if not classifies:
        scaled = (target - target.mean()) / target.std()
        peer = Ridge(alpha=l2 * rows, solver="cholesky").fit(features, scaled)
        return peer.coef_[None, :].T, float(((peer.predict(features) - scaled) ** 2).mean() / 2)
    peer = LogisticRegression(C=1 / (l2 * rows), solver="newton-cg", tol=1e-12, max_iter=1000,
                              multi_class="auto").fit(features, target)
    return peer.coef_.T, log_loss(target, peer.predict_proba(features), labels=peer.classes_)


def predictions_of(text):
    import numpy as np
    rows = list(csv.reader(text.splitlines()))
    first = 1 if len(rows[0]) == 2 else 2
    return {row[0]: np.array(row[first:], dtype=float) for row in rows[1:]}


def joined_predictions(scores, card):
    import numpy as np
    target = card["target"]
    if "classes" not in target:
        return target["mean"] + target["deviation"] * scores
    if scores.shape[1] == 1:
        scores = np.hstack([0 * scores, scores])
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def farthest(cut, told, expected):
    return max(abs(told[key] - row).max() / max(1, abs(row).max()) for key, row in zip(cut.keys, expected))


def run(table, sites, folder):
    import numpy as np
    cut = Cut(folder, table, sites)
    whole = folder / "model.safetensors"
    began = time.monotonic()
    summary = json.loads(starling("up", "-n", sites, f"--data.path={folder}/site-{{i}}.csv", f"--output={whole}",
                                  f"--data.target={cut.target}", "--data.split=columns", "--data.key=id",
                                  f"--stop.rounds={ROUNDS}", "--eval.every=10", "--listen.http=127.0.0.1:0",
                                  "--json").stdout)
    took = time.monotonic() - began
    models = [folder / f"model-node-{site}.safetensors" for site in range(sites)]
    cards, weights, biases = zip(*map(model_of, models))
    features, card = features_of(cut, cards), cards[cut.holder]
    classifies = "classes" in card["target"]
    target = np.array(cut.columns[cut.target], dtype=None if classifies else float)
    peer, loss = learned_by_scikit(features, target, classifies, card["model"]["l2"])
    ours = np.vstack(weights)
    of_weights = np.linalg.norm(ours - peer) / np.linalg.norm(peer)
    of_loss = max(abs(node["loss"] - loss) / loss for node in summary["nodes"])
    files = []
    for site in set(range(sites)) - {cut.holder}:
        files.append(str(folder / f"scores-{site}.csv"))
        starling("predict", models[site], folder / f"site-{site}.csv", "--partial", f"--output={files[-1]}")
    added = predictions_of(starling("predict", models[cut.holder], folder / f"site-{cut.holder}.csv",
                                    f"--add={','.join(files)}").stdout)
    expected = joined_predictions(features @ ours + sum(biases), card)
    curve = [(point["round"], abs(point["loss"] - loss) / loss) for point in summary["series"]
             if point["round"] <= PICTURE_ROUNDS and "loss" in point]
    return curve, took, of_weights, of_loss, farthest(cut, added, expected)


def draw(curves):
    panels = []
    for table, lines in curves.items():
        panels.append(chart.Panel(
            chart.Axis("round", 0, PICTURE_ROUNDS), chart.Axis("difference of the loss, relative", 1e-14, 1, log=True),
            [chart.Line(f"{sites} sites", [(x, max(y, 1e-14)) for x, y in curve], COLOURS[sites])
             for sites, curve in lines.items()], NAMES[table]))
    PICTURE.write_text(chart.svg(panels, "Columns apart: rounds to the loss of scikit-learn on the joined table", 2))


def main():
    tables = [word for word in sys.argv[1:] if word != "--picture"] or list(NAMES)
    curves = {table: {} for table in tables}
    print(markdown.table(["table", "sites", "s", "weights", "loss", "predictions", "verdict"]))
    missed = 0
    for table in tables:
        for sites in SITES:
            with tempfile.TemporaryDirectory() as folder:
                curves[table][sites], took, *errors = run(table, sites, Path(folder))
            good = max(errors[:2]) <= WEIGHTS_WITHIN and errors[2] <= PREDICTIONS_WITHIN
            missed += not good
            figures = " | ".join(f"{error:.1e}" for error in errors)
            print(f"| {table} | {sites} | {took:.1f} | {figures} | {'good' if good else 'MISSED'} |", flush=True)
    print(f"\n{missed} missed")
    if "--picture" in sys.argv:
        draw(curves)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
