"""The evaluation of a batch against a human's labels (the gold set): every figure, as plain data."""

from collections import Counter
from collections.abc import Callable, Sequence

from tamis_schemas import InvalidRequest
from tamis_schemas.values.frozen import Frozen

from .agreement import Agreement, agreement
from .design import Design
from .figure import Figure, Matrix, Reliability, auc, f1, mcc, precision, proportion, sensitivity, specificity, wss
from .inclusion_score import ScoreBasis
from .judged import Judged, Stand
from .matching import Matched, Matching
from .panel_figures import PanelFigures
from .sampling import Sampling, examine
from .score_calibration import CalibratedScore, calibrated

HUMAN = {True: Stand.INCLUDE.value, False: Stand.EXCLUDE.value}


class Stands(Frozen):
    """The system's decisions on the records that a human included, or on those that the human excluded."""

    include: int = 0
    referred: int = 0  # undecided: a human reads them
    exclude: int = 0  # by the model
    by_rule: int = 0  # excluded by the initial filter, before any model was asked


class Rates(Frozen):
    """The figures of one confusion matrix."""

    matrix: Matrix
    sensitivity: Figure
    specificity: Figure
    precision: Figure
    f1: Figure
    mcc: Figure

    @classmethod
    def of(cls, records: Sequence[Judged], design: Design) -> "Rates":
        """All of them, of records with labels."""
        counts = Counter((_kept(one), one.included) for one in records)
        tp, fp, fn, tn = (counts[kept, included] for kept in (True, False) for included in (True, False))
        matrix = Matrix(tp=tp, fp=fp, fn=fn, tn=tn)

        def figure(make: Callable[[Matrix, float], Figure], of: Callable[[Judged], bool] = lambda _: True) -> Figure:
            return design.figure(lambda level: make(matrix, level), [one for one in records if of(one)], _right)

        return cls(
            matrix=matrix,
            sensitivity=figure(sensitivity, lambda one: one.included),
            specificity=figure(specificity, lambda one: not one.included),
            precision=figure(precision, _kept),
            f1=figure(f1, lambda one: _kept(one) or one.included),
            mcc=figure(mcc),
        )


class Lost(Frozen):
    """Lost evidence: a record that the human included and the system excluded."""

    index: int
    item_id: str
    title: str
    reason: str
    confidence: float | None  # None: a rule excluded it
    rule: str | None


class GoldEvaluation(Frozen):
    """The quality of a batch's decisions, measured against a human's.

    `screening` counts what the system refers to a human as kept: it is excluded by nobody. `decided` leaves it out.
    """

    matching: Matching
    sampling: Sampling  # how the labelled records lie in the batch; selected ones give no intervals
    included: Stands  # by the human
    excluded: Stands
    referred: dict[str, int]  # why, and how many: uncertain, failed: timeout, pending, ...
    screening: Rates  # include or referred to a human against excluded
    decided: Rates  # include against exclude, by the model or a rule
    unread: Figure  # the share of records that nobody reads: excluded by the system
    wss_95: Figure  # work saved over sampling at 95 % recall, in the order of the scores
    lost: tuple[Lost, ...]
    auc: Figure  # of the model's score for inclusion
    score: ScoreBasis  # what the score for inclusion is
    reliability: Reliability  # of the model's confidence in its decisions
    probability: Reliability | None  # of the probability from the tokens: `right` are included; None: there is none
    calibration: CalibratedScore  # of the score, by the labels, cross-fitted
    agreement: Agreement  # of the system's decisions with the human's
    panel: PanelFigures | None = None  # of a batch that asks several models


def evaluate(matched: Matched) -> GoldEvaluation:
    """The evaluation of records that have their labels. Raises `InvalidRequest` where there are none."""
    records = matched.records
    if not records:
        raise InvalidRequest("there is no label: a human has to say of some records whether they are included")
    design = Design(examine((*records, *matched.others), seed=matched.seed))
    by_model = [one for one in records if one.score is not None]
    dropped = sum(not _kept(one) for one in records)
    settled = [one for one in records if one.stand is not Stand.REFERRED]
    return GoldEvaluation(
        matching=matched.matching,
        sampling=design.sampling,
        included=_stands(records, human=True),
        excluded=_stands(records, human=False),
        referred=dict(Counter(one.reason for one in records if one.stand is Stand.REFERRED).most_common()),
        screening=Rates.of(records, design),
        decided=Rates.of(settled, design),
        unread=design.figure(
            lambda level: proportion(dropped, len(records), "there is no record", level),
            records,
            lambda one: not _kept(one),
        ),
        wss_95=wss([one.rank for one in records], [one.included for one in records]),
        lost=tuple(
            Lost.model_validate(one, from_attributes=True)
            for one in records
            if one.human and one.stand is Stand.EXCLUDE
        ),
        auc=design.figure(
            lambda level: auc(
                [one.score for one in by_model if one.score is not None and one.human],
                [one.score for one in by_model if one.score is not None and not one.human],
                level,
            ),
            by_model,
            _right,
        ),
        score=matched.score,
        probability=design.reliability(records, lambda one: one.probability, lambda one: one.included)
        if any(one.probability is not None for one in records)
        else None,
        calibration=calibrated(by_model, design),
        reliability=design.reliability(by_model, lambda one: one.confidence, _right),
        agreement=design.agreement(
            lambda level: agreement(
                [(one.stand.value, HUMAN[one.included]) for one in settled],
                categories=tuple(HUMAN.values()),
                level=level,
            ),
            settled,
            _right,
        ),
    )


def _stands(records: Sequence[Judged], *, human: bool) -> Stands:
    stands = (one.stand.value if one.rule is None else "by_rule" for one in records if one.human is human)
    return Stands.model_validate(Counter(stands))


def _kept(record: Judged) -> bool:
    return record.stand is not Stand.EXCLUDE


def _right(record: Judged) -> bool:
    """Return whether the system keeps what the human includes, or excludes what the human does."""
    return _kept(record) is record.included
