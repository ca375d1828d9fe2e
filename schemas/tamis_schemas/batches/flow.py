"""The PRISMA 2020 flow of a batch or a review: the origin and the end of every record.

The numbers always add up: at every arrow, as many records leave as arrive.

Source: Page, M. J. et al. (2021), The PRISMA 2020 statement: an updated guideline for reporting systematic reviews, BMJ
372:n71, figure 1.
"""

from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from ..operations import kind_of
from ..records.source import SourceKind
from ..values.frozen import Frozen

__all__ = ["BY_HUMAN", "Arrow", "Flow", "FlowSource", "FlowStage", "PreviousVersion", "ReportFlow", "Tally", "total"]


class Tally(Frozen):
    """The number of records of one kind: from one file, under one rule, or for one reason."""

    name: str
    n: int = Field(ge=0)


def total(tallies: tuple[Tally, ...]) -> int:
    """Return the sum of the tallies."""
    return sum(tally.n for tally in tallies)


def tallies(counted: dict[str, int]) -> tuple[Tally, ...]:
    """Return a tally for each name and its number of records."""
    return tuple(Tally(name=name, n=n) for name, n in counted.items())


# docs/glossary.md, the figure's legend and the methods use these words.
BY_HUMAN = "By a human: a person's decision on the record counts, whether or not the software agrees."


class Arrow(Frozen):
    """A branch of the flow diagram: the number of records that arrive, and how many of them take each way."""

    place: str
    arrived: int
    ways: tuple[Tally, ...]

    @classmethod
    def of(cls, place: str, arrived: int, ways: dict[str, int]) -> Self:
        """Return a branch. `ways`: the number of records on each way, by name."""
        return cls(place=place, arrived=arrived, ways=tallies(ways))

    @property
    def adds_up(self) -> bool:
        """True if as many records left as arrived."""
        return self.arrived == total(self.ways)


class FlowStage(Frozen):
    """The numbers of one batch's records, by outcome.

    If the operation does not decide (an extraction, a score), every record with a result has passed.
    """

    operation: str
    entered: int = Field(ge=0)
    admitted: int = Field(default=0, ge=0)  # of `entered`: not passed by the stage before, but asked about here
    held_back: int = Field(default=0, ge=0)  # passed by the stage before, but not asked about here
    taken_back: int = Field(default=0, ge=0)  # of `entered`: excluded by software before, then decided by a person
    passed: int = Field(ge=0)  # in the end, by a model or by people
    passed_by_human: int = Field(default=0, ge=0)  # of `passed`: as `BY_HUMAN` defines it
    passed_confirmed: int = Field(default=0, ge=0)  # of `passed_by_human`: the model agrees
    excluded: tuple[Tally, ...] = ()  # by the model's reason; excluded by the model, and not changed by a person
    excluded_confirmed: int = Field(default=0, ge=0)  # of `excluded` and of `excluded_by_human`: both excluded them
    excluded_by_human: int = Field(default=0, ge=0)  # as `BY_HUMAN` defines it
    confirmed: int = Field(default=0, ge=0)  # of all: a person agrees with the software
    uncertain: int = Field(default=0, ge=0)  # referred to a person
    unverified: int = Field(default=0, ge=0)  # of `uncertain`: excluded by the model without a verified quote
    failed: tuple[Tally, ...] = ()  # by kind of error; referred to a person too
    conflicts: int = Field(default=0, ge=0)  # people disagree, and no decision settles it
    cancelled: int = Field(default=0, ge=0)
    open: int = Field(default=0, ge=0)  # pending or running
    marked: int = Field(default=0, ge=0)  # of `passed`: a judge found their evidence too weak

    @property
    def overridden(self) -> int:
        """The number of records that people decided differently from the software, or that only people decided."""
        both = self.passed_confirmed + self.excluded_confirmed
        return self.passed_by_human + self.excluded_by_human - both

    @property
    def excluded_alone(self) -> int:
        """The number of records that the model excluded and that no person excluded."""
        return total(self.excluded) - self.excluded_confirmed

    @property
    def n_excluded(self) -> int:
        """The number of excluded records."""
        return self.excluded_alone + self.excluded_by_human

    @property
    def referred(self) -> int:
        """The number of records that a person must decide."""
        return self.uncertain + self.conflicts + total(self.failed)

    @property
    def decides(self) -> bool:
        """True if the stage's operation includes and excludes records."""
        return kind_of(self.operation).decides()

    @property
    def arrow(self) -> Arrow:
        """The branch of the flow diagram at this stage."""
        ways = {
            "passed": self.passed,
            "excluded by the model alone": self.excluded_alone,
            "excluded by a human": self.excluded_by_human,
            "uncertain": self.uncertain,
            "failed": total(self.failed),
            "in conflict": self.conflicts,
            "cancelled": self.cancelled,
            "not decided yet": self.open,
        }
        return Arrow.of(self.operation, self.entered, ways)


class ReportFlow(Frozen):
    """The numbers of reports (documents about studies, in PRISMA's terms) by outcome, after the screening.

    Each record that passed the screening is a report. Only people decide about reports.
    """

    sought: int = Field(ge=0)
    not_retrieved: tuple[Tally, ...] = ()  # by reason
    awaited: int = Field(default=0, ge=0)  # not yet known whether they can be retrieved
    unassessed: int = Field(default=0, ge=0)  # retrieved, and not yet assessed
    excluded: tuple[Tally, ...] = ()  # by reason
    uncertain: int = Field(default=0, ge=0)  # assessed, and unclear
    conflicts: int = Field(default=0, ge=0)  # assessed; people disagree, and no decision settles it
    included: int = Field(default=0, ge=0)
    studies: int = Field(default=0, ge=0)  # studies of the included reports

    @property
    def assessed(self) -> int:
        """The number of reports whose full text people decided about, even if people disagree."""
        return total(self.excluded) + self.uncertain + self.conflicts + self.included

    @property
    def open(self) -> int:
        """The number of reports that people must still decide about."""
        return self.awaited + self.unassessed + self.uncertain + self.conflicts

    @property
    def arrows(self) -> tuple[Arrow, Arrow]:
        """The two branches of the flow for reports: retrieval, and the assessment of the full text."""
        sought = {
            "not retrieved": total(self.not_retrieved),
            "awaited": self.awaited,
            "not assessed yet": self.unassessed,
            "assessed": self.assessed,
        }
        assessed = {
            "excluded": total(self.excluded),
            "uncertain": self.uncertain,
            "in conflict": self.conflicts,
            "included": self.included,
        }
        return Arrow.of("retrieval", self.sought, sought), Arrow.of("full text", self.assessed, assessed)


class FlowSource(Frozen):
    """The records of one source: a database, a register, or another way in which records were found."""

    name: str
    kind: SourceKind
    identified: int = Field(ge=0)
    duplicates: int = Field(default=0, ge=0)  # of `identified`: removed as copies of records from any source
    screened: int = Field(ge=0)

    @property
    def removed_otherwise(self) -> int:
        """The number of records that the initial filter removed, or that were removed for other reasons."""
        return self.identified - self.duplicates - self.screened


class PreviousVersion(Frozen):
    """The totals of a review's earlier versions, which an update extends."""

    batch_id: str  # of the latest earlier version
    identified: int = Field(ge=0)  # records, in all versions
    included: int = Field(ge=0)  # reports, or records if there are no reports
    studies: int = Field(ge=0)
    complete: bool  # True: every record of the earlier versions has ended


class Flow(Frozen):
    """The numbers of records from their identification to the last stage.

    Raises pydantic's `ValidationError`, a `ValueError`, if the numbers do not add up. The message names the arrow of
    the flow diagram.
    """

    identified: tuple[Tally, ...] = Field(min_length=1)  # by source
    duplicates: int = Field(default=0, ge=0)
    ineligible: tuple[Tally, ...] = ()  # by rule of the initial filter: an automation tool
    removed_otherwise: int = Field(default=0, ge=0)  # before screening, without a recorded reason
    stages: tuple[FlowStage, ...] = Field(min_length=1)
    sources: tuple[FlowSource, ...] = ()  # parts of `identified`, if every source's kind is known
    reports: ReportFlow | None = None  # from retrieval on; None: no decisions by people after the screening
    previous: PreviousVersion | None = None  # earlier versions, in an update
    columns: tuple["Flow", ...] = ()  # two flows, if both exist: databases and registers; other methods

    @property
    def n_identified(self) -> int:
        return total(self.identified)

    @property
    def n_removed(self) -> int:
        """The number of records removed before screening."""
        return self.duplicates + total(self.ineligible) + self.removed_otherwise

    @property
    def complete(self) -> bool:
        """True if no record of any stage is open, cancelled or in conflict, and people have decided on every report."""
        ended = all(stage.open == stage.cancelled == stage.conflicts == 0 for stage in self.stages)
        return ended and (self.reports is None or self.reports.open == 0)

    @property
    def screening(self) -> int | None:
        """The index of the last stage that includes and excludes records; None if no stage does."""
        return max((place for place, stage in enumerate(self.stages) if stage.decides), default=None)

    @property
    def included(self) -> int:
        """The number of included reports; without reports, the number of included records."""
        if self.reports is not None:
            return self.reports.included
        return 0 if self.screening is None else self.stages[self.screening].passed

    @property
    def studies(self) -> int:
        """The number of included studies; without reports, the number of included records."""
        return self.included if self.reports is None else self.reports.studies

    @property
    def other_methods(self) -> bool:
        """True if no record comes from a search of databases and registers."""
        return bool(self.sources) and all(source.kind is SourceKind.OTHER for source in self.sources)

    @property
    def arrows(self) -> tuple[Arrow, ...]:
        """Every branch of the flow, from the top of the diagram to its bottom."""
        ways = {
            "duplicates": self.duplicates,
            "ineligible": total(self.ineligible),
            "removed otherwise": self.removed_otherwise,
            "screened": self.stages[0].entered,
        }
        arrows = [Arrow.of("identification", self.n_identified, ways), self.stages[0].arrow]
        for before, stage in zip(self.stages, self.stages[1:], strict=False):
            place = f"from {before.operation} to {stage.operation}"
            ways = {"entered": stage.entered, "held back": stage.held_back}
            arrows += [Arrow.of(place, before.passed + stage.admitted, ways), stage.arrow]
        if self.reports is not None:
            passed = 0 if self.screening is None else self.stages[self.screening].passed
            to_retrieval = Arrow.of("from screening to retrieval", passed, {"sought": self.reports.sought})
            arrows += [to_retrieval, *self.reports.arrows]
        return tuple(arrows)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for part, whole, words in self._parts():  # first, so that no number of an arrow is negative
            if part > whole:
                raise ValueError(words)
        for arrow in self.arrows:
            if not arrow.adds_up:
                ways = " + ".join(f"{way.n} {way.name}" for way in arrow.ways)
                raise ValueError(f"{arrow.place}: {arrow.arrived} records arrive, but {ways} = {total(arrow.ways)}")
        if self.stages[0].admitted or self.stages[0].held_back:
            raise ValueError(f"{self.stages[0].operation}: the first stage has none before it to hold records back")
        self._sources_add_up()
        self._columns_add_up()
        return self

    def _parts(self) -> Iterator[tuple[int, int, str]]:
        """Yield each part, its whole, and the error message for a part that is larger than its whole."""
        for stage in self.stages:
            name = stage.operation
            marked = f"{name}: {stage.marked} records are marked, but only {stage.passed} passed"
            yield stage.marked, stage.passed, marked
            unverified = f"{stage.unverified} records were excluded without a verified quote"
            yield stage.unverified, stage.uncertain, f"{name}: {unverified}, but only {stage.uncertain} are uncertain"
            by_human = f"{name}: a human let {stage.passed_by_human} records pass, but only {stage.passed} did"
            yield stage.passed_by_human, stage.passed, by_human
            taken_back = f"{name}: {stage.taken_back} were taken back, but {stage.entered} entered"
            yield stage.taken_back, stage.entered, taken_back
            excluded = total(stage.excluded)
            confirmed = f"{name}: a human excluded {stage.excluded_confirmed} records too, but the model {excluded}"
            yield stage.excluded_confirmed, excluded, confirmed
            both = f"{name}: more records are confirmed than decided by a human"
            yield stage.passed_confirmed, stage.passed_by_human, both
            yield stage.excluded_confirmed, stage.excluded_by_human, both
        if self.reports is not None:
            studies, included = self.reports.studies, self.reports.included
            yield studies, included, f"{studies} studies are included, but only {included} reports"

    def _sources_add_up(self) -> None:
        if not self.sources:
            return
        named = (
            ("identified", sum(source.identified for source in self.sources), self.n_identified),
            ("duplicates", sum(source.duplicates for source in self.sources), self.duplicates),
            ("screened", sum(source.screened for source in self.sources), self.stages[0].entered),
        )
        for what, by_source, whole in named:
            if by_source != whole:
                raise ValueError(f"{what}: {whole} records, but {by_source} by source")

    def _columns_add_up(self) -> None:
        if not self.columns:
            return
        by_column = [column.arrows for column in self.columns]
        if len({len(self.arrows), *map(len, by_column)}) > 1:
            raise ValueError("the columns have other stages than the whole")
        for arrow, *parts in zip(self.arrows, *by_column, strict=True):
            numbers = [sum(part.ways[way].n for part in parts) for way in range(len(arrow.ways))]
            if [way.n for way in arrow.ways] != numbers:
                together = " + ".join(f"{n} {way.name}" for way, n in zip(arrow.ways, numbers, strict=True))
                raise ValueError(f"{arrow.place}: the columns have {together} together, which is not the whole")
