"""BibTeX laid out as a table, as BASE's records come: braces and LaTeX in the cells, journal and abstract in a note."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from .bibtex_values import latex_of, value_of
from .column_mapping import ColumnMapping

PUBLISHER = 80  # characters at the most of the publisher's name that may stand before a description
_SOURCE = re.compile(r"Source: (?!https?:)(?P<journal>.+?)(?:,? Vol\.? [\w-]+|; Volume|, Iss\b|, Pp?\b|(?= ; )|$)")
_DESCRIPTION = re.compile(r"(?:^|; )Description:(?P<text>.*)", re.DOTALL)
_ISSN = re.compile(r"\bISSN (\d{4}-\d{3}[\dXx])")
_DOI_IN_LINK = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.\d{4,9}/\S+)", re.IGNORECASE)


def _abstract(description: str) -> str:
    """The description without the publisher's name before it; "" where it is no more than a name."""
    publisher, mark, behind = description.partition(" ; ")
    text = behind if mark and len(publisher) <= PUBLISHER else description
    return text.strip().removeprefix(": ") if mark or len(text) > PUBLISHER else ""


def _made(cells: Mapping[str, str]) -> Mapping[str, Any]:
    note = value_of("abstract", cells.get("note", ""))
    above, _, _ = note.partition("Description:")
    made: dict[str, Any] = {}
    if source := _SOURCE.match(above):
        made["journal"] = source["journal"].strip(" ;,")
    if description := _DESCRIPTION.search(note):
        made["abstract"] = _abstract(description["text"].strip())
    if issn := _ISSN.search(above):
        made["issn"] = issn[1]
    if link := _DOI_IN_LINK.search(cells.get("url", "")):
        made["doi"] = unquote(link[1])
    return {name: value for name, value in made.items() if value}


_READ = ("title", "abstract", "authors", "year", "journal", "keywords", "type", "language", "doi", "url")
BIBTEX_TABLE = ColumnMapping(
    signs=frozenset(("entrytype", "id", "title")),
    marker="entrytype",
    names={"type": ("type", "entrytype"), "journal": ("journal", "journaltitle", "booktitle")},
    values={name: partial(value_of, name) for name in _READ},
    written={name: partial(latex_of, name) for name in _READ},
    made=_made,
)
