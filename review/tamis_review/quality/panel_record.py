"""A record as the models of a panel judged it, reduced to what figures are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
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
    words: tuple[Word, ...]  # of a cascade that did not send it on, without the last model's

    @property
    def statuses(self) -> tuple[InclusionStatus | None, ...]:
        """Each model's decision; None: it failed."""
        return tuple(word.status for word in self.words)

    def status(self, panel: Panel) -> InclusionStatus | None:
        """The panel's decision; None: there is none, because a model failed."""
        return panel.decide([word.vote for word in self.words])

    def without(self, panel: Panel, place: int) -> InclusionStatus | None:
        """The decision of the panel without one of its models; None: nobody knows it.

        Of a cascade without its last model: what the others say, `uncertain` where they differ. Without one of the
        others it may have sent on other records: that is not known.
        """
        if panel.asked_at_once == len(panel.members):
            votes = [word.vote for other, word in enumerate(self.words) if other != place]
            return decision(panel.policy, votes) if votes else None
        if place < panel.asked_at_once:
            return None
        first = self.statuses[: panel.asked_at_once]
        return first[0] if all(one is other for one, other in pairwise(first)) else InclusionStatus.UNCERTAIN


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
        if max(first, second) < len(one.words)
        and one.words[first].vote is not None
        and one.words[second].vote is not None
    ]


def _plain(verdict: Verdict) -> Verdict:
    return Verdict.NOT_MET if verdict is Verdict.SILENT else verdict
