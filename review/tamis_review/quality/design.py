"""The interval of a figure: ordinary for a random sample, wider for blocks of records, none for selected records.

Records of a block are alike. So n records in blocks carry only as much information as n / deff independent records.
deff is the design effect:

    deff = 1 + (m - 1) * ICC,   m = (sum of m_b^2) / (sum of m_b) over blocks of m_b records
    ICC = (MSB - MSW) / (MSB + (m0 - 1) * MSW),   m0 = (n - m) / (k - 1)

ICC is the correlation of two records of a block, limited to 0 to 1. MSB and MSW are the mean squares between the k
blocks and within them. If ICC cannot be measured, for example because all outcomes are equal, it is 1: a block counts
as one record.

The design effect makes an interval sqrt(deff) times as wide. This is the ordinary interval of a higher confidence
level. All the intervals used (Wilson, delta method, DeLong, profile likelihood) depend on the level through the normal
quantile alone.

Source: Kish, L. (1965), Survey Sampling, Wiley, 5.4 and 8.2; Kish, L. (1987), Weighting in deft^2, The Survey
Statistician, June, for blocks of several sizes; Ridout, M. S., Demétrio, C. G. B., Firth, D. (1999), Estimating
intraclass correlation for binary data, Biometrics 55, 137-148. A proportion's bounds with n / deff: Korn, E. L.,
Graubard, B. I. (1998), Confidence intervals for proportions with small expected number of positive counts estimated
from survey data, Survey Methodology 24, 193-201.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from .agreement import Agreement
from .figure import LEVEL, Figure, Reliability, reliability
from .judged import Judged
from .sampling import Lie, Sampling

WIDEST = 8.0  # standard errors; a wider interval's level rounds to 1
SELECTED = "no interval: the labelled records are not a random sample of the batch"
ALIKE = "no interval: the labelled records of a block are too similar"


def mean_block(blocks: Sequence[int]) -> float:
    """Return the size of a record's block, averaged over the records. Without records it is 1."""
    return sum(size * size for size in Counter(blocks).values()) / len(blocks) if blocks else 1.0


def design_effect(blocks: Sequence[int], outcomes: Sequence[bool]) -> float:
    """Return the design effect of a share, at least 1: how many records in blocks count as one independent record.

    `blocks`: the block of each record. `outcomes`: for each record, whether the share counts it.
    """
    return 1 + (mean_block(blocks) - 1) * intraclass_correlation(blocks, outcomes)


def intraclass_correlation(blocks: Sequence[int], outcomes: Sequence[bool]) -> float:
    """Return the correlation of two records of a block (ICC), between 0 and 1. It is 1 if it cannot be measured."""
    members = defaultdict(list)
    for block, outcome in zip(blocks, outcomes, strict=True):
        members[block].append(outcome)
    n, k = len(outcomes), len(members)
    if k < 2 or n == k or len(set(outcomes)) == 1:
        return 1.0
    mean = sum(outcomes) / n
    shares = [(len(block), sum(block) / len(block)) for block in members.values()]
    between = sum(size * (share - mean) ** 2 for size, share in shares) / (k - 1)
    within = sum(size * share * (1 - share) for size, share in shares) / (n - k)
    usual = (n - mean_block(blocks)) / (k - 1)
    whole = between + (usual - 1) * within
    return min(1.0, max(0.0, (between - within) / whole)) if whole > 0 else 1.0


@dataclass(frozen=True)
class Design:
    """How the labelled records were drawn, at random, in blocks or selected, which decides the intervals of figures."""

    sampling: Sampling

    def figure(
        self, make: Callable[[float], Figure], records: Sequence[Judged], counted: Callable[[Judged], bool]
    ) -> Figure:
        """Return a figure with the interval that the design allows.

        Args:
            make: computes the figure for a confidence level.
            records: the records behind the figure.
            counted: for a share, whether its numerator counts the record. For other figures, whether the system was
                right about the record.
        """
        level = self.level(records, counted)
        made = make(LEVEL if level is None else level)
        reason = SELECTED if self.sampling.lie is Lie.SELECTED else ALIKE
        none = {"low": None, "high": None, "reason": reason} if level is None and made.value is not None else {}
        return made.model_copy(update={"level": LEVEL, **none})

    def agreement(
        self, make: Callable[[float], Agreement], records: Sequence[Judged], counted: Callable[[Judged], bool]
    ) -> Agreement:
        """Return kappa and AC1 with the intervals that the design allows.

        Args:
            make: computes both figures for a confidence level.
            records: the records behind the figures.
            counted: whether the system was right about the record.
        """
        level = self.level(records, counted)
        made = make(LEVEL if level is None else level)
        ends = {} if level is not None else dict.fromkeys(("kappa_low", "kappa_high", "ac1_low", "ac1_high"))
        return made.model_copy(update={"level": LEVEL, **ends})

    def reliability(
        self, records: Sequence[Judged], confidence: Callable[[Judged], float | None], right: Callable[[Judged], bool]
    ) -> Reliability:
        """Return the reliability curve (how often decisions of each confidence are right), with the design's intervals.

        Records whose `confidence` is None are omitted. `right`: whether the human agrees with the decision that has
        this confidence.
        """
        sure = [(value, record) for record in records if (value := confidence(record)) is not None]
        return reliability(
            [(value, right(record)) for value, record in sure],
            lambda places: self.level([sure[place][1] for place in places], right),
        )

    def level(self, records: Sequence[Judged], counted: Callable[[Judged], bool]) -> float | None:
        """Return the confidence level for the formulas of simple random samples, so that the interval is wide enough.

        If records were drawn in blocks, the level is higher than `LEVEL`. None: the design allows no interval.
        """
        match self.sampling.lie:
            case Lie.CENSUS | Lie.RANDOM:
                return LEVEL
            case Lie.SELECTED:
                return None
        blocks = [self.sampling.block_of[record.index] for record in records]
        deff = design_effect(blocks, [counted(record) for record in records])
        errors = NormalDist().inv_cdf((1 + LEVEL) / 2) * sqrt(deff)
        return None if errors > WIDEST else 2 * NormalDist().cdf(errors) - 1 if deff > 1 else LEVEL
