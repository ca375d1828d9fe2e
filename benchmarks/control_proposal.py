"""The size of a control sample, and its estimated cost, from the expected number of includes.

Curve of the estimated cost: Hanley, J. A. (1988), The robustness of the "binormal" assumptions used in fitting ROC
curves, Medical Decision Making 8, 197-203.
"""

import random
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt
from statistics import NormalDist, fmean

from .control_sample import CONTROL, fewest_missing, most_behind

SHARES = tuple(percent / 100 for percent in range(2, 100, 3))  # sample sizes that a proposal compares
AREA = 0.9  # under the curve of the reading order, assumed for the cost
DRAWS = 10  # of a sample, for the cost
GUESSES = (0.5, 1, 2)  # times the expected number of includes
_missing, _behind = cache(fewest_missing), cache(most_behind)  # a proposal repeats the same questions
NEAR = (0.8, 1, 1.25)  # the same, for the choice of the size: a number of includes is never known exactly


@dataclass(frozen=True)
class ControlProposal:
    """A proposed size of a control sample, with its estimated cost."""

    size: int  # records
    costs: dict[int, float]  # guess of the number of includes -> share of the records that people read


def propose(
    records: int, includes: int, recall: float = 0.95, confidence: float = 0.95, area: float = AREA
) -> ControlProposal | None:
    """Return the sample size that is cheapest near the expected number of includes, with its cost under `GUESSES`.

    Return None if no size saves reading. A wrong number costs reading, but the promise holds. `area`: the area under
    the curve of the reading order.
    """

    def costs(size: int, times: tuple[float, ...]) -> dict[int, float]:
        guesses = sorted({min(records, max(1, round(guess * includes))) for guess in times})
        doubt = (1 - confidence) * CONTROL
        return {guess: expected_cost(records, size, guess, recall, doubt, area) for guess in guesses}

    sizes = sorted({ceil(share * records) for share in SHARES})
    size = min(sizes, key=lambda size: fmean(costs(size, NEAR).values()))
    proposal = ControlProposal(size, costs(size, GUESSES))
    return proposal if min(proposal.costs.values()) < 1 else None


def expected_cost(records: int, size: int, includes: int, recall: float, doubt: float, area: float) -> float:
    """Return the mean share of records that people read, over `DRAWS` seeded draws and a binormal order."""
    return fmean(_share_read(records, size, includes, recall, doubt, area, seed) for seed in range(DRAWS))


def _share_read(records: int, size: int, includes: int, recall: float, doubt: float, area: float, seed: int) -> float:
    draw = random.Random(seed)  # noqa: S311 - an estimate
    inside = [0]  # of the last includes of the order: how many are in the sample
    for after in range(includes):
        inside.append(inside[-1] + (draw.random() * (records - after) < size - inside[-1]))
    for unreached in range(includes, -1, -1):
        behind = inside[unreached]
        missing = _missing(includes - (unreached - behind), recall)
        if behind <= _behind(size, records, missing, doubt):
            place = _place((includes - unreached) / (includes + 1), includes / records, area)
            return size / records + (1 - size / records) * place
    return 1.0


def _place(reached: float, prevalence: float, area: float) -> float:
    """Return the share of records before the place at which a binormal order has reached this share of includes."""
    if not reached:
        return 0.0
    normal = NormalDist()
    wrong = normal.cdf(normal.inv_cdf(reached) - sqrt(2) * normal.inv_cdf(area))
    return prevalence * reached + (1 - prevalence) * wrong
