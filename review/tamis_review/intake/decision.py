"""The decision on a record, as an export says it: hidden fields of the record, notes in a file.

Of records from several sources an export says in the same way from which each is, and what people put on them.
"""

from collections.abc import Mapping
from math import isfinite

from .fields import FieldPlace
from .source import Field

DECISION = "_tamis_decision"
CONFIDENCE = "_tamis_confidence"
REASON = "_tamis_reason"
EXCLUSION_REASON = "_tamis_exclusion_reason"
FROM_SOURCE = "_tamis_source"
LABELS = "_tamis_labels"
NOTES = "_tamis_notes"
BESIDE = (FROM_SOURCE, LABELS, NOTES)  # a table has a column of these only where some record has one
# The record's hidden field -> what a note or a column calls it.
DECISION_FIELDS: Mapping[str, str] = {
    DECISION: "Tamis decision",
    CONFIDENCE: "Tamis confidence",
    REASON: "Tamis reason",
    EXCLUSION_REASON: "Tamis exclusion reason",
    FROM_SOURCE: "Tamis source",
    LABELS: "Tamis labels",
    NOTES: "Tamis notes",
}
# The same as members of an object, as columns, and as fields of BibTeX.
DECISION_NAMES: Mapping[str, str] = {key.removeprefix("_"): key for key in DECISION_FIELDS}


def decision_places(name: str) -> dict[str, FieldPlace]:
    """Hidden field -> its place, in a format whose notes are the fields called `name`."""
    return {key: FieldPlace(name, f"{label}: ") for key, label in DECISION_FIELDS.items()}


def is_withdrawn(field: Field) -> bool:
    """True for the note of a decision that the record no longer has."""
    return field.key in DECISION_FIELDS and not field.text


def decision_value(key: str, text: str) -> str | float:
    """Return the value of a file's text under `key`: the confidence as a number, where it is one."""
    if key != CONFIDENCE:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return number if isfinite(number) else text  # JSON has no other numbers
