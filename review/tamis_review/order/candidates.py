"""The records of a batch, as reading orders and stop rules need them: text, score, and people's decisions."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    Table,
    any_,
    case,
    func,
    literal,
    null,
    select,
)

from tamis_producer.ledger import read_operation
from tamis_producer.ledger.overrides import standing, standing_decisions
from tamis_schemas import ItemStatus, Operation
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.ledger import exclusions, items, payloads, results
from tamis_schemas.ledger.verdicts import is_value
from tamis_schemas.operations import OperationKind, check_decides, kind_of
from tamis_schemas.records.item import shown_fields, shown_text

from ..intake.record import CANONICAL
from ..quality.inclusion_score import ScoreBasis, ScoreScale, inclusion_score

REMOVED = "removed"  # rule of a removed record without a stored rule
CATALOGUED = frozenset(CANONICAL) - {"title", "abstract", "keywords"}  # bibliographic fields, without the subject
PAGE = 500  # rows per fetch of a server-side cursor; with texts of 1.7 kB under a megabyte


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record of a batch, other than a duplicate, with its text, the model's score and people's decision."""

    index: int  # place in the batch, from 0
    item_id: str
    title: str  # empty if the record has none, or if texts are not read
    abstract: str  # if the record has none, the text of its other fields
    score: float | None  # the model's score for inclusion; None: failed, uncertain or pending

    rule: str | None  # rule of the initial filter that excluded the record before any model; None: not excluded
    decided: bool  # people decided, even `uncertain`, and are not in conflict
    included: bool | None  # by people's decision; None: undecided or uncertain


def stream_candidates(
    connection: Connection, batch_id: UUID, *, texts: bool = True, places: Collection[int] | None = None
) -> Iterator[Candidate]:
    """Yield every record of a batch except duplicates, in the order of the batch. At most `PAGE` records are in memory.

    With `texts=False`, titles and abstracts are empty, and reading is several times as fast. `places`: the numbers of
    the wanted records in the batch, from 0. None: all records.

    Raises `InvalidRequest` if the batch's operation makes no decisions to include or exclude.
    """
    wanted = None if places is None else any_(literal(sorted(places), ARRAY(Integer)))
    kind = kind_of(checked_operation(connection, batch_id).operation)
    scale = read_score_basis(connection, batch_id, kind).scale
    human = read_human(connection, batch_id, *([] if wanted is None else [standing_decisions.c.idx == wanted]))
    for row in connection.execute(_statement(batch_id, texts=texts, wanted=wanted).execution_options(yield_per=PAGE)):
        yield _candidate(row, human.get(row.idx), kind, scale)


@dataclass(frozen=True, slots=True)
class HumanSays:
    """The result of people's decisions on a record."""

    value: Any  # a value of the operation, such as `include`; None in a conflict
    conflict: bool
    reviewers: tuple[str, ...]  # people with a current decision, the earliest first
    first: int  # id of the oldest of these decisions; a smaller id is earlier


def read_human(connection: Connection, batch_id: UUID, *of: ColumnElement[bool]) -> dict[int, HumanSays]:
    """Return the result of people's decisions for each decided record. Keys are record numbers in the batch, from 0.

    `of`: SQL conditions that the counted decisions must meet.
    """
    # This is a separate query, because Postgres's planner misjudges a join.
    human = standing(batch_id, *of)
    decided = select(human.c.idx, human.c.value, human.c.conflict, human.c.decisions)
    return {
        row.idx: HumanSays(
            row.value, row.conflict, tuple(decision["reviewer"] for decision in row.decisions), row.decisions[0]["id"]
        )
        for row in connection.execute(decided)
    }


def read_rules(connection: Connection, batch_id: UUID) -> dict[int, str | None]:
    """Return the rule of the initial filter that excluded each record. Duplicates are omitted.

    Keys are record numbers in the batch, from 0. A value is None if the initial filter did not exclude the record.
    """
    removed = case((items.c.state == ItemStatus.EXCLUDED_BY_FILTER.value, REMOVED))
    rows = connection.execute(
        select(items.c.idx, func.coalesce(exclusions.c.rule, removed))
        .outerjoin(exclusions, (exclusions.c.batch_id == items.c.batch_id) & (exclusions.c.idx == items.c.idx))
        .where(items.c.batch_id == batch_id, exclusions.c.rule.is_distinct_from(DUPLICATE))
        .order_by(items.c.idx)
    )
    return {row[0]: row[1] for row in rows}


def checked_operation(connection: Connection, batch_id: UUID) -> Operation:
    """Return a batch's operation. Raise `InvalidRequest` if the operation cannot include or exclude records."""
    operation = read_operation(connection, batch_id)
    check_decides(batch_id, operation.operation, "A reading order")
    return operation


def read_score_basis(connection: Connection, batch_id: UUID, kind: type[OperationKind]) -> ScoreBasis:
    """Return the kind of the batch's scores: probability, relevance or confidence.

    The kind depends on the records that a model included or excluded: how many of them have a probability, and how many
    have a relevance.
    """
    scores = (
        select(func.count(), func.count(results.c.probability), func.count(results.c.relevance))
        .join(items, (items.c.batch_id == results.c.batch_id) & (items.c.idx == results.c.idx))
        .where(
            results.c.batch_id == batch_id,
            results.c.error_kind.is_(None),
            results.c.confidence.is_not(None),
            items.c.state == ItemStatus.DECIDED.value,
            is_value(results.c.value, kind.includes) | is_value(results.c.value, kind.excludes),
        )
    )
    return ScoreBasis.counted(*connection.execute(scores).one())


def _statement(batch_id: UUID, *, texts: bool, wanted: ColumnElement[Any] | None) -> Select[Any]:
    """Return the query for a batch's records, without duplicates.

    `wanted`: an SQL expression for the numbers of the records to read. None: all records.
    """

    def of(table: Table) -> ColumnElement[bool]:
        here = (table.c.batch_id == items.c.batch_id) & (table.c.idx == items.c.idx)
        return here if wanted is None else here & (table.c.idx == wanted)

    statement = (
        select(
            *(items.c.idx, items.c.item_id, items.c.state, exclusions.c.rule),
            *(results.c.value, results.c.confidence, results.c.error_kind),
            *(results.c.probability, results.c.relevance),
            (payloads.c.payload if texts else null()).label("payload"),
        )
        .outerjoin(exclusions, of(exclusions))
        .outerjoin(results, of(results))
        .where(items.c.batch_id == batch_id, exclusions.c.rule.is_distinct_from(DUPLICATE))
        .order_by(items.c.idx)
    )
    if texts:
        statement = statement.join(payloads, of(payloads))
    return statement if wanted is None else statement.where(items.c.idx == wanted)


def _candidate(row: Row[Any], human: HumanSays | None, kind: type[OperationKind], scale: ScoreScale) -> Candidate:
    title, abstract = ("", "") if row.payload is None else texts_of(row.payload)
    decided = human is not None and not human.conflict
    return Candidate(
        index=row.idx,
        item_id=row.item_id,
        title=title,
        abstract=abstract,
        score=_score(row, kind, scale),
        rule=row.rule or (REMOVED if row.state == ItemStatus.EXCLUDED_BY_FILTER else None),
        decided=decided,
        included=kind.verdict(human.value) if human is not None and decided else None,
    )


def _score(row: Row[Any], kind: type[OperationKind], scale: ScoreScale) -> float | None:
    """Return how strongly the model's decision supports the inclusion of the record, from 0 to 1.

    Return None if the model made no decision or decided `uncertain`, or if the record has no number on this scale.
    """
    if row.state != ItemStatus.DECIDED or row.error_kind is not None or row.confidence is None:
        return None
    included = kind.verdict(row.value)
    if included is None:
        return None
    return inclusion_score(included, row.confidence, scale=scale, probability=row.probability, relevance=row.relevance)


def texts_of(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return a record's title and abstract. If the abstract is missing, return the text of the other fields instead.

    That text omits bibliographic fields that do not describe the subject, such as authors and year (`CATALOGUED`).
    """
    shown = shown_fields(dict(item))
    title = shown_text(shown.pop("title")) if "title" in shown else ""
    if "abstract" in shown:
        return title, shown_text(shown["abstract"])
    return title, "\n".join(shown_text(value) for name, value in shown.items() if name not in CATALOGUED)
