"""Conflicts: records on which people decided differently. A conflict lasts until a decision settles it.

If the model is the second reader, it can also be in conflict with people.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, cast, select
from sqlalchemy.dialects.postgresql import JSONB

from tamis_producer.ledger import read_overrides
from tamis_producer.ledger.overrides import standing_decisions
from tamis_schemas import HumanStage, ItemStatus, Override, ScreeningMode
from tamis_schemas.ledger import items, payloads, results
from tamis_schemas.values.frozen import Frozen

from .blindness import read_mode


class Conflict(Frozen):
    """A record in conflict, with the decisions of people and the software."""

    index: int  # index in the batch, from 0
    item_id: str
    title: str | None = None
    stage: HumanStage
    decisions: tuple[Override, ...]  # of each reviewer, oldest first
    system_decided: bool  # the software has its own decision on the batch's question
    system_value: Any = None
    system_differs: bool = False  # people agree, but the model, as second reader, does not; people's decision counts


def read_conflicts(connection: Connection, batch_id: UUID) -> list[Conflict]:
    """Return all conflicts of a batch in record order: on its screening, its search for reports and its full texts."""
    conflicts = connection.execute(_decisions(batch_id).where(standing_decisions.c.conflict))
    others = _differing(connection, batch_id)
    rows = sorted((*conflicts, *others), key=lambda row: (row.idx, row.stage))
    differing = {row.idx for row in others}
    by_record: dict[tuple[int, str], list[Override]] = {}
    for decision in read_overrides(connection, batch_id, places=sorted({row.idx for row in rows})):
        by_record.setdefault((decision.index, decision.stage.value), []).append(decision)
    return [
        Conflict(
            index=row.idx,
            item_id=decisions[0].item_id,
            title=row.title,
            stage=decisions[0].stage,
            decisions=tuple(decisions),
            system_decided=decisions[0].system_decided,
            system_value=decisions[0].system_value,
            system_differs=row.stage == HumanStage.OWN and row.idx in differing,
        )
        for row in rows
        if (decisions := by_record[row.idx, row.stage])
    ]


def read_differing(connection: Connection, batch_id: UUID) -> set[int]:
    """Return the indexes of the records on which people agree with each other, but not with the model.

    The result is empty unless the model is the second reader.
    """
    return {row.idx for row in _differing(connection, batch_id)}


def _differing(connection: Connection, batch_id: UUID) -> Sequence[Any]:
    """Return index, stage and title of the records on which people agree with each other, but not with the model.

    Records whose conflict a decision has settled are omitted. The result is empty unless the model is the second
    reader.
    """
    if read_mode(connection, batch_id) is not ScreeningMode.MODEL_SECOND:
        return []
    view = standing_decisions.c
    decided = items.c.state == ItemStatus.DECIDED.value
    statement = (
        _decisions(batch_id)
        .join(items, (items.c.batch_id == view.batch_id) & (items.c.idx == view.idx) & decided)
        .join(results, (results.c.batch_id == view.batch_id) & (results.c.idx == view.idx))
        .where(view.stage == HumanStage.OWN.value, ~view.conflict, ~view.settles)
        .where(cast(view.value, JSONB) != cast(results.c.value, JSONB))
    )
    return connection.execute(statement).all()


def _decisions(batch_id: UUID) -> Select[Any]:
    """Return the query for index, stage and title of a batch's records with human decisions."""
    view = standing_decisions.c
    return (
        select(view.idx, view.stage, payloads.c.payload.op("->>")("title").label("title"))
        .join(payloads, (payloads.c.batch_id == view.batch_id) & (payloads.c.idx == view.idx))
        .where(view.batch_id == batch_id)
    )
