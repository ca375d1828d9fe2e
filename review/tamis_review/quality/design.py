"""The interval that labelled records allow a figure: an ordinary one, a wider one, or none.

An interval whose half width is z standard errors is, with a design effect, z * sqrt(deff) of them; that is the interval
of the level to which this z belongs. Wilson's, the delta method's, DeLong's and that of a profile likelihood (whose
limit is z squared) all depend on the level by z alone.

The design effect is that of labels in blocks: records of a block are alike, so a block of ten is no ten records.

    deff = 1 + (m - 1) * ICC,   m = (sum of m_b^2) / (sum of m_b) over blocks of m_b records

n records in blocks say as much as n / deff drawn one by one. ICC, the correlation of two records of a block, is the
estimator of the analysis of variance, between 0 and 1:

    ICC = (MSB - MSW) / (MSB + (m0 - 1) * MSW),   m0 = (n - m) / (k - 1)

with the mean squares between the k blocks and within them. Where every record came to the same, or no block has two
records, it cannot be measured and counts as 1: a block is then worth one record.

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

WIDEST = 8.0  # standard errors; beyond it a level cannot be told from 1
SELECTED = "no interval: the labelled records are no random sample of the batch"
ALIKE = "no interval: the labelled records of a block are too much alike"


def mean_block(blocks: Sequence[int]) -> float:
    """The mean size of the block of a record: m of the formula; 1 of no records. `blocks`: of each record its block."""
    return sum(size * size for size in Counter(blocks).values()) / len(blocks) if blocks else 1.0


def design_effect(blocks: Sequence[int], outcomes: Sequence[bool]) -> float:
    """deff of a share: of each record its block, and whether it is of the kind that is counted; at least 1."""
    m = mean_block(blocks)
    return 1 + (m - 1) * intraclass_correlation(blocks, outcomes)


def intraclass_correlation(blocks: Sequence[int], outcomes: Sequence[bool]) -> float:
    """ICC of the formula, between 0 and 1; 1 where it cannot be measured."""
    members = defaultdict(list)
    for block, outcome in zip(blocks, outcomes, strict=True):
        members[block].append(outcome)
    n, k = len(outcomes), len(members)
    if k < 2 or n == k or len(set(outcomes)) == 1:
        return 1.0
    mean = sum(outcomes) / n
    shares = [(len(one), sum(one) / len(one)) for one in members.values()]
    between = sum(size * (share - mean) ** 2 for size, share in shares) / (k - 1)
    within = sum(size * share * (1 - share) for size, share in shares) / (n - k)
    usual = (n - mean_block(blocks)) / (k - 1)
    whole = between + (usual - 1) * within
    return min(1.0, max(0.0, (between - within) / whole)) if whole > 0 else 1.0


@dataclass(frozen=True)
class Design:
    """The position of the labelled records, as it bears on figures about them."""

    sampling: Sampling

    def figure(
        self, make: Callable[[float], Figure], records: Sequence[Judged], counted: Callable[[Judged], bool]
    ) -> Figure:
        """A figure with the interval that it may have.

        Args:
            make: gives it with an interval of a level.
            records: that it is made of.
            counted: of which of them it is the share; of other figures, which of them speak for the system.
        """
        level = self.level(records, counted)
        made = make(LEVEL if level is None else level)
        reason = SELECTED if self.sampling.lie is Lie.SELECTED else ALIKE
        return made.without_interval(reason) if level is None else made.model_copy(update={"level": LEVEL})

    def agreement(
        self, make: Callable[[float], Agreement], records: Sequence[Judged], counted: Callable[[Judged], bool]
    ) -> Agreement:
        """The same of kappa and AC1."""
        level = self.level(records, counted)
        made = make(LEVEL if level is None else level)
        ends = {} if level is not None else dict.fromkeys(("kappa_low", "kappa_high", "ac1_low", "ac1_high"))
        return made.model_copy(update={"level": LEVEL, **ends})

    def reliability(
        self, records: Sequence[Judged], confidence: Callable[[Judged], float | None], right: Callable[[Judged], bool]
    ) -> Reliability:
        """The curve of a confidence over those of the records that have it, with the intervals that it may have.

        `right`: whether the human decided as the confidence says.
        """
        sure = [(value, one) for one in records if (value := confidence(one)) is not None]
        return reliability(
            [(value, right(one)) for value, one in sure],
            lambda places: self.level([sure[place][1] for place in places], right),
        )

    def level(self, records: Sequence[Judged], counted: Callable[[Judged], bool]) -> float | None:
        """The level at which an interval over these records is as wide as it has to be; None: there may be none."""
        match self.sampling.lie:
            case Lie.CENSUS | Lie.RANDOM:
                return LEVEL
            case Lie.SELECTED:
                return None
        blocks = [self.sampling.block_of[one.index] for one in records]
        deff = design_effect(blocks, [counted(one) for one in records])
        errors = NormalDist().inv_cdf((1 + LEVEL) / 2) * sqrt(deff)
        return None if errors > WIDEST else 2 * NormalDist().cdf(errors) - 1 if deff > 1 else LEVEL
