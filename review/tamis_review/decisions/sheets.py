"""Sheets that people fill in: a row per record with its fields, and columns for decisions.

By default, sheets hide the model's decisions, which would influence readers. This module also reads audit sheets and
tables of decisions. A table names a record by its id, its number (from 1) or its index (from 0).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tamis_producer.results.formula_guard import GuardedTable
from tamis_schemas import Audit, InputError, InvalidParameters, ItemResult, NextRecords, Operation, StopSample
from tamis_schemas.operations.kind import yes_or_no
from tamis_schemas.records.item import shown_fields
from tamis_schemas.records.random_order import check_draw, sample
from tamis_schemas.records.record_number import record_number, record_words

from ..plans.spreadsheet import TableRow, read_table, reviewer_of
from .audits import AuditDecision
from .record_overrides import HumanDecision

if TYPE_CHECKING:  # most sheets need no figures of quality, and `tamis next` starts without them
    from ..quality.pilot import Calibrated

RECORD = ("index", "id", "title", "abstract")
DECISION = ("decision", "reviewer", "note")
NUMBER = "number"  # the record's, from 1, as shown elsewhere; the index is from 0
UTF_8 = "\ufeff"  # the mark that spreadsheets recognise


def write_sheet(
    stream: TextIO,
    rows: Iterable[ItemResult],
    filled: Mapping[int, Sequence[str]],
    columns: Sequence[str],
    **shared: int | str,
) -> None:
    """Write a CSV table with a row for each record, in the order of `filled`.

    Args:
        stream: the file.
        rows: the records, in any order.
        filled: record index -> the cells under `columns`.
        columns: the names of the columns to fill in.
        shared: names and values of the first columns, which are the same in every row.
    """
    by_index = {row.index: row for row in rows}
    stream.write(UTF_8)
    table = GuardedTable(stream)
    table.write([*shared, *RECORD, *columns, NUMBER])
    for place, cells in filled.items():
        row = by_index[place]
        texts = (row.item_id, text_of(row.item.get("title")), content_of(row.item), *cells)
        table.write([*shared.values(), place, *texts, record_number(place)])


def write_reading_sheet(answer: NextRecords, rows: Iterable[ItemResult], stream: TextIO) -> None:
    """Write a sheet of the records to read next, in reading order. `rows`: the results of the records, in any order."""
    cells = dict.fromkeys((record.index for record in answer.records), ("", answer.reviewer or "", ""))
    write_sheet(stream, rows, cells, DECISION, **{ORDERED: answer.seed})


def write_stop_sample(sample: StopSample, rows: Iterable[ItemResult], stream: TextIO) -> None:
    """Write a sheet of the sample's undecided records, in the order drawn. `rows`: their results, in any order."""
    blank = dict.fromkeys((record.index for record in sample.waiting), ("", "", ""))
    write_sheet(stream, rows, blank, DECISION, seed=sample.seed)


def content_of(item: dict[str, Any]) -> str:
    """Return the abstract. If an item has neither title nor abstract, return its fields line by line."""
    if item.get("abstract") or item.get("title"):
        return text_of(item.get("abstract"))
    return "\n".join(f"{name}: {value}" for name, value in shown_fields(item).items())


def text_of(value: object) -> str:
    """Return a field's value as text; "" for None."""
    return "" if value is None else str(value)


REASONS = ("excluded_by", "reason")  # the software's; they influence readers
FILLED_IN = ("include", "reviewer", "note")


@dataclass(frozen=True)
class FilledIn:
    """The content of an audit file that people filled in."""

    audit_id: str
    decisions: tuple[AuditDecision, ...]
    lines: tuple[int, ...]  # of each decision
    ids: tuple[str, ...]  # of each decision; empty if the file has none
    blank: int  # rows without a decision yet


def write_sample(audit: Audit, rows: Iterable[ItemResult], stream: TextIO, *, with_reasons: bool = False) -> None:
    """Write an audit's sample in the order drawn, with the decisions so far.

    `rows`: the sample's items, in any order. `with_reasons`: also write the software's reasons for the exclusions.
    """
    by_index = {row.index: row for row in rows}
    filled = {}
    for item in audit.items:
        row = by_index[item.index]
        excluded_by = "model" if row.exclusion is None else row.exclusion.rule
        rationale = row.exclusion_reason or (row.result and row.result.reasoning) or ""
        why = [excluded_by, rationale] if with_reasons else []
        answer = "" if item.include is None else "yes" if item.include else "no"
        filled[item.index] = [*why, answer, item.reviewer or "", item.note or ""]
    columns = (*REASONS, *FILLED_IN) if with_reasons else FILLED_IN
    write_sheet(stream, by_index.values(), filled, columns, audit=audit.id)


def read_sample(path: Path | str, *, reviewer: str | None) -> FilledIn:
    """Return the decisions in an audit file that people filled in. Rows with an empty `include` are undecided.

    `reviewer`: the author of rows without a name.

    Raises `InputError` with the line if a column is missing, a decision is invalid, a row has no reviewer, or rows
    belong to two audits.
    """
    decisions, lines, ids, blank = [], [], [], 0
    audit_ids: set[str] = set()
    for row in read_table(path, ("audit", *RECORD, *FILLED_IN), required=("audit", "index", "include")):
        audit_ids.add(row["audit"])
        if not row["audit"] or len(audit_ids) > 1:
            raise InputError(
                "the column 'audit' must name the same audit in every row", path=path, line=row.line, field="audit"
            )
        if not row["include"]:
            blank += 1
            continue
        try:
            index, include = int(row["index"]), yes_or_no(row["include"])
        except InvalidParameters as error:
            raise InputError(str(error), path=path, line=row.line, field="include") from error
        except ValueError as error:
            raise InputError(f"{row['index']!r} is not an index", path=path, line=row.line, field="index") from error
        decisions.append(AuditDecision(index, include, reviewer_of(row, path, reviewer), row["note"] or None))
        lines.append(row.line)
        ids.append(row["id"])
    if not audit_ids:
        raise InputError("the file has a header, but no rows", path=path)
    return FilledIn(audit_ids.pop(), tuple(decisions), tuple(lines), tuple(ids), blank)


@dataclass(frozen=True)
class Pilot:
    """A random sample of a batch's records for people to label."""

    seed: int
    population: int  # records of the batch, without duplicates
    places: tuple[int, ...]  # record indexes, in the order drawn


def draw_pilot(population: Collection[int], n: int, *, seed: int) -> Pilot:
    """Return a simple random sample of `n` records, without replacement, or all records if there are fewer.

    `population`: the indexes of all records except duplicates. With the same seed, a smaller sample is the beginning of
    a larger sample.

    Raises `InvalidParameters` for an `n` below 1, or an invalid seed.
    """
    check_draw(n, seed)
    return Pilot(seed, len(population), tuple(sample(population, n, seed=seed)))


def write_pilot(pilot: Pilot, rows: Sequence[ItemResult], stream: TextIO) -> None:
    """Write a sheet of the pilot's records in the order drawn, so that the first rows are a random sample too.

    `rows`: the results of these records, in any order.
    """
    write_sheet(stream, rows, dict.fromkeys(pilot.places, ("", "")), ("include", "note"), seed=pilot.seed)


KEPT_COLUMNS = ("index", "id", "decision", "score", "label", "kept", "title", "number")


def write_kept(found: "Calibrated", stream: TextIO) -> None:
    """Write a table of a batch's records, without duplicates. The column `kept` says if the threshold keeps a record.

    `found`: the score threshold calibrated from labels, with the records in batch order.
    """
    table = GuardedTable(stream)
    table.write(KEPT_COLUMNS)
    for record in found.records:
        table.write(
            (
                record.index,
                record.item_id,
                record.stand.value if record.rule is None else f"exclude ({record.rule})",
                "" if record.score is None else record.score,
                "" if record.human is None else int(record.human),
                str(found.kept(record)).lower(),
                record.title,
                record_number(record.index),
            )
        )


ORDERED = "reading_order"  # a column with the order's seed, in sheets of records in reading order
DECISION_COLUMNS = ("index", "number", "id", "item_id", "decision", "note", "reviewer", ORDERED)


@dataclass(frozen=True)
class DecisionFile:
    """The decisions in a table."""

    decisions: tuple[HumanDecision, ...]
    lines: tuple[int, ...]  # of each decision
    blank: int  # rows without a decision


def read_decisions(
    path: Path | str, operation: Operation, item_ids: Sequence[str], *, reviewer: str | None
) -> DecisionFile:
    """Return the decisions in a table. Rows without a decision are skipped.

    Args:
        path: a spreadsheet's table with the column `decision`, and a column `index`, `id` or `number`. Other columns
            are ignored.
        operation: the batch's operation, which determines the allowed decisions.
        item_ids: the ids of the batch's items, in order.
        reviewer: the author of rows without a name.

    Raises:
        InputError: a record is not found or not unique, its index contradicts its id or number, a decision is invalid,
            or a reviewer is missing. The message names the line.
    """
    places: dict[str, list[int]] = {}
    for index, item_id in enumerate(item_ids):
        places.setdefault(item_id, []).append(index)
    rows = read_table(path, DECISION_COLUMNS, required=("decision",))
    filled = [row for row in rows if row["decision"]]
    decisions = []
    for row in filled:
        try:
            index = _index(row, places, item_ids)
            value = operation.value_of_text(row["decision"])
        except InvalidParameters as error:
            raise InputError(str(error), path=path, line=row.line) from error
        who, in_order = reviewer_of(row, path, reviewer), bool(row[ORDERED])
        decisions.append(HumanDecision(index, value, who, row["note"] or None, in_order=in_order))
    return DecisionFile(tuple(decisions), tuple(row.line for row in filled), len(rows) - len(filled))


def find_record(text: str, item_ids: Sequence[str]) -> int:
    """Return the index, from 0, of the record that a person names.

    The text is an id, or a number from 1: `4` or `#4`. `id:4`, `number:4` and `index:3` (from 0) are unambiguous.

    Raises:
        InvalidParameters: no record or several records match, or the text is one record's number and another record's
            id.
    """
    kind, _, rest = text.partition(":")
    if kind == "index" and rest:
        return _of_index(rest, len(item_ids))
    if kind == "number" and rest:
        return _of_number(rest, len(item_ids))
    if kind == "id" and rest:
        return _only(rest, _places(rest, item_ids))
    places, numbered = _places(text, item_ids), text.removeprefix("#")
    if not _is_number(numbered, len(item_ids)):
        if _is_digits(numbered) and not places:
            raise InvalidParameters(
                f"no record has the id {text!r}, and the record numbers of this batch are 1 to {len(item_ids)}"
            )
        return _only(text, places)
    place = int(numbered) - 1
    if places in ([], [place]):
        return place
    other = next(candidate for candidate in places if candidate != place)
    raise InvalidParameters(
        f"{text} is the id of {record_words(other)} and the number of {record_words(place, item_ids[place])}: "
        f"write id:{text} or number:{numbered}"
    )


def _index(row: TableRow, places: Mapping[str, Sequence[int]], item_ids: Sequence[str]) -> int:
    item_id = row["id"] or row["item_id"]
    if not row["index"]:
        if item_id:
            return _only(item_id, places.get(item_id, ()))
        if not row["number"]:
            raise InvalidParameters("which record? Fill in the column 'number', 'index' or 'id'")
        return _of_number(row["number"], len(item_ids))
    index = _of_index(row["index"], len(item_ids))
    if item_id and item_ids[index] != item_id:
        raise InvalidParameters(
            f"{record_words(index)} (index {index}) has the id {item_ids[index]!r}, not {item_id!r}: is this the "
            "table of another batch, or were columns sorted separately?"
        )
    if row["number"] and _is_number(row["number"], len(item_ids)) and int(row["number"]) != record_number(index):
        raise InvalidParameters(
            f"the index {index}, from 0, is {record_words(index)}, but the column 'number' says {row['number']}: "
            "correct one of them"
        )
    return index


def _places(item_id: str, item_ids: Sequence[str]) -> list[int]:
    return [index for index, candidate in enumerate(item_ids) if candidate == item_id]


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_number(text: str, n_items: int) -> bool:
    return _is_digits(text) and 1 <= int(text) <= n_items


def _of_number(text: str, n_items: int) -> int:
    if not _is_number(text, n_items):
        raise InvalidParameters(f"{text!r} is not a record number: use 1 to {n_items}, as shown")
    return int(text) - 1


def _of_index(text: str, n_items: int) -> int:
    if not _is_digits(text) or int(text) >= n_items:
        raise InvalidParameters(f"{text!r} is not an index: use 0 to {n_items - 1}, as in `tamis results`")
    return int(text)


def _only(item_id: str, places: Sequence[int]) -> int:
    if not places:
        raise InvalidParameters(f"no record has the id {item_id!r}: `tamis results` lists the ids")
    if len(places) > 1:
        listed = ", ".join(record_words(index) for index in places[:5]) + (", ..." if len(places) > 5 else "")
        raise InvalidParameters(
            f"{len(places)} records have the id {item_id!r}: use the number of one of them instead ({listed})"
        )
    return places[0]
