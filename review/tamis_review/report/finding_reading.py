"""How people read a batch, from the ledger: their order, the curve of finding, and the stop rule's answer."""

from itertools import compress, count
from typing import Any

from sqlalchemy import Connection, Row, select

from tamis_schemas.ledger import reading_orders, stop_samples
from tamis_schemas.operations import kind_of

from ..decisions.reading_state import read_reading_state
from ..decisions.stopping import read_stop
from .figures import FindingFigures, OrderFigures, ReadingFigures


def read_reading_figures(connection: Connection, batch: Row[Any]) -> ReadingFigures | None:
    """The figures of a row of `batches`; None where people read neither in an order of Tamis nor by its stop rule."""
    if not kind_of(batch.operation).decides():
        return None
    order = _order(connection, batch)
    drawn = select(stop_samples.c.id).where(stop_samples.c.batch_id == batch.id).limit(1)
    sampled = connection.execute(drawn).first() is not None
    if order is None and not sampled:
        return None
    state = read_reading_state(connection, batch.id, batch.operation)
    finding = FindingFigures(
        records=state.records, read=state.read, finds=tuple(compress(count(1), state.included.values()))
    )
    stop = read_stop(connection, batch.id, priced=False) if sampled else None
    return ReadingFigures(finding=finding, order=order, stop=stop)


def _order(connection: Connection, batch: Row[Any]) -> OrderFigures | None:
    kept = reading_orders.c
    statement = select(kept.seed, kept.explore, kept.decided, kept.text_weight).where(kept.batch_id == batch.id)
    row = connection.execute(statement).one_or_none()
    return None if row is None else OrderFigures.model_validate(row._asdict())
