"""A table of human decisions: a row for each record, found by its index or its id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamis_schemas import InputError, InvalidParameters, Operation

from ..files.spreadsheet import TableRow, read_table, reviewer_of
from .record_overrides import HumanDecision

COLUMNS = ("index", "id", "item_id", "decision", "note", "reviewer")


@dataclass(frozen=True)
class DecisionFile:
    """The decisions in a table."""

    decisions: tuple[HumanDecision, ...]
    lines: tuple[int, ...]  # of each decision
    blank: int  # rows without a decision


def read_decisions(
    path: Path | str, operation: Operation, item_ids: Sequence[str], *, reviewer: str | None
) -> DecisionFile:
    """The decisions in a table with a column `decision`, and `index` or `id`; rows without a decision are left out.

    Args:
        path: a table as spreadsheets write it; other columns may stand in it, as those of `tamis results`.
        operation: what was asked of the items, and so what a decision may be.
        item_ids: the ids of the batch's items, in their order.
        reviewer: who decided where a row names nobody.

    Raises:
        InputError: naming the line, where a record is not found, or is not the only one of its id, index and id name
            two records, the decision is none, or nobody is named.
    """
    places: dict[str, list[int]] = {}
    for index, item_id in enumerate(item_ids):
        places.setdefault(item_id, []).append(index)
    decisions, lines, blank = [], [], 0
    for row in read_table(path, COLUMNS, required=("decision",)):
        if not row["decision"]:
            blank += 1
            continue
        try:
            index = _index(row, places, item_ids)
            value = operation.value_of_text(row["decision"])
        except InvalidParameters as error:
            raise InputError(str(error), path=path, line=row.line) from error
        decisions.append(HumanDecision(index, value, reviewer_of(row, path, reviewer), row["note"] or None))
        lines.append(row.line)
    return DecisionFile(tuple(decisions), tuple(lines), blank)


def find_record(text: str, item_ids: Sequence[str]) -> int:
    """The place of the record that a person names by its index or its id; `index:12` and `id:12` say which is meant.

    Raises:
        InvalidParameters: there is no such record, there are several, or it is the index of one and the id of another.
    """
    kind, _, rest = text.partition(":")
    if kind == "index" and rest:
        return _of_index(rest, len(item_ids))
    wanted = rest if kind == "id" and rest else text
    places = [index for index, item_id in enumerate(item_ids) if item_id == wanted]
    if kind == "id" and rest:
        return _only(wanted, places)
    if text.isascii() and text.isdigit() and int(text) < len(item_ids) and places != [int(text)]:
        if places:
            raise InvalidParameters(
                f"{text} is the index of one record and the id of another: write index:{text} or id:{text}"
            )
        return int(text)
    return _only(wanted, places)


def _index(row: TableRow, places: Mapping[str, Sequence[int]], item_ids: Sequence[str]) -> int:
    item_id = row["id"] or row["item_id"]
    if not row["index"]:
        if not item_id:
            raise InvalidParameters("which record? fill in the column 'index' or 'id'")
        return _only(item_id, places.get(item_id, ()))
    index = _of_index(row["index"], len(item_ids))
    if item_id and item_ids[index] != item_id:
        raise InvalidParameters(
            f"item {index} has the id {item_ids[index]!r}, not {item_id!r}: is the table of another batch, or were its "
            "columns sorted apart?"
        )
    return index


def _of_index(text: str, n_items: int) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) >= n_items:
        raise InvalidParameters(f"{text!r} is no index: they go from 0 to {n_items - 1}, as in `tamis results`")
    return int(text)


def _only(item_id: str, places: Sequence[int]) -> int:
    if not places:
        raise InvalidParameters(f"no record has the id {item_id!r}: `tamis results` lists them")
    if len(places) > 1:
        listed = ", ".join(str(index) for index in places[:5]) + (", ..." if len(places) > 5 else "")
        raise InvalidParameters(f"{len(places)} records have the id {item_id!r}: say which index is meant, of {listed}")
    return places[0]
