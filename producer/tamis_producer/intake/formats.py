"""The formats that can be read and written, and the module of each."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from .bibtex_writing import write_bibtex
from .delimited import read_delimited
from .delimited_writing import write_csv, write_tsv
from .endnote_writing import write_endnote_xml
from .endnote_xml import read_endnote_xml
from .enw import read_enw
from .jsonl import read_jsonl, write_jsonl
from .nbib import read_nbib, write_nbib
from .notes import Notes
from .pubmed_text import read_pubmed_text
from .recognise import Format
from .ris import read_ris, write_ris
from .wos import read_wos

Reader = Callable[[str, Path, Notes], list[dict[str, Any]]]
Writer = Callable[[Iterable[Mapping[str, Any]], TextIO], None]


def _read_bibtex(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """Read BibTeX; its parser takes two megabytes of memory, which who reads none does not take."""
    from .bibtex import read_bibtex

    return read_bibtex(text, path, notes)


READERS: Mapping[Format, Reader] = {
    Format.RIS: read_ris,
    Format.NBIB: read_nbib,
    Format.BIBTEX: _read_bibtex,
    Format.ENDNOTE_XML: read_endnote_xml,
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
    Format.ENDNOTE_XML: write_endnote_xml,
    Format.DELIMITED: write_csv,
    Format.TSV: write_tsv,
    Format.JSONL: write_jsonl,
}
