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
    """Return True if a JSON object with these members is a citation in CSL."""
    return "type" in members and (
        "container-title" in members
        or isinstance(members.get("issued"), dict)
        or any(isinstance(person, dict) and _names(person) for person in as_list(members.get("author")))
    )


def keys_of(members: Mapping[str, Any]) -> dict[str, str]:
    """Return a mapping from each member's name in a CSL object to its name in a record."""
    canonical = {name: NAMES[name] for name in members if name in NAMES and NAMES[name] not in members}
    return {name: canonical.get(name, name if name in CANONICAL else f"_csl_{name}") for name in members}


def with_canonical(record: Mapping[str, Any], notes: Notes, line: int) -> dict[str, Any]:
    """Return a record with canonical fields (authors, year, keywords, DOI) made from its CSL fields.

    `record`: the values of a CSL object under the names of `keys_of`. An author without a name in letters gets a note;
    the author's value stays in `_csl_author`.
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
    """Return the names in a CSL person: `Family, Given`. The value may have any JSON type.

    Only texts and integers are read. A name without a letter is omitted.
    """
    if isinstance(person, dict):
        read = {name: str(value) for name, value in person.items() if type(value) in (str, int)}
        family = " ".join(filter(None, map(read.get, ("non-dropping-particle", "family"))))
        names = [", ".join(filter(None, (family, read.get("given")))) or read.get("literal", "")]
    else:
        names = split_authors(person) if isinstance(person, str) else []
    return [name for name in names if any(map(str.isalpha, name))]
