"""An explanation as one document: what was asked, answered, concluded, decided by people, and paid."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from tamis_schemas import (
    BatchStatus,
    Criterion,
    ErrorKind,
    HumanStage,
    ItemResult,
    Quote,
    Source,
    Stratum,
    Verdict,
)
from tamis_schemas.answers.transcript import Transcript
from tamis_schemas.values.frozen import Frozen


class ExplainedBatch(Frozen):
    """The batch that the record stands in."""

    id: str
    label: str | None = None
    operation: str
    params: dict[str, Any]  # all that was asked, the criteria among them
    criteria: tuple[Criterion, ...] = ()  # of an inclusion, each under its label
    model: str | None = None  # that the batch named; None: the workers' own
    state: BatchStatus
    round: int
    review: str | None = None
    stage: int | None = None  # of its review, from 0
    created_at: datetime
    finished_at: datetime | None = None


class ExplainedVerdict(Frozen):
    """A verdict with its criterion, its quote, and the record's own words at the quote's place."""

    label: str
    criterion: str | None = None
    excludes: bool = False
    verdict: Verdict
    quote: Quote | None = None
    passage: str | None = None  # of the record, from the quote's start to its end


class Because(Frozen):
    """A rule or a formula that set a part of the result, with the numbers filled in."""

    sets: str  # status, value, confidence, outcome, probability, relevance
    text: str


class PastFailure(Frozen):
    """The failure that ended an earlier round."""

    round: int
    kind: ErrorKind
    message: str


class HumanAct(StrEnum):
    """The kind of a person's act."""

    DECIDED = "decided"
    CONFIRMED = "confirmed"  # said what the software says
    WITHDREW = "withdrew"
    AUDITED = "audited"


class HumanWord(Frozen):
    """One thing that a person said of the record; none is ever taken out."""

    act: HumanAct
    by: str
    at: datetime
    value: Any = None  # of an audit: include, true or false
    note: str | None = None
    audit: str | None = None  # its id
    stage: HumanStage = HumanStage.OWN
    reason: str | None = None  # why a full text is excluded, or could not be got
    settles: bool = False  # it counts, whatever others say


class DrawnIn(Frozen):
    """An audit whose sample the record is in."""

    audit: str
    seed: int
    stratum: Stratum
    population: int
    drawn: int  # place in the order in which the sample was drawn, from 0
    at: datetime


class OtherStage(Frozen):
    """The result of another stage of the review for the same record."""

    stage: int  # from 0
    batch: str
    operation: str
    result: ItemResult
    because: tuple[Because, ...] = ()


class ExplainedCopy(Frozen):
    """A copy of the record that was kept out."""

    index: int  # place in the batch; of a review, in its first stage
    item_id: str
    source: str | None = None  # None: the batch has no more than one
    reason: str


class Explanation(Frozen):
    """One record's whole story."""

    batch: ExplainedBatch
    record: ItemResult  # with its fields as submitted, and the human's word that counts
    source: Source | None = None  # None: a program submitted it
    copies: tuple[ExplainedCopy, ...] = ()
    verdicts: tuple[ExplainedVerdict, ...] = ()
    because: tuple[Because, ...] = ()
    transcripts: tuple[Transcript, ...] = ()  # of every claim that came to an end, the first one first
    prompts: dict[str, str] = Field(default_factory=dict)  # the texts that transcripts name by their sha256
    gap: str | None = None  # why transcripts do not hold everything; None: they do
    past_failures: tuple[PastFailure, ...] = ()
    humans: tuple[HumanWord, ...] = ()  # in the order of time
    audits: tuple[DrawnIn, ...] = ()
    stages: tuple[OtherStage, ...] = ()  # of its review, this one left out
    lost_claims: int = 0  # whose worker died: what they may have paid for is in no bill
