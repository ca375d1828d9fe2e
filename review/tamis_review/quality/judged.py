"""A record as the system decided it, beside what a human said of it."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from tamis_schemas import InclusionStatus, InvalidRequest, ItemResult, ItemStatus
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.operations import verdict
from tamis_schemas.records.record_number import indexed_words

from ..intake.column_mappings import database_of
from .inclusion_score import ScoreScale, inclusion_score


class Stand(StrEnum):
    """The system's decision on a record. Whatever it did not decide goes to a human: nothing is excluded by failing."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    REFERRED = "referred"


@dataclass(frozen=True, slots=True)
class Judged:
    """One record of a batch."""

    index: int  # place in the batch, from 0
    item_id: str
    title: str
    stand: Stand
    reason: str  # the reason of an exclusion; of a referred record: uncertain, failed, cancelled, pending, running
    confidence: float | None = None  # the model's, in its decision; None where no model decided
    rule: str | None = None  # that excluded it before any model was asked
    copy: bool = False  # of another record of the batch, and so not judged on its own
    copy_of: int | None = None  # the place of that one
    human: bool | None = None  # True: a human included it; None: no label
    database: str | None = None  # that the record comes from; None: it names none
    probability: float | None = None  # of inclusion, from the tokens of the answer
    relevance: int | None = None  # 0 to 100, as the model graded it
    scale: ScoreScale = ScoreScale.CONFIDENCE  # of the batch's scores

    @property
    def included(self) -> bool:
        """True where a human included it."""
        return bool(self.human)

    @property
    def score(self) -> float | None:
        """The model's support for inclusion, 0 to 1; None where it decided neither way, or the scale has none."""
        if self.confidence is None or self.stand is Stand.REFERRED:
            return None
        return inclusion_score(
            self.stand is Stand.INCLUDE,
            self.confidence,
            scale=self.scale,
            probability=self.probability,
            relevance=self.relevance,
        )

    @property
    def rank(self) -> float:
        """The order of reading, the highest first: referred records, then by score, last what rules exclude.

        A decided record without a score is read with the referred ones.
        """
        if self.stand is Stand.REFERRED:
            return inf
        if self.confidence is None:
            return -inf
        return inf if self.score is None else self.score


def judged(row: ItemResult) -> Judged:
    """The row of a filter's or an inclusion's results, as the model or a rule decided it.

    Raises `InvalidRequest`: the row is of an operation that does not include or exclude.
    """
    stand, reason, confidence = _stand(row)
    kept_out = row.exclusion
    copy = kept_out is not None and kept_out.rule == DUPLICATE
    return Judged(
        index=row.index,
        item_id=row.item_id,
        title=str(row.item.get("title") or ""),
        stand=stand,
        reason=reason,
        confidence=confidence,
        rule=None if kept_out is None else kept_out.rule,
        copy=copy,
        copy_of=kept_out.duplicate_of if copy and kept_out is not None else None,
        database=database_of(row.item),
        probability=row.probability,
        relevance=row.relevance,
    )


def _stand(row: ItemResult) -> tuple[Stand, str, float | None]:
    if row.exclusion is not None:
        return Stand.EXCLUDE, row.exclusion_reason or "", None
    if row.status != ItemStatus.DECIDED or row.result is None or row.result.error is not None:
        kind = "" if row.error_kind is None else f": {row.error_kind.value}"
        return Stand.REFERRED, f"{row.status}{kind}", None
    confidence = row.result.confidence
    match verdict(row.value):
        case True:
            return Stand.INCLUDE, row.result.reasoning or "", confidence
        case False:
            return Stand.EXCLUDE, row.exclusion_reason or row.result.reasoning or "", confidence
    if row.value in (None, InclusionStatus.UNCERTAIN.value):
        return Stand.REFERRED, InclusionStatus.UNCERTAIN.value, confidence
    raise InvalidRequest(
        f"{indexed_words(row.index)} has the value {row.value!r}: only a filter's and an inclusion's results can be "
        "compared with labels"
    )
