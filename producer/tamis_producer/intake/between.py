"""The lines that programs set between records: which of them are known, and how a note calls each."""

import re
from collections.abc import Mapping

# How a note calls a line -> its form: Ovid numbers its records and adds a link, Cochrane has three lines of its own.
KNOWN: Mapping[str, re.Pattern[str]] = {
    "record number": re.compile(r"\d+\.|Record #\d+ of \d+|Result #\d+|<\d+>", re.IGNORECASE),
    "`Provider:` line": re.compile(r"Provider:.*", re.IGNORECASE),
    "`Content:` line": re.compile(r"Content:.*", re.IGNORECASE),
    "`Database:` line": re.compile(r"Database:.*", re.IGNORECASE),
    "link": re.compile(r"(?:(?:link|url)[^:]{0,40}:\s*)?(?:https?://\S+|<a\s[^>]*>.*)", re.IGNORECASE),
}
OTHER = "line of text outside of any record"


def kind_between(line: str) -> str:
    """The name of the kind of line that `line`, which belongs to no record, is of."""
    text = line.strip()
    return next((kind for kind, form in KNOWN.items() if form.fullmatch(text)), OTHER)
