"""Pairs made from real records by rules: a record, and a version from another database or a different paper.

A rule is a function of one record. It returns None if it cannot be applied. By construction, the second record of a
pair is a copy (`COPIES`) or no copy (`NO_COPIES`). Identifiers are removed from both records.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Record: TypeAlias = Mapping[str, Any]
Pair: TypeAlias = tuple[Record, Record]
Rule: TypeAlias = Callable[[Record], Pair | None]

IDENTIFIERS = ("id", "doi", "pmid", "nct_id", "url")
ISSNS = ("_ISSN", "_issn")
PAGES = ("_pages", "_pubmed_pages", "_Page start", "_Start Page")  # another paper begins on another page
_SMALL = frozenset(("the", "of", "and", "for", "in", "on", "a", "an", "&"))
_TRANSLITERATED = (("ü", "ue", "u"), ("ø", "oe", "o"), ("đ", "dj", "d"), ("å", "aa", "a"), ("ı", "i", "i"))


def hidden(record: Record) -> Record:
    """Return the record without identifiers."""
    return {name: value for name, value in record.items() if name not in IDENTIFIERS}


def _retitled(change: Callable[[str], str | None]) -> Rule:
    def rule(record: Record) -> Pair | None:
        title = str(record.get("title") or "").rstrip(". ")
        changed = change(title) if title else None
        return None if changed is None else (hidden(record), {**hidden(record), "title": changed})

    return rule


def _without_subtitle(title: str) -> str | None:
    stem, colon, rest = title.partition(": ")
    return stem if colon and len(stem) >= 25 and len(rest) >= 10 else None


def _author_spelt(letter: str, written: str) -> Rule:
    """Return a rule that adds a foreign letter to the first author's name, and in the copy its transliteration."""

    def rule(record: Record) -> Pair | None:
        authors = record.get("authors")
        if not isinstance(authors, list) or not authors or not isinstance(authors[0], str):
            return None
        beginning = re.match(r"[^\W\d_]{4,}", authors[0])
        if beginning is None:
            return None
        name, rest = beginning[0], authors[0][beginning.end() :]
        one, other = (f"{name[:2]}{letters}{name[2:]}{rest}" for letters in (letter, written))
        own = hidden(record)
        return {**own, "authors": [one, *authors[1:]]}, {**own, "authors": [other, *authors[1:]]}

    return rule


def _abbreviated_journal(record: Record) -> Pair | None:
    words = re.findall(r"[A-Za-z]+", str(record.get("journal") or ""))
    kept = [word for word in words if word.lower() not in _SMALL]
    if len(kept) < 2 or re.search(r"[.:(\d]", str(record["journal"])):
        return None
    short = " ".join("J" if word == "Journal" else word if len(word) < 6 else word[:4] for word in kept)
    return hidden(record), {**hidden(record), "journal": short}


def _with(**fields: object) -> Rule:
    """Return a rule for the record and a version with these fields replaced. A field of None is removed."""

    def rule(record: Record) -> Pair | None:
        own = hidden(record)
        changed = {**own, **(dict.fromkeys((*ISSNS, *PAGES)) if "journal" in fields else {}), **fields}
        return own, {name: value for name, value in changed.items() if value is not None}

    return rule


def _congress_abstract(record: Record, *, years_before: int) -> Pair | None:
    """Return the paper and its congress abstract as Embase has it; None if the record is such an abstract itself."""
    if "onference:" in f"{record.get('journal')} {record.get('_SO')}":  # it is one already; Ovid's source says so
        return None
    fields = {"journal": f"{record['journal']}. Conference: 9th Congress", "year": record["year"] - years_before}
    return _with(**fields, type="Conference Abstract", abstract=None)(record)


COPIES: Mapping[str, Rule] = {
    "`[Article in German]` behind the title": _retitled(lambda title: f"{title} [Article in German]"),
    "`[Chinese]` behind the title": _retitled(lambda title: f"{title}. [Chinese]"),
    "`(German)` behind the title": _retitled(lambda title: f"{title} (German)"),
    "`LA` behind the title": _retitled(lambda title: f"{title} LA"),
    "brackets around the title": _retitled(lambda title: f"[{title}]."),
    "brackets, and `(author's transl)`": _retitled(lambda title: f"[{title} (author's transl)]"),
    "another language behind it: `; [...]`": _retitled(lambda title: f"{title}; [Sobre las cosas de este mundo]"),
    "without its subtitle": _retitled(_without_subtitle),
    "an abbreviated journal": _abbreviated_journal,
    **{
        f"the first author with {letter}, written {way}": _author_spelt(letter, way)
        for letter, *ways in _TRANSLITERATED
        for way in dict.fromkeys(ways)
    },
}
NO_COPIES: Mapping[str, Rule] = {
    "another journal": _with(journal="Zeitschrift zum Vergleich", abstract=None),
    "another journal, the same abstract": _with(journal="Zeitschrift zum Vergleich"),
    "a congress abstract of the year before": lambda record: _congress_abstract(record, years_before=1),
    "a congress abstract of the same year": lambda record: _congress_abstract(record, years_before=0),
    "a commentary of other authors elsewhere": _with(
        authors=["Zzyzx Q"], journal="Zeitschrift zum Vergleich", abstract=None
    ),
    "`Commentary on:` before the title": _retitled(lambda title: f"Commentary on: {title}"),
    "part 1 and part 2": lambda record: (
        {**hidden(record), "title": f"{record['title']} Part 1"},
        {**hidden(record), "title": f"{record['title']} Part 2"},
    ),
    "two subtitles": lambda record: (
        {**hidden(record), "title": f"{record['title']}: a study of men"},
        {**hidden(record), **dict.fromkeys(PAGES, ""), "title": f"{record['title']}: a study of women"},
    ),
}  # fmt: skip
