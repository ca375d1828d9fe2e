"""Estimates without a guarantee: whether a recall is reached, and how many includes the next records contain.

**Whether a recall is reached** (`missed_recall_p`) is tested by the sequential hypergeometric test of Callaghan and
Müller-Hansen. It treats the last s records read as a random draw from these s and all unread records. The hypothesis is
that the recall is not reached. If the last s records contain x includes, p is the probability of x or fewer:

    P(X <= x; N - (n - s), k, s),    k = floor(r / recall + 1 - (r - x)),    n of N records read, r includes found

The test's p is the smallest p over all s. It has no guarantee, because people read likely includes first, and because
the level ignores that many values of s are tested.

**Includes in the next records** are estimated by the yield of the last records read, with Wilson's interval.

Both estimates need the order in which people read. Decisions recorded together, for example from a file, have no such
order.

Source: Callaghan, M. W., Müller-Hansen, F. (2020), Statistical stopping criteria for automated screening in systematic
reviews, Systematic Reviews 9:273.

The test gives the same p as `calculate_h0` of its authors' package, buscarpy 0.0.2. There is one exception: if more
includes are missing than records are unread, p is 0 here, but buscarpy returns no number.
"""

from collections.abc import Iterator, Sequence
from math import floor

from tamis_schemas import ExpectedIncludes, wilson

from .exact import LEVEL, probability_up_to

NEXT = 100  # records
RECENT = 100  # records read last

RECENT_YIELD = "recent yield"


def missed_recall_p(decisions: Sequence[bool], total: int, recall: float = 0.95) -> float:
    """Return the p-value of the hypothesis that the recall is not reached.

    If the p-value is below 1 - confidence, the test allows stopping.

    Args:
        decisions: True for an include, in reading order.
        total: records of the review, read and unread, without duplicates.
        recall: the wanted recall, above 0 and at most 1.

    Raises:
        ValueError: `total` is less than the number of decisions, or the recall is impossible.
    """
    if total < len(decisions):
        raise ValueError(f"{len(decisions)!r} records read of {total!r}")
    if not 0 < recall <= 1:
        raise ValueError(f"recall: {recall!r} is not between 0 and 1")
    included = sum(decisions)
    unread = total - len(decisions)
    if included > 2 * total * recall:  # the hypothesis needs more includes than there are records
        return 0.0
    smallest = 1.0
    for size, includes in _runs(decisions):
        kind = floor(included / recall + 1 - (included - includes))  # as the source computes it
        population = unread + size
        if kind - includes > unread:
            return 0.0  # more includes are missing than records are unread
        smallest = min(smallest, probability_up_to(includes, size, population, kind, above=smallest))
    return smallest


def _runs(decisions: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield (s, x) for x = 0, 1, 2, ...: the largest s for which the last s records contain x includes."""
    # For fixed x, p falls as s grows: one more exclude joins both the last records and the population, and nothing else
    # changes. So only the largest s of each x is needed.
    finds = [place for place, include in enumerate(decisions) if include]
    for includes, place in enumerate(reversed(finds)):
        if size := len(decisions) - 1 - place:
            yield size, includes
    if decisions:
        yield len(decisions), len(finds)


def expected_from_yield(decisions: Sequence[bool], unread: int) -> ExpectedIncludes:
    """Return the number of includes expected in the next `NEXT` records, from the yield of the last `RECENT` decisions.

    In a good order, the share of includes falls, so the estimate tends to be too high. Without decisions there is no
    estimate, and the interval covers all possible numbers.

    Args:
        decisions: people's decisions in reading order; True for an include.
        unread: the number of unread records.
    """
    last = decisions[-RECENT:]
    share = wilson(sum(last), len(last), LEVEL)
    ahead = min(NEXT, unread)
    return ExpectedIncludes(
        records=ahead,
        expected=None if share.estimate is None else ahead * share.estimate,
        low=0 if share.low is None else ahead * share.low,
        high=ahead if share.high is None else ahead * share.high,
        basis=RECENT_YIELD,
    )
