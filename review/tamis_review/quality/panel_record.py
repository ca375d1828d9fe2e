"""A record with the votes and verdicts of a panel's models, read from the ledger."""

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

AT_ONCE = 1_000  # rows; each is long, with the verdicts of every model
WORDS = results.c.detail.op("->")(PANEL)


@dataclass(frozen=True, slots=True)
class Word:
    """A model's answer on a record: its vote, and its verdicts on the criteria."""

    vote: Vote | None  # None: the model failed
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)  # by the criterion's label, such as I1
    tokens: int = 0
    cost: Decimal | None = None  # dollars; None: unknown

    @property
    def status(self) -> InclusionStatus | None:
        """Return the model's decision, or None if the model failed."""
        return None if self.vote is None else self.vote.status


@dataclass(frozen=True, slots=True)
class PanelRecord:
    """A record with the answers of a panel's models, in the panel's order."""

    index: int
    item_id: str
    words: tuple[Word, ...]

    @property
    def statuses(self) -> tuple[InclusionStatus | None, ...]:
        """Return each model's decision, or None for a model that failed."""
        return tuple(word.status for word in self.words)

    def status(self, panel: Panel) -> InclusionStatus | None:
        """Return the panel's decision, or None if the decision depends on a model that failed."""
        return decision(panel.policy, [word.vote for word in self.words])

    def without(self, panel: Panel, place: int) -> InclusionStatus | None:
        """Return the decision that the panel would make without one of its models.

        Return None if this decision depends on another model that failed. `place`: the position in the panel, from 0,
        of the model to leave out.
        """
        return decision(panel.policy, [word.vote for other, word in enumerate(self.words) if other != place])


def panel_record(index: int, item_id: str, panel: PanelResult | Mapping[str, Any]) -> PanelRecord:
    """Return a record with the answers of a panel's models. `panel`: the panel's result, as the ledger stores it."""
    return PanelRecord(
        index,
        item_id,
        tuple(
            Word(
                None if answer.status is None or answer.score is None else Vote(answer.status, answer.score),
                {label: _plain(verdict.verdict) for label, verdict in answer.verdicts.items()},
                answer.usage.total_tokens,
                answer.cost,
            )
            for answer in PanelResult.model_validate(panel).verdicts
        ),
    )


def _plain(verdict: Verdict) -> Verdict:
    return Verdict.NOT_MET if verdict is Verdict.SILENT else verdict


def read_panel_records(connection: Connection, batch_id: UUID) -> Iterator[PanelRecord]:
    """Yield every record of the batch that a panel of models answered, in order, even if some of the models failed."""
    statement = _of_panel(batch_id, items.c.idx, items.c.item_id, WORDS.label("panel")).order_by(items.c.idx)
    for row in connection.execute(statement.execution_options(yield_per=AT_ONCE)):
        yield panel_record(row.idx, row.item_id, row.panel)


def read_disputed(connection: Connection, batch_id: UUID) -> Sequence[int]:
    """Return the numbers of the records on which a panel's models differ, in the order for people to read them.

    Records with a larger share of differing pairs of models come first. If this share is equal, records with a score
    nearer to 1/2 come first.
    """
    apart, score = (cast(WORDS.op("->>")(name), Float) for name in ("disagreement", "score"))
    doubt = func.abs(func.round(cast(score - HALF, Numeric), 9))
    statement = _of_panel(batch_id, items.c.idx).where(apart > 0).order_by(apart.desc(), doubt, items.c.idx)
    return list(connection.execute(statement).scalars())


def _of_panel(batch_id: UUID, *columns: ColumnElement[Any]) -> Select[Any]:
    """Return the query for `columns` of all decided or failed records that have the votes of a panel's models."""
    there = (results.c.batch_id == items.c.batch_id) & (results.c.idx == items.c.idx)
    ended = items.c.state.in_([ItemStatus.DECIDED.value, ItemStatus.FAILED.value])
    return select(*columns).join(results, there).where(items.c.batch_id == batch_id, ended, WORDS.is_not(None))
