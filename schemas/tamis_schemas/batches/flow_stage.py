"""The stages of a flow: what a batch was asked about, and what people decided about the reports afterwards."""

from pydantic import Field

from ..operations import kind_of
from ..values.frozen import Frozen
from .tally import Arrow, Tally, tallies, total


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
    passed_confirmed: int = Field(default=0, ge=0)  # of those passed: the model and a person said so
    excluded: tuple[Tally, ...] = ()  # by reason; by the model, and not decided otherwise by a person
    excluded_confirmed: int = Field(default=0, ge=0)  # of `excluded`: a person excluded them too
    excluded_by_human: int = Field(default=0, ge=0)  # where the model had said something else, or nothing
    confirmed: int = Field(default=0, ge=0)  # of all: a person said what the software had said
    uncertain: int = Field(default=0, ge=0)  # referred to a person
    unverified: int = Field(default=0, ge=0)  # of these: the model excluded them, and no verified quote bears that
    failed: tuple[Tally, ...] = ()  # by kind of error; referred to a person too
    conflicts: int = Field(default=0, ge=0)  # people decided differently, and nobody has settled it
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
    def decides(self) -> bool:
        """True of a screening: what it excludes goes no further."""
        return kind_of(self.operation).decides()

    @property
    def arrow(self) -> Arrow:
        """The place where the records of this stage part."""
        ways = {
            "passed": self.passed,
            "excluded": total(self.excluded),
            "excluded by a human": self.excluded_by_human,
            "uncertain": self.uncertain,
            "failed": total(self.failed),
            "in conflict": self.conflicts,
            "cancelled": self.cancelled,
            "not decided yet": self.open,
        }
        return Arrow(place=self.operation, arrived=self.entered, ways=tallies(ways))


class ReportFlow(Frozen):
    """The ways of the reports of the records that passed the screening; people alone decide about them."""

    sought: int = Field(ge=0)
    not_retrieved: tuple[Tally, ...] = ()  # by reason
    awaited: int = Field(default=0, ge=0)  # nobody has said whether they could be got
    unassessed: int = Field(default=0, ge=0)  # retrieved, and nobody has assessed them yet
    excluded: tuple[Tally, ...] = ()  # by reason
    uncertain: int = Field(default=0, ge=0)  # assessed, and left open
    conflicts: int = Field(default=0, ge=0)  # assessed; people disagree, and nobody has settled it
    included: int = Field(default=0, ge=0)
    studies: int = Field(default=0, ge=0)  # that the included reports are of

    @property
    def assessed(self) -> int:
        """Reports about whose full text somebody has decided."""
        return total(self.excluded) + self.uncertain + self.conflicts + self.included

    @property
    def open(self) -> int:
        """Reports about which people still have to decide."""
        return self.awaited + self.unassessed + self.uncertain + self.conflicts

    @property
    def arrows(self) -> tuple[Arrow, Arrow]:
        """The places where reports part: those that were sought, and those that were assessed."""
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
        return (
            Arrow(place="retrieval", arrived=self.sought, ways=tallies(sought)),
            Arrow(place="full text", arrived=self.assessed, ways=tallies(assessed)),
        )
