"""The panels of a report: each model, each pair of models and what each brought, as tables and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from tamis_schemas import dollars

from ..decisions.human_agreement import two_places
from ..quality.panel_figures import Differing, PanelFigures, PanelMember, PanelPair
from ..quality.panel_words import panel_sentences, shared_count
from .figures import Figures

NONE = "–"
MEMBERS = ("model", "include", "exclude", "uncertain", "failed", "tokens", "cost", "missed of people's")
PAIRS = ("models", "records", "differ", "kappa", "AC1", "joint errors", "expected", "verdict")


@dataclass(frozen=True)
class PanelPart:
    """The panel of one stage."""

    heading: str
    sentences: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]  # rows under `MEMBERS`
    pairs: tuple[tuple[str, ...], ...]  # rows under `PAIRS`
    differing: tuple[Differing, ...]


def panel_parts(figures: Figures) -> tuple[PanelPart, ...]:
    """A part for every stage whose records several models judged; none of any other."""
    many = len(figures.batches) > 1
    return tuple(
        panel_part(batch.panel, f"Stage {stage}" if many else "")
        for stage, batch in enumerate(figures.batches, 1)
        if batch.panel is not None
    )


def panel_part(panel: PanelFigures, heading: str = "") -> PanelPart:
    """The tables and sentences of one panel."""
    return PanelPart(
        heading=heading,
        sentences=panel_sentences(panel),
        members=tuple(_member(one) for one in panel.members),
        pairs=tuple(_pair(one) for one in panel.pairs),
        differing=panel.differing,
    )


def _member(one: PanelMember) -> tuple[str, ...]:
    counts = (one.include, one.exclude, one.uncertain, one.failed, one.tokens)
    cost = NONE if one.cost is None else dollars(one.cost)
    missed = shared_count(one.missed) if one.missed.total else NONE
    return (one.model, *(f"{count:,}" for count in counts), cost, missed)


def _pair(one: PanelPair) -> tuple[str, ...]:
    agreed = one.agreement
    kappa, ac1 = (NONE if value is None else two_places(value) for value in (agreed.kappa, agreed.ac1))
    errors = one.errors
    joint: Sequence[str] = (NONE, NONE, NONE)
    if errors is not None:
        joint = (f"{errors.joint:,}", f"{errors.expected:.1f}", errors.sharing.value)
    return (f"{one.first}, {one.second}", f"{agreed.n:,}", f"{one.differ:,}", kappa, ac1, *joint)
