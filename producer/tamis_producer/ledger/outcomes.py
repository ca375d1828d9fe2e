"""Results of a batch in the order of the items."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    Row,
    Table,
    any_,
    case,
    func,
    literal,
    select,
    true,
)

from tamis_schemas import (
    ErrorKind,
    Evaluation,
    EvaluationResult,
    Exclusion,
    ExtractFields,
    FieldsResult,
    HumanStage,
    Inclusion,
    InclusionDecision,
    ItemResult,
    ItemStatus,
    PanelResult,
    Provenance,
    Usage,
)
from tamis_schemas.answers.evaluation import metric_rank
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.ledger import batches, evaluations, exclusions, items, payloads, remarks, results
from tamis_schemas.operations import OPERATIONS, operation_name

from .connection import ledger_errors
from .exclusion_reasons import exclusion_reason
from .overrides import item_decisions, overrides_of
from .remarks import listed_remarks
from .sources import source_name

PLACES = 10_000  # places fetched at once, without the other columns
PAGE = 200  # items read at once, out of many: 20 MB of full texts
PANEL = "panel"  # key in a result's detail for the answers of a panel's models
BEHIND_ALL = 2**31 - 1  # largest number that a column of places holds
_ENDED = (ItemStatus.DECIDED, ItemStatus.FAILED)  # items in other states may have `results` of an earlier round
MEASURED = tuple(operation_name(kind) for kind in OPERATIONS if kind.reads_chunks)


def stream_results(
    connection: Connection, batch_id: UUID, places: Collection[int] | None = None
) -> Iterator[ItemResult]:
    """Yield the items of a batch in item order: all items, or only the items at `places`.

    An item has a result when it has ended. A retried item has none until it has ended again; its provenance shows the
    earlier cost. On a connection with a snapshot (REPEATABLE READ), all items are from one moment.
    """
    ordered = None if places is None else sorted(places)
    yield from _in_pages(lambda after: read_results(connection, batch_id, after, PAGE, ordered))


def page_results(engine: Engine, batch_id: UUID, places: Collection[int] | None = None) -> Iterator[ItemResult]:
    """Yield the items of a batch in item order: all items, or only the items at `places`.

    Each page is read over a new connection when the reader reaches the page, so a later page may show a newer state.
    May raise `LedgerUnavailable`.
    """
    ordered = None if places is None else sorted(places)

    def page(after: int | None) -> list[ItemResult]:
        with ledger_errors(), engine.connect() as connection:
            return read_results(connection, batch_id, after, PAGE, ordered)

    yield from _in_pages(page)


def _in_pages(page: Callable[[int | None], list[ItemResult]]) -> Iterator[ItemResult]:
    after = None
    while results := page(after):
        yield from results
        after = results[-1].index


def read_results(
    connection: Connection, batch_id: UUID, after: int | None, limit: int, places: Sequence[int] | None = None
) -> list[ItemResult]:
    """Return up to `limit` items in item order, from the start or after the place `after`; empty after the last item.

    `places`: the only items to read, in ascending order.
    """
    start = 0 if after is None else min(after + 1, BEHIND_ALL)
    end = min(start + limit, BEHIND_ALL)
    if places is None:  # a batch has no gaps
        return _read(connection, batch_id, lambda place: (place >= start) & (place < end))
    first = bisect_left(places, start)
    page = literal(list(places[first : first + limit]), ARRAY(Integer))
    return _read(connection, batch_id, lambda place: place == any_(page))


def _read(
    connection: Connection, batch_id: UUID, of_page: Callable[[ColumnElement[int]], ColumnElement[bool]]
) -> list[ItemResult]:
    """Return the items of a page.

    `of_page` returns the page's condition on a column of places. Every table gets this condition, because otherwise the
    planner may read the whole batch.
    """
    columns = [column for column in results.c if column.name not in {"batch_id", "idx", "round", "fence"}]
    view = item_decisions.c
    of_item = select(view.decision, view.reviewer, view.decisions).where(view.batch_id == batch_id)
    decisions = of_item.where(view.idx == items.c.idx).offset(0).lateral("own")  # not merged by the planner
    listed = listed_remarks(batch_id, of_page(remarks.c.idx))
    statement = (
        select(
            *(items.c.idx, items.c.item_id, payloads.c.origin, items.c.state, payloads.c.payload),
            *(
                batches.c.operation,
                exclusions.c.exclusion,
                results.c.fence,
                evaluations_json().label("measured"),
                *columns,
            ),
            exclusion_reason().label("excluded_because"),
            source_name().label("source"),
            *(decisions.c.decisions, decisions.c.reviewer, decisions.c.decision.label("outcome")),
            listed.c.remarks,
        )
        .select_from(items)
        .join(batches, batches.c.id == items.c.batch_id)
        .join(payloads, _same_item(payloads) & of_page(payloads.c.idx))
        .outerjoin(exclusions, _same_item(exclusions) & of_page(exclusions.c.idx))
        .outerjoin(results, _same_item(results) & of_page(results.c.idx))
        .outerjoin(decisions, true())
        .outerjoin(listed, listed.c.idx == items.c.idx)
        .where(items.c.batch_id == batch_id, of_page(items.c.idx))
        .order_by(items.c.idx)
    )
    return [_item_result(batch_id, row) for row in connection.execute(statement)]


def _same_item(table: Table) -> ColumnElement[bool]:
    return (table.c.batch_id == items.c.batch_id) & (table.c.idx == items.c.idx)


def read_item_ids(connection: Connection, batch_id: UUID) -> list[str]:
    """Return the ids of a batch's items, in item order."""
    statement = select(items.c.item_id).where(items.c.batch_id == batch_id).order_by(items.c.idx)
    return list(connection.execute(statement).scalars())


def read_originals(connection: Connection, batch_id: UUID) -> Sequence[int]:
    """Return the places of the items that are not duplicates, in item order."""
    statement = (
        select(items.c.idx)
        .outerjoin(exclusions, _same_item(exclusions))
        .where(items.c.batch_id == batch_id, exclusions.c.rule.is_distinct_from(DUPLICATE))
        .order_by(items.c.idx)
    )
    return array("i", connection.execute(statement.execution_options(yield_per=PLACES)).scalars())


def _item_result(batch_id: UUID, row: Any) -> ItemResult:
    humans = overrides_of(batch_id, row, row.decisions or (), HumanStage.OWN, row.value)
    item = {
        "index": row.idx,
        "item_id": row.item_id,
        "origin": row.origin,
        "source": row.source,
        "status": row.state if row.exclusion is None else ItemStatus.EXCLUDED_BY_FILTER,
        "item": row.payload,
        "outcome": row.outcome,
        "override": next((human for human in humans if human.reviewer == row.reviewer), None),
        "decisions": tuple(humans),
        "remarks": row.remarks or (),
    }
    if row.fence is None or row.exclusion is not None:  # no result, or that of a copy that a person named
        return ItemResult(**item, exclusion=row.exclusion and Exclusion.model_validate(row.exclusion))
    inclusion = row.operation == operation_name(Inclusion)
    ended = row.state in _ENDED
    detail, panel = apart(row.detail)
    return ItemResult(
        **item,
        result=result_of(row) if ended else None,
        probability=row.probability if ended else None,
        relevance=row.relevance if ended else None,
        decision=_decision(detail, row.excluded_because) if inclusion and detail else None,
        detail=None if inclusion else detail,
        panel=panel if ended else None,
        evaluations=evaluations_of(row.measured, list(row.value) if isinstance(row.value, dict) else ())
        if ended
        else [],
        error_kind=None if row.error_kind is None or not ended else ErrorKind(row.error_kind),
        cut=(row.cut or {}) if ended else {},
        provenance=Provenance(
            model=row.model,
            prompt_sha256=row.prompt_sha256,
            usage=Usage(
                row.prompt_tokens,
                row.completion_tokens,
                row.cached_tokens,
                row.reasoning_tokens,
                row.cache_write_tokens,
            ),
            cost=row.cost,
            tier=row.tier,
            calls=row.calls,
            unanswered=row.unanswered,
            cached=row.cached,
            latency_ms=row.latency_ms,
            deviations=tuple(row.deviations or ()),
        ),
    )


def apart(detail: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, PanelResult | None]:
    """Split a result's detail: return the detail without the panel's answers, and the panel's answers.

    Either part is None if it is missing.
    """
    if detail is None or PANEL not in detail:
        return None if detail is None else dict(detail), None
    rest = {name: value for name, value in detail.items() if name != PANEL}
    return rest or None, PanelResult.model_validate(detail[PANEL])


def _decision(detail: Mapping[str, Any], excluded_because: str | None) -> InclusionDecision:
    return InclusionDecision.model_validate(detail).model_copy(update={"exclusion_reason": excluded_because})


def result_of(row: Row[Any]) -> EvaluationResult | FieldsResult:
    """Return a decided or failed item's result. `row`: its row of `results`, with the batch's operation."""
    shared = {"confidence": row.confidence or 0.0, "reasoning": row.reasoning, "error": row.error}
    if row.operation == operation_name(ExtractFields):
        return FieldsResult(fields=row.value, **shared)
    return EvaluationResult(value=row.value, **shared)


def evaluations_json() -> ColumnElement[Any]:
    """Return the SQL expression for an item's values of metrics as a JSON list; NULL for operations without metrics."""
    of = evaluations.c
    evaluation = func.json_build_object(
        *("label", of.label, "metric_type", of.metric_type, "score", of.score),
        *("category", of.category, "reason", of.reason, "field", of.field),
    )
    listed = (
        select(func.json_agg(evaluation))
        .where(of.batch_id == items.c.batch_id, of.idx == items.c.idx)
        .correlate(items)
        .scalar_subquery()
    )
    return case((batches.c.operation.in_(MEASURED), listed))


def evaluations_of(rows: Sequence[dict[str, Any]] | None, fields: Sequence[str] = ()) -> list[Evaluation]:
    """Return values of metrics in order: for the whole result first, then for each field, in the order of `fields`."""
    ranks = {name: place for place, name in enumerate(["", *fields])}
    in_order = sorted(rows or (), key=lambda row: (ranks.get(row["field"], len(ranks)), *metric_rank(row["label"])))
    return [
        Evaluation(
            label=row["label"],
            metric_type=row["metric_type"],
            value=row["category"] if row["score"] is None else float(row["score"]),
            reason=row["reason"],
            field=row["field"] or None,
        )
        for row in in_order
    ]
