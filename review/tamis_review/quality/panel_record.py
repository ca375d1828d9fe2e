"""A record as the models of a panel judged it, reduced to what figures are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tamis_schemas import InclusionStatus, PanelResult, Verdict
from tamis_schemas.operations.panel import Panel, Vote, decision


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
    words = panel if isinstance(panel, PanelResult) else PanelResult.model_validate(panel)
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
            for one in words.verdicts
        ),
    )


def both(records: Sequence[PanelRecord], first: int, second: int) -> list[tuple[PanelRecord, Word, Word]]:
    """The records that both models decided, with their words."""
    return [
        (one, one.words[first], one.words[second])
        for one in records
        if one.words[first].vote is not None and one.words[second].vote is not None
    ]


def _plain(verdict: Verdict) -> Verdict:
    return Verdict.NOT_MET if verdict is Verdict.SILENT else verdict
