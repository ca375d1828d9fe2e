"""Human decisions on records that people name by an id, a number from 1 or an index from 0; one, or a table of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamis_schemas import InputError, InvalidParameters, Operation
from tamis_schemas.records.record_number import record_number, record_words

from ..plans.spreadsheet import TableRow, read_table, reviewer_of
from .record_overrides import HumanDecision

COLUMNS = ("index", "number", "id", "item_id", "decision", "note", "reviewer")


@dataclass(frozen=True)
class DecisionFile:
    """The decisions in a table."""

    decisions: tuple[HumanDecision, ...]
    lines: tuple[int, ...]  # of each decision
    blank: int  # rows without a decision


def read_decisions(
    path: Path | str, operation: Operation, item_ids: Sequence[str], *, reviewer: str | None
) -> DecisionFile:
    """The decisions in a table with a column `decision`, and `index`, `id` or `number`; rows without one are left out.

    Args:
        path: a table as spreadsheets write it; other columns may stand in it, as those of `tamis results`.
        operation: what was asked of the items, and so what a decision may be.
        item_ids: the ids of the batch's items, in their order.
        reviewer: who decided where a row names nobody.

    Raises:
        InputError: naming the line, where a record is not found, or is not the only one of its id, index and id or
            number name two records, the decision is none, or nobody is named.
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
    """Return the place, from 0, of the record that a person names.

    An id wins; else `4` or `#4` is the record with the number 4, from 1 as shown. `id:4`, `number:4` and, from 0,
    `index:3` say which is meant.

    Raises:
        InvalidParameters: there is no such record, there are several, or it is the number of one and the id of another.
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
                f"no record has the id {text!r}, and the numbers of this batch's records go from 1 to {len(item_ids)}"
            )
        return _only(text, places)
    place = int(numbered) - 1
    if places in ([], [place]):
        return place
    other = next(one for one in places if one != place)
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
            raise InvalidParameters("which record? fill in the column 'number', 'index' or 'id'")
        return _of_number(row["number"], len(item_ids))
    index = _of_index(row["index"], len(item_ids))
    if item_id and item_ids[index] != item_id:
        raise InvalidParameters(
            f"{record_words(index)} (index {index}) has the id {item_ids[index]!r}, not {item_id!r}: is the table of "
            "another batch, or were its columns sorted apart?"
        )
    if row["number"] and _is_number(row["number"], len(item_ids)) and int(row["number"]) != record_number(index):
        raise InvalidParameters(
            f"the index {index}, from 0, is {record_words(index)}, and the column 'number' says {row['number']}: which "
            "record is meant?"
        )
    return index


def _places(item_id: str, item_ids: Sequence[str]) -> list[int]:
    return [index for index, known in enumerate(item_ids) if known == item_id]


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_number(text: str, n_items: int) -> bool:
    return _is_digits(text) and 1 <= int(text) <= n_items


def _of_number(text: str, n_items: int) -> int:
    if not _is_number(text, n_items):
        raise InvalidParameters(f"{text!r} is no number of a record: they go from 1 to {n_items}, as shown")
    return int(text) - 1


def _of_index(text: str, n_items: int) -> int:
    if not _is_digits(text) or int(text) >= n_items:
        raise InvalidParameters(f"{text!r} is no index: they go from 0 to {n_items - 1}, as in `tamis results`")
    return int(text)


def _only(item_id: str, places: Sequence[int]) -> int:
    if not places:
        raise InvalidParameters(f"no record has the id {item_id!r}: `tamis results` lists them")
    if len(places) > 1:
        listed = ", ".join(record_words(index) for index in places[:5]) + (", ..." if len(places) > 5 else "")
        raise InvalidParameters(
            f"{len(places)} records have the id {item_id!r}: say which is meant, by its number, of {listed}"
        )
    return places[0]
