"""An exclusion: the reason why no model saw a record."""

from pydantic import Field

from ..values.frozen import Frozen

DUPLICATE = "duplicate"  # rule that excludes copies of a record


class Exclusion(Frozen):
    """The reason for an exclusion before screening: a rule of the initial filter (tier 1), or a duplicate."""

    rule: str  # a `FilterRule` of the initial filter, or `duplicate`
    reason: str  # one sentence for a reader
    confidence: float = Field(default=1.0, ge=0.0, le=1.0)
    matched: str | None = None  # the record's text that the rule matched
    field: str | None = None  # field with this text: title, abstract, year ...
    start: int | None = None  # place of the matched text's first character in that field, from 0
    end: int | None = None  # one past the last character
    duplicate_of: int | None = None  # place in the batch, from 0, of the copy that remains
