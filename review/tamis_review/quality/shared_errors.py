"""Shared errors: whether two models err on the same records more often than independent models.

If independent models err on a and b of n records, they have a * b / n joint errors on average. The probability of k or
more joint errors is hypergeometric (Fisher's exact test):

    P(X >= k; n, a, b) = sum over i = k .. min(a, b) of C(a, i) * C(n - a, b - i) / C(n, b)

Missed includes and false includes are tested separately, because their joint errors have different causes. There are
two strata: the records that other models keep, and the rest. Joint errors are added over the strata, and the
distributions of the strata are convolved.

People may have labelled a different share of the records that all models exclude. Then term i has the factor
`odds` ** i (Fisher's noncentral hypergeometric distribution). `odds` is this share divided by the share of the other
records.

    phi = sum of (joint - expected) / sum of n * sqrt(p * (1 - p) * q * (1 - q)),   p = a / n, q = b / n of each stratum

phi is 0 for independent errors, and 1 if both models err on the same records.

Source: Fisher, R. A. (1935), The logic of inductive inference, Journal of the Royal Statistical Society 98, 39-82; Cox,
D. R. (1966), A simple example of a comparison involving quantal data, Biometrika 53, 215-220 (the strata's sum).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import accumulate
from math import exp, floor, fsum, log, sqrt

from tamis_schemas.values.frozen import Frozen

from .exact import convolved, log_probability

WRONG = 0.05  # probability of calling independent errors shared, over all pairs of a panel


class Sharing(StrEnum):
    """The conclusion whether two models share errors, drawn from the number of their joint errors."""

    SHARED = "shared"  # more than independent errors would give
    NO_SIGN = "no sign of sharing"
    TOO_FEW = "too few errors"  # even if all errors were joint, chance could explain them


@dataclass(frozen=True, slots=True)
class JointErrors:
    """The errors of two models on one part (stratum) of the records: only missed includes, or only false includes."""

    records: int
    first: int  # errors of the first model
    second: int  # errors of the second model
    both: int  # errors on the same records
    odds: float = 1.0  # share of labelled records among those that all models exclude / among the others

    @property
    def single(self) -> int:
        return self.first + self.second - 2 * self.both


class SharedErrors(Frozen):
    """The joint errors of two models, and the number of joint errors that independent models would have."""

    records: int  # records decided by people and by both models
    first: int  # errors of the first model
    second: int  # errors of the second model
    joint: int  # errors on the same records
    expected: float  # joint errors of independent models
    phi: float | None  # None: a model never or always errs
    p: float  # probability of so many joint errors or more, if independent
    sharing: Sharing


def shared_errors(strata: Sequence[JointErrors], *, pairs: int = 1) -> SharedErrors:
    """Return the joint errors of two models over all strata, and whether the models share errors.

    `pairs`: the number of tested pairs of models. The constant `WRONG` is the level of all tests together. Each test
    has the level `WRONG` / pairs / 2, because each pair has two tests: of misses, and of false includes.
    """
    strata = [stratum for stratum in strata if stratum.records]
    joint = sum(stratum.both for stratum in strata)
    spread = fsum(_spread(stratum) for stratum in strata)
    probabilities = reduce(convolved, map(_hypergeometric, strata), [1.0])
    upper = [min(1.0, tail) for tail in accumulate(reversed(probabilities))][::-1]  # P(X >= k) for k from 0
    expected = fsum(upper[1:])
    p = upper[joint] if joint < len(upper) else 0.0
    bound = WRONG / pairs / 2
    if_all_joint = floor(fsum(stratum.both + stratum.odds * stratum.single / 2 for stratum in strata))
    telling = upper[min(if_all_joint, len(upper) - 1)] < bound
    sharing = Sharing.SHARED if p < bound else Sharing.NO_SIGN if telling else Sharing.TOO_FEW
    return SharedErrors(
        records=sum(stratum.records for stratum in strata),
        first=sum(stratum.first for stratum in strata),
        second=sum(stratum.second for stratum in strata),
        joint=joint,
        expected=expected,
        phi=(joint - expected) / spread if spread else None,
        p=p,
        sharing=sharing,
    )


def _spread(stratum: JointErrors) -> float:
    n = stratum.records
    return sqrt(stratum.first * (n - stratum.first) * stratum.second * (n - stratum.second)) / n


def _hypergeometric(stratum: JointErrors) -> list[float]:
    n, a, b, more = stratum.records, stratum.first, stratum.second, log(stratum.odds)
    terms = [exp(log_probability(i, b, n, a) + i * more) if n - a >= b - i >= 0 else 0.0 for i in range(min(a, b) + 1)]
    whole = fsum(terms)
    return [term / whole for term in terms]
