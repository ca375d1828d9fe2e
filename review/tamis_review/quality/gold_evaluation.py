"""The evaluation of a batch against a human's labels (the gold set), as plain data."""

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
    """The system's decisions on all records that a human included, or on all records that a human excluded."""

    include: int = 0
    referred: int = 0  # undecided by the system, so a human decides
    exclude: int = 0  # by the model
    by_rule: int = 0  # by the initial filter, before any model


class Rates(Frozen):
    """A confusion matrix and the figures computed from it."""

    matrix: Matrix
    sensitivity: Figure
    specificity: Figure
    precision: Figure
    f1: Figure
    mcc: Figure

    @classmethod
    def of(cls, records: Sequence[Judged], design: Design) -> "Rates":
        """Return the confusion matrix of labelled records, with all figures."""
        counts = Counter((_kept(record), record.included) for record in records)
        tp, fp, fn, tn = (counts[kept, included] for kept in (True, False) for included in (True, False))
        matrix = Matrix(tp=tp, fp=fp, fn=fn, tn=tn)

        def figure(make: Callable[[Matrix, float], Figure], of: Callable[[Judged], bool] = lambda _: True) -> Figure:
            return design.figure(lambda level: make(matrix, level), [row for row in records if of(row)], _right)

        return cls(
            matrix=matrix,
            sensitivity=figure(sensitivity, lambda record: record.included),
            specificity=figure(specificity, lambda record: not record.included),
            precision=figure(precision, _kept),
            f1=figure(f1, lambda record: _kept(record) or record.included),
            mcc=figure(mcc),
        )


class Lost(Frozen):
    """A lost include: a record that the human included and the system excluded."""

    index: int
    item_id: str
    title: str
    reason: str
    confidence: float | None  # None: a rule excluded it
    rule: str | None


class GoldEvaluation(Frozen):
    """The quality of a batch's decisions, measured against a human's labels.

    In `screening`, records that the system neither includes nor excludes count as kept, because a human reads them.
    `decided` omits these records.
    """

    matching: Matching
    sampling: Sampling  # position of the labelled records in the batch; selected records give no intervals
    included: Stands  # counts of the human's includes
    excluded: Stands
    referred: dict[str, int]  # reason and count: uncertain, failed: timeout, pending, ...
    screening: Rates  # include or referred to a human, against excluded
    decided: Rates  # include against exclude, by the model or a rule
    unread: Figure  # share of records that no person reads: excluded by the system
    wss_95: Figure  # work saved over sampling at 95 % recall, in score order
    lost: tuple[Lost, ...]
    auc: Figure  # of the score for inclusion
    score: ScoreBasis  # source of the score for inclusion
    reliability: Reliability  # of the model's confidence in its decisions
    probability: Reliability | None  # of the token probability; its `right` counts includes; None: no probability
    calibration: CalibratedScore  # of the score, by the labels, cross-fitted
    agreement: Agreement  # of the system with the human
    panel: PanelFigures | None = None  # of a batch with several models


def evaluate(matched: Matched) -> GoldEvaluation:
    """Return the evaluation of labelled records. Raise `InvalidRequest` if no record has a label."""
    records = matched.records
    if not records:
        raise InvalidRequest("no record has a label: a human must label some records as included or excluded")
    design = Design(examine((*records, *matched.others), seed=matched.seed))
    by_model = [record for record in records if record.score is not None]
    dropped = sum(not _kept(record) for record in records)
    settled = [record for record in records if record.stand is not Stand.REFERRED]
    decisions = [(record.stand.value, HUMAN[record.included]) for record in settled]
    scores = [(record.score, record.included) for record in by_model if record.score is not None]
    of_includes, of_excludes = ([score for score, included in scores if included is wanted] for wanted in (True, False))
    return GoldEvaluation(
        matching=matched.matching,
        sampling=design.sampling,
        included=_stands(records, human=True),
        excluded=_stands(records, human=False),
        referred=dict(Counter(record.reason for record in records if record.stand is Stand.REFERRED).most_common()),
        screening=Rates.of(records, design),
        decided=Rates.of(settled, design),
        unread=design.figure(
            lambda level: proportion(dropped, len(records), "there is no record", level),
            records,
            lambda record: not _kept(record),
        ),
        wss_95=wss([record.rank for record in records], [record.included for record in records]),
        lost=tuple(
            Lost.model_validate(record, from_attributes=True)
            for record in records
            if record.human and record.stand is Stand.EXCLUDE
        ),
        auc=design.figure(lambda level: auc(of_includes, of_excludes, level), by_model, _right),
        score=matched.score,
        probability=design.reliability(records, lambda record: record.probability, lambda record: record.included)
        if any(record.probability is not None for record in records)
        else None,
        calibration=calibrated(by_model, design),
        reliability=design.reliability(by_model, lambda record: record.confidence, _right),
        agreement=design.agreement(
            lambda level: agreement(decisions, categories=tuple(HUMAN.values()), level=level), settled, _right
        ),
    )


def _stands(records: Sequence[Judged], *, human: bool) -> Stands:
    stands = (record.stand.value if record.rule is None else "by_rule" for record in records if record.human is human)
    return Stands.model_validate(Counter(stands))


def _kept(record: Judged) -> bool:
    return record.stand is not Stand.EXCLUDE


def _right(record: Judged) -> bool:
    """Return whether the system's decision matches the human's."""
    return _kept(record) is record.included
