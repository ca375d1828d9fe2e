"""A random sample of the unread records, and the bound that it gives on their includes.

A *frame* puts the N unread records into a random order. People read its beginning, strictly in this order. They may
also read other records, and may look at the bound after every record.

The bound is the largest K for which the hypothesis "K or more of the N records are includes" is not rejected. The
hypothesis is rejected if the first n records contain k includes and n is at least c(k). c(k) is the smallest n with n
>= k (N + 1) / (K + 1) and

    C(c(k-1), k) * C(N - n, K - k) / C(N, K) <= doubt / ((k + 1) (k + 2)),     c(-1) = 0

The doubt is the allowed probability of a wrong bound, at most 1 - confidence. A later frame contains the records that
are then unread, and gets a smaller part of the doubt (`frame_doubt`). All parts together are at most the whole doubt.

Source: the exact hypergeometric test (Buonaccorsi, J. P. (1987), The American Statistician 41, 215-218) at the moments
of a spending function (Lan, K. K. G., DeMets, D. L. (1983), Discrete sequential boundaries for clinical trials,
Biometrika 70, 659-663), here a function of the includes found, not of time.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import log

from .exact import largest, log_comb

# The division of the doubt among samples and the includes found in them, for a methods section.
SPENDING = (
    "The allowed error probability was divided: sampling frame j received the part 1 / (j (j + 1)), that is a half, "
    "a sixth, and so on. Of this, a sample with k includes received the part 1 / ((k + 1) (k + 2)). All parts add up "
    "to 1."
)
ROUNDING = 1e-9  # of logarithms of factorials, on the safe side


@dataclass(frozen=True)
class SamplingFrame:
    """A random order of the records that were unread when the frame was opened, with people's decisions so far."""

    population: int  # records in the frame
    sample: tuple[bool, ...]  # decisions on the frame's first records, in order, without a gap
    found_outside: int  # includes by people outside the frame
    unread_outside: int = 0  # undecided records outside the frame: each may be an include

    def __post_init__(self) -> None:
        if not 0 <= len(self.sample) <= self.population:
            raise ValueError(f"{len(self.sample)!r} records of a frame of {self.population!r} are no sample")
        if self.found_outside < 0 or self.unread_outside < 0:
            raise ValueError("a number of records is never negative")

    @property
    def read(self) -> int:
        """Return how many records of the frame people have decided, from its beginning without a gap."""
        return len(self.sample)

    @property
    def found(self) -> int:
        """Return how many records of the sample are includes."""
        return sum(self.sample)

    def most(self, doubt: float) -> int:
        """Return the largest number of includes that the sample leaves possible in the frame.

        `doubt`: the allowed probability that the result is too small, even if people ask for it after every record.
        """
        ends, most = self._ends(), self.population - (self.read - self.found)
        return largest(self.found, most, lambda kind: not _given_up(ends, self.population, kind, doubt))

    def needed(self, most: int, doubt: float, further: int = 0) -> int:
        """Return how many records of the frame must be read to show that it has at most `most` includes.

        If even the whole frame is not enough, the result exceeds the frame's size.

        Args:
            most: the wanted bound on the frame's includes, found and unfound.
            doubt: the allowed probability that the bound is too small.
            further: the number of includes to expect among the records still to read.
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
        """Return the largest possible number of includes among all records, in the frame and outside.

        `doubt`: the allowed probability that the result is too small.
        """
        return self.found_outside + self.unread_outside + self.most(doubt)

    def _ends(self) -> tuple[int, ...]:
        """Return how many records were read before each include found, followed by the number of all records read."""
        return (*(place for place, include in enumerate(self.sample) if include), self.read)


def frame_doubt(doubt: float, number: int) -> float:
    """Return a frame's part of `doubt`, the allowed probability of a wrong bound.

    `number`: the frame's number in the order of opening, from 1.
    """
    return doubt / (number * (number + 1))


def _given_up(ends: tuple[int, ...], population: int, kind: int, doubt: float) -> bool:
    """Return whether the sample has at any time rejected the hypothesis that `kind` or more records are includes.

    `ends`: how many records were read before each include found, followed by the number of all records read.
    `population`: the number of records in the frame. `doubt`: the allowed probability of a wrong rejection.
    """
    return any(end >= place for end, place in zip(ends, _boundaries(population, kind, doubt), strict=False))


def _boundaries(population: int, kind: int, doubt: float) -> Iterator[int]:
    """Yield sample sizes that reject the hypothesis that `kind` or more of the `population` records are includes.

    The first size is valid for a sample without includes, the next for a sample with one include, and so on. Each size
    is a c(k) in the formula of the module. `doubt`: the allowed probability of a wrong rejection.
    """
    # The left side of the formula is the probability that k includes lie among the first c(k-1) records and none after
    # these up to n: the hypothesis is rejected now, not before. These probabilities sum to at most the doubt over all
    # k, so people may look after every record. From c(k) on the left side falls as K grows (the quotient of the terms
    # of K + 1 and K is (N - n - K + k) (K + 1) / ((N - K) (K + 1 - k)), at most 1 there). By induction over k, c(k)
    # falls too. So rejecting K rejects K + 1, and the largest remaining K is a bound. The parts 1 / ((k + 1) (k + 2))
    # are 1/2, 1/6, 1/12, ..., together 1. With the parts 1/2, 1/4, 1/8, ... people would read 2 % fewer records after
    # one find, as many after four, and far more after ten, as in large reviews. The prior-posterior ratio with half of
    # the prior at 0 also holds after every record (Waudby-Smith, I., Ramdas, A. (2020), Confidence sequences for
    # sampling without replacement, NeurIPS 33, arXiv:2006.04347). With 5,000 unread records, 100 includes found and a
    # recall of 0.95, it needs 69 % of the records after the first find, this method 62 %.
    all_ways = log_comb(population, kind)
    place = 0
    for finds in range(kind):
        if finds <= place:  # else so many finds cannot come before the rejection
            part = log(doubt) - log((finds + 1) * (finds + 2)) - ROUNDING
            place = _first_unlikely(
                max(place, -(-finds * (population + 1) // (kind + 1))),
                population,
                kind - finds,
                part + all_ways - log_comb(place, finds),
            )
        yield place


def _first_unlikely(low: int, population: int, hidden: int, limit: float) -> int:
    """Return the smallest n, at least `low`, with log C(population - n, hidden) <= limit (binomial coefficient)."""
    room = range(low, population - hidden + 1)  # beyond it the rest has no room for the hidden records
    return low + bisect_left(room, True, key=lambda n: log_comb(population - n, hidden) <= limit)
