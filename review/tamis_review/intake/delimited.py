"""The reader and the writer of CSV and similar tables: a header row, then a row for each record.

A table that Tamis reads and writes again keeps its columns in order, and its cells' exact texts. The table also keeps
its delimiter, its line ends, the text above the header, and quotes if all cells had quotes. Empty rows, and empty cells
beyond the header, are lost.

Usual column names are recognised in any table. Other columns need a mapping (`column_mappings`).

Spreadsheets treat a cell that begins with `=`, `+`, `-` or `@` as a formula. The writer puts an apostrophe before such
text, and the reader removes the apostrophe.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TextIO

from tamis_producer.files.decode import LINE_END
from tamis_producer.results.formula_guard import guarded
from tamis_schemas import InputError

from .cell_rows import DELIMITERS, CellRow, CellRows
from .column_mappings import ColumnMapping
from .columns import ACCESSION, Columns, canonical_name, is_decision, listed
from .decision import BESIDE, DECISION_NAMES, decision_value
from .details import PREFIXES
from .fields import FieldPlace, fields_of
from .notes import Notes
from .recognise import Format
from .record import CANONICAL, assemble, hide, is_bare_year, split_authors, split_keywords, year_of
from .source import Field, as_text, entries_of, layout_of, mark_of, remember, source_format
from .tagged import CONTENT

HEADER_WITHIN = 10  # rows; Embase writes the search query above its header
LAST = 1_000  # characters at a file's end that are searched for its last line break
DATABASE = "_database"  # the record's field for the database that a row names, under any column name
QUOTING = ("all", "filled")  # quoted cells beyond the necessary: all, or all that are not empty
LINE_ENDS = ("\r\n", "\n", "\r")
SEPARATOR = "; "
# Cochrane identifies trials by the ids of other databases: `PUBMED 21314913,EMBASE 361584103`.
_PMID_IN_ID = re.compile(r"(?:\A|,)\s*PUBMED (\d{1,9})(?=\s*(?:,|\Z))", re.IGNORECASE)
MADE = "made"  # canonical name -> mark (hash) of a value made from other cells, which stay unchanged
DELIMITER_OF = {Format.DELIMITED: ",", Format.TSV: "\t"}
# The columns for added values, and for records from other formats.
PLACES: Mapping[str, FieldPlace] = {
    **{name: FieldPlace(name) for name in CANONICAL},
    **{key: FieldPlace(column) for column, key in DECISION_NAMES.items()},
}
# In a row with surplus cells, a cell of such a form, or in quotes, is still in its own column.
_FORMS = {"year": re.compile(r"\d{4}"), "doi": re.compile(r"(?:https?://\S+?/)?10\.\S+"), "pmid": re.compile(r"\d+")}
_SENTENCE = re.compile(r"[.!?)\]]\s*\Z")
SPLIT: Mapping[str, Callable[[str], list[str]]] = {"authors": split_authors, "keywords": split_keywords}


def read_delimited(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`. The delimiter is a comma, semicolon, tab or bar, whichever fits the header best.

    The columns that `write_csv` adds (`tamis_decision` and others) become the record's decision, which no model is
    shown. Repeated columns are numbered.

    A row with unbalanced quotes, or longer than the header, is lost. So is a shorter row that has neither title nor
    abstract. Each lost row gets a note.

    Raises `InputError` if the text has no records, or no header with a title or an abstract. With strict `notes`, a
    lost row also raises `InputError`.
    """
    delimiter = _delimiter(text)
    rows = CellRows(text, delimiter, notes)
    header, columns = _header(rows, notes)
    rows.width = columns.width
    form = Format.TSV if delimiter == "\t" else Format.DELIMITED
    layout: dict[str, Any] | None = None
    records: list[dict[str, Any]] = []
    lost = False
    for row in rows:
        if not any(cell.strip() for cell in row.cells):
            continue
        filled, served = columns.sort(row.cells)
        is_longer = any(map(str.strip, row.cells[columns.width :]))
        if is_longer and not rows.swallowed() and (intact := _intact(row.cells, columns, served, rows)):
            served = {name: at for name, at in served.items() if at < intact}
            row = CellRow(row.line, row.cells[: columns.width])
            notes.skipped("a cell beyond the header's", row.line)
        if (fault := _fault(row, columns, served)) is not None:
            if lost and len(row.cells) < columns.width:
                notes.skipped("a line after a lost row, with neither title nor abstract", row.line)
            else:
                notes.lost(fault, row.line)
                rows.swallowed()  # by an unclosed quote that stays undetected
            lost = True
            continue
        lost = False
        if layout is None:
            layout = _layout(text, delimiter, header, row, form)
        record, fields, made = _record(row, header, columns, filled, served, number=len(records) + 1)
        records.append(remember(record, form, fields, {**layout, MADE: made} if made else layout))
        layout.pop("above", None)  # it belongs to the file, not to each record
    if not records:
        raise notes.nothing_read("a header, but no record below it")
    return records


def _delimiter(text: str) -> str:
    """Return the delimiter that gives the most known column names in a row near the top.

    If several delimiters give the same number, prefer more cells, then more cells without outer white space.
    """
    lines = io.StringIO(text, newline="")  # only once: it copies all lines

    def score(delimiter: str) -> tuple[int, int, int]:
        lines.seek(0)
        best = (0, 0, 0)
        with suppress(csv.Error):  # an oversized cell; the rows before it still count
            for _, cells in zip(range(HEADER_WITHIN), csv.reader(lines, delimiter=delimiter), strict=False):
                named = sum(canonical_name(cell) is not None for cell in cells)
                best = max(best, (named, len(cells), sum(cell == cell.strip() for cell in cells)))
        return best

    return max(DELIMITERS, key=score)


def _header(rows: Iterator[CellRow], notes: Notes) -> tuple[CellRow, Columns]:
    seen: list[CellRow] = []
    for _, row in zip(range(HEADER_WITHIN), rows, strict=False):
        columns = Columns([cell.strip() for cell in row.cells])
        # A single word such as "Abstract" may occur in a preamble, so a header below other rows needs two columns.
        if columns.has_content and (not seen or len(columns.known) > 1):
            return row, columns
        if any(row.cells):
            seen.append(row)
    names = seen[0].cells if seen else []
    if any(len(name) > 80 or re.fullmatch(r"\d+", name.strip()) for name in names):
        wrong = "the first row looks like a record: add a header row above it with the names of the columns"
    else:
        wrong = "no column for a title or an abstract"
    raise InputError(f"{wrong}; columns found: {listed(names)}", path=notes.path, line=seen[0].line if seen else None)


def _layout(text: str, delimiter: str, header: CellRow, first: CellRow, form: Format) -> dict[str, Any]:
    """Return the parts of the file's style that differ from the default of its format."""
    starts = {row.line: _start_of(text, row.line) for row in (header, first)}
    line_end = match[0] if (match := LINE_END.search(text, starts[header.line])) else "\r\n"
    layout: dict[str, Any] = {}
    if delimiter != DELIMITER_OF[form]:
        layout["delimiter"] = delimiter
    if line_end != "\r\n":
        layout["line_end"] = line_end
    of_rows = LINE_END.search(end := text[-LAST:], len(end.rstrip("\r\n")))
    if of_rows is None:
        layout["last_line_ends"] = False
    elif of_rows[0] != line_end:
        layout["rows_end"] = of_rows[0]
    for what, row in (("names_quoted", header), ("cells_quoted", first)):
        forms = (row.cells, [*map(guarded, row.cells)])
        ordinary = [cell for cell in row.cells if not special_in(delimiter).search(cell)]
        for style in QUOTING if any(ordinary) else ():
            written = tuple(delimiter.join(quoted(cell, style) for cell in cells) for cells in forms)
            if text.startswith(written, starts[row.line]):
                layout[what] = style
                break
    if starts[header.line]:
        layout["above"] = text[: starts[header.line]]
    return layout


def _start_of(text: str, line: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = match.end() if (match := LINE_END.search(text, start)) else start
    return start


def _intact(cells: Sequence[str], columns: Columns, served: Mapping[str, int], rows: CellRows) -> int:
    """Return how many cells of a row with surplus cells are certainly in their own columns.

    Return 0 if the title or the abstract may be in a wrong column. `served`: field -> position of its cell.
    """
    checked = {name: at for name, at in served.items() if name in _FORMS}
    right = [at for name, at in checked.items() if _FORMS[name].fullmatch(cells[at].strip())]
    content = [served.get(name, at) for name, at in columns.best.items() if name in CONTENT]
    end, sign = max((at + 1 for at in right), default=0), rows.delimiter
    for at in content:
        cell, after = cells[at : at + 2]
        is_quoted = bool(cell) and f"{sign}{quoted(cell)}{sign}" in f"{sign}{rows.written}"
        if at >= end and not is_quoted and (after.startswith(" ") or not _SENTENCE.search(cell)):
            return 0
    end = max([end, *(at + 1 for at in content)])
    return end if "title" in served and right == [at for at in checked.values() if at < end] else 0


def _fault(row: CellRow, columns: Columns, served: Mapping[str, int]) -> str | None:
    """Return why the row is not a record, or None if it is a record. `served`: field -> position of its cell."""
    width = f"a row of {len(row.cells)} cells under a header of {columns.width}"
    if any(cell.strip() for cell in row.cells[columns.width :]):
        return f"{width}: does a cell contain the delimiter without quotes?"
    if len(row.cells) < columns.width and not served.keys() & {"title", "abstract"}:
        return f"{width}, with neither title nor abstract: does a cell contain a line break without quotes?"
    return None


def _record(
    row: CellRow, header: CellRow, columns: Columns, filled: dict[int, str], served: dict[str, int], *, number: int
) -> tuple[dict[str, Any], list[Field], dict[str, str]]:
    """Return the record of a row, the original fields of the row, and marks of values made from several cells.

    A mark shows later whether such a value was changed. `filled`: position -> cell. `served`: field -> position.
    """
    mapping = columns.mapping_of(row.cells)
    texts = {name: filled[at].strip() for name, at in served.items()}
    accession = texts.pop(ACCESSION, None)
    fields = _values(texts, mapping)
    made: Mapping[str, Any] = {}
    if mapping is not None and mapping.made is not None:  # among columns of the same name, the first filled one
        made = mapping.made({columns.plain[at]: filled[at] for at in reversed(filled)})
    if named := _PMID_IN_ID.search(accession or texts.get("id", "")):
        made = {"pmid": named[1], **made}
    gained = {name: made[name] for name in CANONICAL if made.get(name) and not fields.get(name)}
    kept_at = {at: columns.own_names[at] for at in filled if at not in served.values()}
    kept: dict[str, Any] = {name: filled[at] for at, name in kept_at.items()}
    if accession is not None and gained.keys() & {"pmid", "nct_id"}:
        at = served.pop(ACCESSION)
        kept_at[at] = columns.own_names[at]
        kept[kept_at[at]], accession = accession, None
    if isinstance(fields.get("year"), int) and not is_bare_year(texts["year"]):
        kept[columns.names[served["year"]]] = texts["year"]
    for name in kept.keys() & DECISION_NAMES.keys():
        kept[name] = decision_value(DECISION_NAMES[name], kept[name])
    record = assemble({**fields, **gained}, kept, accession=accession, line=row.line, number=number)
    # Hidden fields follow the canonical ones, in the order of `kept`; the line comes last.
    hidden = dict(zip(kept, list(record)[-1 - len(kept) : -1], strict=True))
    roles = {at: name for name, at in {**columns.best, **served}.items()}
    source: list[Field] = []
    for at, name in enumerate(header.cells):
        cell = row.cells[at] if at < len(row.cells) else ""
        if at in kept_at:
            key: str | None = hidden[kept_at[at]]
        elif (role := roles.get(at)) == ACCESSION:
            key = "id" if record["id"] == accession else None
        elif role is not None:
            key = None if role in gained else role
        else:
            key = free if (free := hide(columns.own_names[at])) not in record else None
        source.append(Field(name, cell, key))
    for name, value in made.items():
        if value and name not in CANONICAL:
            record.setdefault(hide(name), value)
    if (database := columns.database_of(row.cells)) is not None:
        record.setdefault(DATABASE, database)
    return record, source, {name: mark_of(record[name]) for name in gained}


def _values(texts: Mapping[str, str], mapping: ColumnMapping | None) -> dict[str, Any]:
    fields: dict[str, Any] = dict(texts)
    readings = SPLIT if mapping is None else {**SPLIT, **mapping.values}
    for name in fields.keys() & readings.keys():
        fields[name] = readings[name](fields[name])
    if isinstance(text := fields.get("year"), str) and (year := year_of(text)) is not None:
        fields["year"] = year
    return fields


def write_csv(records: Iterable[Mapping[str, Any]], stream: TextIO, form: Format = Format.DELIMITED) -> None:
    """Write a table with commas, or with the delimiter of the records' own table (unless that delimiter is a tab).

    A record from a table (CSV or TSV) keeps its columns. Added values get columns after these, the decision last.
    Records from other formats get columns for their canonical names, then for other names without a leading underscore.
    Semicolons separate the elements of lists; a semicolon within a name or a keyword becomes a comma.
    """
    layout = next((stored for record in records if (stored := layout_of(record, form))), {})

    def stated(what: str, possible: Sequence[str], otherwise: str) -> str:
        return next((option for option in possible if option == layout.get(what)), otherwise)

    delimiter = stated("delimiter", DELIMITERS, DELIMITER_OF[form])
    line_end = stated("line_end", LINE_ENDS, LINE_ENDS[0])
    rows_end = stated("rows_end", LINE_ENDS, line_end)  # if it differs from the header's line end
    special = special_in(delimiter)

    def row(cells: Sequence[str], style: object, end: str) -> str:
        written = [quoted(cell) if special.search(cell) else quoted(cell, style) for cell in map(guarded, cells)]
        # A row of one empty cell would be an empty line.
        return end + (delimiter.join(written) or '""')

    columns = _columns(records)
    above = next((layout_of(record, form).get("above") for record in records), None)
    if isinstance(above, str):
        # In a line with a delimiter, any cell may be a formula.
        stream.write(
            re.sub(rf'(^|[\r\n{re.escape(delimiter)}])("?)(?=[=+@\uff1d\uff0b\uff0d\uff20-])', r"\1\2'", above)
        )
    stream.write(row([column.name for column in columns], layout.get("names_quoted"), ""))
    end = line_end
    for record in records:
        cells = _cells(record)
        stream.write(row([cells.get(column, "") for column in columns], layout.get("cells_quoted"), end))
        end = rows_end
    if layout.get("last_line_ends") is not False:
        stream.write(end)


def write_tsv(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write a table like `write_csv`, with tabs between the cells."""
    write_csv(records, stream, Format.TSV)


def quoted(cell: str, style: object = "all") -> str:
    """Return the cell, in quotes if the style requires quotes: `all` cells, or only `filled` cells."""
    is_bare = style not in QUOTING or (style == "filled" and not cell)
    return cell if is_bare else '"' + cell.replace('"', '""') + '"'


def special_in(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of the characters that require quotes around a cell."""
    return re.compile(rf'["\r\n{re.escape(delimiter)}]')


@dataclass(frozen=True)
class _Column:
    """A column of the table to write. Names that differ only in case are equal, as for a reader of tables."""

    name: str = field(compare=False)
    plain: str
    nth: int = 0  # position, from 0, among the table's columns with the same name (or among those without a name)

    @classmethod
    def called(cls, name: str, nth: int = 0) -> "_Column":
        return cls(name, _plain(name), nth)


def _plain(name: str) -> str:
    return name.strip().casefold()


def _columns(records: Iterable[Mapping[str, Any]]) -> list[_Column]:
    """Return the columns to write: those of the records' own tables, added columns, then columns of the decision."""
    of_tables: dict[_Column, None] = {}
    gained: dict[_Column, None] = {}
    for record in records:
        names = {entry[0] for entry in entries_of(record, _table_of(record))}
        for column in _cells(record):
            (of_tables if column.name in names else gained)[column] = None
    gained = {column: None for column in gained if column not in of_tables}
    places = {place.name: at for at, place in enumerate(PLACES.values())}
    if any(is_decision(column.name) for column in (*of_tables, *gained)):
        always = [name for name, key in DECISION_NAMES.items() if key not in BESIDE]
        gained |= {column: None for name in always if (column := _Column.called(name)) not in of_tables}
    columns = [
        *of_tables,
        *sorted(gained, key=lambda column: (is_decision(column.name), places.get(column.name, len(places)))),
    ]
    if not any(canonical_name(column.name) in ("title", "abstract") for column in columns):
        columns.insert(0, _Column.called("title"))  # a table of records needs a title or an abstract
    return columns


def _table_of(record: Mapping[str, Any]) -> Format:
    form = source_format(record)
    return form if form in DELIMITER_OF else Format.DELIMITED


def _cells(record: Mapping[str, Any]) -> dict[_Column, str]:
    form = _table_of(record)
    entries = entries_of(record, form)
    cells: dict[_Column, str] = {}
    column_of: dict[str, _Column] = {}  # canonical name -> its column
    count = Counter([_plain(entry[0]) for entry in entries])
    seen: dict[str, int] = {}
    for written in fields_of(record, form, _places(record, form), joined_by=SEPARATOR):
        if written.key in SPLIT and written.key in column_of:  # further elements of a list use the same column
            cells[column_of[written.key]] += SEPARATOR + written.text
            continue
        # An added value uses a column with its name, if there is such a column, because the cell may be blank. Columns
        # of one table with the same name, or without a name, are distinguished by their order.
        plain = _plain(written.name)
        column = _Column(written.name, plain, nth if (nth := seen.get(plain, 0)) < count[plain] else 0)
        seen[plain] = nth + 1
        cells[column] = written.text
        if written.key is not None and written.key in CANONICAL:
            column_of[written.key] = column
    mapping = _columns_named(tuple(column.name for column in cells)).mapping_of([*cells.values()])
    for key, column in column_of.items():
        cells[column] = _readable(cells[column], key, record.get(key), mapping)
    if source_format(record) is not form:
        for name, value in record.items():
            if name not in PLACES and (not name.startswith("_") or name.startswith(PREFIXES)):
                cells.setdefault(_Column.called(name.removeprefix("_")), as_text(value))
    if not any(cell.strip() for cell in cells.values()):  # a reader would skip an empty row
        cells[_Column.called("id")] = as_text(record.get("id")).strip() or "record"
    return cells


_columns_named = lru_cache(maxsize=64)(Columns)  # a file's records have one header


def _readable(cell: str, key: str, value: object, mapping: ColumnMapping | None) -> str:
    """Return the cell if the reader gets `value` from it. Otherwise return a new cell with the value, if possible."""
    read = SPLIT.get(key) if mapping is None else mapping.values.get(key, SPLIT.get(key))
    if value is None or value == [] or read is None or read(cell) == value:
        return cell
    if mapping is not None and key in mapping.written:
        return mapping.written[key](value)
    if isinstance(value, list):
        return SEPARATOR.join(as_text(element).replace(";", ",") for element in value) + ";"
    return cell


def _places(record: Mapping[str, Any], form: Format) -> Mapping[str, FieldPlace]:
    """Return the columns for added values. Omit the unchanged values that the reader made from other cells."""
    made = layout_of(record, form).get(MADE)
    if not isinstance(made, Mapping):
        return PLACES
    same = {key for key, mark in made.items() if key in record and mark_of(record[key]) == mark}
    return {key: place for key, place in PLACES.items() if key not in same}
