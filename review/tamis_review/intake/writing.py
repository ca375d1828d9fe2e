"""The writer of bibliographic files. `WRITERS` maps each format to the function that writes it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from tamis_producer.results.results_file import replacing
from tamis_schemas import InputError

from .bibtex_writing import write_bibtex
from .delimited import DELIMITER_OF, write_csv, write_tsv
from .details import IN_ENDNOTE, IN_RIS, PREFIXES, other_tag
from .jsonl import write_jsonl
from .nbib import write_nbib
from .recognise import Format, deferred, format_named
from .record import CANONICAL, LINE
from .ris import write_ris
from .source import SOURCE, Entry, entries_of, is_blank, source_format

WRITERS: Mapping[Format, Callable[[Iterable[Mapping[str, Any]], TextIO], None]] = {
    Format.RIS: write_ris,
    Format.NBIB: write_nbib,
    Format.BIBTEX: write_bibtex,
    Format.ENDNOTE_XML: deferred(".endnote_writing", "write_endnote_xml"),
    Format.DELIMITED: write_csv,
    Format.TSV: write_tsv,
    Format.JSONL: write_jsonl,
}


# Format -> whether its files can hold a field of this name. The field is not canonical, and comes from another format.
TAKES: Mapping[Format, Callable[[str], bool]] = {
    Format.RIS: lambda name: name in IN_RIS or other_tag(name) is not None,
    Format.ENDNOTE_XML: lambda name: name in IN_ENDNOTE,
    **dict.fromkeys(DELIMITER_OF, lambda name: not name.startswith("_") or name.startswith(PREFIXES)),
    Format.JSONL: lambda _: True,
}


def write_records(
    records: Iterable[Mapping[str, Any]],
    path: Path | str,
    *,
    format: Format | str | None = None,  # noqa: A002 - the usual word
) -> Mapping[str, int]:
    """Write records to `path`, and return the fields that the format cannot hold: name -> number of records.

    The default of `format` is the format of the file that the records were read from.

    In the format of its own file, a record is written with all fields of that file, in the file's order, with current
    values. In another format, canonical fields are written as that format's fields. Then fields that are never shown to
    a model, such as `_ris_N1`, are omitted and counted, except in JSONL. Details such as volume and pages, from formats
    that Tamis only reads, are written to RIS, EndNote XML and tables.

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
    return dropped_fields(records, chosen)


def dropped_fields(records: Iterable[Mapping[str, Any]], form: Format) -> Mapping[str, int]:
    """Return the fields that a file of this format cannot hold: name -> number of records with the field."""
    return Counter(name for record in records for name in _without_place(record, form))


def _without_place(record: Mapping[str, Any], form: Format) -> Iterator[str]:
    source, takes = source_format(record), TAKES.get(form)
    own: list[Entry] = []
    if source is form or (form in DELIMITER_OF and source in DELIMITER_OF):  # a row of a table keeps its columns alone
        own, takes = entries_of(record, source or form), None if form in DELIMITER_OF else takes
    kept = {*CANONICAL, LINE, SOURCE, *(entry[1] for entry in own if len(entry) > 1)}
    for name, value in record.items():
        if not (name in kept or name.startswith("_tamis_") or is_blank(value) or (takes and takes(name))):
            yield name


def format_to_write(records: Iterable[Mapping[str, Any]], path: Path | str, wanted: Format | str | None) -> Format:
    """Return the `wanted` format. If it is None, return the format that all records were read from.

    Raises `InputError` if Tamis cannot write the format, or if the records do not share one.
    """
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
