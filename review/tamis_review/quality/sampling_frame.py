"""A random sample of the records that nobody has read yet, and how many includes it leaves possible there.

A *frame* puts the N unread records into a random order; people read its beginning, strictly in this order. The order is
the only chance in it: which records are includes is fixed, though unknown. So what people read beside the sample, in
which order and why, and when they look at the bound, changes nothing about it.

Were K of the N records includes, each of them would lie on each place with the same probability. The hypothesis "K or
more" is given up after n records with k includes among them where n reaches c(k), the smallest number with

    C(c(k-1), k) * C(N - n, K - k) / C(N, K) <= doubt / ((k + 1) (k + 2)),     c(-1) = 0

and n >= k (N + 1) / (K + 1), the place where the k-th include is expected. The left side is the probability that k
includes lie among the first c(k-1) records and none between them and n, which is what happens where the hypothesis
was not given up before and is now. Over all k these probabilities sum to at most `doubt`: the bound may be looked at
after every record, and the price of that is paid by the sum over k alone, for with k includes found there is one moment
only at which it could be given up. From that place on the left side falls as K grows (the quotient of the terms of
K + 1 and K is (N - n - K + k) (K + 1) / ((N - K) (K + 1 - k)), at most 1 there), and so, by induction over k, does
c(k): what is given up for K is given up for K + 1, and the largest K that is left is a bound.

The parts are 1/2, 1/6, 1/12, ..., together 1. Parts that halve each time need 2 % less of the rest after one find, as
much after four and far more after ten, as large reviews have them.

A second frame, opened later among what is unread then, is a second attempt: it gets a smaller part of the doubt, so
that all of them together are wrong in at most the part that was asked for.

Beside it: the ratio of prior and posterior (Waudby-Smith, I., Ramdas, A. (2020), Confidence sequences for sampling
without replacement, NeurIPS 33, arXiv:2006.04347), with half of the prior at none, holds after every record as well. It
costs about as much as long as nothing is found, and more after a find: of 5,000 unread records, with 100 includes found
and a recall of 0.95 wanted, 69 % rather than 62 % after the first one.

Source: the exact hypergeometric test (Buonaccorsi, J. P. (1987), The American Statistician 41, 215-218) at the moments
of a spending function (Lan, K. K. G., DeMets, D. L. (1983), Discrete sequential boundaries for clinical trials,
Biometrika 70, 659-663), which is one of the includes found, not of time.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import log

from .exact import largest, log_comb

# How the doubt is divided among samples and finds, for a methods section.
SPENDING = (
    "Of the doubt that is allowed, the first sampling frame may spend a half, the second a sixth, frame number j the "
    "part 1 / (j (j + 1)); and of that a sample without an include a half, one with an include a sixth, one with k "
    "includes the part 1 / ((k + 1) (k + 2)): all parts together are the whole."
)
ROUNDING = 1e-9  # of logarithms of factorials, on the safe side


@dataclass(frozen=True)
class SamplingFrame:
    """A random order of the records that were unread when it was opened, as far as people have read it."""

    population: int  # records in it
    sample: tuple[bool, ...]  # what people decided on its first records, in its order and without a gap
    found_outside: int  # includes by people among the records that are not in it
    unread_outside: int = 0  # records not in it that nobody has decided: each of them may be an include

    def __post_init__(self) -> None:
        if not 0 <= len(self.sample) <= self.population:
            raise ValueError(f"{len(self.sample)!r} records of a frame of {self.population!r} are no sample")
        if self.found_outside < 0 or self.unread_outside < 0:
            raise ValueError("a number of records is never negative")

    @property
    def read(self) -> int:
        """How many of its first records people have decided."""
        return len(self.sample)

    @property
    def found(self) -> int:
        """How many of those are includes."""
        return sum(self.sample)

    def most(self, doubt: float) -> int:
        """The largest number of includes in the frame that its sample leaves possible.

        It is too small in at most the share `doubt` of all orders, however often people look at it while they read.
        """
        ends, most = self._ends(), self.population - (self.read - self.found)
        return largest(self.found, most, lambda kind: not _given_up(ends, self.population, kind, doubt))

    def needed(self, most: int, doubt: float, further: int = 0) -> int:
        """How many records its sample must have in all so that at most `most` includes are possible in the frame.

        Args:
            most: includes in the frame, those of the sample counted.
            doubt: as above.
            further: includes that the records to come hold.

        Where `most` is less than what is found and to come, no sample is enough; the answer is more than the frame has.
        """
        finds = self.found + further
        if most >= self.population:
            return self.read
        if most < finds:
            return self.population + 1
        if _given_up(self._ends(), self.population, most + 1, doubt):
            return self.read
        return max(self.read, next(islice(_boundaries(self.population, most + 1, doubt), finds, None)))

    def includes(self, doubt: float) -> int:
        """The largest number of includes among all records, in the frame and outside."""
        return self.found_outside + self.unread_outside + self.most(doubt)

    def _ends(self) -> tuple[int, ...]:
        """Up to where the sample had no find, one find, ...: the last is where it stands."""
        return (*(place for place, include in enumerate(self.sample) if include), self.read)


def frame_doubt(doubt: float, number: int) -> float:
    """The part of the doubt that the frame of this number may spend, counted from 1 in the order of opening."""
    return doubt / (number * (number + 1))


def _given_up(ends: tuple[int, ...], population: int, kind: int, doubt: float) -> bool:
    """Return whether the hypothesis of `kind` or more was given up at any moment of the sample so far."""
    return any(end >= place for end, place in zip(ends, _boundaries(population, kind, doubt), strict=False))


def _boundaries(population: int, kind: int, doubt: float) -> Iterator[int]:
    """The number of records from which on `kind` or more is given up: without a find, with one, with two, ..."""
    all_ways = log_comb(population, kind)
    place = 0
    for finds in range(kind):
        if finds <= place:  # else so many finds cannot come before the hypothesis is given up
            part = log(doubt) - log((finds + 1) * (finds + 2)) - ROUNDING
            place = _first_unlikely(
                max(place, -(-finds * (population + 1) // (kind + 1))),
                population,
                kind - finds,
                part + all_ways - log_comb(place, finds),
            )
        yield place


def _first_unlikely(low: int, population: int, hidden: int, limit: float) -> int:
    """The smallest n from `low` on with log C(population - n, hidden) <= limit."""
    room = range(low, population - hidden + 1)  # what is left after them has no room for the hidden
    return low + bisect_left(room, True, key=lambda n: log_comb(population - n, hidden) <= limit)
