"""What a person should read next: records in the reading order, each with the reason for its place."""

from datetime import datetime
from enum import StrEnum

from ..values.frozen import Frozen


class ReadingBy(StrEnum):
    """What decides which record comes next."""

    ORDER = "order"  # the reading order
    DISAGREEMENT = "disagreement"  # first what the models of a panel differ on, then the reading order


class ReadingReason(StrEnum):
    """The reason why a record stands at its place."""

    SAMPLE = "sample"  # chance drew it into the open sample of a stop rule
    PAIR = "pair"  # somebody else has decided on it, and whoever asks has not
    DISAGREEMENT = "disagreement"  # the models of the panel differ on it
    CONFLICT = "conflict"  # people decided differently, and nobody has settled it
    MODEL = "model"  # the model's score
    TEXT = "text"  # it reads as the records that people included
    BOTH = "both"
    EXPLORATION = "exploration"  # chance drew it
    RULE = "rule"  # the initial filter excluded it: such records come last
    NUMBER = "number"  # people read blind: an order by promise would tell what was decided
    RETURNED = "returned"  # its decision was withdrawn after the order was made


class NextRecord(Frozen):
    """A record to read."""

    index: int  # place in the batch, from 0
    item_id: str
    title: str = ""  # empty: it has none
    reason: ReadingReason
    why: str  # the same as a sentence
    score: float | None = None  # for inclusion, the model's, 0 to 1; None: it decided neither way
    probability: float | None = None  # that people include it; None: too few decisions for a figure
    rule: str | None = None  # of the initial filter, that excluded it


class NextRecords(Frozen):
    """The records to read next, the first one first, and what their order was made from."""

    batch_id: str
    seed: int
    explore: float  # the share of places that go to records that chance draws
    reviewer: str | None = None  # for whom; None: whoever reads
    records: tuple[NextRecord, ...]
    unread: int  # records left to read, these among them
    decided: int  # records on which people's decision stands
    included: int  # of these
    conflicts: int  # records on which people decided differently: they count as undecided
    made_after: int  # decided records when the order was made
    made_at: datetime
    current: bool  # it was made from all decisions and results that there are
    text_weight: float  # the text model's share in the order, 0 to 1; the rest is the model's score
    meaning: str  # what this says for the review, in a sentence or two
