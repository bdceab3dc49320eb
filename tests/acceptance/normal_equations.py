"""The reference problem of docs/algorithms.md, written down directly: where it is least."""
MASK = 2**64 - 1
PROBLEM = {"d": 8, "m": 15, "h": 1.5, "noise": 0.2, "seed": 1000}
KEYS = ["--data.source=reference", *(f"--data.reference.{key}={value}" for key, value in PROBLEM.items())]


def mix64(x):
    x = x + 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def uniform(seed, k):
    """U(s, k) of the reference problem (docs/algorithms.md)."""
    return (mix64(seed << 32 | k) >> 11) * 2.0**-53 * 2 - 1


def add_normal_equations(sums, i):
    """A_i^T A_i and, as the last column, A_i^T b_i."""
    d, m, seed = PROBLEM["d"], PROBLEM["m"], PROBLEM["seed"]
    x = [uniform(seed + 900, c) + PROBLEM["h"] * uniform(seed + 500 + i, c) for c in range(d)]
    for r in range(m):
        row = [uniform(seed + i, r * d + c) for c in range(d)]
        row.append(sum(a * b for a, b in zip(row, x)) +
                   PROBLEM["noise"] * uniform(seed + 700 + i, r))
        for c in range(d):
            for k in range(d + 1):
                sums[c][k] += row[c] * row[k]


def solve(sums):
    """By Gauss and Jordan; the last column is the right side."""
    d = len(sums)
    for c in range(d):
        for r in range(d):
            if r == c:
                continue
            factor = sums[r][c] / sums[c][c]  # positive definite: no pivot is nothing
            sums[r] = [a - factor * b for a, b in zip(sums[r], sums[c])]
    return [sums[c][d] / sums[c][c] for c in range(d)]


def optimum(indices):
    """Where the mean of what these nodes minimise is least."""
    d = PROBLEM["d"]
    sums = [[0.0] * (d + 1) for _ in range(d)]
    for i in indices:
        add_normal_equations(sums, i)
    return solve(sums)
