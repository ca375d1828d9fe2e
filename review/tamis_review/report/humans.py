"""The human decisions of a report, in words: overrides, audits of exclusions, agreement."""

from dataclasses import dataclass

from tamis_schemas import HumanStage
from tamis_schemas.operations import kind_of

from ..decisions.human_agreement import two_places
from ..quality.agreement import Agreement
from .figures import BatchFigures, Figures, HumanFigures

NONE = "–"


@dataclass(frozen=True)
class AgreementRow:
    """The agreement on some records."""

    name: str
    n: int
    observed: str
    kappa: str
    kappa_range: str
    ac1: str
    ac1_range: str


@dataclass(frozen=True)
class HumanPart:
    """The human decisions of one stage."""

    heading: str
    counts: tuple[tuple[str, int], ...]
    reviewers: str
    audits: tuple[tuple[str, str], ...]  # of each: when, by whom and how drawn; what it says
    agreement: tuple[AgreementRow, ...]
    undecided: int  # left out of the agreement
    pairs: int  # of two people, among the rows of the agreement


def human_parts(figures: Figures) -> tuple[HumanPart, ...]:
    """A part for every stage in which people decided about records or judged a sample; none of any other."""
    many = len(figures.batches) > 1
    return tuple(
        _part(f"Stage {stage}" if many else "", batch)
        for stage, batch in enumerate(figures.batches, 1)
        if batch.humans.reviewers or batch.humans.audits
    )


def _part(heading: str, batch: BatchFigures) -> HumanPart:
    humans, agreement = batch.humans, batch.humans.agreement
    rows = []
    if agreement is not None:
        named = (("overridden or confirmed", agreement.overrides), ("audited exclusions", agreement.audits))
        rows = [_row(name, one) for name, one in named if one.n]
        if len(rows) > 1:
            rows.append(_row("together", agreement.together))
        for pair in agreement.people:
            stage = "" if pair.stage is HumanStage.OWN else f" ({pair.stage.replace('-', ' ')})"
            rows.append(_row(f"{pair.first} and {pair.second}{stage}", pair.agreement))
    return HumanPart(
        heading=heading,
        counts=_counts(humans, deciding=kind_of(batch.operation).decides()) if humans.reviewers else (),
        reviewers=", ".join(humans.reviewers),
        audits=tuple(
            (
                f"Audit {audit.id[:8]}, drawn on {audit.created_at:%Y-%m-%d %H:%M %Z}"
                + (f", judged by {', '.join(audit.reviewers)}" if audit.reviewers else ""),
                audit.verdict.sentence,
            )
            for audit in humans.audits
        ),
        agreement=tuple(rows),
        undecided=0 if agreement is None else agreement.undecided,
        pairs=0 if agreement is None else len(agreement.people),
    )


def _counts(humans: HumanFigures, *, deciding: bool) -> tuple[tuple[str, int], ...]:
    otherwise = "the opposite of what the software said" if deciding else "another value than the model gave"
    return (
        ("records decided by a human", humans.decided),
        ("as the software said", humans.confirmed),
        (otherwise, humans.reversed),
        ("the software had not decided", humans.settled),
        *([("decided differently by people, not settled yet", humans.conflicts)] if humans.conflicts else []),
    )


def _row(name: str, one: Agreement) -> AgreementRow:
    observed = NONE if one.observed is None else f"{one.observed:.1%}"
    kappa, ac1 = (NONE if value is None else two_places(value) for value in (one.kappa, one.ac1))
    return AgreementRow(
        name, one.n, observed, kappa, _range(one.kappa_low, one.kappa_high), ac1, _range(one.ac1_low, one.ac1_high)
    )


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{two_places(low)} to {two_places(high)}"
