"""A record as the models of a panel judged it, reduced to what figures are made of, and read from the ledger."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Float, Numeric, Select, cast, func, select

from tamis_producer.ledger.outcomes import PANEL
from tamis_schemas import InclusionStatus, ItemStatus, PanelResult, Verdict
from tamis_schemas.ledger import items, results
from tamis_schemas.operations.panel import HALF, Panel, Vote, decision

AT_ONCE = 1_000  # rows: with the verdicts of each model they are long
WORDS = results.c.detail.op("->")(PANEL)


@dataclass(frozen=True, slots=True)
class Word:
    """One model's vote, with its verdicts; without a vote where it failed."""

    vote: Vote | None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)  # by the criterion's label; silence is `not met`
    tokens: int = 0
    cost: Decimal | None = None  # dollars; None: not known

    @property
    def status(self) -> InclusionStatus | None:
        """The model's decision; None: it failed."""
        return None if self.vote is None else self.vote.status


@dataclass(frozen=True, slots=True)
class PanelRecord:
    """A record with the words of the models that were asked about it, in the panel's order."""

    index: int
    item_id: str
    words: tuple[Word, ...]

    @property
    def statuses(self) -> tuple[InclusionStatus | None, ...]:
        """Each model's decision; None: it failed."""
        return tuple(word.status for word in self.words)

    def status(self, panel: Panel) -> InclusionStatus | None:
        """The panel's decision; None: there is none, because a model failed."""
        return decision(panel.policy, [word.vote for word in self.words])

    def without(self, panel: Panel, place: int) -> InclusionStatus | None:
        """The decision of the panel without one of its models; None: a model that failed could change it."""
        return decision(panel.policy, [word.vote for other, word in enumerate(self.words) if other != place])


def panel_record(index: int, item_id: str, panel: PanelResult | Mapping[str, Any]) -> PanelRecord:
    """The record of what the ledger keeps of a panel's words."""
    return PanelRecord(
        index,
        item_id,
        tuple(
            Word(
                None if one.status is None or one.score is None else Vote(one.status, one.score),
                {label: _plain(verdict.verdict) for label, verdict in one.verdicts.items()},
                one.usage.total_tokens,
                one.cost,
            )
            for one in PanelResult.model_validate(panel).verdicts
        ),
    )


def _plain(verdict: Verdict) -> Verdict:
    return Verdict.NOT_MET if verdict is Verdict.SILENT else verdict


def read_panel_records(connection: Connection, batch_id: UUID) -> Iterator[PanelRecord]:
    """Every record of the batch with a panel's words, in their order; a failed one with the words of the others."""
    statement = _of_panel(batch_id, items.c.idx, items.c.item_id, WORDS.label("panel")).order_by(items.c.idx)
    for row in connection.execute(statement.execution_options(yield_per=AT_ONCE)):
        yield panel_record(row.idx, row.item_id, row.panel)


def read_disputed(connection: Connection, batch_id: UUID) -> Sequence[int]:
    """The places of the records on which the models of a panel differ, where most pairs do first, then the doubtful."""
    apart, score = (cast(WORDS.op("->>")(name), Float) for name in ("disagreement", "score"))
    doubt = func.abs(func.round(cast(score - HALF, Numeric), 9))
    statement = _of_panel(batch_id, items.c.idx).where(apart > 0).order_by(apart.desc(), doubt, items.c.idx)
    return list(connection.execute(statement).scalars())


def _of_panel(batch_id: UUID, *columns: ColumnElement[Any]) -> Select[Any]:
    """Return the columns of the records that have a panel's words: decided ones, and failed ones."""
    there = (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx)
    ended = items.c.state.in_([ItemStatus.DECIDED.value, ItemStatus.FAILED.value])
    return select(*columns).join(results, there).where(items.c.batch_id == batch_id, ended, WORDS.is_not(None))
