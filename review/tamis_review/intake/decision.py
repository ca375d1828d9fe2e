"""The decision on a record, in fields that no model is shown. Exported files have the decision in notes or columns.

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
# Name in JSON objects, tables and BibTeX -> the record's hidden field.
DECISION_NAMES: Mapping[str, str] = {key.removeprefix("_"): key for key in DECISION_FIELDS}


def decision_places(name: str) -> dict[str, FieldPlace]:
    """Return where a format writes each decision field: in a note field called `name`, after a label."""
    return {key: FieldPlace(name, f"{label}: ") for key, label in DECISION_FIELDS.items()}


def is_withdrawn(field: Field) -> bool:
    """Return True if the field of a file contained a decision that its record no longer has."""
    return field.key in DECISION_FIELDS and not field.text


def decision_value(key: str, text: str) -> str | float:
    """Return the value of a decision field from its text in a file. A confidence becomes a number if possible."""
    if key != CONFIDENCE:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return number if isfinite(number) else text  # JSON has no other numbers
