"""Rayyan's notes: what each member of a team decided, with reasons and notes, in one cell.

    RAYYAN-INCLUSION: {"Kim"=>"Included", "Noor"=>"Excluded"} | RAYYAN-LABELS: trial | RAYYAN-EXCLUSION-REASONS: in rats
    | USER-NOTES: {"Noor"=>["seen twice"]}

Source: "Understanding Your Rayyan Export Files", Rayyan's help centre, read in November 2026. Reasons are the record's,
not a person's: they go with every exclusion of it.
"""

import re
from collections.abc import Iterable

from .foreign_rows import ForeignWord

INCLUSION, REASONS, NOTES = "RAYYAN-INCLUSION", "RAYYAN-EXCLUSION-REASONS", "USER-NOTES"
_PARTS = re.compile(r"\s*(?:^|\|)\s*(?=(?:RAYYAN-[A-Z-]+|USER-NOTES):)")
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_SAID = re.compile(rf"{_QUOTED}\s*=>\s*{_QUOTED}")
_NOTED = re.compile(rf"{_QUOTED}\s*=>\s*\[((?:[^\]\"]|{_QUOTED})*)\]")
_TEXT = re.compile(_QUOTED)
_EXCLUDED = "excluded"


def is_rayyan(notes: Iterable[str]) -> bool:
    """True where notes of a file are Rayyan's."""
    return any(f"{INCLUSION}:" in note for note in notes)


def read_notes(note: str) -> tuple[ForeignWord, ...]:
    """What each member decided; nothing of a record on which nobody has."""
    parts = dict(part.split(":", 1) for part in _PARTS.split(note) if ":" in part)
    reasons = parts.get(REASONS, "").strip(" |") or None
    notes = {
        _plain(match[1]): "; ".join(_plain(text) for text in _TEXT.findall(match[2]))
        for match in _NOTED.finditer(parts.get(NOTES, ""))
    }
    return tuple(
        ForeignWord(
            word=_plain(word),
            reviewer=_plain(name),
            reason=reasons if _plain(word).casefold() == _EXCLUDED else None,
            note=notes.get(_plain(name)) or None,
        )
        for name, word in _SAID.findall(parts.get(INCLUSION, ""))
    )


def _plain(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted).strip()
