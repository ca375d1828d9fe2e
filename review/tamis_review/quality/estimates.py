"""Estimates of what is left to find, which promise nothing: whether a recall is reached, what the next records bring.

**Whether a recall is reached**: the sequential hypergeometric test of Callaghan and Muller-Hansen. Every run of records
that were read last is looked at as if chance had drawn it from itself and the unread rest. But people read in an order
that finds includes first: where it stops to find them (a topic that the order does not know, a second database that was
appended) the unread rest is richer than what was read last, and the test stops too early. Nor does its level account
for the many runs that it looks at.

The hypothesis is that the recall is not reached: then there are at least floor(r / recall + 1) includes, r of them
found. Of each run of the last s records with x includes, p is the probability that it holds x or fewer,

    P(X <= x; N - (n - s), k, s),    k = floor(r / recall + 1 - (r - x)),    n of N records read

and the test's p is the smallest. For a given x it falls as s grows, because one more record without an include joins
both the run and the population, and the rest stays as it is; so only the longest run of each x is computed, and a
sequence costs as much as it has includes.

**How many includes the next records would bring**: from probabilities of the unread records it is their sum over the
best of them, with the quantiles of its distribution (Poisson-binomial; exact, by adding one record after the other).
Without probabilities it is the yield of the records read last, with Wilson's interval.

Source: Callaghan, M. W., Müller-Hansen, F. (2020), Statistical stopping criteria for automated screening in systematic
reviews, Systematic Reviews 9:273. Equal to its authors' package buscarpy 0.0.2 (calculate_h0), which has no number
where more includes are missing than records unread; here it is 0. Hong, Y. (2013), On computing the distribution
function for the Poisson binomial distribution, Computational Statistics and Data Analysis 59, 41-51.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import reduce
from heapq import nlargest
from itertools import accumulate
from math import floor

from tamis_schemas import ExpectedIncludes, wilson

from .exact import convolved, probability_up_to

NEXT = 100  # records
RECENT = 100  # records read last
LEVEL = 0.95


class EstimateBasis(StrEnum):
    """What an expectation was made from."""

    PROBABILITIES = "probabilities"
    RECENT_YIELD = "recent yield"


def missed_recall_p(decisions: Sequence[bool], total: int, recall: float = 0.95) -> float:
    """The test's p that the recall is not reached; below 1 - confidence the estimator says that reading may stop.

    Args:
        decisions: True for an include, in the order in which people read.
        total: records of the review, read and unread; copies are none.
        recall: wanted, above 0 and at most 1.

    Raises:
        ValueError: fewer records in all than were read, a recall that is none.
    """
    if total < len(decisions):
        raise ValueError(f"{len(decisions)!r} records read of {total!r}")
    if not 0 < recall <= 1:
        raise ValueError(f"recall: {recall!r} does not lie between 0 and 1")
    found = sum(decisions)
    unread = total - len(decisions)
    if found > 2 * total * recall:  # the hypothesis is of more includes than there are records
        return 0.0
    smallest = 1.0
    for size, includes in _runs(decisions):
        kind = floor(found / recall + 1 - (found - includes))  # as the source computes it
        population = unread + size
        if kind - includes > unread:
            return 0.0  # the rest has no room for so many
        smallest = min(smallest, probability_up_to(includes, size, population, kind, above=smallest))
    return smallest


def _runs(decisions: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The longest run of the last records with none, one, two, ... includes: its records and its includes."""
    finds = [place for place, include in enumerate(decisions) if include]
    for includes, place in enumerate(reversed(finds)):
        if size := len(decisions) - 1 - place:
            yield size, includes
    if decisions:
        yield len(decisions), len(finds)


def expected_from_probabilities(probabilities: Iterable[float], records: int = NEXT) -> ExpectedIncludes:
    """The includes among the `records` unread ones with the highest probabilities; all of them where there are fewer.

    The interval is that of the number, if the probabilities are right; it says nothing about whether they are.
    """
    best = nlargest(records, probabilities)
    if any(not 0 <= one <= 1 for one in best):
        raise ValueError("a probability lies between 0 and 1")
    shares = reduce(convolved, ([1 - probability, probability] for probability in best), [1.0])
    side = (1 - LEVEL) / 2
    return ExpectedIncludes(
        records=len(best),
        expected=sum(best),
        low=_quantile(shares, side),
        high=_quantile(shares, 1 - side),
        basis=EstimateBasis.PROBABILITIES.value,
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
    return ExpectedIncludes(
        records=ahead,
        expected=None if share.estimate is None else ahead * share.estimate,
        low=0 if share.low is None else ahead * share.low,
        high=ahead if share.high is None else ahead * share.high,
        basis=EstimateBasis.RECENT_YIELD.value,
    )


def _quantile(shares: Sequence[float], level: float) -> int:
    """The smallest number up to which this much of the distribution lies."""
    return min(bisect_left(list(accumulate(shares)), level), len(shares) - 1)
