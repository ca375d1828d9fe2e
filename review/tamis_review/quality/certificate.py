"""The certificate: a bound on the share of all includes that people have found, from random samples of unread records.

    recall >= F / T

F is the number of includes found. T is the largest number of includes that the samples leave possible. The bound is
wrong in at most the share 1 - confidence of reviews, in any reading order and however often it is computed. Each sample
bounds T (`sampling_frame`), and the smallest bound counts.

If two people read some records, T also counts includes that readers overlook. Then the allowed doubt, 1 - confidence,
is divided: eight tenths for the samples, a tenth for the miss rate, a tenth for the number of overlooked includes.
Otherwise, T counts only the includes that the readers would recognise.

Source of the division: Bonferroni's inequality. Two readers as two samples of a closed population: Kastner, M., Straus,
S. E., McKibbon, K. A., Goldsmith, C. H. (2009), The capture-mark-recapture technique can be used as a stopping rule
when searching in systematic reviews, Journal of Clinical Epidemiology 62, 149-157.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import floor

from tamis_schemas import InvalidParameters, StopPrice, StopVerdict
from tamis_schemas.values.frozen import Frozen

from .exact import beta_below, largest, upper_bound
from .sampling_frame import SamplingFrame, frame_doubt

SAMPLES, MISS_RATE, HIDDEN = 0.8, 0.1, 0.1  # shares of the doubt, if a miss rate is measured
FURTHER = 4  # prices for none, one, two and three further includes
RECALLS = (0.8, 0.9, 0.95, 0.98, 1.0)
CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
MOST_INCLUDES = 10_000_000  # end of the search for the number of true includes


@dataclass(frozen=True)
class DoubleRead:
    """The records that two people decided independently, before any conflict was settled."""

    includes: int  # final includes that at least one reader included; if `one_sided`, that the first reader included
    missed_by_one: int  # of these, included by one reader only
    one_sided: bool = False  # the second reader's records were chosen by the first one's decisions

    def __post_init__(self) -> None:
        if not 0 <= self.missed_by_one <= self.includes:
            raise ValueError(f"{self.missed_by_one!r} of {self.includes!r} includes cannot have been missed by one")

    def miss_rate(self, level: float, readers: int = 1) -> float:
        """Return an upper bound on the probability that all of `readers` independent readers overlook an include.

        The bound is right with at least the probability `level`. The bound is 1 if no include was read by two people.
        If `one_sided`, `readers` is ignored, and the bound is for the second reader alone.
        """
        # Theta is the share of includes seen by only one reader, among the includes seen by at least one. If each
        # reader overlooks an include with the probability mu, theta = 2 mu (1 - mu) / (1 - mu^2) = 2 mu / (1 + mu), so
        # mu = theta / (2 - theta). If the readers' mu_A and mu_B differ, mu is at least their mean, and mu^2 is at
        # least mu_A mu_B, because for fixed theta this product is largest at mu_A = mu_B. An include that is hard to
        # see violates the independence: both readers overlook it more often than with the probability mu_A mu_B.
        theta = upper_bound(self.missed_by_one, self.includes, level)
        return theta if self.one_sided else float((theta / (2 - theta)) ** readers)


def may_have_been(total: int, seen: int, miss_rate: float, doubt: float) -> bool:
    """Return whether readers with this miss rate may have seen only `seen` of `total` includes.

    This is possible if the binomial probability P(Bin(total, 1 - miss_rate) <= seen) exceeds `doubt`, or if the miss
    rate is 1.
    """
    return total <= seen or miss_rate >= 1 or beta_below(miss_rate, total - seen, seen + 1) > doubt


def most_true_includes(seen: int, miss_rate: float, doubt: float) -> int | None:
    """Return the largest possible number of true includes, or None if there is no limit.

    Args:
        seen: includes that the readers see, or would see if they read everything.
        miss_rate: the probability that a reader overlooks an include.
        doubt: the probability that the result is too small.
    """
    too_many = 2 * seen + 1
    while may_have_been(too_many, seen, miss_rate, doubt):
        if too_many > MOST_INCLUDES:
            return None
        too_many = 2 * too_many
    return largest(seen, too_many - 1, lambda total: may_have_been(total, seen, miss_rate, doubt))


@dataclass(frozen=True)
class Reading:
    """The reading progress of a review."""

    found: int  # records that people included, inside and outside the samples
    unread: int  # undecided records, without duplicates
    frames: tuple[SamplingFrame, ...] = ()  # in the order of opening; the last is open
    double_read: DoubleRead | None = None  # None: no record was read by two people, or they are not counted
    readers: int = 1  # independent readers per record; 2 only if all records were read in pairs

    def __post_init__(self) -> None:
        if self.found < 0 or self.unread < 0:
            raise ValueError("a number of records is never negative")
        if self.readers < 1:
            raise ValueError(f"{self.readers!r} readers read nothing")

    def with_new_frame(self) -> "Reading":
        """Return this reading with one more sampling frame, which contains all unread records.

        From the result, `price_list` computes how many records of a new sample people must read.
        """
        return replace(self, frames=(*self.frames, SamplingFrame(self.unread, (), self.found)))


class Certificate(Frozen):
    """The recall that is guaranteed for a review so far, and how much reading the wanted recall still needs."""

    verdict: StopVerdict
    reason: str | None  # completes "cannot be promised, because ..."
    recall: float  # the wanted recall
    confidence: float
    found: int  # records that people included
    unread: int
    missed: int  # the most includes that readers could still find among the unread records
    includes: int | None  # the most includes in all, even overlooked ones; None: no limit
    promised: float  # the recall reached now, with this confidence
    miss_rate: float | None  # upper bound, for the number of readers per record; None: not measured
    needed: tuple[int, ...]  # records to read if they hold 0, 1, 2 or 3 includes; empty unless "not yet"


def certify(reading: Reading, recall: float = 0.95, confidence: float = 0.95) -> Certificate:
    """Return whether people may stop reading with this recall and confidence, and the figures behind the answer.

    Raises:
        InvalidParameters: not 0 < recall <= 1, or not 0 < confidence < 1.
    """
    promise = _Promise(reading, recall, confidence)
    most_true = promise.most_true
    reason = None if promise.kept else promise.refusal()
    verdict = StopVerdict.ENOUGH if promise.kept else StopVerdict.IMPOSSIBLE if reason else StopVerdict.NOT_YET
    prices = FURTHER if verdict is StopVerdict.NOT_YET else 0
    return Certificate(
        verdict=verdict,
        reason=reason,
        recall=recall,
        confidence=confidence,
        found=reading.found,
        unread=reading.unread,
        missed=promise.most_seen - reading.found,
        includes=most_true,
        promised=0.0 if most_true is None else reading.found / most_true if most_true else 1.0,
        miss_rate=promise.miss_rate,
        needed=tuple(promise.needed(further) for further in range(prices)),
    )


def price_list(reading: Reading, expected: float | None = None) -> tuple[StopPrice, ...]:
    """Return how many more records of the sample people must read, for each of `RECALLS` at each of `CONFIDENCES`.

    If no sample is open, the prices are for a new sample. `expected`: the number of includes expected among the unread
    records.
    """
    promises = (_Promise(reading, recall, confidence) for recall, confidence in product(RECALLS, CONFIDENCES))
    return tuple(_price(promise, expected) for promise in promises)


def records_needed(reading: Reading, recall: float = 0.95, confidence: float = 0.95, further: int = 0) -> int:
    """Return the number of further records that people must read from the sample for this recall and confidence.

    The number is 0 if people may stop now. If no sample is open, the number is for a new sample. `further`: the number
    of includes among these records. Raises the errors of `certify`.
    """
    return _Promise(reading, recall, confidence).needed(further)


@dataclass(frozen=True)
class _Promise:
    """The reading progress of a review, with the wanted recall and confidence."""

    reading: Reading
    recall: float
    confidence: float

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise InvalidParameters(f"recall: {self.recall!r} is not between 0 and 1")
        if not 0 < self.confidence < 1:
            raise InvalidParameters(f"confidence: {self.confidence!r} is not between 0 and 1")

    @property
    def doubt(self) -> float:
        return 1 - self.confidence

    @property
    def sample_doubt(self) -> float:
        return self.doubt * (1 if self.reading.double_read is None else SAMPLES)

    @property
    def miss_rate(self) -> float | None:
        measured = self.reading.double_read
        return None if measured is None else measured.miss_rate(1 - self.doubt * MISS_RATE, self.reading.readers)

    @cached_property
    def most_seen(self) -> int:
        """Return the largest number of includes that readers could find if they read everything."""
        bounds = [
            frame.includes(frame_doubt(self.sample_doubt, number))
            for number, frame in enumerate(self.reading.frames, start=1)
        ]
        return max(self.reading.found, min([self.reading.found + self.reading.unread, *bounds]))

    @cached_property
    def most_true(self) -> int | None:
        """Return the largest possible number of true includes, or None if there is no limit."""
        if self.miss_rate is None:
            return self.most_seen
        return most_true_includes(self.most_seen, self.miss_rate, self.doubt * HIDDEN)

    @property
    def kept(self) -> bool:
        return self.keeps(self.reading.found, self.most_seen)

    def keeps(self, found_includes: int, seen: int) -> bool:
        """Return whether `found_includes` reach the recall, if the readers would see `seen` includes in all."""
        includes = floor(found_includes / Fraction(str(self.recall)))  # more includes would break the promise
        if self.miss_rate is None:
            return seen <= includes
        return seen <= includes and not may_have_been(includes + 1, seen, self.miss_rate, self.doubt * HIDDEN)

    def needed(self, further: int) -> int:
        if self.kept:
            return 0
        reading = self.reading if self.reading.frames else self.reading.with_new_frame()
        at_hand = reading.found + further
        if not self.keeps(at_hand, at_hand):
            return reading.unread
        allowed = largest(at_hand, at_hand + reading.unread, lambda seen: self.keeps(at_hand, seen))
        frame = reading.frames[-1]
        most = allowed - frame.found_outside - frame.unread_outside
        if most < frame.found + further:
            return reading.unread
        whole = frame.needed(most, frame_doubt(self.sample_doubt, len(reading.frames)), further)
        return min(reading.unread, max(whole - frame.read, further))

    def refusal(self) -> str | None:
        """Return why the recall is out of reach even if people read every record. Return None if it can be reached."""
        reading = self.reading
        measured = reading.double_read
        if measured is None or self.keeps(self.most_seen, self.most_seen):
            return None
        people = "each of the two readers" if reading.readers > 1 else "a reader"
        return (
            f"people overlook includes: of {measured.includes:,} includes that two people read, "
            f"{measured.missed_by_one:,} were missed by one of them, so {people} may overlook up to "
            f"{measured.miss_rate(1 - self.doubt * MISS_RATE):.1%}. Then a recall of {self.recall:g} cannot be reached "
            "even if every record is read. Let two people read every record, or more records, for a more precise miss "
            "rate. Or ask for less"
        )


def _price(promise: _Promise, expected: float | None) -> StopPrice:
    reading = promise.reading
    words = {"recall": promise.recall, "confidence": promise.confidence}
    if promise.refusal():
        return StopPrice(**words, none_found=None, as_expected=None, finds=None)
    finds = 0
    cost = none_found = promise.needed(0)
    if none_found and expected is None:
        return StopPrice(**words, none_found=none_found, as_expected=None, finds=None)
    while none_found and finds < round((expected or 0) * cost / reading.unread):
        finds += 1
        cost = promise.needed(finds)
    return StopPrice(**words, none_found=none_found, as_expected=cost, finds=finds)
