"""Intake: the records of a bibliographic file, as items.

`read_records` is the only public name. What a file holds is decided by its content, never by its name.

| module | owns |
|---|---|
| `decode` | bytes to text |
| `recognise` | which format a text is in |
| `ris`, `delimited`, `jsonl` | one format each |
| `record` | the canonical names of a record, and what makes its id |
"""

from pathlib import Path
from typing import Any

from tamis_schemas import InputError

from .decode import read_text
from .delimited import read_delimited
from .jsonl import read_jsonl
from .recognise import Format, recognise
from .ris import read_ris

__all__ = ["read_records"]

READABLE = "RIS, CSV or TSV with a header row, and JSONL"


def read_records(path: Path) -> list[dict[str, Any]]:
    """Every record of a RIS, CSV, TSV or JSONL file, in the file's order.

    Canonical names: `id`, `title`, `abstract`, `authors` (list), `year` (int where it is one), `journal`, `keywords`
    (list), `type`, `language`, `doi`, `pmid`, `nct_id`, `url`. What has no canonical name keeps its own behind an
    underscore (`label` -> `_label`, RIS tag `N1` -> `_ris_N1`): it stays with the item and is never shown to a
    model. `_line` is the line of the file, counted from 1, in which the record begins. Empty fields are left out.
    Objects of a JSONL file keep all their names.

    The id is the file's own, else the PubMed or trial id, the accession number, the DOI, else `record-<n>`. Two
    records may have the same id: exports hold true duplicates, and finding them is not the reader's business.

    Raises:
        InputError: naming file and line, where any part of the file cannot be read. Nothing is skipped.
    """
    text = read_text(path)
    match recognise(text):
        case Format.RIS:
            return read_ris(text, path)
        case Format.JSONL:
            return read_jsonl(text, path)
        case Format.DELIMITED:
            return read_delimited(text, path)
        case Format.JSON_ARRAY:
            raise InputError(
                "this is one JSON array; write one object a line instead (JSONL), without brackets and commas "
                "around them",
                path=path,
            )
        case other:
            raise InputError(
                f"this is {other.value}, which cannot be read yet; what can be read is {READABLE}: export the "
                "records as one of these",
                path=path,
            )
