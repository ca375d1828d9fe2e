"""A threshold on the score that keeps a wanted share of the includes, with a bound that holds for any sample's size.

Fixed-sequence testing, as in "learn then test": for each threshold the hypothesis "its recall is below R" is tested,
from the loosest threshold upwards, each at the level delta, and the last threshold before the first one that is not
rejected is taken. The order is fixed before the labels are seen, so the probability that any false hypothesis is
accepted stays at delta, however many thresholds there are. The test is exact: the includes of the pilot that a
threshold misses are binomial, and "recall >= R" is accepted where the one-sided Clopper-Pearson bound on it, at the
level 1 - delta, reaches R. A stricter threshold misses what a looser one misses and more, so ties and clumps of scores,
and taking the thresholds from the pilot's own scores, change nothing about the guarantee.

Source: Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., Lei, L. (2021), Learn then test: calibrating
predictive algorithms to achieve risk control, arXiv:2110.01052, section on fixed-sequence testing.
"""

from collections.abc import Sequence
from math import inf

from tamis_schemas import InvalidParameters
from tamis_schemas.values.frozen import Frozen

from .exact import lower_bound

MOST_INCLUDES = 1_000_000  # where the search for a pilot's size ends


class Threshold(Frozen):
    """The result of a pilot: keep every record whose score is at least `value`; or that the pilot is too small."""

    recall: float  # that the threshold is to have
    delta: float  # the probability that it has not, over pilots
    includes: int  # of the pilot, by the human
    value: float | None = None  # None: there is no such threshold
    missed: int  # includes of the pilot below the threshold; without one, below any: those that rules exclude
    weight: float = 1.0  # labelled includes that say as much as one drawn alone; more than 1 where they lie in blocks
    bound: float | None = None  # recall is at least this, with probability 1 - delta
    needed: int | None = None  # without a threshold: includes that a pilot with as many misses would need


def choose_threshold(
    ranks: Sequence[float], recall: float = 0.95, delta: float = 0.05, weight: float = 1.0
) -> Threshold:
    """The strictest threshold whose recall is at least `recall` with probability 1 - `delta`.

    Args:
        ranks: of the pilot's includes, those of the human: the score, `inf` where a human reads the record in any
            case, `-inf` where a rule excludes it whatever the threshold. The pilot is a random sample of the records
            that the threshold is for.
        recall: the share of includes to keep, between 0 and 1.
        delta: the probability of keeping less, between 0 and 1.
        weight: how many of the includes say as much as one that was drawn alone, at least 1: the design effect.

    Raises:
        InvalidParameters: recall or delta does not lie between 0 and 1.
    """
    for name, share in (("recall", recall), ("delta", delta)):
        if not 0 < share < 1:
            raise InvalidParameters(f"{name}: {share!r} does not lie between 0 and 1")
    n = len(ranks)
    lost = sum(rank == -inf for rank in ranks)
    chosen = Threshold(
        recall=recall,
        delta=delta,
        includes=n,
        missed=lost,
        weight=weight,
        needed=includes_needed(recall, delta, missed=lost, weight=weight),
    )
    for value in sorted({0.0, *(rank for rank in ranks if 0 < rank < inf)}):
        missed = sum(rank < value for rank in ranks)
        bound = lower_bound((n - missed) / weight, n / weight, 1 - delta)
        if bound < recall:
            break
        chosen = chosen.model_copy(update={"value": value, "missed": missed, "bound": bound, "needed": None})
    return chosen


def includes_needed(recall: float, delta: float, missed: int = 0, weight: float = 1.0) -> int:
    """The smallest number of includes with which a pilot that misses so many of them allows a threshold.

    Without misses: the smallest n with recall ** n <= delta.
    """

    def bound(includes: int) -> float:
        return lower_bound((includes - missed) / weight, includes / weight, 1 - delta)

    enough = max(1, missed)
    while enough < MOST_INCLUDES and bound(enough) < recall:
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if middle >= missed and bound(middle) >= recall:
            enough = middle
        else:
            too_few = middle
    return enough
