"""CSV and its kin: a header row, then one record a row. Written, it is one table, whatever the records come from.

A file that comes back has its own columns, in their order and with the very texts of their cells, quotes around them
where it has them around all, its delimiter and line ends, and above the header what stood there. Not kept: rows without
a word, empty cells beyond the header, and quotes that were not needed and do not stand around every cell.

A row that is damaged costs one record. The sources whose columns need more than synonyms have a mapping of their own
(`column_mappings`).

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula. What a model wrote is put behind an
apostrophe there, which the reader takes away again; the cells of a team's own table come back as they are.
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
from tamis_producer.results.formula_guard import guarded, unguarded
from tamis_schemas import InputError

from .cell_rows import DELIMITERS, CellRow, CellRows
from .column_mappings import ColumnMapping
from .columns import ACCESSION, Columns, canonical_name, is_decision
from .decision import BESIDE, DECISION_NAMES, decision_value
from .details import PREFIXES
from .fields import FieldPlace, fields_of
from .notes import Notes
from .recognise import Format
from .record import CANONICAL, assemble, hide, is_bare_year, split_authors, split_keywords, year_of
from .source import Field, as_text, entries_of, layout_of, mark_of, remember, source_format

HEADER_WITHIN = 10  # rows; Embase writes the search query above its header
LAST = 1_000  # characters of a file in which its last line ends, empty lines behind it or not
LISTED = 30  # column names in a message
DATABASE = "_database"  # that the row names, whatever its column is called
QUOTING = ("all", "filled")  # besides quotes where they are needed: around every cell, or every one that is not empty
LINE_ENDS = ("\r\n", "\n", "\r")
SEPARATOR = "; "
MADE = "made"  # canonical name -> mark of the value, where it was made of cells that say more and stay as they are
DELIMITER_OF = {Format.DELIMITED: ",", Format.TSV: "\t"}
# Where what the record has gained is written, and all of a record that comes from elsewhere.
PLACES: Mapping[str, FieldPlace] = {
    **{name: FieldPlace(name) for name in CANONICAL},
    **{key: FieldPlace(column) for column, key in DECISION_NAMES.items()},
}
SPLIT: Mapping[str, Callable[[str], list[str]]] = {"authors": split_authors, "keywords": split_keywords}


def read_delimited(text: str, notes: Notes) -> list[dict[str, Any]]:
    """The records in `text`: comma, semicolon, tab or bar between cells, whichever makes a header of the header.

    The columns `tamis_decision` and its kin, as `write_csv` adds them, become the record's hidden decision again. A
    column that stands twice is numbered.

    A row that is longer than the header, a short one with neither title nor abstract, and one whose quotes do not match
    are lost, which the notes say; where they are strict, it raises `InputError`. So does a text that has no header with
    a title or an abstract, or no record below it.
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
        if (fault := _fault(row, columns, served)) is not None:
            if lost and len(row.cells) < columns.width:
                notes.skipped("a line behind a row that is lost, with neither title nor abstract", row.line)
            else:
                notes.lost(fault, row.line)
                rows.swallowed()  # by a quote that is not closed, and is not seen to be
            lost = True
            continue
        lost = False
        if layout is None:
            layout = _layout(text, delimiter, header, row, form)
        record, fields, made = _record(row, header, columns, filled, served, number=len(records) + 1)
        records.append(remember(record, form, fields, {**layout, MADE: made} if made else layout))
        layout.pop("above", None)  # it belongs to the file, not to each of its records
    if not records:
        first = next(iter(notes.taken), None)
        why = f" that can be read: {first.text}" if first else ""
        raise InputError(f"a header, but no record below it{why}", path=notes.path, line=first.line if first else None)
    return records


def _delimiter(text: str) -> str:
    """The one by which a row near the top names most known columns.

    At a tie the one that finds most cells, then the one whose cells have no white space at their ends: a column may be
    called `;` in a table with tabs.
    """
    lines = io.StringIO(text, newline="")  # once: it is a copy of all of them

    def score(delimiter: str) -> tuple[int, int, int]:
        lines.seek(0)
        reader = csv.reader(lines, delimiter=delimiter)
        best = (0, 0, 0)
        with suppress(csv.Error):  # a cell beyond all bounds: what was seen before it still counts
            for _, cells in zip(range(HEADER_WITHIN), reader, strict=False):
                named = sum(canonical_name(cell) is not None for cell in cells)
                best = max(best, (named, len(cells), sum(cell == cell.strip() for cell in cells)))
        return best

    return max(DELIMITERS, key=score)


def _header(rows: Iterator[CellRow], notes: Notes) -> tuple[CellRow, Columns]:
    seen: list[CellRow] = []
    for _, row in zip(range(HEADER_WITHIN), rows, strict=False):
        columns = Columns([cell.strip() for cell in row.cells])
        # Above the header only what cannot be one: a single word like "Abstract" may stand in a preamble.
        if columns.has_content and (not seen or len(columns.known) > 1):
            return row, columns
        if any(row.cells):
            seen.append(row)
    names = seen[0].cells if seen else []
    if any(len(name) > 80 or re.fullmatch(r"\d+", name.strip()) for name in names):
        wrong = "the first row looks like a record: put a header row above it that names the columns"
    else:
        wrong = "no column for a title or an abstract"
    listed = ", ".join(repr(name[:40]) for name in names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    raise InputError(f"{wrong}; columns found: {listed}{more}", path=notes.path, line=seen[0].line if seen else None)


def _layout(text: str, delimiter: str, header: CellRow, first: CellRow, form: Format) -> dict[str, Any]:
    """Return the style of the file, where it is not the ordinary one of its format."""
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
        ordinary = [cell for cell in row.cells if not special_in(delimiter).search(cell)]
        for style in QUOTING if any(ordinary) else ():
            if text.startswith(delimiter.join(quoted(cell, style) for cell in row.cells), starts[row.line]):
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


def _fault(row: CellRow, columns: Columns, served: Mapping[str, int]) -> str | None:
    """Return what makes the row no record."""
    width = f"a row of {len(row.cells)} cells under a header of {columns.width}"
    if any(cell.strip() for cell in row.cells[columns.width :]):
        return f"{width}: is a cell with the delimiter in it not in quotes?"
    if len(row.cells) < columns.width and not served.keys() & {"title", "abstract"}:
        return f"{width}, with neither title nor abstract: is a line break within a cell not in quotes?"
    return None


def _record(
    row: CellRow, header: CellRow, columns: Columns, filled: dict[int, str], served: dict[str, int], *, number: int
) -> tuple[dict[str, Any], list[Field], dict[str, str]]:
    """Return the record, the fields of its row, and the marks of what was made of other cells than its own."""
    mapping = columns.mapping_of(row.cells)
    texts = {name: filled[at].strip() for name, at in served.items()}
    accession = texts.pop(ACCESSION, None)
    fields = _values(texts, mapping)
    made: Mapping[str, Any] = {}
    if mapping is not None and mapping.made is not None:  # of columns with one name, the first that is filled
        made = mapping.made({columns.plain[at]: filled[at] for at in reversed(filled)})
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
        kept[name] = decision_value(DECISION_NAMES[name], unguarded(kept[name]))
    record = assemble({**fields, **gained}, kept, accession=accession, line=row.line, number=number)
    # The hidden fields stand behind the canonical ones, in the order of `kept`, and the line behind them.
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
        source.append(Field(name, unguarded(cell) if is_decision(name) else cell, key))
    for name, value in made.items():
        if value and name not in CANONICAL:
            record.setdefault(hide(name), value)
    if (database := columns.database_of(row.cells)) is not None:
        record.setdefault(DATABASE, database)
    return record, source, {name: mark_of(record[name]) for name in gained}


def _values(texts: Mapping[str, str], mapping: ColumnMapping | None) -> dict[str, Any]:
    """Return the canonical fields of these cells."""
    fields: dict[str, Any] = dict(texts)
    readings = SPLIT if mapping is None else {**SPLIT, **mapping.values}
    for name in fields.keys() & readings.keys():
        fields[name] = readings[name](fields[name])
    if isinstance(text := fields.get("year"), str) and (year := year_of(text)) is not None:
        fields["year"] = year
    return fields


def write_csv(records: Iterable[Mapping[str, Any]], stream: TextIO, form: Format = Format.DELIMITED) -> None:
    """Write a table with commas, or with the delimiter of the records' own table where it is no tab.

    One that was read from a table (CSV or TSV) keeps its columns; what it has gained since gets columns behind them,
    the decision last. One from elsewhere has the canonical names as columns, then any other that is not hidden. Lists
    are separated by semicolons; a semicolon within a name or a keyword becomes a comma. White space around a value is
    not read back.
    """
    layout = next((own for record in records if (own := layout_of(record, form))), {})

    def stated(what: str, possible: Sequence[str], otherwise: str) -> str:
        return next((one for one in possible if one == layout.get(what)), otherwise)

    delimiter = stated("delimiter", DELIMITERS, DELIMITER_OF[form])
    line_end = stated("line_end", LINE_ENDS, LINE_ENDS[0])
    rows_end = stated("rows_end", LINE_ENDS, line_end)  # where it differs from the header's
    special = special_in(delimiter)

    def row(cells: Sequence[str], style: object, end: str) -> str:
        written = [quoted(cell) if special.search(cell) else quoted(cell, style) for cell in cells]
        # A row of one empty cell would be an empty line.
        return end + (delimiter.join(written) or '""')

    columns = _columns(records)
    above = next((layout_of(record, form).get("above") for record in records), None)
    if isinstance(above, str):
        stream.write(above)
    stream.write(row([column.name for column in columns], layout.get("names_quoted"), ""))
    end = line_end
    for record in records:
        cells = _cells(record)
        stream.write(row([cells.get(column, "") for column in columns], layout.get("cells_quoted"), end))
        end = rows_end
    if layout.get("last_line_ends") is not False:
        stream.write(end)


def write_tsv(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write a table with tabs between the cells; else as `write_csv`."""
    write_csv(records, stream, Format.TSV)


def quoted(cell: str, style: object = "all") -> str:
    """The cell between quotes, if it gets them in this style."""
    if style not in QUOTING or (style == "filled" and not cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def special_in(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of the characters for which a cell needs quotes."""
    return re.compile(rf'["\r\n{re.escape(delimiter)}]')


@dataclass(frozen=True)
class _Column:
    """Names that differ in case alone are one: they could not be told apart when read back."""

    name: str = field(compare=False)
    plain: str
    nth: int = 0  # of the columns of one table that have this name, or none

    @classmethod
    def called(cls, name: str, nth: int = 0) -> "_Column":
        return cls(name, _plain(name), nth)


def _plain(name: str) -> str:
    return name.strip().casefold()


def _columns(records: Iterable[Mapping[str, Any]]) -> list[_Column]:
    """Return the columns: those of the records' tables, then those gained, then the decision unless a table has it."""
    of_tables: dict[_Column, None] = {}
    gained: dict[_Column, None] = {}
    for record in records:
        own = {entry[0] for entry in entries_of(record, _table_of(record))}
        for column in _cells(record):
            (of_tables if column.name in own else gained)[column] = None
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
        columns.insert(0, _Column.called("title"))  # without one of them it is no table of records
    return columns


def _table_of(record: Mapping[str, Any]) -> Format:
    form = source_format(record)
    return form if form in DELIMITER_OF else Format.DELIMITED


def _cells(record: Mapping[str, Any]) -> dict[_Column, str]:
    form = _table_of(record)
    entries = entries_of(record, form)
    cells: dict[_Column, str] = {}
    column_of: dict[str, _Column] = {}  # canonical name -> the column that holds it
    own = Counter([_plain(entry[0]) for entry in entries])
    seen: dict[str, int] = {}
    for one in fields_of(record, form, _places(record, form), joined_by=SEPARATOR):
        if one.key in SPLIT and one.key in column_of:  # one more element of a list has no column of its own
            cells[column_of[one.key]] += SEPARATOR + one.text
            continue
        # What is gained goes into the column of this name, whose cell may have been blank; columns of one table that
        # have one name, or none, are told apart by their order.
        plain = _plain(one.name)
        column = _Column(one.name, plain, nth if (nth := seen.get(plain, 0)) < own[plain] else 0)
        seen[plain] = nth + 1
        cells[column] = guarded(one.text) if is_decision(one.name) else one.text
        if one.key is not None and one.key in CANONICAL:
            column_of[one.key] = column
    mapping = _columns_named(tuple(column.name for column in cells)).mapping_of([*cells.values()])
    for key, column in column_of.items():
        cells[column] = _readable(cells[column], key, record.get(key), mapping)
    if source_format(record) is not form:
        for name, value in record.items():
            if name not in PLACES and (not name.startswith("_") or name.startswith(PREFIXES)):
                name, text = name.removeprefix("_"), as_text(value)
                cells.setdefault(_Column.called(name), guarded(text) if is_decision(name) else text)
    if not any(cell.strip() for cell in cells.values()):  # a row without a word would be no record
        cells[_Column.called("id")] = as_text(record.get("id")).strip() or "record"
    return cells


_columns_named = lru_cache(maxsize=64)(Columns)  # a file's records have one header


def _readable(cell: str, key: str, value: object, mapping: ColumnMapping | None) -> str:
    """The cell, or one in which the reader finds this value."""
    read = SPLIT.get(key) if mapping is None else mapping.values.get(key, SPLIT.get(key))
    if value is None or value == [] or read is None or read(cell) == value:
        return cell
    if mapping is not None and key in mapping.written:
        return mapping.written[key](value)
    if isinstance(value, list):
        return SEPARATOR.join(as_text(element).replace(";", ",") for element in value) + ";"
    return cell


def _places(record: Mapping[str, Any], form: Format) -> Mapping[str, FieldPlace]:
    """Return the places but for what was made of cells that are there, and is still the same."""
    made = layout_of(record, form).get(MADE)
    if not isinstance(made, Mapping):
        return PLACES
    same = {key for key, mark in made.items() if key in record and mark_of(record[key]) == mark}
    return {key: place for key, place in PLACES.items() if key not in same}
