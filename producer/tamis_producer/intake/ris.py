"""RIS: `TY  - JOUR` begins a record, `ER  - ` ends it, a line without a tag continues the one above.

The text is cut into records here, since `rispy` neither knows line numbers nor complains: it drops a record that
has no end, what stands between two records, and all but the first of a repeated tag. It gets one record at a time,
with every tag a list, so that nothing can be dropped.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rispy

from tamis_schemas import InputError

from .record import assemble, is_bare_year, year_of

# Canonical name -> the tags that may hold it, best first. The others of them are kept under their own names.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "title": ("TI", "T1", "CT", "BT"),
    "abstract": ("AB", "N2"),
    "authors": ("AU", "A1"),
    "year": ("PY", "Y1", "DA"),
    "journal": ("JF", "T2", "JO", "JA", "J1", "J2"),
    "keywords": ("KW",),
    "type": ("M3", "TY"),  # "Review" says more than "JOUR"
    "language": ("LA",),
    "doi": ("DO", "DI"),
    "url": ("UR",),
}
LISTS = frozenset(("authors", "keywords"))
ACCESSIONS = ("AN", "ID")
# Embase has no tag for them: it puts the PubMed id and its own number into custom fields.
EMBASE_PMID, EMBASE_ACCESSION = "C5", "U2"
VALUE_A_LINE = frozenset(("KW", "AU", "A1", "DB", "UR"))  # EndNote writes the tag once and a value a line

_TAGGED = re.compile(r"([A-Z][A-Z0-9])( {1,2})-(?: (.*)|$)", re.DOTALL)
_NUMBERING = re.compile(r"\s*\d+\.\s*")  # some programs number the records: "1." on a line of its own


@dataclass(frozen=True)
class _Block:
    """The lines of one record, continuation lines already joined to theirs; without `ER`."""

    line: int
    lines: list[str] = field(default_factory=list)


class _Verbatim(dict[str, str]):
    """Every tag under its own name, so that none is unknown to `rispy`."""

    def __missing__(self, tag: str) -> str:
        return tag


class _Tags(rispy.RisParser):  # type: ignore[misc]  # rispy ships no types
    """Reads a record as tag -> values."""

    DEFAULT_MAPPING = _Verbatim()
    DEFAULT_DELIMITER_MAPPING: Mapping[str, str] = {}  # a URL may hold semicolons

    def parse_line(self, line: str) -> tuple[str, str]:
        return line[:2], line[2:].lstrip(" ")[1:].strip()


def read_ris(text: str, path: Path) -> list[dict[str, Any]]:
    """The records in `text`.

    Raises:
        InputError: naming the line where a record has no end, or text stands outside of any record.
    """
    records = [_record(block, number) for number, block in enumerate(_blocks(text, path), 1)]
    if not records:
        raise InputError("no record: none of its lines begins with `TY  - `", path=path)
    return records


def _blocks(text: str, path: Path) -> Iterator[_Block]:
    # One blank before the dash instead of two: only where the file writes its record starts that way, since
    # "US - based" may begin a line of an abstract.
    start = re.search(r"^TY( {1,2})-", text, re.MULTILINE)
    gap = start[1] if start else "  "
    block: _Block | None = None
    for number, content in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = content.removeprefix("\ufeff")  # where two exports were put one after the other
        found = _TAGGED.fullmatch(line.rstrip())
        tag = found[1] if found and found[2] == gap else None
        if tag == "TY":
            if block is not None:
                raise InputError(
                    f"a record begins here, but the one that began in line {block.line} has no `ER  - ` yet",
                    path=path,
                    line=number,
                )
            block = _Block(number, [line])
        elif block is None:
            if line.strip() and not _NUMBERING.fullmatch(line):
                raise InputError(
                    f"{line.strip()[:60]!r} stands outside of any record: a record begins with `TY  - `",
                    path=path,
                    line=number,
                )
        elif tag == "ER":
            yield block
            block = None
        elif tag is not None:
            block.lines.append(line)
        elif line.strip():
            block.lines[-1] += f"\n{line.strip()}"
    if block is not None:
        raise InputError(
            f"the file ends before the record that began in line {block.line} does (no `ER  - `): is it cut off?",
            path=path,
            line=block.line,
        )


def _record(block: _Block, number: int) -> dict[str, Any]:
    tags = _tags(block)
    embase = any("embase" in name.lower() for name in tags.get("DB", []))
    fields: dict[str, Any] = {}
    for name, candidates in SOURCES.items():
        held = [tag for tag in candidates if tag in tags]
        if name == "year":
            # `DA` may hold a month alone: it serves only where it begins with a year.
            held = [tag for tag in held if year_of(tags[tag][0])] or [tag for tag in held if tag != "DA"]
        elif name == "type" and held[:1] == ["M3"] and tags["M3"][0].startswith("10."):
            held = held[1:]  # some exports put the DOI there
        if held:
            _take(fields, name, held[0], tags)
    if embase and tags.get(EMBASE_PMID, [""])[0].isdigit():
        _take(fields, "pmid", EMBASE_PMID, tags)
    accession = None
    if "pmid" not in fields:
        sources = (*ACCESSIONS, EMBASE_ACCESSION) if embase else ACCESSIONS
        if tag := next((tag for tag in sources if tag in tags), None):
            accession = tags[tag].pop(0)
    kept = {f"ris_{tag}": values[0] if len(values) == 1 else values for tag, values in tags.items() if values}
    return assemble(fields, kept, accession=accession, line=block.line, number=number)


def _tags(block: _Block) -> dict[str, list[str]]:
    """Tag -> its values, in order; without empty ones."""
    names = {line[:2] for line in block.lines}
    lines = iter([*block.lines, "ER  - "])
    found = _Tags(list_tags=names).parse_lines(lines)[0]
    found["TY"] = [found["TY"]]  # rispy never makes a list of the tag that begins a record
    tags: dict[str, list[str]] = {}
    for tag, values in found.items():
        if tag in VALUE_A_LINE:
            values = [value.strip() for joined in values for value in joined.split("\n")]
        if kept := [value for value in values if value]:
            tags[tag] = kept
    return tags


def _take(fields: dict[str, Any], name: str, tag: str, tags: dict[str, list[str]]) -> None:
    """Move a tag's values to the canonical field; values for which it has no room stay behind."""
    values = tags[tag]
    if name in LISTS:
        fields[name], tags[tag] = values, []
    elif name == "abstract":
        fields[name], tags[tag] = "\n".join(values), []
    elif name == "year" and (year := year_of(values[0])):
        fields[name] = year
        tags[tag] = values[1:] if is_bare_year(values[0]) else values
    else:
        fields[name] = values[0] if name != "title" else values[0].replace("\n", " ")
        tags[tag] = values[1:]
