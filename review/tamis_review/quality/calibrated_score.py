"""The score for inclusion as the labels calibrate it: its reliability before and after, and what it means then."""

from collections.abc import Sequence

from tamis_schemas.values.frozen import Frozen

from .calibration_curve import Reliability, reliability
from .design import Design
from .judged import Judged
from .score_calibration import FEWEST, FOLDS, Method, cross_fitted, fit, method_for

TENTHS = tuple(tenth / 10 for tenth in range(11))


class CalibratedPoint(Frozen):
    """A score, and the probability of inclusion that the labels give it."""

    score: float
    probability: float


class CalibratedScore(Frozen):
    """The calibration of the score by the labelled records that have one; each is read by the curve of other folds."""

    includes: int  # by the human, of the records with a score
    excludes: int
    folds: int = FOLDS
    method: Method | None = None  # None: there is none
    reason: str | None = None  # why there is none
    before: Reliability  # of the score as it is; `right` are included by the human
    after: Reliability | None = None  # of the cross-fitted probability
    points: tuple[CalibratedPoint, ...] = ()  # of the curve that all labelled records give together


def calibrated(scored: Sequence[Judged], design: Design, *, seed: int = 0) -> CalibratedScore:
    """The calibration by records that all have a label and a score."""
    scores = [one.score for one in scored if one.score is not None]
    labels = [bool(one.human) for one in scored]
    includes = sum(labels)

    def curve(values: Sequence[float]) -> Reliability:
        return reliability(
            list(zip(values, labels, strict=True)),
            lambda places: design.level([scored[place] for place in places], lambda one: bool(one.human)),
        )

    method, whole = method_for(labels), fit(scores, labels)
    fitted = cross_fitted(scores, labels, [one.index for one in scored], seed=seed)
    counts = {"includes": includes, "excludes": len(labels) - includes}
    if whole is None or fitted is None:
        why = f"calibration needs {FEWEST} includes and {FEWEST} excludes that the model decided about"
        return CalibratedScore(**counts, before=curve(scores), reason=why)
    points = tuple(CalibratedPoint(score=tenth, probability=whole.probability(tenth)) for tenth in TENTHS)
    return CalibratedScore(**counts, method=method, before=curve(scores), after=curve(fitted), points=points)
