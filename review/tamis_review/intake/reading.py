"""A bibliographic file, read: its records, and how its bytes were taken. `READERS` has the function of each format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tamis_producer.files.decode import MAX_FILE_BYTES, Replaced, read_decoded
from tamis_schemas import InputError
from tamis_schemas.extras import needs

from .delimited import read_delimited
from .jsonl import read_jsonl
from .nbib import read_nbib
from .notes import Note, NoteKind, Notes
from .pubmed_text import read_pubmed_text
from .recognise import Format, recognise
from .ris import read_ris
from .source import source_format
from .wos_and_enw import read_enw, read_wos

with needs("files"):  # said at once where it is missing; what takes memory is loaded by who reads such a format
    if find_spec("lxml") is None:
        raise ModuleNotFoundError("No module named 'lxml'", name="lxml")

Reader = Callable[[str, Notes], list[dict[str, Any]]]


def _read_bibtex(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Read BibTeX; its parser takes two megabytes of memory, which who reads none does not take."""
    from .bibtex import read_bibtex

    return read_bibtex(text, notes)


def _read_endnote_xml(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Read EndNote XML; its parser takes four megabytes, likewise."""
    from .endnote_xml import read_endnote_xml

    return read_endnote_xml(text, notes)


READERS: Mapping[Format, Reader] = {
    Format.RIS: read_ris,
    Format.NBIB: read_nbib,
    Format.BIBTEX: _read_bibtex,
    Format.ENDNOTE_XML: _read_endnote_xml,
    Format.WOS_TAGGED: read_wos,
    Format.ENDNOTE_TAGGED: read_enw,
    Format.PUBMED_TEXT: read_pubmed_text,
    Format.DELIMITED: read_delimited,
    Format.JSONL: read_jsonl,
}


@dataclass(frozen=True)
class Intake:
    """The content of a file."""

    records: list[dict[str, Any]]
    format: Format
    encoding: str
    replaced: tuple[Replaced, ...]  # bytes that are not valid in `encoding`, and were read as cp1252
    sha256: str  # of the file's bytes
    notes: tuple[Note, ...] = ()  # what became no record, by line

    @property
    def skipped(self) -> int:
        """The number of lines and the like that belong to no record."""
        return sum(note.n for note in self.notes if note.kind is NoteKind.SKIPPED)

    @property
    def lost(self) -> int:
        """The number of records that could not be read."""
        return sum(note.kind is NoteKind.LOST for note in self.notes)


def read_file(path: Path | str, *, max_bytes: int = MAX_FILE_BYTES, strict: bool = False) -> Intake:
    """Every record of a file, in its order, of any format that docs/files.md lists, told by the content.

    The records are as `read_records` says; a file of more than `max_bytes` is not read.

    What became no record stands in its `notes`; where reading is `strict`, a record that cannot be read is an error.

    Raises `InputError` naming file and line, where the file as a whole cannot be read.
    """
    path = Path(path)
    decoded = read_decoded(path, max_bytes=max_bytes)
    recognised = recognise(decoded.text)
    reader = READERS.get(recognised)
    if recognised is Format.JSON_ARRAY:
        raise InputError(
            "this is one JSON array; write one object a line instead (JSONL), without brackets and commas around them",
            path=path,
        )
    if reader is None:
        readable = ", ".join(form.value for form in READERS)
        raise InputError(
            f"this is {recognised.value}, which cannot be read; what can be read is {readable}: export the records "
            "as one of these",
            path=path,
        )
    notes = Notes(path, strict=strict)
    records = reader(decoded.text, notes)
    named = source_format(records[0]) if records else None  # a reader may know more: TSV is delimited text
    return Intake(records, named or recognised, decoded.encoding, decoded.replaced, decoded.sha256, notes.taken)


def read_records(path: Path | str, *, max_bytes: int = MAX_FILE_BYTES) -> list[dict[str, Any]]:
    """Every record of a file that `read_file` reads, in the file's order.

    Canonical names: `id`, `title`, `abstract`, `authors` (list), `year` (int where it is one), `journal`, `keywords`
    (list), `type`, `language`, `doi`, `pmid`, `nct_id`, `url`. What has no canonical name keeps its own behind an
    underscore (`label` -> `_label`, RIS tag `N1` -> `_ris_N1`): it stays with the item and is never shown to a
    model. `_line` is the line of the file, counted from 1, in which the record begins; `_source` says which fields
    the record had there, so that `write_records` can write them again. Empty fields are left out. Objects of a JSONL
    file keep all their names.

    The id is the file's own, else the PubMed or trial id, the accession number, the DOI, else `record-<n>`. Two
    records may have the same id: exports hold true duplicates, and finding them is not the reader's business.

    Raises `InputError` naming file and line, where a record cannot be read: nobody would hear of it, as `read_file`
    tells. What programs set between records is skipped.
    """
    return read_file(path, max_bytes=max_bytes, strict=True).records
