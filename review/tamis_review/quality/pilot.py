"""A labelled pilot: the threshold that it allows, what that saves, and which records of the batch lie below."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field, computed_field

from tamis_schemas import InvalidRequest
from tamis_schemas.values.frozen import Frozen

from .design_effect import mean_block
from .figure import Figure, proportion
from .inclusion_score import ScoreBasis
from .judged import Judged
from .matching import Matched, Matching
from .sampling import Lie, Sampling, examine
from .threshold import Threshold, choose_threshold

NO_SAMPLE = "the labelled records are no random sample of the batch, so no threshold can be promised for it"


class Calibration(Frozen):
    """A threshold with its guarantee, or why there is none."""

    matching: Matching
    sampling: Sampling  # how the labelled records lie in the batch; selected ones give no threshold
    score: ScoreBasis  # the scale that the threshold is on
    threshold: Threshold
    saved: Figure  # the share of the pilot's records below the threshold, which nobody reads
    below: int  # records of the whole batch below it, labelled or not
    of: int = Field(description="Records of the whole batch, copies of others left out.")

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def refusal(self) -> str | None:
        """The reason why there is no threshold, and what to do about it; None where there is one."""
        chosen = self.threshold
        if chosen.value is not None:
            return None
        if not self.sampling.promises:
            return f"{NO_SAMPLE}: {self.sampling.why_not}"
        missed = f", {chosen.missed} of them excluded by rules, which no threshold brings back" if chosen.missed else ""
        advice = "Label more records, drawn at random, and say `tamis calibrate` again"
        if chosen.missed:
            advice += "; or screen again with --no-initial-filter"
        if chosen.weight > 1:
            missed += f", which lie in blocks, so that {chosen.weight:.2f} of them say as much as one"
        return (
            f"the pilot is too small: it has {chosen.includes} labelled includes{missed}; a recall of "
            f"{chosen.recall:g} with probability {1 - chosen.delta:g} needs at least {chosen.needed} "
            f"{'with so many excluded' if chosen.missed else 'of them'}. {advice}, or ask for less (--recall, --delta)"
        )


@dataclass(frozen=True)
class Calibrated:
    """The result of a pilot, with the records that it was read from."""

    calibration: Calibration
    records: tuple[Judged, ...]  # of the whole batch, in its order, copies left out

    def kept(self, record: Judged) -> bool:
        """Return whether the threshold keeps a record; without a threshold nothing is dropped but by rules."""
        value = self.calibration.threshold.value
        return record.rank >= (0.0 if value is None else value)


def calibrate(matched: Matched, recall: float = 0.95, delta: float = 0.05) -> Calibrated:
    """The threshold that keeps `recall` of the includes with probability 1 - `delta`, from records with labels.

    Raises:
        InvalidRequest: no record has a label.
        InvalidParameters: recall or delta does not lie between 0 and 1.
    """
    if not matched.records:
        raise InvalidRequest("there is no label: a human has to say of some records whether they are included")
    records = tuple(sorted((*matched.records, *matched.others), key=lambda one: one.index))
    sampling = examine(records, seed=matched.seed)
    threshold = _threshold([one for one in matched.records if one.human], sampling, recall, delta)
    limit = threshold.value
    nothing = "there is no threshold"
    pilot_below = 0 if limit is None else sum(one.rank < limit for one in matched.records)
    return Calibrated(
        Calibration(
            matching=matched.matching,
            sampling=sampling,
            score=matched.score,
            threshold=threshold,
            saved=Figure(reason=nothing) if limit is None else proportion(pilot_below, len(matched.records), nothing),
            below=0 if limit is None else sum(one.rank < limit for one in records),
            of=len(records),
        ),
        records,
    )


def _threshold(included: Sequence[Judged], sampling: Sampling, recall: float, delta: float) -> Threshold:
    """Return the threshold for the human's includes. A block counts as one record.

    What its records share is not known where hardly an include is missed: the worst is assumed (an ICC of 1).
    """
    weight = mean_block([sampling.block_of[one.index] for one in included]) if sampling.lie is Lie.BLOCKS else 1.0
    chosen = choose_threshold([one.rank for one in included], recall, delta, weight)
    if sampling.promises:
        return chosen
    return Threshold(recall=recall, delta=delta, includes=chosen.includes, missed=chosen.missed)
