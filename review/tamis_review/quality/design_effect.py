"""The design effect of labels in blocks: records of a block are alike, so a block of ten is no ten records.

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
from collections.abc import Sequence


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
