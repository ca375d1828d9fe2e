"""A bibliographic file, read: its records, and how its bytes were taken."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_producer.files.decode import MAX_FILE_BYTES, Replaced, read_decoded
from tamis_schemas import InputError

from .formats import READERS
from .notes import Note, NoteKind, Notes
from .recognise import Format, recognise
from .source import source_format


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
    records = reader(decoded.text, path, notes)
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
