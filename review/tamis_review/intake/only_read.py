"""The tagged formats that are read and not written: their records, made of tags and texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .record import assemble, is_bare_year, split_keywords, year_of


@dataclass(frozen=True)
class Scheme:
    """The tags of a format."""

    prefix: str  # of the names under which a record keeps what has no canonical name: `wos` gives `_wos_CR`
    sources: Mapping[str, tuple[str, ...]]  # canonical name -> the tags that may hold it, best first
    accessions: tuple[str, ...]
    value_a_line: frozenset[str]  # tags with a value on each line
    wrapped_at: int  # characters; lines that are all shorter are parts of one, others are lines of their own


@dataclass(frozen=True)
class TaggedText:
    """A tag, and the lines of its text."""

    tag: str
    lines: list[str]

    @property
    def has_text(self) -> bool:
        """True where there is more to it than blanks."""
        return any(map(str.strip, self.lines))


def record_of(fields: Sequence[TaggedText], scheme: Scheme, *, line: int, number: int) -> dict[str, Any]:
    """The record of these fields. `number` counts the file's records from 1."""
    texts: dict[str, list[str]] = {}
    for one in fields:
        if values := [value for text in _texts(one, scheme) if (value := text.strip())]:
            texts.setdefault(one.tag, []).extend(values)
    canonical: dict[str, Any] = {}
    for name, tags in scheme.sources.items():
        if tag := next((tag for tag in tags if texts.get(tag)), None):
            canonical[name], texts[tag] = _taken(name, texts[tag])
    accession = None
    if canonical.keys().isdisjoint(("pmid", "nct_id")):
        tag = next((tag for tag in scheme.accessions if texts.get(tag)), None)
        accession = texts[tag].pop(0) if tag is not None else None
    kept = {f"{scheme.prefix}_{tag}": left[0] if len(left) == 1 else left for tag, left in texts.items() if left}
    return assemble(canonical, kept, accession=accession, line=line, number=number)


def _texts(field: TaggedText, scheme: Scheme) -> list[str]:
    if field.tag in scheme.value_a_line:
        return field.lines
    lines = [line.strip() for line in field.lines]
    joined_by = " " if all(len(line) <= scheme.wrapped_at for line in lines) else "\n"
    return [joined_by.join(lines)]


def _taken(name: str, values: list[str]) -> tuple[Any, list[str]]:
    """The canonical field of these values, and those for which it has no room."""
    first = values[0]
    if name == "authors":
        return values, []
    if name == "keywords":
        return [word for value in values for word in (split_keywords(value) if ";" in value else [value])], []
    if name == "abstract":
        return "\n".join(values), []
    if name == "year" and (year := year_of(first)) is not None:
        return year, values[1:] if is_bare_year(first) else values
    return " ".join(first.split("\n")) if name == "title" else first, values[1:]
