"""The reference problem of docs/algorithms.md, written down directly: where it is least."""
from fleet import WRECK

MASK = 2**64 - 1


def uniform(seed, k):
    """U(s, k) of the reference problem (docs/algorithms.md)."""
    x = ((seed << 32 | k) + 0x9E3779B97F4A7C15) & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return ((x ^ x >> 31) >> 11) * 2.0**-53 * 2 - 1


def add_normal_equations(sums, i):
    """A_i^T A_i and, as the last column, A_i^T b_i."""
    d, m, seed = WRECK["d"], WRECK["m"], WRECK["seed"]
    x = [uniform(seed + 900, c) + WRECK["h"] * uniform(seed + 500 + i, c) for c in range(d)]
    for r in range(m):
        row = [uniform(seed + i, r * d + c) for c in range(d)]
        row.append(sum(a * b for a, b in zip(row, x)) +
                   WRECK["noise"] * uniform(seed + 700 + i, r))
        for c in range(d):
            for k in range(d + 1):
                sums[c][k] += row[c] * row[k]


def optimum(indices):
    """Where the mean of what these nodes minimise is least, by Gauss and Jordan."""
    d = WRECK["d"]
    sums = [[0.0] * (d + 1) for _ in range(d)]
    for i in indices:
        add_normal_equations(sums, i)
    for c in range(d):
        for r in range(d):
            if r == c:
                continue
            factor = sums[r][c] / sums[c][c]  # positive definite: no pivot is nothing
            sums[r] = [a - factor * b for a, b in zip(sums[r], sums[c])]
    return [sums[c][d] / sums[c][c] for c in range(d)]
