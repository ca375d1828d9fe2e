"""Notes: a reader's remarks on text of a file that became no record.

Text between records (a numbering, a link line) is skipped and counted. A record that cannot be read is lost; its note
has the line and the reason. Strict reading raises an error instead.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tamis_schemas import InputError

from .recognise import BEGINNINGS, Format

# Name of a line in notes -> its form. Ovid numbers records and adds a link; Cochrane adds three lines.
KNOWN: Mapping[str, re.Pattern[str]] = {
    "record number": re.compile(r"\d+\.|Record #\d+ of \d+|Result #\d+|<\d+>", re.IGNORECASE),
    **{f"`{name}:` line": re.compile(f"{name}:.*", re.IGNORECASE) for name in ("Provider", "Content", "Database")},
    "link": re.compile(r"(?:(?:link|url)[^:]{0,40}:\s*)?(?:https?://\S+|<a\s[^>]*>.*)", re.IGNORECASE),
}
OTHER = "line of text outside of any record"
# The beginning of a record, for files that people joined from several formats. `BEGINNINGS` has the other formats.
FOREIGN: Mapping[Format, re.Pattern[str]] = {
    Format.ENDNOTE_XML: re.compile(r"(?:<xml>\s*)?(?:<records>\s*)?<record[\s>]"),
    Format.PUBMED_TEXT: re.compile(r"\d+\. \S.*\. (?:1[89]|20)\d\d\b"),
    Format.JSONL: re.compile(r"\{\".*\}$"),
}


class NoteKind(StrEnum):
    """The kind of a note."""

    SKIPPED = "skipped"  # text that belongs to no record
    LOST = "lost"  # a record that could not be read
    DOUBT = "doubt"  # text that may have been read wrongly


@dataclass(frozen=True)
class Note:
    """Text of a file that became no record, or may have been read wrongly."""

    kind: NoteKind
    line: int  # line of the file, from 1; for equal skipped texts, the line of the first text
    text: str  # skipped text, or reason for the loss or the doubt
    n: int = 1  # number of times; equal skipped texts are counted together


class Notes:
    """The notes of one file, collected by its reader."""

    def __init__(self, path: Path, *, strict: bool = False) -> None:
        self.path = path
        self._strict = strict
        self._skipped: dict[str, tuple[int, int]] = {}  # kind -> first line, count
        self._lost: list[Note] = []

    def skipped(self, what: str, line: int) -> None:
        """Count skipped text between records. `what`: the kind of the text."""
        first, n = self._skipped.get(what, (line, 0))
        self._skipped[what] = (first, n + 1)

    def between(self, line: str, number: int, own: Format, *, of_lost: bool = False) -> bool:
        """Add a note on a line outside of any record. Return True if the line begins a record in another format.

        `own`: the format of the file. `of_lost`: the line belongs to a lost record. Such a line gets a note only if it
        begins a record in another format.
        """
        text = line.strip().removeprefix("\ufeff")
        begun = BEGINNINGS.match(text)
        other = (
            Format[str(begun.lastgroup)]
            if begun
            else next((form for form, sign in FOREIGN.items() if sign.match(text)), own)
        )
        if other is not own:
            self.lost(f"a record in {other.value}, in a file of {own.value}: put it in a separate file", number)
        elif not of_lost:
            kind = next((kind for kind, form in KNOWN.items() if form.fullmatch(line.strip())), OTHER)
            self.skipped(kind, number)
        return other is not own

    def malformed(self, what: str, line: int) -> None:
        """Count malformed text that is not a record as skipped. Raise `InputError` if reading is strict."""
        if self._strict:
            raise InputError(what, path=self.path, line=line)
        self.skipped(what, line)

    def lost(self, reason: str, line: int) -> None:
        """Add a note on a record that cannot be read. Raise `InputError` if reading is strict."""
        if self._strict:
            raise InputError(reason, path=self.path, line=line)
        self._lost.append(Note(NoteKind.LOST, line, reason))

    def nothing_read(self, wanting: str) -> InputError:
        """Return the error for a file without readable records: why the first record was lost.

        `wanting`: the message if the file has no records at all.
        """
        if not self._lost:
            return InputError(wanting, path=self.path)
        first, n = self._lost[0], len(self._lost)
        reason = first.text if n == 1 else f"{first.text}; none of its {n:,} records can be read"
        return InputError(reason, path=self.path, line=first.line)

    @property
    def taken(self) -> tuple[Note, ...]:
        """Return all notes, by line."""
        skipped = (Note(NoteKind.SKIPPED, line, what, n) for what, (line, n) in self._skipped.items())
        return tuple(sorted((*skipped, *self._lost), key=lambda note: note.line))
