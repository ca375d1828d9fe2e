"""The result of the initial filter: whether a paper passes, and otherwise the rule that rejected it."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from ..records.paper import PaperData
from ..values.frozen import Frozen
from .exclusion import Exclusion


class FilterRule(StrEnum):
    """A group of rules that reject records for one reason. The group is off if the criteria include such records."""

    DATE_RANGE = "date_range"  # no known year of the paper is in the criteria's date range
    MINIMUM_CONTENT = "minimum_content"  # too little content to screen
    ANIMAL = "animal"
    IN_VITRO = "in_vitro"
    CASE_REPORT = "case_report"
    CASE_SERIES = "case_series"
    PROTOCOL = "protocol"
    OPINION = "opinion"  # editorials, commentaries, letters to the editor
    CORRECTION = "correction"  # errata, corrigenda
    RETRACTED = "retracted"
    TITLE_PATTERN = "title_pattern"  # a title pattern from a caller
    KEYWORD = "keyword"  # a keyword of the criteria or of a caller


class FilterResult(Frozen):
    """The initial filter's decision on one paper. A rejection names the rule, and the matching text of the paper."""

    passed: bool
    reason: str  # one sentence for a reader
    confidence: float = Field(default=1.0, ge=0.0, le=1.0)
    rule: FilterRule | None = None  # None: the paper passed
    matched: str | None = None  # characters `start` to `end` of the paper's `field`
    field: str | None = None  # title, abstract, year or publication_date
    start: int | None = None
    end: int | None = None  # one past the last character

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if self.passed is not (self.rule is None):
            raise ValueError("rule: a rejected paper needs a rule; a passing paper has none")
        return self

    def exclusion(self) -> Exclusion | None:
        """Return the rejection in the form that the ledger stores; None if the paper passed."""
        if self.rule is None:
            return None
        return Exclusion(**self.model_dump(mode="json", exclude={"passed"}))


class RejectedPaper(Frozen):
    """A rejected paper, with the reason."""

    paper: PaperData
    result: FilterResult

    @property
    def reason(self) -> str:
        return self.result.reason


class BatchFilterResult(Frozen):
    """Every paper of a batch once, in the given order: passed papers, and rejected papers with their results."""

    passed: list[PaperData] = Field(default_factory=list)
    rejected: list[RejectedPaper] = Field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.passed) + len(self.rejected)

    @property
    def pass_rate(self) -> float:
        """The share of papers that passed, 0 to 1; 0 without papers."""
        return len(self.passed) / self.total if self.total else 0.0
