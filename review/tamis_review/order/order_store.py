"""Reading orders in the ledger: one per batch, replaced by the next computation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from tamis_producer.ledger.copies import last_verdict
from tamis_schemas import HumanStage, ReadingReason
from tamis_schemas.ledger import batches, overrides, reading_orders, tallies


@dataclass(frozen=True)
class OrderTerms:
    """A person's settings for a reading order."""

    seed: int
    explore: float  # share of places for records drawn at random


@dataclass(frozen=True)
class OrderBasis:
    """The state of the ledger when an order was computed. Equal states and settings give an equal order."""

    last_override: int = 0  # sum of two ids: people's newest decision, and newest verdict on copies; 0: neither
    answered: int = 0  # items that a model has decided


@dataclass(frozen=True)
class ReadingOrder:
    """All records of a batch except duplicates, in reading order. `places` and `reasons` have a value per record."""

    places: Sequence[int]  # numbers of the records in the batch
    reasons: Sequence[str]  # a `ReadingReason` each
    decided: int  # records that people had decided
    included: int
    text_weight: float


@dataclass(frozen=True)
class StoredOrder:
    """A stored reading order, without its records."""

    terms: OrderTerms
    basis: OrderBasis
    decided: int
    included: int
    text_weight: float
    made_at: datetime


def by_number(terms: OrderTerms, rules: Mapping[int, str | None]) -> tuple[StoredOrder, ReadingOrder]:
    """Return an order by record number, without and with its records, for people who must not see decisions.

    No place or figure in the order depends on a decision.

    `rules`: number of each record in the batch -> the rule that excluded the record, or None.
    """
    reasons = [ReadingReason.NUMBER if rule is None else ReadingReason.RULE for rule in rules.values()]
    order = ReadingOrder([*rules], reasons, decided=0, included=0, text_weight=0)
    return StoredOrder(terms, OrderBasis(), 0, 0, 0, made_at=datetime.now(UTC)), order


def one_refit_at_a_time(connection: Connection, batch_id: UUID) -> None:
    """Lock this batch's order until the transaction ends. Wait if another transaction has the lock."""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"reading order {batch_id}"))))


def read_basis(connection: Connection, batch_id: UUID) -> OrderBasis:
    """Return the present state of a batch's decisions. An order is current if it was computed from an equal state."""
    own = (overrides.c.batch_id == batch_id, overrides.c.stage == HumanStage.OWN.value)
    last = select(func.coalesce(func.max(overrides.c.id), 0)).where(*own)
    verdict = last_verdict(batch_id).scalar_subquery()
    answered = select(func.coalesce(func.sum(tallies.c.decided), 0)).where(tallies.c.batch_id == batch_id)
    row = connection.execute(select(last.scalar_subquery() + verdict, answered.scalar_subquery())).one()
    return OrderBasis(int(row[0]), int(row[1]))


def count_items(connection: Connection, batch_id: UUID) -> int:
    """Return the number of items of a batch, including duplicates."""
    return int(connection.execute(select(batches.c.n_items).where(batches.c.id == batch_id)).scalar_one())


def read_stored(connection: Connection, batch_id: UUID) -> StoredOrder | None:
    """Return the batch's stored order without its records, or None if the batch has none."""
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
    """Store a reading order in place of the batch's previous order."""
    values = {**vars(terms), **vars(basis), **vars(made), "made_at": func.now()}
    statement = insert(reading_orders).values(batch_id=batch_id, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["batch_id"], set_=values))


def read_order(connection: Connection, batch_id: UUID) -> ReadingOrder | None:
    """Return the reading order that is stored for the batch; None if no order is stored."""
    order = reading_orders.c
    columns = (order.places, order.reasons, order.decided, order.included, order.text_weight)
    row = connection.execute(select(*columns).where(order.batch_id == batch_id)).one_or_none()
    return None if row is None else ReadingOrder(*row)
