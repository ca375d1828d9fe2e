"""An evaluation and a calibration, as the gateway shows them: their figures, and what these say to people."""

from typing import Self

from pydantic import Field

from tamis_schemas.values.frozen import Frozen

from ..quality import words
from ..quality.gold_evaluation import GoldEvaluation
from ..quality.pilot import Calibrated, Calibration
from ..quality.threshold_words import holds_for, threshold_rows
from ..quality.words import FigureRow


class EvaluationWords(Frozen):
    """An evaluation for people."""

    rates: tuple[FigureRow, ...] = Field(description="Two values each: referred is kept; referred is left out.")
    more: tuple[FigureRow, ...]
    remarks: tuple[str, ...] = Field(description="Records and labels without a partner.")
    sampling: str | None = Field(description="How far the figures speak for the batch; null: nothing against it.")
    score: str
    calibration: tuple[str, ...]

    @classmethod
    def of(cls, found: GoldEvaluation) -> Self:
        """The words of an evaluation."""
        return cls(
            rates=tuple(words.rates(found)),
            more=tuple(words.more(found)),
            remarks=tuple(words.remarks(found.matching)),
            sampling=words.sampling_remark(found.sampling),
            score=words.score_remark(found.score),
            calibration=tuple(words.calibration_sentences(found.calibration)),
        )


class EvaluationView(GoldEvaluation):
    """An evaluation, of which batch and by which labels."""

    batch: str
    finished: bool = Field(description="Records of a batch that is not count as referred to a human.")
    labels: str  # the name of their file
    words: EvaluationWords


class CalibrationWords(Frozen):
    """A calibration for people."""

    rows: tuple[FigureRow, ...] = Field(description="The threshold and what it promises; none where there is none.")
    remarks: tuple[str, ...] = Field(description="Records and labels without a partner.")
    sampling: str | None = Field(description="How far the labels speak for the batch; null: nothing against it.")
    holds: str | None = Field(description="What the threshold holds for; null where there is none.")
    score: str

    @classmethod
    def of(cls, found: Calibration) -> Self:
        """The words of a calibration."""
        return cls(
            rows=tuple(threshold_rows(found)),
            remarks=tuple(words.remarks(found.matching)),
            sampling=words.sampling_remark(found.sampling),
            holds=holds_for(found.sampling) if found.refusal is None else None,
            score=words.score_remark(found.score),
        )


class CalibrationView(Calibration):
    """A calibration, of which batch and by which labels."""

    batch: str
    finished: bool
    labels: str  # the name of their file
    below_ids: tuple[str, ...]
    words: CalibrationWords

    @classmethod
    def of_calibrated(cls, found: Calibrated, *, batch: str, finished: bool, labels: str) -> Self:
        """The view of a calibration by a file of labels."""
        one = found.calibration
        below = (record.item_id for record in found.records if not found.kept(record))
        return cls(
            **dict(one),
            batch=batch,
            finished=finished,
            labels=labels,
            below_ids=tuple(below) if one.refusal is None else (),
            words=CalibrationWords.of(one),
        )
