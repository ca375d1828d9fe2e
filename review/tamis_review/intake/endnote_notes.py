"""The notes of an EndNote record in which a decision stands: lines at the end of its research notes.

`Tamis decision: exclude`; a line that continues one is indented by two blanks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .decision import DECISION_FIELDS, decision_value
from .fields import FieldPlace
from .source import as_text

RESEARCH_NOTES = "research-notes"
NCT_NOTE = FieldPlace("notes/~", "NCT ID: ")
INDENT = "  "

_LINE_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Notes:
    """A text of the research notes, and the decision that stood in it."""

    text: str
    decision: Mapping[str, Any]


def taken_apart(text: str) -> Notes:
    """Return the team's notes, and the decision of Tamis in them."""
    rest: list[str] = []
    lines_of: dict[str, list[str]] = {}
    lines = _LINE_BREAK.split(text)
    key: str | None = None
    for line in lines:
        begun = next((name for name, label in DECISION_FIELDS.items() if line.startswith(f"{label}: ")), None)
        if begun is not None and begun not in lines_of:
            key = begun
            lines_of[key] = [line[len(DECISION_FIELDS[key]) + 2 :]]
        elif key is not None and line.startswith(INDENT):
            lines_of[key].append(line[len(INDENT) :])
        else:
            key = None
            rest.append(line)
    if not lines_of:
        return Notes(text, {})
    return Notes("\n".join(rest), {key: decision_value(key, "\n".join(begun)) for key, begun in lines_of.items()})


def with_decision(text: str, decision: Mapping[str, Any]) -> str:
    """The notes with the decision behind them; `taken_apart` gives both back."""
    lines = [_LINE_BREAK.sub("\n", text)] if text else []
    for key, label in DECISION_FIELDS.items():
        if key in decision:
            first, *others = _LINE_BREAK.split(as_text(decision[key]))
            lines += [f"{label}: {first}", *(INDENT + other for other in others)]
    return "\n".join(lines)
