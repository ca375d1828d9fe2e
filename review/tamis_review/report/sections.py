"""The sections that the page and the Markdown report share: panels, sources, people's decisions, rounds."""

from dataclasses import dataclass

from tamis_schemas import HumanStage, dollars
from tamis_schemas.batches.flow import FlowSource
from tamis_schemas.batches.retry_bias import Comparison, RoundFailures
from tamis_schemas.operations import kind_of

from ..decisions.human_agreement import two_places
from ..quality.agreement import Agreement
from ..quality.panel_figures import Differing, PanelFigures, PanelMember, PanelPair
from ..quality.panel_words import panel_sentences, shared_count
from .figures import BatchFigures, Figures, HumanFigures
from .wording import error_words, records_n

NONE = "–"
MEMBERS = ("model", "include", "exclude", "uncertain", "failed", "tokens", "cost", "missed includes")
PAIRS = ("models", "records", "differ", "kappa", "AC1", "joint misses", "joint false includes")


@dataclass(frozen=True)
class PanelPart:
    """The report's part on the panel of one stage."""

    heading: str
    sentences: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]  # rows under `MEMBERS`
    pairs: tuple[tuple[str, ...], ...]  # rows under `PAIRS`
    differing: tuple[Differing, ...]


def panel_parts(figures: Figures) -> tuple[PanelPart, ...]:
    """Return a part of the report for every stage with a panel of models."""
    return tuple(panel_part(batch.panel, stage) for stage, batch in figures.staged() if batch.panel is not None)


def panel_part(panel: PanelFigures, heading: str = "") -> PanelPart:
    """Return the tables and sentences on one panel of models."""
    return PanelPart(
        heading=heading,
        sentences=panel_sentences(panel),
        members=tuple(_member(member) for member in panel.members),
        pairs=tuple(_pair(pair) for pair in panel.pairs),
        differing=panel.differing,
    )


def _member(member: PanelMember) -> tuple[str, ...]:
    counts = (member.include, member.exclude, member.uncertain, member.failed, member.tokens)
    cost = NONE if member.cost is None else dollars(member.cost)
    missed = shared_count(member.missed) if member.missed.total else NONE
    return (member.model, *(f"{count:,}" for count in counts), cost, missed)


def _pair(pair: PanelPair) -> tuple[str, ...]:
    agreed = pair.agreement
    kappa, ac1 = (NONE if value is None else two_places(value) for value in (agreed.kappa, agreed.ac1))
    joint = [
        "not known" if errors is None else f"{errors.joint:,} (expected {errors.expected:.1f}): {errors.sharing.value}"
        for errors in (pair.misses, pair.false_includes)
    ]
    return (f"{pair.first}, {pair.second}", f"{agreed.n:,}", f"{pair.differ:,}", kappa, ac1, *joint)


def source_rows(figures: Figures) -> list[tuple[FlowSource, str]]:
    """Return each source, in order, with the date of its search as text. Return [] if the sources are not known."""
    pairs = zip(figures.flow.sources, figures.screening.sources, strict=False)
    return [(flow, NONE if source.searched is None else source.searched.isoformat()) for flow, source in pairs]


@dataclass(frozen=True)
class AgreementRow:
    """A row of the table of agreement between two people, or between people and the software."""

    name: str
    n: int
    observed: str
    kappa: str
    kappa_range: str
    ac1: str
    ac1_range: str


@dataclass(frozen=True)
class HumanPart:
    """The report's part on the human decisions of one stage."""

    heading: str
    counts: tuple[tuple[str, int], ...]
    reviewers: str
    audits: tuple[tuple[str, str], ...]  # for each audit: its id, time and people as text, and its finding
    agreement: tuple[AgreementRow, ...]
    undecided: int  # records omitted from the agreement
    pairs: int  # pairs of people among the rows of the agreement


def human_parts(figures: Figures) -> tuple[HumanPart, ...]:
    """Return a part of the report for every stage with human decisions or an audit."""
    return tuple(
        _part(stage, batch) for stage, batch in figures.staged() if batch.humans.reviewers or batch.humans.audits
    )


def _part(heading: str, batch: BatchFigures) -> HumanPart:
    humans, agreement = batch.humans, batch.humans.agreement
    rows = []
    if agreement is not None:
        named = (("overridden or confirmed", agreement.overrides), ("audited exclusions", agreement.audits))
        rows = [_row(name, part) for name, part in named if part.n]
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
    return (
        ("records decided by a human", humans.decided),
        ("same as the software", humans.confirmed),
        ("opposite to the software" if deciding else "different from the model's value", humans.reversed),
        ("not decided by the software", humans.settled),
        *([("unresolved conflicts between reviewers", humans.conflicts)] if humans.conflicts else []),
    )


def _row(name: str, agreement: Agreement) -> AgreementRow:
    observed = NONE if agreement.observed is None else f"{agreement.observed:.1%}"
    kappa, ac1 = (NONE if value is None else two_places(value) for value in (agreement.kappa, agreement.ac1))
    of_kappa = range_words(agreement.kappa_low, agreement.kappa_high)
    of_ac1 = range_words(agreement.ac1_low, agreement.ac1_high)
    return AgreementRow(name, agreement.n, observed, kappa, of_kappa, ac1, of_ac1)


def range_words(low: float | None, high: float | None) -> str:
    """Return an interval as text, such as `0.41 to 0.67`. Return "" if a bound is None."""
    return "" if low is None or high is None else f"{two_places(low)} to {two_places(high)}"


ABOUT_ROUNDS = (
    "A failed record can be evaluated again in a later round. If failure depends on the records' properties, "
    "undecided and late-decided records are not a random part of all records. Pearson's chi-square test of "
    "independence is used. It is omitted if fewer than four fifths of the expected counts are 5 or more, or any is "
    "below 1 (Cochran). Differences are reported at p < 0.01, because each round is tested for up to three traits."
)


@dataclass(frozen=True)
class RoundPart:
    """The report's part on one round of one stage. A retry of failed records begins a new round."""

    heading: str
    text: str
    comparisons: tuple[Comparison, ...]


def round_parts(figures: Figures) -> tuple[RoundPart, ...]:
    """Return a part of the report for each round of the batches that have a failure or several rounds."""
    return tuple(
        RoundPart(f"{stage or 'Round'} {row.round}", _round_text(row), row.comparisons)
        for stage, batch in figures.staged("Stage {}, round")
        if batch.failures.worth_telling
        for row in batch.failures.rounds
    )


def _round_text(row: RoundFailures) -> str:
    kinds = ", ".join(f"{error_words(kind)} ({n:,})" for kind, n in row.kinds.items())
    failed = f"{row.failed:,} of {row.evaluated:,} records failed" + (f": {kinds}." if kinds else ".")
    share = row.pass_rate
    if share.estimate is None or share.low is None or share.high is None:
        return failed
    return (
        f"{failed} Of {records_n(share.total)} decided in this round, {share.count:,} passed ({share.estimate:.1%}, "
        f"{share.level:.0%} interval {share.low:.1%} to {share.high:.1%})."
    )
