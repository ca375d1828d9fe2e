"""Conflicts: records on which people decided differently, and nobody has settled it."""

from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select

from tamis_schemas import HumanStage, Override
from tamis_schemas.ledger import payloads
from tamis_schemas.values.frozen import Frozen

from ..ledger import read_overrides
from ..ledger.overrides import standing_decisions


class Conflict(Frozen):
    """A record in conflict, with what everybody said of it."""

    index: int  # place in the batch, from 0
    item_id: str
    title: str | None = None
    stage: HumanStage
    decisions: tuple[Override, ...]  # each reviewer's, the oldest first
    system_decided: bool  # the software has a decision of its own, of what the batch asks
    system_value: Any = None


def read_conflicts(connection: Connection, batch_id: UUID) -> list[Conflict]:
    """The conflicts of a batch in all stages, in the order of its records."""
    view = standing_decisions.c
    statement = (
        select(view.idx, view.stage, payloads.c.payload.op("->>")("title").label("title"))
        .join(payloads, (payloads.c.batch_id == view.batch_id) & (payloads.c.idx == view.idx))
        .where(view.batch_id == batch_id, view.conflict)
        .order_by(view.idx, view.stage)
    )
    rows = connection.execute(statement).all()
    said: dict[tuple[int, str], list[Override]] = {}
    for one in read_overrides(connection, batch_id, places=sorted({row.idx for row in rows})):
        said.setdefault((one.index, one.stage.value), []).append(one)
    found = []
    for row in rows:
        decisions = said[row.idx, row.stage]
        found.append(
            Conflict(
                index=row.idx,
                item_id=decisions[0].item_id,
                title=row.title,
                stage=HumanStage(row.stage),
                decisions=tuple(decisions),
                system_decided=decisions[0].system_decided,
                system_value=decisions[0].system_value,
            )
        )
    return found
