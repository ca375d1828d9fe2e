"""The decision on a record, in fields that no model is shown. An exported file has it in notes or columns.

An export also has people's labels and notes, and the source if there are several.
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
BESIDE = (FROM_SOURCE, LABELS, NOTES)  # columns that a table has only if some record has the field
# The record's hidden field -> its name in a note or a column.
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
    """Return the place of each decision field in a format whose note fields are called `name`."""
    return {key: FieldPlace(name, f"{label}: ") for key, label in DECISION_FIELDS.items()}


def is_withdrawn(field: Field) -> bool:
    """Return True if the file's field has a decision that the record no longer has."""
    return field.key in DECISION_FIELDS and not field.text


def decision_value(key: str, text: str) -> str | float:
    """Return the value of a decision field's text in a file. A confidence becomes a number if possible."""
    if key != CONFIDENCE:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return number if isfinite(number) else text  # JSON has no other numbers
