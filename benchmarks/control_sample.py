"""The control sample: a promise of recall that costs nothing for looking, because the sample is drawn before reading.

Before people read, a seed chooses n of the N records in hash order (`random_order.sample`). People decide these n
records too. The reading order may learn a decision only after the order itself has reached the record. At any moment,
people have found F includes, in the order and in the sample. B of them are in the sample, at places that the order has
not reached. Let

    T = floor(F / recall) + 1,    d = T - ceil(recall T) + 1

T is the smallest total that makes F too few. With this total, at least d includes are missing. People may stop if

    P(X <= B; N, d + B, n) <= doubt     (hypergeometric: B or fewer of d + B includes are in a sample of n of N)

**Proof.** Let d(T) = T - ceil(recall T) + 1 = floor((1 - recall) T) + 1. It never falls as T grows. Let T be the true
total, and d* = d(T). The left side L(d, B) of the rule is the probability that at least d of d + B includes are outside
the sample. It falls as d grows. It rises with B, because a further include can only add to the includes outside.

1. If people stop too early, F <= ceil(recall T) - 1. So at least d* includes are outside the sample and not yet
   reached. The rule's d is at most d*, so also L(d*, B) <= doubt. Let b* be the largest b with L(d*, b) <= doubt. Then
   B <= b*. If there is no such b, people never stop too early.
2. Count the includes from the end of the order. Let K be the smallest number of last includes of which d* are outside
   the sample. Then K - d* of them are inside. By step 1 the order has not reached these K includes, so K - d* <= B <=
   b*. So K <= d* + b*: of the last d* + b* includes, at most b* are in the sample. This is one event for all moments.
3. The order is blind to the sample. So the event has the probability L(d*, b*) <= doubt. If there are fewer than d* +
   b* includes, at least d* of all T must be outside, and L(d*, T - d*) <= L(d*, b*).

**How much the order may know.** In step 3 the order may depend on all texts and scores, on the decisions that it has
reached, and even on the sample's places among reached records and among excludes. For fixed places of the excludes, the
sample among the includes is simple random. A choice of the next include from the revealed places leaves the sequence of
places exchangeable. A decision on an include that the order has not reached breaks the proof, in this sample or in a
later one.

**Where the proof does not hold.** T must be one number at all moments, or there is one event for each d(T). So these
cases are refused:

- a person changed a decision between include and exclude, or an include was named a copy: T changed
- records were added after the draw: the sample does not represent them

While a record of the sample is undecided, B is unknown, so the answer is "not yet". A record that a person skips simply
comes later in the order. An exclude that is named a copy late stays in N and n. The promise counts the includes that
the readers would recognise.

**If the sample is too small**, later samples of unread records may promise the recall (`certificate`). Which of the two
promises first depends on the decisions. So the doubt is divided before reading: the part `CONTROL` for the control
sample, the rest for all later samples. By Bonferroni's inequality both are right with the whole confidence.

Source: we know of no publication of this rule. The nearest is the quantile binomial coverage bound: Lewis, D. D., Yang,
E., Frieder, O. (2021), Certifying one-phase technology-assisted reviews, CIKM, arXiv:2108.12746. Its sample has a fixed
number of includes, and its bound is binomial.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from tamis_review.quality.certificate import Reading, certify
from tamis_review.quality.exact import largest, probability_up_to

CONTROL = 0.9  # the part of the doubt for the control sample; the rest is for later samples
ROUNDING = 1e-9  # of a probability, on the safe side


def fewest_missing(includes: int, recall: float) -> int:
    """Return d of the module: the fewest includes that are missing if this number of includes is too few."""
    wanted = Fraction(str(recall))
    total = floor(includes / wanted) + 1
    return total - ceil(wanted * total) + 1


def most_behind(size: int, records: int, missing: int, doubt: float) -> int:
    """Return the largest B with which people may stop, if at least `missing` includes are missing; -1 if there is none.

    `size`, `records`: of the sample, and of all.
    """
    if missing > records - size:
        return size  # so many records are not outside the sample
    limit = doubt * (1 - ROUNDING)

    def rejects(behind: int) -> bool:
        return behind < 0 or probability_up_to(behind, size, records, missing + behind, doubt) <= limit

    return largest(-1, size, rejects)


@dataclass(frozen=True)
class ControlReading:
    """The progress of a review with a control sample."""

    records: int  # N: records at the draw, without duplicates
    size: int  # n: records of the sample
    included: int  # F: includes by people, in the order and in the sample
    behind: int  # B: of these, includes of the sample that the order has not reached
    unread: int  # undecided records
    waiting: int = 0  # of these, records of the sample
    changed: int = 0  # decisions changed between include and exclude, includes named copies, and records added

    def __post_init__(self) -> None:
        if not 0 <= self.behind <= min(self.included, self.size) or not self.waiting <= self.size <= self.records:
            raise ValueError(f"{self!r} is no sample")

    def promises(self, recall: float, doubt: float) -> bool:
        """Return whether the control sample promises this recall, wrong in at most the share `doubt` of reviews."""
        missing = fewest_missing(self.included, recall)
        enough = self.unread < missing or self.behind <= most_behind(self.size, self.records, missing, doubt)
        return enough and not self.waiting and not self.changed


def may_stop(control: ControlReading, later: Reading, recall: float = 0.95, confidence: float = 0.95) -> bool:
    """Return whether people may stop: the control sample promises the recall, or `later` samples of unread records do.

    Raises the errors of `certify`.
    """
    fallback = certify(later, recall, 1 - (1 - confidence) * (1 - CONTROL))
    return fallback.verdict == "enough" or control.promises(recall, (1 - confidence) * CONTROL)
