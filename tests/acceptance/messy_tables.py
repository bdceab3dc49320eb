"""Tables of the kinds that people have, with what makes them awkward, made from fixed seeds.

Each is a training file and a test file of the same source: who learns a model from the first with
scikit-learn has what Starling is to reach. `says` is what `starling data` must tell about the
training file, `refuses` the columns that it must propose to leave out.
"""
import csv
import math
import random
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Table:
    name: str
    target: str
    train: Path
    test: Path
    classifies: bool
    words: list  # columns of words, by name
    numbers: list
    ignore: list = field(default_factory=list)
    keys: list = field(default_factory=list)  # further settings
    says: list = field(default_factory=list)
    separator: str = ","
    header: bool = True
    sites: list = field(default_factory=list)  # files of parts, where no file has all rows


@dataclass
class Dialect:
    """How a program writes its files."""
    separator: str = ","
    ending: str = "\n"
    mark: bool = False  # of UTF-8, in front
    header: bool = True
    quoting: int = csv.QUOTE_MINIMAL


PLAIN = Dialect()


def write(path, header, rows, dialect=PLAIN):
    with open(path, "w", newline="", encoding="utf-8-sig" if dialect.mark else "utf-8") as stream:
        writer = csv.writer(stream, delimiter=dialect.separator, lineterminator=dialect.ending,
                            quoting=dialect.quoting)
        if dialect.header:
            writer.writerow(header)
        writer.writerows(rows)


def pair(folder, name, header, draw, counts, dialect=PLAIN, seed=1):
    """Training and test file of rows that draw(random) makes."""
    paths = []
    for part, count in zip(("train", "test"), counts):
        source = random.Random(f"{name} {part} {seed}")
        path = Path(folder) / f"{name}-{part}.csv"
        write(path, header, (draw(source) for _ in range(count)), dialect)
        paths.append(path)
    return paths


def chance(source, logit):
    return source.random() < 1 / (1 + math.exp(-logit))


def one_of(source, effects):
    """A word, drawn by its weight, and its effect."""
    word = source.choices(list(effects), [weight for weight, _ in effects.values()])[0]
    return word, effects[word][1]


def missing(source, value, share, sign=""):
    return sign if source.random() < share else value


# ---- Census: words, "?", and two amounts that are nearly always 0.

WORK = {"Private": (70, 0), "Self-emp-not-inc": (8, -0.5), "Local-gov": (6, 0.1),
        "State-gov": (4, -0.1), "Self-emp-inc": (3, 0.4), "Federal-gov": (3, 0.5),
        "Without-pay": (0.1, -2)}
EDUCATION = ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
             "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school",
             "Doctorate"]
MARITAL = {"Married-civ-spouse": (46, 1.4), "Never-married": (33, -1.2), "Divorced": (14, -0.7),
           "Separated": (3, -0.8), "Widowed": (3, -0.5)}
OCCUPATION = {"Prof-specialty": (13, 0.5), "Craft-repair": (13, 0), "Exec-managerial": (13, 0.8),
              "Adm-clerical": (12, 0), "Sales": (11, 0.3), "Other-service": (10, -0.9),
              "Machine-op-inspct": (6, -0.3), "Handlers-cleaners": (4, -0.7),
              "Farming-fishing": (3, -1), "Tech-support": (3, 0.6)}
COUNTRY = {"United-States": (90, 0.1), "Mexico": (2, -0.5), "Philippines": (1, 0.2),
           "Germany": (1, 0.2), "Canada": (1, 0.2), "India": (1, 0), "Cuba": (0.3, 0.1),
           "Holand-Netherlands": (0.01, 0)}
ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
         "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]


def adult_row(source):
    age = min(90, max(17, int(source.gauss(38, 13))))
    work, by_work = one_of(source, WORK)
    years = min(16, max(1, int(source.gauss(10.1, 2.6))))
    marital, by_marital = one_of(source, MARITAL)
    job, by_job = one_of(source, OCCUPATION)
    country, by_country = one_of(source, COUNTRY)
    sex = source.choice(["Male", "Male", "Female"])
    gain = int(source.lognormvariate(8.8, 0.9)) if source.random() < 0.08 else 0
    loss = int(source.gauss(1870, 350)) if source.random() < 0.05 else 0
    hours = min(99, max(1, int(source.gauss(40, 12))))
    logit = (-2.3 + 0.028 * (age - 38) + 0.32 * (years - 10) + 0.03 * (hours - 40) + by_work +
             by_marital + by_job + by_country + 0.00032 * gain + 0.0006 * loss +
             (0.2 if sex == "Male" else -0.2))
    return [age, missing(source, work, 0.056, "?"), int(source.lognormvariate(12.0, 0.5)),
            EDUCATION[years - 1], years, marital, missing(source, job, 0.057, "?"), sex, gain, loss,
            hours, missing(source, country, 0.018, "?"),
            ">50K" if chance(source, logit) else "<=50K"]


def adult(folder):
    train, test = pair(folder, "adult", ADULT, adult_row, (32561, 16281))
    words = ["workclass", "education", "marital-status", "occupation", "sex", "native-country"]
    numbers = [name for name in ADULT[:-1] if name not in words]
    return Table("adult", "income", train, test, True, words, numbers,
                 says=["workclass 1,8", "(\"?\")", "a category of its own",
                       "target income holds 2 different words: classification"])


# ---- Passengers: names, tickets and cabins that tell rows apart and nothing else.

TITANIC = ["PassengerId", "Survived", "Pclass", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket",
           "Fare", "Cabin", "Embarked"]
SURNAMES = ["Braund", "Cumings", "O'Dwyer", "Futrelle", "Allen", "Moran", "McCarthy", "Palsson"]


def titanic_row(source, passengers):
    passengers[0] += 1
    number = passengers[0]
    level = source.choices([1, 2, 3], [24, 21, 55])[0]
    sex = source.choices(["male", "female"], [65, 35])[0]
    age = round(max(0.42, source.gauss(43 - 5.5 * level, 13)), 1)
    siblings = source.choices([0, 1, 2, 3, 4], [68, 23, 4, 3, 2])[0]
    parents = source.choices([0, 1, 2], [76, 14, 10])[0]
    fare = round(source.lognormvariate(5.1 - level, 0.5), 4)
    port, by_port = one_of(source, {"S": (72, 0), "C": (19, 0.4), "Q": (9, 0)})
    logit = (2.6 if sex == "female" else -0.2) - 1.1 * (level - 2) - 0.04 * (age - 28) - \
        0.3 * siblings - 0.9 + by_port + 0.002 * fare
    title = "Mr." if sex == "male" else "Mrs."
    name = f'{source.choice(SURNAMES)}, {title} {chr(65 + number % 26)} ("No. {number}")'
    cabin = f"{source.choice('ABCDEF')}{source.randint(1, 900)}" if source.random() < 0.23 else ""
    return [number, int(chance(source, logit)), level, name, sex, missing(source, age, 0.2),
            siblings, parents, f"PC {source.randint(1000, 999999)}", fare, cabin,
            missing(source, port, 0.002)]


def titanic(folder):
    passengers = [0]
    train, test = pair(folder, "titanic", TITANIC, lambda source: titanic_row(source, passengers),
                       (891, 4000), Dialect(ending="\r\n"))
    return Table("titanic", "Survived", train, test, True, ["Sex", "Embarked"],
                 ["Pclass", "Age", "SibSp", "Parch", "Fare"],
                 ignore=["PassengerId", "Name", "Ticket", "Cabin"],
                 says=["Age 1", "(empty)", "the mean over all nodes stands for a number",
                       "target Survived holds 2 different whole numbers, 0 to 1: classification"])


# ---- Digits: 64 counts, no header, the class behind them.

def optdigits(folder):
    shapes = random.Random("shapes")
    ink = [[shapes.choice([0, 2, 8, 14, 16]) for _ in range(64)] for _ in range(10)]

    def draw(source):
        digit = source.randrange(10)
        other = source.randrange(10)
        share = source.uniform(0, 0.62)
        return [min(16, max(0, round((1 - share) * a + share * b + source.gauss(0, 5))))
                for a, b in zip(ink[digit], ink[other])] + [digit]

    header = [str(c + 1) for c in range(65)]
    train, test = pair(folder, "optdigits", header, draw, (3823, 1797), Dialect(header=False))
    return Table("optdigits", "65", train, test, True, [], header[:-1], header=False,
                 keys=["--data.header=false"],
                 says=["target 65 holds 10 different whole numbers, 0 to 9: classification"])


# ---- Wine: semicolons, quotes, the mark of UTF-8, CRLF, and grades of which most are rare.

WINE = ["fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides",
        "free sulfur dioxide", "total sulfur dioxide", "density", "pH", "sulphates", "alcohol",
        "quality"]


def wine_row(source):
    sugar = source.lognormvariate(1.5, 0.8)
    alcohol = source.gauss(10.5, 1.2)
    density = 0.9943 + 0.0004 * (sugar - 6) - 0.0013 * (alcohol - 10.5) + source.gauss(0, 0.0005)
    free = max(2, source.gauss(35, 17))
    total = free + max(5, source.gauss(103, 30))
    volatile, sulphates = source.lognormvariate(-1.34, 0.35), source.lognormvariate(-0.73, 0.22)
    score = 5.9 + 0.35 * (alcohol - 10.5) - 1.9 * (volatile - 0.28) + 0.5 * (sulphates - 0.49) + \
        0.004 * (free - 35) + 0.02 * (sugar - 6) + source.gauss(0, 0.72)
    return [round(source.gauss(6.85, 0.84), 1), round(volatile, 3),
            round(max(0, source.gauss(0.33, 0.12)), 2), round(sugar, 1),
            round(source.lognormvariate(-3.15, 0.35), 3), round(free), round(total),
            round(density, 5), round(source.gauss(3.19, 0.15), 2), round(sulphates, 2),
            round(alcohol, 1), min(9, max(3, round(score)))]


def wine(folder):
    dialect = Dialect(separator=";", ending="\r\n", mark=True, quoting=csv.QUOTE_NONNUMERIC)
    train, test = pair(folder, "wine", WINE, wine_row, (4898, 1599), dialect)
    return Table("wine", "quality", train, test, True, [], WINE[:-1], separator=";",
                 says=["different whole numbers, 3 to 9: classification"])


# ---- Diamonds: a first column without a name, words that have an order, sizes that say the same.

DIAMONDS = ["", "carat", "cut", "color", "clarity", "depth", "table", "price", "x", "y", "z"]
CUT = {"Fair": (3, -900), "Good": (9, -300), "Very Good": (22, 0), "Premium": (26, 40),
       "Ideal": (40, 100)}
COLOR = {"D": (13, 800), "E": (18, 600), "F": (18, 500), "G": (21, 300), "H": (15, -200),
         "I": (10, -700), "J": (5, -1500)}
CLARITY = {"I1": (1, -4000), "SI2": (17, -1300), "SI1": (24, -400), "VS2": (23, 200),
           "VS1": (15, 500),
           "VVS2": (9, 900), "VVS1": (7, 900), "IF": (3, 1200)}


def diamonds_row(source, index):
    index[0] += 1
    carat = min(4, round(max(0.2, source.lognormvariate(-0.39, 0.58)), 2))
    (cut, by_cut), (color, by_color) = one_of(source, CUT), one_of(source, COLOR)
    clarity, by_clarity = one_of(source, CLARITY)
    depth, table = round(source.gauss(61.7, 1.4), 1), round(source.gauss(57.5, 2.2))
    x = (carat * 163) ** (1 / 3) + source.gauss(0, 0.04)
    y = x + source.gauss(0, 0.03)
    z = depth / 100 * (x + y) / 2 + source.gauss(0, 0.02)
    price = 300 + 7200 * carat * math.exp(source.gauss(0, 0.12)) - 1000 * (carat < 0.5) + \
        (by_cut + by_color + by_clarity) * carat - 15 * (table - 57) + source.gauss(0, 200)
    return [index[0], carat, cut, color, clarity, depth, table, max(326, round(price)), round(x, 2),
            round(y, 2), round(z, 2)]


def diamonds(folder):
    index = [0]
    train, test = pair(folder, "diamonds", DIAMONDS, lambda source: diamonds_row(source, index),
                       (43940, 10000))
    return Table("diamonds", "price", train, test, False, ["cut", "color", "clarity"],
                 ["carat", "depth", "table", "x", "y", "z"],
                 says=["column 1, which has no name and counts the rows",
                       "target price holds amounts: regression"])


# ---- Taxis: a million rows, times, NA, and many places.

TAXIS = ["pickup", "dropoff", "passengers", "distance", "fare", "tolls", "color", "payment",
         "pickup_zone", "dropoff_zone", "pickup_borough"]
BOROUGHS = ["Manhattan", "Queens", "Brooklyn", "Bronx", "Staten Island"]


def taxis_row(source, zones):
    begin, end = source.choice(zones), source.choice(zones)
    minute, second = source.randrange(60), source.randrange(60)
    day, hour = source.randint(1, 28), source.randrange(24)
    distance = round(source.lognormvariate(0.6, 0.8) + 0.04 * abs(begin - end), 2)
    toll = 6.12 if source.random() < 0.05 else 0
    color = "yellow" if source.random() < 0.85 else "green"
    fare = 2.6 + 2.5 * distance + 0.02 * end + 0.9 * (begin // 50) + 1.1 * toll + \
        (1.5 if color == "green" else 0) + source.gauss(0, 2.4)
    stamp = f"2019-03-{day:02} {hour:02}:{minute:02}:{second:02}"
    return [stamp, stamp[:14] + "59:59",
            missing(source, source.choice([1, 1, 1, 2, 5]), 0.01, "NA"), distance,
            f"{max(2.5, fare):.2f}", toll, color,
            missing(source, source.choice(["credit card", "credit card", "cash"]), 0.007),
            f"Zone {begin}", missing(source, f"Zone {end}", 0.007), BOROUGHS[begin // 50]]


def taxis(folder, rows=1_000_000):
    zones = list(range(250))
    train, test = pair(folder, "taxis", TAXIS, lambda source: taxis_row(source, zones),
                       (rows, 50000))
    words = ["color", "payment", "pickup_zone", "dropoff_zone", "pickup_borough"]
    return Table("taxis", "fare", train, test, False, words, ["passengers", "distance", "tolls"],
                 says=["pickup as dates, such as", "passengers ", "(\"NA\")", "target fare holds amounts: regression"])


# ---- 200 columns, of which a few matter.

def wide(folder):
    header = [f"n{c}" for c in range(170)] + [f"w{c}" for c in range(30)] + ["kind"]

    def draw(source):
        numbers = [source.gauss(10 * c, 1 + c) for c in range(170)]
        words = [source.choice("abcde") for _ in range(30)]
        scores = [sum((numbers[c] - 10 * c) / (1 + c) * math.sin(c + 40 * k)
                      for c in range(0, 170, 9)) +
                  (1.5 if words[k] == "a" else 0) + source.gauss(0, 1) for k in range(3)]
        kind = ("low", "middle", "high")[scores.index(max(scores))]
        return [missing(source, f"{n:.4g}", 0.02, "null") for n in numbers] + words + [kind]

    train, test = pair(folder, "wide", header, draw, (12000, 4000), Dialect(separator="\t"))
    return Table("wide", "kind", train, test, True, header[170:200], header[:170], separator="\t",
                 says=["target kind holds 3 different words: classification", "\"null\""])


# ---- Sensors that all follow one temperature: columns of which each tells nearly the same.

def sensors(folder):
    header = [f"sensor {c}" for c in range(60)] + ["yield"]

    def draw(source):
        common = source.gauss(300, 25)
        values = [common + source.gauss(0, 6) for _ in range(60)]
        effect = sum((value - common) * math.cos(c) for c, value in enumerate(values))
        result = 40 + 0.3 * common + 0.2 * effect + source.gauss(0, 3)
        return [f"{v:.1f}" for v in values] + [f"{result:.2f}"]

    train, test = pair(folder, "sensors", header, draw, (8000, 4000))
    return Table("sensors", "yield", train, test, False, [], header[:-1],
                 says=["target yield holds amounts: regression"])


# ---- Words with line ends, quotes and separators in them.

REMARKS = {"all fine": (40, 1.5), "late,\nbut whole": (25, 0.2), 'the "large" one': (15, 0),
           "broken;\r\nsent back": (15, -2.5), "größer als gedacht": (5, -0.5)}


def quoted(folder):
    header = ["remark", "weight, kg", "days", "verdict"]

    def draw(source):
        remark, effect = one_of(source, REMARKS)
        weight, days = round(source.lognormvariate(1, 0.5), 2), source.randint(1, 20)
        good = chance(source, effect - 0.15 * (days - 8) - 0.2 * (weight - 3))
        return [missing(source, remark, 0.03, "N/A"), weight, days, "good, yes" if good else "no"]

    train, test = pair(folder, "quoted", header, draw, (4000, 4000), Dialect(ending="\r\n"))
    return Table("quoted", "verdict", train, test, True, ["remark"], ["weight, kg", "days"],
                 says=["target verdict holds 2 different words: classification", "\"N/A\""])


# ---- A test file with words that no training row has, and its columns in another order.

RENT = {"Aachen": 90, "Bonn": 20, "Celle": -110, "Dessau": -60, "Emden": 40, "Fulda": -30,
        "Gera": -90, "Hamburg": 150}


def unseen(folder):
    header = ["city", "rooms", "area", "rent"]

    def draw(source, strangers):
        city = "Ilmenau" if source.random() < strangers else source.choice(list(RENT))
        rooms = source.randint(1, 6)
        area = round(rooms * source.gauss(22, 4), 1)
        rent = 200 + 8.5 * area + RENT.get(city, 0) + source.gauss(0, 90)
        return [city, rooms, area, round(rent)]

    source = random.Random("unseen")
    train, test = Path(folder) / "unseen-train.csv", Path(folder) / "unseen-test.csv"
    write(train, header, (draw(source, 0) for _ in range(6000)))
    write(test, header[::-1], (draw(source, 0.03)[::-1] for _ in range(4000)))
    return Table("unseen", "rent", train, test, False, ["city"], ["rooms", "area"],
                 says=["target rent holds amounts: regression"])


# ---- Four sites, one of which lacks a class, one a number, one a word.

def sites(folder):
    header = ["dose", "ward", "lactate", "outcome"]

    def draw(source, site):
        while True:
            dose, lactate = source.gauss(5 + site, 2), source.lognormvariate(0.5, 0.5)
            ward = source.choice(["A", "B", "C"] if site != 2 else ["A", "B"])
            score = 0.8 * (dose - 6) + 0.7 * (lactate - 2) + source.gauss(0, 1) + (ward == "B")
            outcome = "worse" if score > 1.5 else "same" if score > -0.5 else "better"
            if site != 3 or outcome != "worse":
                return [f"{dose:.3f}", ward, "" if site == 1 else f"{lactate:.3f}", outcome]

    source = random.Random("sites")
    files, everything, held_out = [], [], []
    for site in range(4):
        rows = [draw(source, site) for _ in range(3000)]
        files.append(Path(folder) / f"site-{site}.csv")
        write(files[-1], header, rows)
        everything += rows
        held_out += [draw(source, site) for _ in range(1000)]
    train, test = Path(folder) / "sites-train.csv", Path(folder) / "sites-test.csv"
    write(train, header, everything)
    write(test, header, held_out)
    return Table("sites", "outcome", train, test, True, ["ward"], ["dose", "lactate"], sites=files)


MAKERS = {maker.__name__: maker for maker in
          (adult, titanic, optdigits, wine, diamonds, taxis, wide, sensors, quoted, unseen, sites)}
