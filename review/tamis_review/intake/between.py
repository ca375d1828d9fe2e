"""The lines between records: those that programs set there, and those that begin a record in another format."""

import re
from collections.abc import Mapping

from .notes import Notes
from .recognise import Format

# How a note calls a line -> its form: Ovid numbers its records and adds a link, Cochrane has three lines of its own.
KNOWN: Mapping[str, re.Pattern[str]] = {
    "record number": re.compile(r"\d+\.|Record #\d+ of \d+|Result #\d+|<\d+>", re.IGNORECASE),
    "`Provider:` line": re.compile(r"Provider:.*", re.IGNORECASE),
    "`Content:` line": re.compile(r"Content:.*", re.IGNORECASE),
    "`Database:` line": re.compile(r"Database:.*", re.IGNORECASE),
    "link": re.compile(r"(?:(?:link|url)[^:]{0,40}:\s*)?(?:https?://\S+|<a\s[^>]*>.*)", re.IGNORECASE),
}
OTHER = "line of text outside of any record"
# How a record begins where files of several formats were put into one.
FOREIGN: Mapping[Format, re.Pattern[str]] = {
    Format.RIS: re.compile(r"TY {1,2}-(?:\s|$)"),
    Format.NBIB: re.compile(r"PMID- "),
    Format.BIBTEX: re.compile(r"@(?!(?:comment|string|preamble)\b)[A-Za-z]+\s*[{(]", re.IGNORECASE),
    Format.ENDNOTE_XML: re.compile(r"(?:<xml>\s*)?(?:<records>\s*)?<record[\s>]"),
    Format.WOS_TAGGED: re.compile(r"PT [A-Z]$"),
    Format.ENDNOTE_TAGGED: re.compile(r"%0 [A-Z]"),
    Format.PUBMED_TEXT: re.compile(r"\d+\. \S.*\. (?:1[89]|20)\d\d\b"),
    Format.JSONL: re.compile(r"\{\".*\}$"),
}


def kind_between(line: str) -> str:
    """The name of the kind of line that `line`, which belongs to no record, is of."""
    text = line.strip()
    return next((kind for kind, form in KNOWN.items() if form.fullmatch(text)), OTHER)


def note_between(line: str, number: int, notes: Notes, own: Format, *, of_lost: bool = False) -> bool:
    """Note a line that belongs to no record of its file; True where a record in another format begins there.

    Of a lost record (`of_lost`) other lines are none between records.
    """
    text = line.strip().removeprefix("\ufeff")
    other = next((form for form, sign in FOREIGN.items() if form is not own and sign.match(text)), None)
    if other is None:
        if not of_lost:
            notes.skipped(kind_between(line), number)
        return False
    notes.lost(f"a record in {other.value}, in a file of {own.value}: put it into a file of its own", number)
    return True
