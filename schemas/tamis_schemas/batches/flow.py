"""The PRISMA 2020 flow of a batch or a review: where every record came from and where it went.

A flow whose numbers do not add up cannot be made: at every arrow, what enters a box is what leaves it.

Source: Page, M. J. et al. (2021), The PRISMA 2020 statement: an updated guideline for reporting systematic reviews,
BMJ 372:n71, figure 1.
"""

from typing import Self

from pydantic import Field, model_validator

from ..values.frozen import Frozen


class Tally(Frozen):
    """The number of records of one kind: from one file, under one rule, for one reason."""

    name: str
    n: int = Field(ge=0)


def total(tallies: tuple[Tally, ...]) -> int:
    """The records of all kinds together."""
    return sum(tally.n for tally in tallies)


class Arrow(Frozen):
    """A place where records part: what came there, and the ways on."""

    place: str
    arrived: int
    ways: tuple[Tally, ...]

    @property
    def adds_up(self) -> bool:
        """True where every record that arrived went one of the ways."""
        return self.arrived == total(self.ways)


class FlowStage(Frozen):
    """The ways of the records that one batch was asked about.

    Of an operation that does not decide (an extraction, a score), every record with a result has passed.
    """

    operation: str
    entered: int = Field(ge=0)
    admitted: int = Field(default=0, ge=0)  # of these, not passed by the stage before and asked about all the same
    held_back: int = Field(default=0, ge=0)  # passed by the stage before, and not asked about here
    taken_back: int = Field(default=0, ge=0)  # of these, kept out by software before, and then decided by a person
    passed: int = Field(ge=0)  # in the end, whoever decided
    passed_by_human: int = Field(default=0, ge=0)  # of those passed: the model had said something else, or nothing
    excluded: tuple[Tally, ...] = ()  # by reason; by the model, and not decided otherwise by a person
    excluded_by_human: int = Field(default=0, ge=0)  # where the model had said something else, or nothing
    confirmed: int = Field(default=0, ge=0)  # of all: a person said what the software had said
    uncertain: int = Field(default=0, ge=0)  # referred to a person
    unverified: int = Field(default=0, ge=0)  # of these: the model excluded them, and no verified quote bears that
    conflicts: int = Field(default=0, ge=0)  # people decided differently, and nobody has settled it
    failed: tuple[Tally, ...] = ()  # by kind of error; referred to a person too
    cancelled: int = Field(default=0, ge=0)
    open: int = Field(default=0, ge=0)  # pending or running
    marked: int = Field(default=0, ge=0)  # of those passed: a judge found their evidence too weak to keep

    @property
    def overridden(self) -> int:
        """Records on which a person's decision stands instead of the software's, or of none."""
        return self.passed_by_human + self.excluded_by_human

    @property
    def referred(self) -> int:
        """Records that a person has to decide."""
        return self.uncertain + self.conflicts + total(self.failed)

    @property
    def arrow(self) -> Arrow:
        """The place where the records of this stage part."""
        ways = {
            "passed": self.passed,
            "excluded": total(self.excluded),
            "excluded by a human": self.excluded_by_human,
            "uncertain": self.uncertain,
            "in conflict": self.conflicts,
            "failed": total(self.failed),
            "cancelled": self.cancelled,
            "not decided yet": self.open,
        }
        tallies = tuple(Tally(name=name, n=n) for name, n in ways.items())
        return Arrow(place=self.operation, arrived=self.entered, ways=tallies)


class Flow(Frozen):
    """Every record from its identification to the end of the last stage.

    Raises `ValueError` (pydantic's `ValidationError`) naming the arrow where records appear or vanish.
    """

    identified: tuple[Tally, ...] = Field(min_length=1)  # by source
    duplicates: int = Field(default=0, ge=0)
    ineligible: tuple[Tally, ...] = ()  # by rule of the initial filter: an automation tool
    removed_otherwise: int = Field(default=0, ge=0)  # before screening, without a recorded reason
    stages: tuple[FlowStage, ...] = Field(min_length=1)

    @property
    def n_identified(self) -> int:
        return total(self.identified)

    @property
    def n_removed(self) -> int:
        """Records removed before screening."""
        return self.duplicates + total(self.ineligible) + self.removed_otherwise

    @property
    def complete(self) -> bool:
        """True where every record of every stage has come to an end."""
        return all(stage.open == 0 and stage.cancelled == 0 for stage in self.stages)

    @property
    def arrows(self) -> tuple[Arrow, ...]:
        """Every place where records part, from the top of the diagram to its bottom."""
        first = Arrow(
            place="identification",
            arrived=self.n_identified,
            ways=(
                Tally(name="duplicates", n=self.duplicates),
                Tally(name="ineligible", n=total(self.ineligible)),
                Tally(name="removed otherwise", n=self.removed_otherwise),
                Tally(name="screened", n=self.stages[0].entered),
            ),
        )
        arrows = [first, self.stages[0].arrow]
        for before, stage in zip(self.stages, self.stages[1:], strict=False):
            between = Arrow(
                place=f"from {before.operation} to {stage.operation}",
                arrived=before.passed + stage.admitted,
                ways=(Tally(name="entered", n=stage.entered), Tally(name="held back", n=stage.held_back)),
            )
            arrows += [between, stage.arrow]
        return tuple(arrows)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for arrow in self.arrows:
            if not arrow.adds_up:
                ways = " + ".join(f"{way.n} {way.name}" for way in arrow.ways)
                raise ValueError(f"{arrow.place}: {arrow.arrived} records arrive, but {ways} = {total(arrow.ways)}")
        for stage in self.stages:
            if stage.marked > stage.passed:
                raise ValueError(
                    f"{stage.operation}: {stage.marked} records are marked, but only {stage.passed} passed"
                )
            if stage.unverified > stage.uncertain:
                raise ValueError(
                    f"{stage.operation}: {stage.unverified} records were excluded without a verified quote, but only "
                    f"{stage.uncertain} are uncertain"
                )
            if stage.passed_by_human > stage.passed:
                raise ValueError(
                    f"{stage.operation}: a human let {stage.passed_by_human} records pass, but only {stage.passed} did"
                )
            if stage.taken_back > stage.entered:
                raise ValueError(f"{stage.operation}: {stage.taken_back} were taken back, but {stage.entered} entered")
        if self.stages[0].admitted or self.stages[0].held_back:
            raise ValueError(f"{self.stages[0].operation}: the first stage has none before it to hold records back")
        return self
