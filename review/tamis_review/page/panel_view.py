"""The figures of a panel, as the gateway shows them: with what they say to people."""

from typing import Self

from pydantic import Field

from tamis_schemas.values.frozen import Frozen

from ..quality.panel_figures import PanelFigures
from ..report.panels import MEMBERS, PAIRS, panel_part


class PanelWords(Frozen):
    """A panel for people: what its figures mean, and the tables of its models and of each two of them."""

    sentences: tuple[str, ...]
    member_heads: tuple[str, ...]
    members: tuple[tuple[str, ...], ...] = Field(description="None of one model asked several times.")
    pair_heads: tuple[str, ...]
    pairs: tuple[tuple[str, ...], ...]


class PanelView(PanelFigures):
    """A panel in numbers and in words."""

    words: PanelWords

    @classmethod
    def of(cls, found: PanelFigures) -> Self:
        """The view of a panel's figures."""
        part = panel_part(found)
        words = PanelWords(
            sentences=part.sentences,
            member_heads=MEMBERS,
            members=part.members,
            pair_heads=PAIRS,
            pairs=part.pairs,
        )
        return cls(**dict(found), words=words)
