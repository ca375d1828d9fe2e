"""The formats that can be read and written, and the module of each."""

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from tamis_schemas.extras import needs

from .bibtex_writing import write_bibtex
from .delimited import read_delimited
from .delimited_writing import write_csv, write_tsv
from .jsonl import read_jsonl, write_jsonl
from .nbib import read_nbib, write_nbib
from .notes import Notes
from .only_read import read_enw, read_wos
from .pubmed_text import read_pubmed_text
from .recognise import Format
from .ris import read_ris, write_ris

with needs("files"):  # said at once where it is missing; what takes memory is loaded by who reads such a format
    if find_spec("lxml") is None:
        raise ModuleNotFoundError("No module named 'lxml'", name="lxml")

Reader = Callable[[str, Path, Notes], list[dict[str, Any]]]
Writer = Callable[[Iterable[Mapping[str, Any]], TextIO], None]


def _read_bibtex(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """Read BibTeX; its parser takes two megabytes of memory, which who reads none does not take."""
    from .bibtex import read_bibtex

    return read_bibtex(text, path, notes)


def _read_endnote_xml(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """Read EndNote XML; its parser takes four megabytes, likewise."""
    from .endnote_xml import read_endnote_xml

    return read_endnote_xml(text, path, notes)


def _write_endnote_xml(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write EndNote XML, likewise."""
    from .endnote_writing import write_endnote_xml

    write_endnote_xml(records, stream)


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
WRITERS: Mapping[Format, Writer] = {
    Format.RIS: write_ris,
    Format.NBIB: write_nbib,
    Format.BIBTEX: write_bibtex,
    Format.ENDNOTE_XML: _write_endnote_xml,
    Format.DELIMITED: write_csv,
    Format.TSV: write_tsv,
    Format.JSONL: write_jsonl,
}
