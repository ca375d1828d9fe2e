"""A record with the decision of the system and the label of a human."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from tamis_schemas import InclusionStatus, InvalidRequest, ItemResult, ItemStatus
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.operations import verdict
from tamis_schemas.records.record_number import indexed_words

from .inclusion_score import ScoreScale, inclusion_score


class Stand(StrEnum):
    """The system's decision on a record. Undecided and failed records are referred to a human."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    REFERRED = "referred"


@dataclass(frozen=True, slots=True)
class Judged:
    """A record of a batch, with the decisions of the system and of a human."""

    index: int  # place in the batch, from 0
    item_id: str
    title: str
    stand: Stand
    reason: str  # reason of an exclusion; for a referred record: uncertain, failed, cancelled, pending, running
    confidence: float | None = None  # the model's confidence in its decision; None: no model decided
    rule: str | None = None  # excluding rule, applied before any model
    copy: bool = False  # a duplicate of another record of the batch, so not judged itself
    copy_of: int | None = None  # place of the original record
    human: bool | None = None  # True: a human included it; None: no label
    database: str | None = None  # source of the record; None: not named
    probability: float | None = None  # of inclusion, from the tokens of the answer
    relevance: int | None = None  # the model's grade, 0 to 100
    scale: ScoreScale = ScoreScale.CONFIDENCE  # scale of the batch's scores

    @property
    def included(self) -> bool:
        """Return whether a human included the record."""
        return bool(self.human)

    @property
    def score(self) -> float | None:
        """Return the model's support for inclusion, from 0 to 1.

        Return None if the model did not decide the record, or if the record lacks the kind of number (`scale`) that
        the batch's scores come from.
        """
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
        """Return the rank for reading: records with higher ranks are read earlier.

        The rank is the score. Without a score, it is -infinity for records that a rule excluded, and infinity for
        others, which people must read.
        """
        if self.stand is Stand.REFERRED:
            return inf
        if self.confidence is None:
            return -inf
        return inf if self.score is None else self.score


def judged(row: ItemResult) -> Judged:
    """Return the record of a result row, with the decision of the model or a rule.

    Raises `InvalidRequest` if the operation does not include or exclude records.
    """
    from ..intake.column_mappings import database_of  # which imports readers of files, and most commands read none

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
        f"{indexed_words(row.index)} has the value {row.value!r}: only results of a filter or an inclusion can be "
        "compared with labels"
    )
