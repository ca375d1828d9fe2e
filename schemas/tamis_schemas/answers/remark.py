"""A remark: what people put on a record to find it again, beside every decision."""

from datetime import datetime
from enum import StrEnum

from ..values.frozen import Frozen


class RemarkKind(StrEnum):
    """The kind of a remark."""

    LABEL = "label"  # a few words that several records share: what teams sort by
    NOTE = "note"  # a text about this one


class Remark(Frozen):
    """One label or note on a record."""

    kind: RemarkKind
    text: str
    reviewer: str  # who put it there last
    created_at: datetime  # by the database's clock
