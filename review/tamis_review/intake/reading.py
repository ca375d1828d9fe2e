"""The reader of bibliographic files. `READERS` has the function of each format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypedDict

from tamis_producer.files.decode import MAX_FILE_BYTES, Replaced, read_decoded
from tamis_schemas import InputError
from tamis_schemas.extras import needs

from .delimited import read_delimited
from .jsonl import read_jsonl
from .nbib import read_nbib
from .notes import Note, NoteKind, Notes
from .pubmed_text import read_pubmed_text
from .recognise import Format, deferred, recognise
from .ris import read_ris
from .source import source_format
from .wos_and_enw import read_enw, read_wos

with needs("files"):  # fails at once if it is missing; large parsers load on first use
    if find_spec("lxml") is None:
        raise ModuleNotFoundError("No module named 'lxml'", name="lxml")

Reader = Callable[[str, Notes], list[dict[str, Any]]]


READERS: Mapping[Format, Reader] = {
    Format.RIS: read_ris,
    Format.NBIB: read_nbib,
    Format.BIBTEX: deferred(".bibtex", "read_bibtex"),
    Format.ENDNOTE_XML: deferred(".endnote_xml", "read_endnote_xml"),
    Format.WOS_TAGGED: read_wos,
    Format.ENDNOTE_TAGGED: read_enw,
    Format.PUBMED_TEXT: read_pubmed_text,
    Format.PUBMED_XML: deferred(".pubmed_xml", "read_pubmed_xml"),
    Format.DELIMITED: read_delimited,
    Format.JSONL: read_jsonl,
    Format.JSON_ARRAY: read_jsonl,
}


class ReadingOptions(TypedDict, total=False):
    """The options of `read_file`. Functions that read several files pass these options to `read_file`."""

    max_bytes: int
    strict: bool
    encoding: str | None


@dataclass(frozen=True)
class Intake:
    """The content of a bibliographic file."""

    records: list[dict[str, Any]]
    format: Format
    encoding: str
    replaced: tuple[Replaced, ...]  # bytes that are invalid in `encoding`, read as cp1252
    sha256: str  # SHA-256 of the file's bytes
    notes: tuple[Note, ...] = ()  # a guessed encoding, skipped text and lost records, by line

    @property
    def skipped(self) -> int:
        """Return the number of lines and other texts that belong to no record."""
        return sum(note.n for note in self.notes if note.kind is NoteKind.SKIPPED)

    @property
    def lost(self) -> int:
        """Return the number of records that could not be read."""
        return sum(note.kind is NoteKind.LOST for note in self.notes)


def read_file(
    path: Path | str, *, max_bytes: int = MAX_FILE_BYTES, strict: bool = False, encoding: str | None = None
) -> Intake:
    """Return the records of a file in order, its format, and notes on text that became no record.

    The content decides the format; docs/files.md lists the formats. `read_records` describes the records. `strict`: an
    unreadable record is an error. `encoding`: Python's name for the encoding of a file that is not UTF-8 or UTF-16.
    If `encoding` is None, Tamis guesses the encoding and adds a note.

    Raises `InputError` with file and line if the file as a whole cannot be read, or has more than `max_bytes`.
    """
    path = Path(path)
    decoded = read_decoded(path, max_bytes=max_bytes, encoding=encoding)
    recognised = recognise(decoded.text)
    reader = READERS.get(recognised)
    if reader is None:
        readable = ", ".join(form.value for form in READERS)
        raise InputError(
            f"this is {recognised.value}, which Tamis cannot read: export the records as one of {readable}",
            path=path,
        )
    notes = Notes(path, strict=strict)
    records = reader(decoded.text, notes)
    if recognised is Format.DELIMITED:  # the reader knows whether the table is TSV
        recognised = source_format(records[0]) or recognised
    guess = f"read as {decoded.encoding}, which is a guess: if letters are wrong, state it (--encoding NAME)"
    doubts = () if encoding or decoded.encoding.startswith("utf") else (Note(NoteKind.DOUBT, 1, guess),)
    return Intake(records, recognised, decoded.encoding, decoded.replaced, decoded.sha256, (*doubts, *notes.taken))


def read_records(
    path: Path | str, *, max_bytes: int = MAX_FILE_BYTES, encoding: str | None = None
) -> list[dict[str, Any]]:
    """Return every record of a bibliographic file, in the file's order. `encoding`: as for `read_file`.

    Canonical names: `id`, `title`, `abstract`, `authors` (list), `year` (int if numeric), `journal`, `keywords` (list),
    `type`, `language`, `doi`, `pmid`, `nct_id`, `url`. Other fields get an underscore (`label` -> `_label`, RIS tag
    `N1` -> `_ris_N1`), and are never shown to a model. Empty fields are omitted. Objects of a JSONL file keep all their
    names.

    `_line` is the record's first line in the file, from 1. `_source` describes the record's fields in the file, so that
    `write_records` can write them again.

    The `id` is the first of these values that the record has: the file's own id, PubMed id, trial id, accession number,
    DOI, `record-<n>`. Two records may have the same id, because exports contain duplicates.

    Raises `InputError` with file and line if a record cannot be read. Text that programs write between records is
    skipped.
    """
    return read_file(path, max_bytes=max_bytes, strict=True, encoding=encoding).records
