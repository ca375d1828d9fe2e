"""How many includes the next records would bring: an expectation, no promise.

From probabilities of the unread records it is their sum over the best of them, with the quantiles of its distribution
(Poisson-binomial; exact, by adding one record after the other). Without probabilities it is the yield of the records
read last, with Wilson's interval.

Source: Hong, Y. (2013), On computing the distribution function for the Poisson binomial distribution, Computational
Statistics and Data Analysis 59, 41-51.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from heapq import nlargest

from tamis_schemas import ExpectedIncludes, wilson

NEXT = 100  # records
RECENT = 100  # records read last
LEVEL = 0.95


class Basis(StrEnum):
    """What an expectation was made from."""

    PROBABILITIES = "probabilities"
    RECENT_YIELD = "recent yield"


def expected_from_probabilities(probabilities: Iterable[float], records: int = NEXT) -> ExpectedIncludes:
    """The includes among the `records` unread ones with the highest probabilities; all of them where there are fewer.

    The interval is that of the number, if the probabilities are right; it says nothing about whether they are.
    """
    best = nlargest(records, probabilities)
    if any(not 0 <= one <= 1 for one in best):
        raise ValueError("a probability lies between 0 and 1")
    shares = [1.0]
    for one in best:
        without = [share * (1 - one) for share in shares] + [0.0]
        for found, share in enumerate(shares):
            without[found + 1] += share * one
        shares = without
    side = (1 - LEVEL) / 2
    return ExpectedIncludes(
        records=len(best),
        expected=sum(best),
        low=_quantile(shares, side),
        high=_quantile(shares, 1 - side),
        basis=Basis.PROBABILITIES.value,
    )


def expected_from_yield(decisions: Sequence[bool], unread: int, records: int = NEXT) -> ExpectedIncludes:
    """The includes among the next records, if they yield as the last `RECENT` of these decisions did.

    Args:
        decisions: what people decided, in the order in which they read; True for an include.
        unread: records that are left; no more than these are expected to be read.
        records: to be read.

    Without decisions nothing is known: from none to all. Where the order is any good the yield falls, so this is
    rather too much than too little.
    """
    last = decisions[-RECENT:]
    share = wilson(sum(last), len(last), LEVEL)
    ahead = min(records, unread)
    if share.estimate is None or share.low is None or share.high is None:
        return ExpectedIncludes(records=ahead, expected=None, low=0, high=ahead, basis=Basis.RECENT_YIELD.value)
    return ExpectedIncludes(
        records=ahead,
        expected=ahead * share.estimate,
        low=ahead * share.low,
        high=ahead * share.high,
        basis=Basis.RECENT_YIELD.value,
    )


def _quantile(shares: Sequence[float], level: float) -> int:
    """The smallest number up to which this much of the distribution lies."""
    below = 0.0
    for found, share in enumerate(shares):
        below += share
        if below >= level:
            return found
    return len(shares) - 1
