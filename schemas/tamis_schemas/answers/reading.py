"""The next records to read: in the reading order, each with the reason for its place."""

from datetime import datetime
from enum import StrEnum

from ..values.frozen import Frozen


class ReadingBy(StrEnum):
    """The rule that decides which record comes next."""

    ORDER = "order"  # the reading order
    DISAGREEMENT = "disagreement"  # first the records on which the panel's models differ, then the reading order


class ReadingReason(StrEnum):
    """The reason why a record has its place in the order."""

    SAMPLE = "sample"  # drawn at random into the open sample of a stop rule
    PAIR = "pair"  # another reviewer has decided on it, and the present reader has not
    DISAGREEMENT = "disagreement"  # the models of the panel differ on it
    CONFLICT = "conflict"  # people disagree, and no decision settles it
    MODEL = "model"  # the model's score
    TEXT = "text"  # text similar to the included records
    BOTH = "both"  # the model's score and similar text
    EXPLORATION = "exploration"  # drawn at random
    RULE = "rule"  # excluded by the initial filter; such records come last
    NUMBER = "number"  # by its number, because people read blind: the reading order would reveal decisions
    RETURNED = "returned"  # its decision was withdrawn after the order was made


class NextRecord(Frozen):
    """A record that people should read next, with the reason for its place in the order."""

    index: int  # place in the batch, from 0
    item_id: str
    title: str = ""  # empty: no title
    reason: ReadingReason
    why: str  # reason as a sentence
    score: float | None = None  # model's score for inclusion, 0 to 1; None: the model decided neither way
    rule: str | None = None  # rule of the initial filter that excluded it


class NextRecords(Frozen):
    """The records to read next, in order, and the basis of their order."""

    batch_id: str
    seed: int
    explore: float  # share of places for records drawn at random
    reviewer: str | None = None  # reader; None: any
    records: tuple[NextRecord, ...]
    unread: int  # records left to read, including the records listed here
    decided: int  # records with a decision by people
    included: int  # records that people included
    conflicts: int  # records on which people disagree: they count as undecided
    made_after: int  # decided records when the order was made
    made_at: datetime
    current: bool  # True: the order was made from all present decisions and results
    text_weight: float  # the text model's share in the order, 0 to 1; the model's score has the remaining share
    meaning: str  # consequence for the review, in a sentence or two
