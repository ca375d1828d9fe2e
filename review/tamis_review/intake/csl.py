"""CSL JSON, which Zotero, Mendeley and Crossref export: the canonical fields of an object.

An object of JSON or JSONL is CSL if it has a date, a journal or persons as in CSL. Its other members become hidden
fields, such as `_csl_volume`.
"""

import re
from collections.abc import Mapping
from typing import Any

from .notes import Notes
from .record import CANONICAL, bare_doi, split_authors, split_keywords
from .source import as_list

# CSL's name -> the canonical name.
NAMES: Mapping[str, str] = {"container-title": "journal", "DOI": "doi", "URL": "url", "PMID": "pmid"}


def is_csl(members: Mapping[str, Any]) -> bool:
    """Return True if the object is a citation in CSL."""
    return "type" in members and (
        "container-title" in members
        or isinstance(members.get("issued"), dict)
        or any(isinstance(person, dict) and _names(person) for person in as_list(members.get("author")))
    )


def keys_of(members: Mapping[str, Any]) -> dict[str, str]:
    """Return the name in the record for each name in the object."""
    canonical = {name: NAMES[name] for name in members if name in NAMES and NAMES[name] not in members}
    return {name: canonical.get(name, name if name in CANONICAL else f"_csl_{name}") for name in members}


def with_canonical(record: Mapping[str, Any], notes: Notes, line: int) -> dict[str, Any]:
    """Return a record, whose names are those of `keys_of`, with canonical fields from CSL's own values.

    An author without a name in letters is noted; its value stays in `_csl_author`.
    """
    keyword = record.get("_csl_keyword")
    years = re.findall(r"\b\d{4}\b", str(record.get("_csl_issued")))
    authors = [_names(person) for person in as_list(record.get("_csl_author"))]
    for _ in range(authors.count([])):
        notes.skipped("author without a name", line)
    made = {
        "authors": [name for names in authors for name in names],
        "year": int(years[0]) if years else None,
        "keywords": split_keywords(keyword) if isinstance(keyword, str) else None,
    }
    whole = {**{name: value for name, value in made.items() if value}, **record}
    return whole | {"doi": bare_doi(doi)} if isinstance(doi := record.get("doi"), str) else whole


def _names(person: object) -> list[str]:
    """Return the names in a person of any JSON shape. Only text and numbers are read, and a name has a letter."""
    if isinstance(person, dict):
        read = {name: str(value) for name, value in person.items() if type(value) in (str, int)}
        family = " ".join(filter(None, map(read.get, ("non-dropping-particle", "family"))))
        names = [", ".join(filter(None, (family, read.get("given")))) or read.get("literal", "")]
    else:
        names = split_authors(person) if isinstance(person, str) else []
    return [name for name in names if any(map(str.isalpha, name))]
