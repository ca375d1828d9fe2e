"""A threshold in words and lines, the same on the terminal and on the page."""

from .pilot import Calibration
from .sampling import Lie, Sampling
from .words import FigureRow, shown

_SAME = "answered by the same model to the same criteria."
_DRAWN = f"The labelled records were drawn by `tamis pilot`: it holds for records of this batch, {_SAME}"
_HOLDS = {
    Lie.CENSUS: f"Every record of the batch has a label: it holds for other records of their kind, {_SAME}",
    Lie.RANDOM: "It holds where the labelled records are a random sample of those that the threshold is used for, "
    f"{_SAME} Where they lie in the batch, their scores and their databases say nothing against it.",
    Lie.BLOCKS: "It holds where the blocks of labelled records are a random sample of the batch's, "
    f"{_SAME} Where they lie, their scores and their databases say nothing against it.",
}


def threshold_rows(calibration: Calibration) -> list[FigureRow]:
    """A line for each figure of a threshold; none where there is no threshold."""
    threshold = calibration.threshold
    if threshold.value is None or threshold.bound is None:
        return []
    pilot = f"{threshold.includes:,} labelled includes, {threshold.missed:,} of them below; "
    pilot += f"recall is above {threshold.bound:.4f}"
    if threshold.weight > 1:
        pilot += f"; in blocks, of which {threshold.weight:.2f} includes say as much as one"
    return [
        FigureRow("threshold", (str(threshold.value),), "keep every record whose score for inclusion is at least that"),
        FigureRow(
            "guarantee",
            (f"recall is at least {threshold.recall:g} with probability {1 - threshold.delta:g}",),
            "over random samples of this size",
        ),
        FigureRow("pilot", (pilot,)),
        FigureRow("saves", (shown(calibration.saved, percent=True),), "of the labelled records lie below"),
        FigureRow("below", (f"{calibration.below:,} of the batch's {calibration.of:,} records",)),
    ]


def holds_for(sampling: Sampling) -> str | None:
    """Return what a threshold of such labels holds for; None where they promise nothing."""
    return _DRAWN if sampling.seed is not None else _HOLDS.get(sampling.lie)
