"""Shared errors: do two models err on the same records more often than independent models would?

Models of the same kind of error rate err together now and then by chance alone. On n records of which the one errs on
a and the other on b, chance alone gives a * b / n joint errors, and k or more of them with the hypergeometric
probability

    P(X >= k; n, a, b) = sum over i = k .. min(a, b) of C(a, i) * C(n - a, b - i) / C(n, b)

which is Fisher's exact test. Records that people included and those that they excluded are strata of their own: to miss
an included record and to keep an excluded one are different errors, and some records are harder than others. Over the
strata joint errors are added up, and so are the distributions (by convolution): the exact conditional test of a common
odds ratio of 1.

phi = sum of (joint - expected) / sum of n * sqrt(p * (1 - p) * q * (1 - q)), with p = a / n and q = b / n of each
stratum: 0 of independent errors, 1 where both err on the same records.

Source: Fisher, R. A. (1935), The logic of inductive inference, Journal of the Royal Statistical Society 98, 39-82; Cox,
D. R. (1966), A simple example of a comparison involving quantal data, Biometrika 53, 215-220 (the strata's sum).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import accumulate
from math import exp, fsum, sqrt

from tamis_schemas.values.frozen import Frozen

from .exact import convolved, log_probability

WRONG = 0.05  # probability of calling independent errors shared, over all pairs of a panel together


class Sharing(StrEnum):
    """What joint errors say."""

    SHARED = "shared"  # more of them than independent errors would give
    NO_SIGN = "no sign of sharing"
    TOO_FEW = "too few errors"  # even if all of them were joint, it could be chance


@dataclass(frozen=True, slots=True)
class JointErrors:
    """The errors of two models on records of one kind."""

    records: int
    first: int  # errors of the one
    second: int  # of the other
    both: int  # on the same records


class SharedErrors(Frozen):
    """The joint errors of two models beside what chance alone would give."""

    records: int  # that people decided and both models, too
    first: int  # errors of the one
    second: int  # of the other
    joint: int  # on the same records
    expected: float  # joint errors, were the two independent
    phi: float | None  # None: one of them never errs, or always
    p: float  # probability of so many joint errors or more, were they independent
    sharing: Sharing


def shared_errors(strata: Sequence[JointErrors], *, pairs: int = 1) -> SharedErrors:
    """The joint errors over strata; of `pairs` of models each gets its share of the probability to be wrong."""
    strata = [one for one in strata if one.records]
    joint = sum(one.both for one in strata)
    expected = fsum(one.first * one.second / one.records for one in strata)
    spread = fsum(_spread(one) for one in strata)
    upper = _upper_tail(strata)
    p = upper[joint] if joint < len(upper) else 0.0
    bound = WRONG / pairs
    sharing = Sharing.SHARED if p < bound else Sharing.NO_SIGN if upper[-1] < bound else Sharing.TOO_FEW
    return SharedErrors(
        records=sum(one.records for one in strata),
        first=sum(one.first for one in strata),
        second=sum(one.second for one in strata),
        joint=joint,
        expected=expected,
        phi=(joint - expected) / spread if spread else None,
        p=p,
        sharing=sharing,
    )


def _spread(one: JointErrors) -> float:
    n = one.records
    return sqrt(one.first * (n - one.first) * one.second * (n - one.second)) / n


def _upper_tail(strata: Sequence[JointErrors]) -> list[float]:
    """P(X >= k) of the joint errors of all strata, for k from 0 to the most that there can be."""
    probabilities = reduce(convolved, map(_hypergeometric, strata), [1.0])
    return [min(1.0, tail) for tail in accumulate(reversed(probabilities))][::-1]


def _hypergeometric(one: JointErrors) -> list[float]:
    n, a, b = one.records, one.first, one.second
    return [exp(log_probability(i, b, n, a)) if n - a >= b - i >= 0 else 0.0 for i in range(min(a, b) + 1)]
