"""A labelled pilot: the threshold that it allows, what that saves, and which records of the batch lie below."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from tamis_schemas import InvalidRequest

from .figure import Figure, proportion
from .judged import Judged
from .matching import Matched, Matching
from .threshold import Threshold, choose_threshold


class Calibration(BaseModel):
    """A threshold with its guarantee, or why there is none."""

    model_config = ConfigDict(frozen=True)

    matching: Matching
    threshold: Threshold
    saved: Figure  # the share of the pilot's records below the threshold, which nobody reads
    below: int  # records of the whole batch below it, labelled or not
    of: int  # records of the whole batch, copies of others left out

    @property
    def refusal(self) -> str | None:
        """Why there is no threshold, and what to do about it; None where there is one."""
        found = self.threshold
        if found.value is not None:
            return None
        missed = f", {found.missed} of them excluded by rules, which no threshold brings back" if found.missed else ""
        advice = "Label more records, drawn at random, and say `tamis calibrate` again"
        if found.missed:
            advice += "; or screen again with --no-initial-filter"
        return (
            f"the pilot is too small: it has {found.includes} labelled includes{missed}; a recall of "
            f"{found.recall:g} with probability {1 - found.delta:g} needs at least {found.needed} "
            f"{'with so many excluded' if found.missed else 'of them'}. {advice}, or ask for less (--recall, --delta)"
        )


@dataclass(frozen=True)
class Calibrated:
    """What a pilot came to, with the records that it was read from."""

    calibration: Calibration
    records: tuple[Judged, ...]  # of the whole batch, in its order, copies left out

    def kept(self, record: Judged) -> bool:
        """Whether the threshold keeps a record; without a threshold nothing is dropped but by rules."""
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
    threshold = choose_threshold([one.rank for one in matched.records if one.human], recall, delta)
    records = tuple(sorted((*matched.records, *matched.others), key=lambda one: one.index))
    limit = threshold.value
    nothing = "there is no threshold"
    pilot_below = 0 if limit is None else sum(one.rank < limit for one in matched.records)
    return Calibrated(
        Calibration(
            matching=matched.matching,
            threshold=threshold,
            saved=Figure(reason=nothing) if limit is None else proportion(pilot_below, len(matched.records), nothing),
            below=0 if limit is None else sum(one.rank < limit for one in records),
            of=len(records),
        ),
        records,
    )
