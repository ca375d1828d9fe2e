"""CSL JSON, which Zotero, Mendeley and Crossref export: the canonical fields of an object.

An object of JSON or JSONL is CSL if it has a date, a journal or persons as in CSL. Its other members become hidden
fields, such as `_csl_volume`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .record import CANONICAL, bare_doi, split_keywords

# CSL's name -> the canonical name.
NAMES: Mapping[str, str] = {"container-title": "journal", "DOI": "doi", "URL": "url", "PMID": "pmid"}


def is_csl(members: Mapping[str, Any]) -> bool:
    """Return True if the object is a citation in CSL."""
    return "type" in members and (
        "container-title" in members or isinstance(members.get("issued"), dict) or any(_names(members.get("author")))
    )


def keys_of(members: Mapping[str, Any]) -> dict[str, str]:
    """Return the name in the record for each name in the object."""
    canonical = {name: NAMES[name] for name in members if name in NAMES and NAMES[name] not in members}
    return {name: canonical.get(name, name if name in CANONICAL else f"_csl_{name}") for name in members}


def with_canonical(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record, under names as of `keys_of`, with canonical fields from CSL's own values."""
    keyword = record.get("_csl_keyword")
    years = re.findall(r"\b\d{4}\b", str(record.get("_csl_issued")))
    made = {
        "authors": list(_names(record.get("_csl_author"))),
        "year": int(years[0]) if years else None,
        "keywords": split_keywords(keyword) if isinstance(keyword, str) else None,
    }
    whole = {**{name: value for name, value in made.items() if value}, **record}
    return whole | {"doi": bare_doi(doi)} if isinstance(doi := record.get("doi"), str) else whole


def _names(persons: object) -> Iterator[str]:
    for person in persons if isinstance(persons, list) else ():
        if isinstance(person, dict):
            family = " ".join(filter(None, (person.get("non-dropping-particle"), person.get("family"))))
            if name := ", ".join(filter(None, (family, person.get("given")))) or person.get("literal"):
                yield name
