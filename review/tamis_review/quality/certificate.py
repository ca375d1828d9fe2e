"""The certificate: a promise of the share of all includes that people have found, from random samples of the unread.

    recall >= F / T,    F includes found,    T the largest number of includes that the samples leave possible

The promise is wrong in at most the share 1 - confidence of reviews, whatever order people read in and however often
they look. Each sampling frame gives a bound on T (`sampling_frame`); all of them hold at once, so the smallest counts.

Where records were read twice, the bound takes in what people overlook: the doubt that is allowed is divided, eight
tenths for the samples, one tenth for the miss rate, one tenth for how many includes it hides. The sample gets most,
because each part of its doubt is paid in records. Without such records the promise is one of the includes that the
readers would include if they read everything.

How many includes people overlook is measured on records that two of them read on their own. Of the includes that at
least one of the two saw, a share theta was overlooked by the other. Where each overlooks an include with the
probability mu on their own, theta = 2 mu (1 - mu) / (1 - mu^2) = 2 mu / (1 + mu), so

    mu = theta / (2 - theta)

Where the two differ, mu_A and mu_B, this is no less than their mean, and its square no less than mu_A mu_B, the
probability that both overlook it (for a given theta the product is largest where they are equal). Theta gets the
one-sided bound of Clopper and Pearson. What it assumes: that the two overlook includes independently of each other. An
include that is hard to see for anybody is overlooked by both more often than this says.

Were T records truly includes, those that the readers would include are at least Bin(T, 1 - mu) of them; the largest T
that their number leaves possible is the bound.

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

SAMPLES, MISS_RATE, HIDDEN = 0.8, 0.1, 0.1  # of the doubt, where a miss rate is measured
FURTHER = 4  # numbers of further finds for which the price is told: none, one, two, three
RECALLS = (0.8, 0.9, 0.95, 0.98, 1.0)
CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
MOST_INCLUDES = 10_000_000  # where the search for the number of true includes ends


@dataclass(frozen=True)
class DoubleRead:
    """Records that two people decided independently, before anything was settled."""

    includes: int  # that at least one of them included, and that count as includes in the end
    missed_by_one: int  # of these, included by one of them alone

    def __post_init__(self) -> None:
        if not 0 <= self.missed_by_one <= self.includes:
            raise ValueError(f"{self.missed_by_one!r} of {self.includes!r} includes cannot have been missed by one")

    def miss_rate(self, level: float, readers: int = 1) -> float:
        """The bound on the probability that so many readers, each on their own, all overlook an include.

        Without an include that two people read it is 1.
        """
        theta = upper_bound(self.missed_by_one, self.includes, level)
        return float((theta / (2 - theta)) ** readers)


def may_have_been(total: int, seen: int, miss_rate: float, doubt: float) -> bool:
    """Return whether readers with this miss rate see `seen` or fewer of `total` includes with more than the doubt.

    P(Bin(total, 1 - miss_rate) <= seen) > doubt; of a rate of 1 always.
    """
    return total <= seen or miss_rate >= 1 or beta_below(miss_rate, total - seen, seen + 1) > doubt


def most_true_includes(seen: int, miss_rate: float, doubt: float) -> int | None:
    """The largest number of true includes that readers with this miss rate may have had before them; None: any.

    Args:
        seen: includes that they see, or would see if they read everything.
        miss_rate: the probability that they overlook an include.
        doubt: the probability that the bound is too small.
    """
    too_many = 2 * seen + 1
    while may_have_been(too_many, seen, miss_rate, doubt):
        if too_many > MOST_INCLUDES:
            return None
        too_many = 2 * too_many
    return largest(seen, too_many - 1, lambda total: may_have_been(total, seen, miss_rate, doubt))


@dataclass(frozen=True)
class Reading:
    """A review as far as people have read it."""

    found: int  # includes by people, wherever they were found
    unread: int  # records that nobody has decided; copies are none
    frames: tuple[SamplingFrame, ...] = ()  # in the order of opening; the last one is the one that goes on
    double_read: DoubleRead | None = None  # None: no record was read by two people, or it is not to be counted
    readers: int = 1  # people who read each record on their own; 2 only where all records were read in pairs

    def __post_init__(self) -> None:
        if self.found < 0 or self.unread < 0:
            raise ValueError("a number of records is never negative")
        if self.readers < 1:
            raise ValueError(f"{self.readers!r} readers read nothing")

    def with_new_frame(self) -> "Reading":
        """The reading with another frame, just opened, of all that is unread: for what a new sample would cost."""
        return replace(self, frames=(*self.frames, SamplingFrame(self.unread, (), self.found)))


class Certificate(Frozen):
    """What can be promised of a review as it stands, and what is missing to what was asked for."""

    verdict: StopVerdict
    reason: str | None  # "cannot be promised, because ..."
    recall: float  # asked for
    confidence: float
    found: int  # includes by people
    unread: int
    missed: int  # at most so many of the unread are includes to the readers
    includes: int | None  # at most so many includes there are, those that people overlook counted; None: any number
    promised: float  # the recall that holds now, with this confidence
    miss_rate: float | None  # at most; of the reading as it was done. None: not measured
    needed: tuple[int, ...]  # more records of the sample with none, one, two, three further finds; empty unless not yet


def certify(reading: Reading, recall: float = 0.95, confidence: float = 0.95) -> Certificate:
    """Whether people may stop reading with this promise.

    Raises:
        InvalidParameters: not 0 < recall <= 1, or not 0 < confidence < 1.
    """
    promise = _Promise(reading, recall, confidence)
    most_true = promise.most_true
    verdict, reason = StopVerdict.NOT_YET, promise.refusal()
    needed: tuple[int, ...] = ()
    if promise.kept:
        verdict, reason = StopVerdict.ENOUGH, None
    elif reason is not None:
        verdict = StopVerdict.IMPOSSIBLE
    else:
        needed = tuple(promise.needed(further) for further in range(FURTHER))
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
        needed=needed,
    )


def price_list(reading: Reading, expected: float | None = None) -> tuple[StopPrice, ...]:
    """Return what each of `RECALLS` costs with each of `CONFIDENCES`: more records of the sample.

    They are those of a new sample where no frame is open. `expected`: includes that are thought to be among the unread.
    """
    promises = (_Promise(reading, recall, confidence) for recall, confidence in product(RECALLS, CONFIDENCES))
    return tuple(_price(promise, expected) for promise in promises)


def records_needed(reading: Reading, recall: float = 0.95, confidence: float = 0.95, further: int = 0) -> int:
    """More records of the sample until the promise can be given, if they hold so many further includes.

    Of the open frame, the last one; of a new one where there is none. Never more than the unread: who has read them
    all has found what there is to find. 0: it can be given now. Raises as `certify` does.
    """
    return _Promise(reading, recall, confidence).needed(further)


@dataclass(frozen=True)
class _Promise:
    """A reading and what is asked of it."""

    reading: Reading
    recall: float
    confidence: float

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise InvalidParameters(f"recall: {self.recall!r} does not lie between 0 and 1")
        if not 0 < self.confidence < 1:
            raise InvalidParameters(f"confidence: {self.confidence!r} does not lie between 0 and 1")

    @property
    def doubt(self) -> float:
        return 1 - self.confidence

    @property
    def sample_doubt(self) -> float:
        return self.doubt * (1 if self.reading.double_read is None else SAMPLES)

    @property
    def miss_rate(self) -> float | None:
        measured = self.reading.double_read
        if measured is None:
            return None
        return measured.miss_rate(1 - self.doubt * MISS_RATE, self.reading.readers)

    @cached_property
    def most_seen(self) -> int:
        """The includes of the readers, were they to read everything: at most so many."""
        bounds = [
            frame.includes(frame_doubt(self.sample_doubt, number))
            for number, frame in enumerate(self.reading.frames, start=1)
        ]
        return max(self.reading.found, min([self.reading.found + self.reading.unread, *bounds]))

    @cached_property
    def most_true(self) -> int | None:
        """The true includes, at most; None: any number."""
        if self.miss_rate is None:
            return self.most_seen
        return most_true_includes(self.most_seen, self.miss_rate, self.doubt * HIDDEN)

    @property
    def kept(self) -> bool:
        return self.keeps(self.reading.found, self.most_seen)

    def keeps(self, found: int, seen: int) -> bool:
        """Return whether so many found keep the promise if the readers would see so many in all."""
        includes = floor(found / Fraction(str(self.recall)))  # more would break it
        if self.miss_rate is None:
            return seen <= includes
        return seen <= includes and not may_have_been(includes + 1, seen, self.miss_rate, self.doubt * HIDDEN)

    def needed(self, further: int) -> int:
        if self.kept:
            return 0
        reading = self.reading if self.reading.frames else self.reading.with_new_frame()
        found = reading.found + further
        if not self.keeps(found, found):
            return reading.unread
        allowed = largest(found, found + reading.unread, lambda seen: self.keeps(found, seen))
        frame = reading.frames[-1]
        most = allowed - frame.found_outside - frame.unread_outside
        if most < frame.found + further:
            return reading.unread
        whole = frame.needed(most, frame_doubt(self.sample_doubt, len(reading.frames)), further)
        return min(reading.unread, max(whole - frame.read, further))

    def refusal(self) -> str | None:
        """The reason why finding every include that there may be would not be enough; None where it would."""
        reading = self.reading
        measured = reading.double_read
        if measured is None or self.keeps(self.most_seen, self.most_seen):
            return None
        people = "each of the two readers" if reading.readers > 1 else "a reader"
        return (
            f"people overlook includes: of {measured.includes:,} includes that two people read, "
            f"{measured.missed_by_one:,} were missed by one of them, so {people} may overlook up to "
            f"{measured.miss_rate(1 - self.doubt * MISS_RATE):.1%}; with that a recall of {self.recall:g} is out of "
            "reach even if every record is read. Let two people read every record, or more of them, so that the miss "
            "rate is known better; or ask for less"
        )


def _price(promise: _Promise, expected: float | None) -> StopPrice:
    reading = promise.reading
    words = {"recall": promise.recall, "confidence": promise.confidence}
    if promise.refusal():
        return StopPrice(**words, none_found=None, as_expected=None, finds=None)
    if promise.kept:
        return StopPrice(**words, none_found=0, as_expected=0, finds=0)
    finds = 0
    cost = none_found = promise.needed(0)
    if expected is None or not reading.unread:
        return StopPrice(**words, none_found=none_found, as_expected=None, finds=None)
    while finds < round(expected * cost / reading.unread):
        finds += 1
        cost = promise.needed(finds)
    return StopPrice(**words, none_found=none_found, as_expected=cost, finds=finds)
