"""People's decisions in the ledger: their history, and the decisions that are valid now."""

from collections import Counter
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
    Double,
    FromClause,
    Integer,
    MetaData,
    Subquery,
    Table,
    Text,
    Uuid,
    any_,
    case,
    column,
    func,
    literal,
    null,
    select,
    table,
)

from tamis_schemas import HumanStage, ItemStatus, Operation, Override, UnknownBatch, parse_operation
from tamis_schemas.ledger import batches, items, overrides, results
from tamis_schemas.operations import kind_of
from tamis_schemas.values.frozen import Frozen

# The view holds the rule that decides which decision counts.
standing_decisions = Table(
    "standing_decisions",
    MetaData(),
    Column("batch_id", Uuid),
    Column("idx", Integer),
    Column("stage", Text),
    Column("id", BigInteger),  # row that counts; in a conflict the latest
    Column("value", JSON),  # NULL in a conflict
    Column("conflict", Boolean),  # True if several people disagree, and no decision settles the item
    Column("reviewers", BigInteger),  # people with a decision that counts
    Column("reviewer", Text),  # author of the decision that counts; NULL in a conflict, like the next two
    Column("note", Text),
    Column("reason", Text),
    Column("settles", Boolean),  # True if a settling decision counts before the others
    Column("created_at", DateTime(timezone=True)),
    Column("decisions", JSON),  # decisions of all reviewers, oldest first
)
# Every decision of a person, with three marks: `current`, `independent` and `blind`.
human_decisions = table(
    "human_decisions",
    *(column(name, kept.type) for name, kept in overrides.c.items()),
    *(column(name, Boolean) for name in ("current", "independent", "blind")),
)
# The final decision on each item, and who made it: all counts of decisions come from this view.
item_decisions = table(
    "item_decisions",
    *(column("batch_id", Uuid), column("idx", Integer), column("confidence", Double)),
    *(column(name, Integer) for name in ("record", "source")),
    *(column(name, Text) for name in ("item_id", "decision", "model_decision", "human", "reviewer", "reason")),
    *(column(name, Boolean) for name in ("by_human", "settled", "marked", "unverified")),
    column("decisions", JSON),
)
_LISTED = (standing_decisions.c.stage, standing_decisions.c.decisions)


def standing(batch_id: UUID, *of: ColumnElement[bool], stage: HumanStage = HumanStage.OWN) -> Subquery:
    """Return a subquery of `standing_decisions`, with a row for each item that people have decided about in a stage.

    Only each reviewer's latest decision is considered, unless it was withdrawn. `value` is the latest settling
    decision (a decision made to end a disagreement). Without a settling decision, `value` is the unanimous decision. If
    people disagree, the item is in conflict, and `value` is NULL.

    `of`: conditions on columns of `standing_decisions`. Without conditions, the subquery has all items.
    """
    view = standing_decisions.c
    statement = select(standing_decisions).where(view.batch_id == batch_id, view.stage == stage.value, *of)
    return statement.subquery("standing")


def standing_at(batch_id: UUID, idx: ColumnElement[int], *, stage: HumanStage = HumanStage.OWN) -> FromClause:
    """Return a lateral subquery with people's decisions on the item at `idx`.

    `idx`: a column of the statement that joins the subquery on `true()`.

    In this form, Postgres finds each item's decisions by the index, even without current statistics of the table.
    """
    view = standing_decisions.c
    of = (view.batch_id == batch_id, view.stage == stage.value, view.idx == idx)
    return select(standing_decisions).where(*of).offset(0).lateral(stage.name.lower())  # not merged by the planner


def read_reviewers(connection: Connection, batch_id: UUID, stage: HumanStage = HumanStage.OWN) -> tuple[str, ...]:
    """Return the names of the people who decided about records of a batch in a stage, sorted."""
    view = human_decisions.c
    names = select(view.reviewer).where(view.batch_id == batch_id, view.stage == stage.value, view.current).distinct()
    return tuple(connection.execute(names.order_by(view.reviewer)).scalars())


# Outcomes of the software that decide nothing.
UNDECIDED = ("uncertain", "failed", "cancelled", "open")


class HumanCounts(Frozen):
    """The numbers of records that people decided about in a batch. Decisions on full texts do not count."""

    decided: int = 0  # records with a person's decision that counts
    confirmed: int = 0  # of `decided`: equal to the software's decision
    reversed: int = 0  # of `decided`: the opposite, or another value
    settled: int = 0  # of `decided`: the software had no decision
    unsure: int = 0  # records that people read, and left uncertain
    conflicts: int = 0  # records with different decisions that are not settled
    resolved: int = 0  # records of several people, on which a settling decision overrides the others
    resolvers: tuple[str, ...] = ()  # people who made the settling decisions

    @property
    def overridden(self) -> int:
        """The number of records that people decided differently from the software, or that only people decided."""
        return self.reversed + self.settled


def read_human_counts(connection: Connection, batch_id: UUID) -> HumanCounts | None:
    """Return the numbers of records that people decided about; None if people decided about no record."""
    own = (overrides.c.batch_id == batch_id) & (overrides.c.stage == HumanStage.OWN.value)
    places = connection.execute(select(overrides.c.idx).distinct().where(own)).scalars().all()
    item = item_decisions.c
    of_batch = (item.batch_id == batch_id, item.idx == any_(literal(places, ARRAY(Integer))), item.human.is_not(None))
    # Grouped, so that Postgres computes each column of the view once for each record.
    alike = (item.human, item.by_human, item.model_decision, case((item.settled, item.reviewer)).label("resolver"))
    rows = connection.execute(select(*alike, func.count().label("n")).where(*of_batch).group_by(*alike)).all()
    n: Counter[str] = Counter()
    for row in rows:
        n["decided"] += row.n * row.by_human
        n[row.human] += row.n
        n["settled"] += row.n * (row.human == "changed" and row.model_decision in UNDECIDED)
        n["resolved"] += row.n * (row.resolver is not None)
    counts = HumanCounts(
        **{name: n[name] for name in ("decided", "confirmed", "settled", "unsure", "resolved")},
        reversed=n["changed"] - n["settled"],
        conflicts=n["conflict"],
        resolvers=tuple(sorted({row.resolver for row in rows} - {None})),
    )
    return counts if rows else None


def read_overrides(
    connection: Connection,
    batch_id: UUID,
    *,
    history: bool = False,
    places: Sequence[int] | None = None,
    row: int | None = None,
) -> list[Override]:
    """Return each reviewer's current decision, in item order; with `history`, all decisions, oldest first.

    `places`: only these items. `row`: only the decision with this row id.
    """
    chosen = overrides if history else standing_decisions
    decision = (*chosen.c, chosen.c.value.is_(null()).label("withdrawn")) if history else (chosen.c.idx, *_LISTED)
    statement = (
        select(*decision, items.c.item_id, items.c.state, batches.c.operation, results.c.value.label("system_value"))
        .select_from(chosen)  # joined from here, so that it is read once: each row has a match
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
    result = []
    for item in connection.execute(statement):
        listed = [item._asdict()] if history else item.decisions
        result += overrides_of(batch_id, item, listed, HumanStage(item.stage), item.system_value)
    return result


def overrides_of(
    batch_id: UUID, row: Any, decisions: Iterable[dict[str, Any]], stage: HumanStage, system_value: Any
) -> list[Override]:
    """Return people's decisions on one item as objects.

    `row` has the item's `idx`, `item_id`, `state` and `operation`. `decisions`: rows of `standing_decisions` or of
    `overrides`, as dicts. `system_value`: the software's decision.
    """
    own_question, kind = stage is HumanStage.OWN, kind_of(row.operation)
    decided = own_question and row.state == ItemStatus.DECIDED
    kept_out = own_question and row.state == ItemStatus.EXCLUDED_BY_FILTER and kind.decides()
    return [
        Override(
            batch_id=str(batch_id),
            index=row.idx,
            item_id=row.item_id,
            stage=stage,
            value=decision["value"],
            withdrawn=decision.get("withdrawn", False),
            reason=decision["reason"],
            settles=decision["settles"],
            note=decision["note"],
            reviewer=decision["reviewer"],
            created_at=_instant(decision["created_at"]),
            system_decided=decided or kept_out,
            system_value=system_value if decided else kind.excludes if kept_out else None,
        )
        for decision in decisions
    ]


def _instant(value: datetime | str) -> datetime:
    """Return the time as a datetime. JSON has the time as text in the session's time zone; it is converted to UTC."""
    return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else value


def read_operation(connection: Connection, batch_id: UUID) -> Operation:
    """Return the operation on a batch's items."""
    return parse_operation(connection.execute(select(batches.c.params).where(batches.c.id == batch_id)).scalar_one())


def read_operation_name(connection: Connection, batch_id: UUID) -> str:
    """Return the name of the operation on a batch's items."""
    name: str = connection.execute(select(batches.c.operation).where(batches.c.id == batch_id)).scalar_one()
    return name


def read_places(connection: Connection, batch_id: UUID, places: Collection[int]) -> set[int]:
    """Return those places among `places` at which the batch has an item."""
    any_place = any_(literal(sorted(places), ARRAY(Integer)))
    return set(
        connection.execute(select(items.c.idx).where(items.c.batch_id == batch_id, items.c.idx == any_place)).scalars()
    )


def one_at_a_time(connection: Connection, batch_id: UUID) -> None:
    """Let no other transaction write people's decisions on this batch until the end of this transaction.

    The call waits for an earlier writer. Workers can still claim the items, because no row is locked. Raises
    `UnknownBatch` if the batch is being purged.
    """
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"human decisions {batch_id}"))))
    purging = select(batches.c.id).where(batches.c.id == batch_id, batches.c.purging_at.is_not(None))
    if connection.execute(purging).first() is not None:
        raise UnknownBatch(f"batch {batch_id} is being purged, so nothing can be added to it")
