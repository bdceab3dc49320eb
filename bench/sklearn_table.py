"""The peer of tables.py: scikit-learn's linear or logistic regression on all rows of a table.

  sklearn_table.py SPECIFICATION    JSON: train, test, target, words, numbers, classifies, ...

Features are those that Starling makes: numbers scaled by mean and deviation, missing ones at the
mean, and words one-hot, missing ones a word. Prints one JSON document.
Classes are learned without a penalty, unless there is a C.
"""
import csv
import json
import sys
import time

import numpy as np
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score, roc_auc_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MISSING = {"", "na", "n/a", "nan", "null", "?", "-"}
NO_PENALTY = 1e6  # C: one over the weight of the squared norm


def read(path, specification):
    """The columns of the file by name; a missing cell is empty."""
    with open(path, newline="", encoding="utf-8-sig") as stream:
        rows = csv.reader(stream, delimiter=specification["separator"])
        first = next(rows)
        names = first if specification["header"] else [str(c + 1) for c in range(len(first))]
        wanted = specification["words"] + specification["numbers"] + [specification["target"]]
        places = {name: names.index(name) for name in wanted}
        columns = {name: [] for name in wanted}
        for row in ([] if specification["header"] else [first]):
            take(row, places, columns)
        for row in rows:
            take(row, places, columns)
    return columns


def take(row, places, columns):
    for name, place in places.items():
        cell = row[place].strip()
        columns[name].append("" if cell.lower() in MISSING else cell)


def numbers_of(columns, names):
    return np.array([[float(cell) if cell else np.nan for cell in columns[name]] for name in names],
                    dtype=float).reshape(len(names), -1).T


def words_of(columns, names):
    return np.array([columns[name] for name in names], dtype=object).T


class Features:
    def __init__(self, columns, specification):
        self.words, self.numbers = specification["words"], specification["numbers"]
        self.scaler = StandardScaler().fit(numbers_of(columns, self.numbers))
        if self.words:
            self.encoder = OneHotEncoder(handle_unknown="ignore").fit(words_of(columns, self.words))

    def of(self, columns):
        numbers = np.nan_to_num(self.scaler.transform(numbers_of(columns, self.numbers)))
        if not self.words:
            return numbers
        words = self.encoder.transform(words_of(columns, self.words))
        both = sparse.hstack([sparse.csr_matrix(numbers), words]).tocsr()
        return both.toarray() if both.shape[0] * both.shape[1] < 2e7 else both


def score(model, features, columns, specification):
    truth = columns[specification["target"]]
    predicted = model.predict(features)
    if specification["classifies"]:
        scores = {"accuracy": accuracy_score(truth, predicted)}
        if len(model.classes_) == 2:
            scores["area"] = roc_auc_score(np.array(truth) == model.classes_[1], model.decision_function(features))
        return scores
    amounts = np.array(truth, dtype=float)
    return {"rmse": mean_squared_error(amounts, predicted, squared=False), "r2": r2_score(amounts, predicted)}


def main():
    specification = json.loads(sys.argv[1])
    begin = time.monotonic()
    train, test = (read(specification[part], specification) for part in ("train", "test"))
    features = Features(train, specification)
    truth = train[specification["target"]]
    if specification["classifies"]:
        model = LogisticRegression(C=specification.get("C", NO_PENALTY), max_iter=5000)
    else:
        model, truth = LinearRegression(), np.array(truth, dtype=float)
    model.fit(features.of(train), truth)
    scores = score(model, features.of(test), test, specification)
    print(json.dumps({**scores, "seconds": time.monotonic() - begin}))


main()
