"""The writer of bibliographic files. `WRITERS` has the function of each format."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from tamis_producer.results.results_file import replacing
from tamis_schemas import InputError

from .bibtex_writing import write_bibtex
from .delimited import write_csv, write_tsv
from .jsonl import write_jsonl
from .nbib import write_nbib
from .recognise import Format, deferred, format_named
from .ris import write_ris
from .source import source_format

WRITERS: Mapping[Format, Callable[[Iterable[Mapping[str, Any]], TextIO], None]] = {
    Format.RIS: write_ris,
    Format.NBIB: write_nbib,
    Format.BIBTEX: write_bibtex,
    Format.ENDNOTE_XML: deferred(".endnote_writing", "write_endnote_xml"),
    Format.DELIMITED: write_csv,
    Format.TSV: write_tsv,
    Format.JSONL: write_jsonl,
}


def write_records(
    records: Iterable[Mapping[str, Any]],
    path: Path | str,
    *,
    format: Format | str | None = None,  # noqa: A002 - the usual word
) -> None:
    """Write records to `path`, in the format of their file, or in `format`.

    In the format of its file, a record is written with every field of the file, in order, with current values. In
    another format, canonical fields are written as that format's fields. Fields that are never shown to a model, such
    as `_ris_N1`, are then omitted, except in JSONL. Details such as volume and pages, from formats that Tamis only
    reads, are written to RIS, EndNote XML and tables.

    The decision (`_tamis_decision`, `_tamis_confidence`, `_tamis_reason`, `_tamis_exclusion_reason`) is written in
    every format. It replaces the file's previous decision, and `read_records` can read it back. The file is UTF-8, and
    appears only when it is complete.

    The records are iterated several times: pass a list or a `Spool`, not an iterator.

    Raises `InputError` if the file or the format cannot be written. The same error is raised if `format` is missing,
    and the records come from several formats or from no file.
    """
    chosen = format_to_write(records, path, format)
    with replacing(path) as stream:
        WRITERS[chosen](records, stream)


def format_to_write(records: Iterable[Mapping[str, Any]], path: Path | str, wanted: Format | str | None) -> Format:
    """Return the `wanted` format, or the common format of all records. Raise `InputError` if there is neither."""
    names = ", ".join(form.value for form in WRITERS)
    if wanted is not None:
        form = wanted if isinstance(wanted, Format) else format_named(wanted)
        if form is None or form not in WRITERS:
            raise InputError(f"{str(wanted)!r} is not a format for writing; choose one of {names}", path=path)
        return form
    formats = dict.fromkeys(map(source_format, records))
    only = next(iter(formats), None)
    if len(formats) == 1 and only is not None and only in WRITERS:
        return only
    if len(formats) > 1:
        mixture = ", ".join("no file" if form is None else form.value for form in formats)
        raise InputError(f"the records come from {mixture}: choose the format to write, one of {names}", path=path)
    raise InputError(f"the format to write is unknown: choose one of {names}", path=path)
