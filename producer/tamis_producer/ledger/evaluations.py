"""Evaluations of results by the metrics, as the ledger keeps them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, case, func, select

from tamis_schemas import Evaluation
from tamis_schemas.answers.evaluation import metric_rank
from tamis_schemas.ledger import batches, evaluations, items
from tamis_schemas.operations import OPERATIONS, operation_name

MEASURED = tuple(operation_name(kind) for kind in OPERATIONS if kind.reads_chunks)


def evaluations_json() -> ColumnElement[Any]:
    """The evaluations of each item, as a list of objects; looked up only for operations that have metrics."""
    of = evaluations.c
    each = func.json_build_object(
        *("label", of.label, "metric_type", of.metric_type, "score", of.score),
        *("category", of.category, "reason", of.reason, "field", of.field),
    )
    listed = (
        select(func.json_agg(each))
        .where(of.batch_id == items.c.batch_id, of.idx == items.c.idx)
        .correlate(items)
        .scalar_subquery()
    )
    return case((batches.c.operation.in_(MEASURED), listed))


def evaluations_of(rows: Sequence[dict[str, Any]] | None, fields: Sequence[str] = ()) -> list[Evaluation]:
    """First what is said of the result as a whole, then of each of its fields in their order."""
    ranks = {name: place for place, name in enumerate(["", *fields])}
    in_order = sorted(rows or (), key=lambda one: (ranks.get(one["field"], len(ranks)), *metric_rank(one["label"])))
    return [
        Evaluation(
            label=one["label"],
            metric_type=one["metric_type"],
            value=one["category"] if one["score"] is None else float(one["score"]),
            reason=one["reason"],
            field=one["field"] or None,
        )
        for one in in_order
    ]
