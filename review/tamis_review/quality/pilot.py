"""The score threshold that a labelled random sample (a pilot) allows, with the reading that the threshold saves.

The threshold on the score keeps a wanted share R of the includes, with the probability 1 - delta, for any sample size.
It is chosen by fixed-sequence testing ("learn then test"). From the loosest threshold on, each hypothesis "this
threshold's recall is below R" is tested at the level delta. The result is the last threshold before the first
hypothesis that is not rejected.

A hypothesis is rejected if the one-sided Clopper-Pearson bound on the threshold's recall reaches R. The order of the
tests is fixed before the labels are seen. So the probability of rejecting any true hypothesis stays at delta, for any
number of thresholds.

Source: Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., Lei, L. (2021), Learn then test: calibrating
predictive algorithms to achieve risk control, arXiv:2110.01052, section on fixed-sequence testing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from pydantic import Field, computed_field

from tamis_schemas import InvalidParameters, InvalidRequest
from tamis_schemas.values.frozen import Frozen

from .design import mean_block
from .exact import largest, lower_bound
from .figure import Figure, proportion
from .inclusion_score import ScoreBasis
from .judged import Judged
from .matching import Matched, Matching
from .sampling import Lie, Sampling, examine

NO_SAMPLE = "the labelled records are not a random sample of the batch, so no threshold can be guaranteed"
MOST_INCLUDES = 1_000_000  # end of the search for a pilot's size


class Threshold(Frozen):
    """The score threshold from a pilot (a labelled random sample). Records whose score is at least `value` are kept."""

    recall: float  # the wanted recall
    delta: float  # the allowed probability of a lower recall
    includes: int  # in the pilot, by the human
    value: float | None = None  # None: no such threshold
    missed: int  # the pilot's includes below the threshold; if `value` is None, those excluded by rules
    weight: float = 1.0  # labelled includes per independent include; above 1 if labels are in blocks
    bound: float | None = None  # lower bound of the recall, with probability 1 - delta
    needed: int | None = None  # if `value` is None: the includes that a pilot with as many misses needs


def choose_threshold(
    ranks: Sequence[float], recall: float = 0.95, delta: float = 0.05, weight: float = 1.0
) -> Threshold:
    """Return the highest score threshold whose recall is at least `recall` with probability 1 - `delta`.

    Args:
        ranks: a number for each include of the pilot, which is a random sample of the records that the threshold is
            for. The number is the include's score; `inf` if people read it at any score; `-inf` if a rule excludes it.
        recall: the share of includes to keep, between 0 and 1.
        delta: the allowed probability of keeping a smaller share, between 0 and 1.
        weight: how many includes count as one independent include, at least 1: the design effect.

    Raises:
        InvalidParameters: recall or delta is not between 0 and 1.
    """
    # A stricter threshold misses every include that a looser threshold misses. So the guarantee is valid despite ties,
    # clumps of scores, and thresholds from the pilot's own scores.
    for name, share in (("recall", recall), ("delta", delta)):
        if not 0 < share < 1:
            raise InvalidParameters(f"{name}: {share!r} is not between 0 and 1")
    n = len(ranks)
    lost = sum(rank == -inf for rank in ranks)
    needed = includes_needed(recall, delta, missed=lost, weight=weight)
    chosen = Threshold(recall=recall, delta=delta, includes=n, missed=lost, weight=weight, needed=needed)
    for value in sorted({0.0, *(rank for rank in ranks if 0 < rank < inf)}):
        missed = sum(rank < value for rank in ranks)
        bound = lower_bound((n - missed) / weight, n / weight, 1 - delta)
        if bound < recall:
            break
        chosen = chosen.model_copy(update={"value": value, "missed": missed, "bound": bound, "needed": None})
    return chosen


def includes_needed(recall: float, delta: float, missed: int = 0, weight: float = 1.0) -> int:
    """Return how many includes a pilot must have, at least, to allow a threshold that misses `missed` of its includes.

    The threshold keeps the share `recall` of all includes with probability 1 - `delta`. `weight`: how many includes
    count as one independent include. Without misses, and with `weight` 1, the result is the smallest n with recall ** n
    <= delta.
    """

    def bound(includes: int) -> float:
        return lower_bound((includes - missed) / weight, includes / weight, 1 - delta)

    enough = max(1, missed)
    while enough < MOST_INCLUDES and bound(enough) < recall:
        enough *= 2
    return 1 + largest(enough // 2, enough - 1, lambda includes: includes < missed or bound(includes) < recall)


class Calibration(Frozen):
    """A threshold with its guarantee, or the reason why there is no threshold."""

    matching: Matching
    sampling: Sampling  # position of the labelled records in the batch; selected records give no threshold
    score: ScoreBasis  # scale of the threshold
    threshold: Threshold
    saved: Figure  # share of the pilot's records below the threshold, which no person reads
    below: int  # records of the whole batch below the threshold
    of: int = Field(description="Records of the whole batch, without copies.")

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def refusal(self) -> str | None:
        """Return why there is no threshold, with advice. Return None if there is a threshold."""
        chosen = self.threshold
        if chosen.value is not None:
            return None
        if not self.sampling.promises:
            return f"{NO_SAMPLE}: {self.sampling.why_not}"
        missed = f", {chosen.missed} of them excluded by rules at any threshold" if chosen.missed else ""
        advice = "Label more randomly drawn records and run `tamis calibrate` again"
        if chosen.missed:
            advice += "; or screen again with --no-initial-filter"
        if chosen.weight > 1:
            missed += f", in blocks, so that {chosen.weight:.2f} includes count as one"
        return (
            f"the pilot is too small: it has {chosen.includes} labelled includes{missed}. A recall of "
            f"{chosen.recall:g} with probability {1 - chosen.delta:g} needs at least {chosen.needed} "
            f"{'with so many excluded' if chosen.missed else 'of them'}. {advice}, or ask for less (--recall, --delta)"
        )


@dataclass(frozen=True)
class Calibrated:
    """The threshold that a pilot (a labelled random sample) allows, with the records of the batch."""

    calibration: Calibration
    records: tuple[Judged, ...]  # of the whole batch in order, without duplicates

    def kept(self, record: Judged) -> bool:
        """Return whether the threshold keeps a record. Without a threshold, a record is kept if no rule excludes it."""
        value = self.calibration.threshold.value
        return record.rank >= (0.0 if value is None else value)


def calibrate(matched: Matched, recall: float = 0.95, delta: float = 0.05) -> Calibrated:
    """Return the score threshold that keeps the share `recall` of all includes with probability 1 - `delta`.

    The threshold is computed from the labelled records. If no threshold is possible, the result says why.

    Raises:
        InvalidRequest: no record has a label.
        InvalidParameters: recall or delta is not between 0 and 1.
    """
    if not matched.records:
        raise InvalidRequest("no record has a label: a human must label some records as included or excluded")
    records = tuple(sorted((*matched.records, *matched.others), key=lambda record: record.index))
    sampling = examine(records, seed=matched.seed)
    included = [record for record in matched.records if record.human]
    # A block counts as one record: with few missed includes the ICC is unknown, so 1 (the worst) is assumed.
    weight = mean_block([sampling.block_of[record.index] for record in included]) if sampling.lie is Lie.BLOCKS else 1.0
    threshold = choose_threshold([record.rank for record in included], recall, delta, weight)
    if not sampling.promises:
        threshold = Threshold(recall=recall, delta=delta, includes=threshold.includes, missed=threshold.missed)
    limit = threshold.value
    nothing = "there is no threshold"
    pilot_below = 0 if limit is None else sum(record.rank < limit for record in matched.records)
    return Calibrated(
        Calibration(
            matching=matched.matching,
            sampling=sampling,
            score=matched.score,
            threshold=threshold,
            saved=Figure(reason=nothing) if limit is None else proportion(pilot_below, len(matched.records), nothing),
            below=0 if limit is None else sum(record.rank < limit for record in records),
            of=len(records),
        ),
        records,
    )
