"""Reading orders in the ledger: one a batch, replaced when it is worked out anew, and read without what is decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from tamis_schemas import HumanStage
from tamis_schemas.ledger import batches, overrides, reading_orders, tallies


@dataclass(frozen=True)
class OrderTerms:
    """What a person chooses about an order."""

    seed: int
    explore: float  # the share of places that go to records that chance draws


@dataclass(frozen=True)
class OrderBasis:
    """What an order follows from, beside its terms: as long as this is the same, so is the order."""

    last_override: int = 0  # the newest row of people's decisions; 0: there is none
    answered: int = 0  # items that a model has decided about


@dataclass(frozen=True)
class ReadingOrder:
    """All records of a batch but the copies, the one to read first coming first; lists of one value a record."""

    places: Sequence[int]  # in the batch
    reasons: Sequence[str]  # a `ReadingReason` each
    probabilities: Sequence[float | None]
    decided: int  # records that people had decided on
    included: int
    text_weight: float


@dataclass(frozen=True)
class StoredOrder:
    """An order that is kept, without its records."""

    terms: OrderTerms
    basis: OrderBasis
    decided: int
    included: int
    text_weight: float
    made_at: datetime


def one_refit_at_a_time(connection: Connection, batch_id: UUID) -> None:
    """Wait for whoever is working out this batch's order; held to the end of the transaction."""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"reading order {batch_id}"))))


def read_basis(connection: Connection, batch_id: UUID) -> OrderBasis:
    """Return what an order that is worked out now would follow from."""
    last = select(func.coalesce(func.max(overrides.c.id), 0)).where(
        overrides.c.batch_id == batch_id, overrides.c.stage == HumanStage.OWN.value
    )
    answered = select(func.coalesce(func.sum(tallies.c.decided), 0)).where(tallies.c.batch_id == batch_id)
    row = connection.execute(select(last.scalar_subquery(), answered.scalar_subquery())).one()
    return OrderBasis(int(row[0]), int(row[1]))


def count_items(connection: Connection, batch_id: UUID) -> int:
    """Return how many items a batch has, copies among them."""
    return int(connection.execute(select(batches.c.n_items).where(batches.c.id == batch_id)).scalar_one())


def read_stored(connection: Connection, batch_id: UUID) -> StoredOrder | None:
    """Return the order that is kept; None before there is one."""
    order = reading_orders.c
    columns = (order.seed, order.explore, order.last_override, order.answered)
    figures = (order.decided, order.included, order.text_weight, order.made_at)
    row = connection.execute(select(*columns, *figures).where(order.batch_id == batch_id)).one_or_none()
    if row is None:
        return None
    seed, explore, last_override, answered, *made = row
    return StoredOrder(OrderTerms(seed, explore), OrderBasis(last_override, answered), *made)


def write_order(
    connection: Connection, batch_id: UUID, terms: OrderTerms, basis: OrderBasis, made: ReadingOrder
) -> None:
    """Keep an order, in the place of the one before."""
    values = {**vars(terms), **vars(basis), **vars(made), "made_at": func.now()}
    statement = insert(reading_orders).values(batch_id=batch_id, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["batch_id"], set_=values))


def read_order(connection: Connection, batch_id: UUID) -> ReadingOrder | None:
    """Return the order that is kept, with its records; None before there is one."""
    order = reading_orders.c
    lists = (order.places, order.reasons, order.probabilities)
    statement = select(*lists, order.decided, order.included, order.text_weight).where(order.batch_id == batch_id)
    row = connection.execute(statement).one_or_none()
    return None if row is None else ReadingOrder(*row)
