"""People's decisions in the ledger: a history that is added to, and what stands of it."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    FromClause,
    Integer,
    MetaData,
    Subquery,
    Table,
    Text,
    Uuid,
    any_,
    cast,
    func,
    literal,
    null,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB

from tamis_schemas import HumanStage, ItemStatus, Operation, Override, UnknownBatch, parse_operation
from tamis_schemas.ledger import batches, items, overrides, results
from tamis_schemas.ledger.verdicts import is_value
from tamis_schemas.operations import kind_of
from tamis_schemas.values.frozen import Frozen

# The view holds the rule: whose decision counts.
standing_decisions = Table(
    "standing_decisions",
    MetaData(),
    Column("batch_id", Uuid),
    Column("idx", Integer),
    Column("stage", Text),
    Column("id", BigInteger),  # the row that counts; in a conflict the latest
    Column("value", JSON),  # NULL in a conflict
    Column("conflict", Boolean),  # several people, who do not say the same, and nobody has settled it
    Column("reviewers", BigInteger),  # people whose decision stands
    Column("reviewer", Text),  # who said what counts; NULL in a conflict, as the next two
    Column("note", Text),
    Column("reason", Text),
    Column("settles", Boolean),  # somebody's decision counts before the others'
    Column("created_at", DateTime(timezone=True)),
    Column("decisions", JSON),  # of all of them, the oldest first
)
_LISTED = (standing_decisions.c.stage, standing_decisions.c.decisions)


def standing(batch_id: UUID, *of: ColumnElement[bool], stage: HumanStage = HumanStage.OWN) -> Subquery:
    """A row for each item on which people's decisions stand in a stage: the columns of `standing_decisions`.

    The rule: of each reviewer the latest decision counts, unless it was withdrawn. Where somebody's settles the record,
    the latest such decision is the outcome; else where all say the same, that is; else it is a conflict, in which
    nobody's counts and `value` is NULL.

    `of`: conditions on which items, told of the columns of `standing_decisions`; none: all.
    """
    view = standing_decisions.c
    statement = select(standing_decisions).where(view.batch_id == batch_id, view.stage == stage.value, *of)
    return statement.subquery("standing")


def standing_at(batch_id: UUID, idx: ColumnElement[int], *, stage: HumanStage = HumanStage.OWN) -> FromClause:
    """What stands of one item, to be joined on `true()` to a row for each: `idx` is where that row has its place.

    Postgres looks each up by the index. Of a join with all that stands it expects one row, where the batch is younger
    than the server's statistics, and may go through all of it for each item.
    """
    view = standing_decisions.c
    of = (view.batch_id == batch_id, view.stage == stage.value, view.idx == idx)
    return select(standing_decisions).where(*of).offset(0).lateral(stage.name.lower())  # with an offset it stays apart


def read_reviewers(connection: Connection, batch_id: UUID, stage: HumanStage = HumanStage.OWN) -> tuple[str, ...]:
    """Return who decided about the records of a batch in a stage, by name."""
    human = standing(batch_id, stage=stage)
    one = func.json_array_elements(human.c.decisions).alias("one")
    name = one.column.op("->>")("reviewer").label("name")
    return tuple(
        connection.execute(select(name).select_from(human.join(one, true())).distinct().order_by(name)).scalars()
    )


class HumanCounts(Frozen):
    """The records of a batch that people decided about, in what it asks itself."""

    records: int = 0
    confirmed: int = 0  # of these: as the software
    conflicts: int = 0  # of these: decided differently, and nobody has settled it

    @property
    def overridden(self) -> int:
        """Records on which people's decision counts, and is not the software's own."""
        return self.records - self.confirmed - self.conflicts


def read_human_counts(connection: Connection, batch_id: UUID) -> HumanCounts | None:
    """Count what people decided; None where nobody did."""
    human, excludes = standing(batch_id), kind_of(read_operation_name(connection, batch_id)).excludes
    same = (items.c.state == ItemStatus.DECIDED.value) & (cast(results.c.value, JSONB) == cast(human.c.value, JSONB))
    kept_out = items.c.state == ItemStatus.EXCLUDED_BY_FILTER.value
    agreed = is_value(human.c.value, excludes) if excludes is not None else literal(False)
    statement = (
        select(
            func.count().label("records"),
            func.count().filter(same | (kept_out & agreed)).label("confirmed"),
            func.count().filter(human.c.conflict).label("conflicts"),
        )
        .select_from(human)
        .join(items, (items.c.batch_id == batch_id) & (items.c.idx == human.c.idx))
        .outerjoin(results, (results.c.batch_id == batch_id) & (results.c.idx == human.c.idx))
    )
    counts = HumanCounts.model_validate(connection.execute(statement).one()._asdict())
    return counts if counts.records else None


def read_overrides(
    connection: Connection,
    batch_id: UUID,
    *,
    history: bool = False,
    places: Sequence[int] | None = None,
    stage: HumanStage | None = None,
    row: int | None = None,
) -> list[Override]:
    """Each reviewer's standing decision, in the order of the items; with `history` all that were made, as they were.

    `places`: those of these items alone. `stage`: those of one stage alone. `row`: the one of this number alone.
    """
    chosen = overrides if history else standing_decisions
    decision = (*chosen.c, chosen.c.value.is_(null()).label("withdrawn")) if history else (chosen.c.idx, *_LISTED)
    statement = (
        select(*decision, items.c.item_id, items.c.state, batches.c.operation, results.c.value.label("system_value"))
        .select_from(chosen)  # joined from here on, so that it is gone through once: none of these is missing
        .outerjoin(items, (items.c.batch_id == chosen.c.batch_id) & (items.c.idx == chosen.c.idx))
        .outerjoin(batches, batches.c.id == chosen.c.batch_id)
        .outerjoin(results, (results.c.batch_id == chosen.c.batch_id) & (results.c.idx == chosen.c.idx))
        .where(chosen.c.batch_id == batch_id)
        .order_by(*((chosen.c.id,) if history else (chosen.c.idx, chosen.c.id)))
    )
    if places is not None:
        statement = statement.where(chosen.c.idx == any_(literal([*places], ARRAY(Integer))))
    if row is not None:
        statement = statement.where(chosen.c.id == row)
    if stage is not None:
        statement = statement.where(chosen.c.stage == stage.value)
    made = []
    for one in connection.execute(statement):
        listed = [one._asdict()] if history else one.decisions
        made += overrides_of(batch_id, one, listed, HumanStage(one.stage), one.system_value)
    return made


def overrides_of(
    batch_id: UUID, row: Any, decisions: Iterable[dict[str, Any]], stage: HumanStage, system_value: Any
) -> list[Override]:
    """The decisions on one item, as the view lists them; `row`: its `idx`, `item_id`, `state` and `operation`."""
    own, kind = stage is HumanStage.OWN, kind_of(row.operation)
    decided = own and row.state == ItemStatus.DECIDED
    kept_out = own and row.state == ItemStatus.EXCLUDED_BY_FILTER and kind.decides()
    return [
        Override(
            batch_id=str(batch_id),
            index=row.idx,
            item_id=row.item_id,
            stage=stage,
            value=one["value"],
            withdrawn=one.get("withdrawn", False),
            reason=one["reason"],
            settles=one["settles"],
            note=one["note"],
            reviewer=one["reviewer"],
            created_at=_instant(one["created_at"]),
            system_decided=decided or kept_out,
            system_value=system_value if decided else kind.excludes if kept_out else None,
        )
        for one in decisions
    ]


def _instant(value: datetime | str) -> datetime:
    """A time as the driver reads it, or as it stands in JSON, in the session's time zone."""
    return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else value


def read_operation(connection: Connection, batch_id: UUID) -> Operation:
    """Return the operation that a batch's items are put to."""
    return parse_operation(connection.execute(select(batches.c.params).where(batches.c.id == batch_id)).scalar_one())


def read_operation_name(connection: Connection, batch_id: UUID) -> str:
    """Return the name of that operation."""
    name: str = connection.execute(select(batches.c.operation).where(batches.c.id == batch_id)).scalar_one()
    return name


def read_places(connection: Connection, batch_id: UUID, places: Collection[int]) -> set[int]:
    """Return those of these places at which the batch has an item."""
    wanted = any_(literal(sorted(places), ARRAY(Integer)))
    return set(
        connection.execute(select(items.c.idx).where(items.c.batch_id == batch_id, items.c.idx == wanted)).scalars()
    )


def one_at_a_time(connection: Connection, batch_id: UUID) -> None:
    """Wait for whoever is writing human decisions of this batch; held to the end of the transaction.

    A lock on the rows would make workers wait, who claim them. Raises `UnknownBatch` where the batch is being purged.
    """
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"human decisions {batch_id}"))))
    purging = select(batches.c.id).where(batches.c.id == batch_id, batches.c.purging_at.is_not(None))
    if connection.execute(purging).first() is not None:
        raise UnknownBatch(f"batch {batch_id} is being purged: nothing is kept of it")
