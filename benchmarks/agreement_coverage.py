"""How often the intervals of kappa and AC1 contain the true value, for different sizes, prevalences and agreements.

The interval of the large-sample variance (Fleiss, Cohen, Everitt 1969; Gwet 2008) is shown for comparison. A table with
only one category has no kappa, so it does not count for kappa.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

from tamis_review.quality.agreement import Table, deviance_limit, likelihood_at_ac1, likelihood_at_kappa

LEVEL, Z = 0.95, 1.959963984540054
SIZES = (20, 30, 50, 100, 199)
PREVALENCES = (0.03, 0.1, 0.3, 0.5)  # of yes, by both raters
DISAGREEMENTS = (1.0, 2.8, 6.0, 0.25)  # expected among n; below 1 a share of n
SEED = 1


@dataclass(frozen=True)
class Coverage:
    """The shares of samples whose interval contains the true value."""

    prevalence: float
    value: float
    profile: float
    large_sample: float


def coverages(name: str, n: int, samples: int, *, seed: int = SEED) -> Iterator[Coverage]:
    """Yield the coverage for each true value, in samples of `n` records. `name`: kappa or ac1."""
    draw = random.Random(f"{name} {n} {seed}")  # noqa: S311 - a simulation
    for prevalence in PREVALENCES:
        for disagreement in DISAGREEMENTS:
            apart = disagreement / n if disagreement >= 1 else disagreement
            if apart / 2 > min(prevalence, 1 - prevalence):
                continue
            shares = (prevalence - apart / 2, apart / 2, apart / 2, 1 - prevalence - apart / 2)
            truth = _figure(name, shares)[0]
            drawn = Counter(_table(draw, n, shares) for _ in range(samples))
            if name == "kappa":
                drawn = Counter(
                    {table: count for table, count in drawn.items() if n not in (table.both, table.neither)}
                )
            total = sum(drawn.values())
            if total < samples / 4:  # hardly ever a kappa
                continue
            yield Coverage(
                prevalence,
                truth,
                sum(count for table, count in drawn.items() if _holds(name, table, truth)) / total,
                sum(count for table, count in drawn.items() if _held_before(name, table, truth)) / total,
            )


def _table(draw: random.Random, n: int, shares: tuple[float, ...]) -> Table:
    counts = Counter(draw.choices(range(4), shares, k=n))
    return Table(*(counts[cell] for cell in range(4)))


def _holds(name: str, table: Table, truth: float) -> bool:
    likelihood_at = likelihood_at_kappa if name == "kappa" else likelihood_at_ac1
    deviance = 2 * (table.likelihood - likelihood_at(table, truth))
    return deviance <= deviance_limit(table, LEVEL)


def _held_before(name: str, table: Table, truth: float) -> bool:
    n = table.both + table.neither + table.disagreed
    shares = tuple(count / n for count in (table.both, table.first, table.second, table.neither))
    value, variance = _figure(name, shares)
    return abs(value - truth) <= Z * sqrt(max(0.0, variance) / n) + 1e-12


def _figure(name: str, shares: tuple[float, ...]) -> tuple[float, float]:
    """Return kappa or AC1, and n times its large-sample variance."""
    both, first, second, neither = shares
    p, q = both + first, both + second
    mean, agreed = (p + q) / 2, both + neither
    if name == "kappa":
        chance = p * q + (1 - p) * (1 - q)
        slopes = (p + q, (1 - p) + q, p + (1 - q), 2 - p - q)  # of chance, by each cell
    else:
        chance = 2 * mean * (1 - mean)
        slopes = (1 - 2 * mean, 0.0, 0.0, 2 * mean - 1)
    value = (agreed - chance) / (1 - chance)
    weights = [((at in (0, 3)) - (1 - value) * slope) / (1 - chance) for at, slope in enumerate(slopes)]
    middle = sum(share * weight for share, weight in zip(shares, weights, strict=True))
    return value, sum(share * (weight - middle) ** 2 for share, weight in zip(shares, weights, strict=True))


def table(samples: int) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield "| figure | n | truths | worst coverage | where (prevalence, value) | mean | worst of the large sample |"
    yield "|---|---:|---:|---:|---|---:|---:|"
    for name in ("kappa", "ac1"):
        for n in SIZES:
            found = list(coverages(name, n, samples))
            worst = min(found, key=lambda one: one.profile)
            mean = sum(one.profile for one in found) / len(found)
            before = min(one.large_sample for one in found)
            where = f"{worst.prevalence:.2f}, {worst.value:.2f}"
            yield (f"| {name} | {n} | {len(found)} | {worst.profile:.1%} | {where} | {mean:.1%} | {before:.1%} |")
