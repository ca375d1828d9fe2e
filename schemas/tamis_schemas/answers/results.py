"""Results of items."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple, Self, cast

from pydantic import Field, computed_field, model_validator

from ..errors import ErrorKind
from ..values.checked_generic import CheckedGeneric, V_co
from ..values.frozen import Frozen
from ..values.money import Cost
from .evaluation import Evaluation
from .exclusion import Exclusion
from .override import Override, Remark, RemarkKind

Confidence = float  # 0 to 1, by the rubric of `CONFIDENCE_BANDS`


class EvaluationResult(Frozen):
    """The result of one item: a value with its confidence, or an error; never both.

    If `value` and `error` are both None, the source data does not contain the information.
    """

    value: str | bool | float | int | None = None
    confidence: Confidence = Field(default=0.0, ge=0.0, le=1.0)
    reasoning: str | None = None
    error: str | None = None


class FieldsResult(Frozen):
    """The fields of one item with one confidence for all of them, or an error; never both.

    `fields` holds every property of the requested schema, at every level. A property is None if the source data does
    not contain it, even if the schema requires it.
    """

    fields: dict[str, Any] | None = None
    confidence: Confidence = Field(default=0.0, ge=0.0, le=1.0)
    reasoning: str | None = None
    error: str | None = None


class InclusionStatus(StrEnum):
    """The status of a screened record."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    UNCERTAIN = "uncertain"


class Verdict(StrEnum):
    """A model's answer on one criterion: does the record show what the criterion describes?"""

    MET = "met"
    NOT_MET = "not met"
    SILENT = "not met by silence"  # the record does not mention it, but a matching record would; needs no quote
    UNCLEAR = "unclear"

    @property
    def denies(self) -> bool:
        """True if the record does not meet the criterion."""
        return self in (Verdict.NOT_MET, Verdict.SILENT)


class UncertainReason(StrEnum):
    """The reason why the software changed a model's decision to uncertain."""

    UNVERIFIED = "no verified quote"  # no excluding criterion has a quote that is in the record
    CONTRADICTED = "its verdicts contradict it"
    UNCLEAR = "an unclear verdict is referred"
    PANEL = "the models of the panel disagree"


class Cut(NamedTuple):
    """The length of a shortened field in characters, after and before the cut. As JSON: `[sent, of]`."""

    sent: int  # characters of the sent part
    of: int  # characters of the whole field


class QuoteState(StrEnum):
    """The state of a quote in its record."""

    FOUND = "found"  # in the record; punctuation and function words may differ
    ALTERED = "altered"  # nearly in the record: a number, a unit, a negation or a content word differs
    NOT_FOUND = "not found"


class Difference(Frozen):
    """Words of an altered quote, and the record's own words in their place."""

    quoted: str  # empty: the quote omits the record's words
    recorded: str  # empty: the quote adds words
    start: int  # place of the quoted words' first character in the quote's text, from 0
    end: int  # one past the last character

    @property
    def words(self) -> str:
        """The difference, for people: `"men" for "women"`, `"not" omitted`, `"not" added`."""
        if not self.recorded:
            return f'"{self.quoted}" added'
        return f'"{self.quoted}" for "{self.recorded}"' if self.quoted else f'"{self.recorded}" omitted'


class Quote(Frozen):
    """A model's quote for a verdict, and whether the record contains this quote.

    `field`, `start` and `end` are the place of the most similar passage in the record. All three are None if the quote
    was not found. If the record's field holds a list or an object, only `field` is set.
    """

    text: str  # as the model wrote it
    state: QuoteState
    similarity: float = Field(ge=0.0, le=1.0)  # to the most similar passage; 1.0: the same words
    field: str | None = None
    start: int | None = None  # place of the passage's first character in that field, from 0
    end: int | None = None  # one past the last character
    differences: tuple[Difference, ...] = ()  # differences of an altered quote, in order

    @model_validator(mode="before")
    @classmethod
    def _without_state(cls, value: Any) -> Any:
        """Convert rows of earlier releases, which have `found` instead of a state."""
        if isinstance(value, dict) and "state" not in value and "found" in value:
            return {**value, "state": QuoteState.FOUND if value["found"] else QuoteState.NOT_FOUND}
        return value

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it; mypy knows no decorated property
    @property
    def found(self) -> bool:
        """True if the record contains the quote. Only punctuation and function words may differ."""
        return self.state is QuoteState.FOUND


class CriterionVerdict(Frozen):
    """The verdict on one criterion, and the quote that supports it."""

    verdict: Verdict
    quote: Quote | None = None  # None: the model quotes nothing about the criterion

    @model_validator(mode="before")
    @classmethod
    def _without_quote(cls, value: Any) -> Any:
        """Convert rows of earlier releases, which have only a verdict, as text."""
        return {"verdict": value} if isinstance(value, str) else value


class InclusionDecision(Frozen):
    """The decision on one screened record: status, confidence, rationale, and the criteria that decided."""

    status: InclusionStatus
    confidence: Confidence = Field(ge=0.0, le=1.0)  # lowered if a quote is altered or not in the record
    rationale: str
    verdicts: dict[str, CriterionVerdict] = Field(default_factory=dict)  # by label: I1, I2, ..., E1, E2, ...
    criteria: list[str] = Field(default_factory=list)  # texts of the deciding criteria
    exclusion_reason: str | None = None  # reason of the first excluding criterion, `not met: ...`; None unless excluded
    model_status: InclusionStatus | None = None  # model's status, if its verdicts or the policy changed it
    uncertain_reason: UncertainReason | None = None  # reason for the change
    model_confidence: Confidence | None = None  # model's confidence, if it was lowered
    flagged: bool = False  # at least one quote is altered or not in the record
    error: str | None = None  # reason of an `InclusionEvaluator`'s failure; never in the ledger

    @property
    def quote_words(self) -> str | None:
        """The altered and missing quotes, for people: `I1 altered: "men" for "women"; E1 not found: "in rats"`.

        None if the record contains every quote.
        """
        flaws = []
        for label, verdict in self.verdicts.items():
            quote = verdict.quote
            if quote is not None and not quote.found:
                differences = ", ".join(difference.words for difference in quote.differences)
                flaws.append(
                    f"{label} {quote.state.value}: {differences or json.dumps(quote.text, ensure_ascii=False)}"
                )
        return "; ".join(flaws) or None


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of all calls for an item, as the endpoint counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0  # in the prompt, from the endpoint's cache, at a lower price
    reasoning_tokens: int = 0  # in the completion
    cache_write_tokens: int = 0  # in the prompt, newly written to the endpoint's cache, perhaps at a higher price

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


class Provenance(Frozen):
    """The origin of a result: enough to repeat the question, and to justify the result."""

    model: str | None = None  # as the endpoint's answer names it
    prompt_sha256: str | None = None  # digest of the messages, the response schema and the sampling parameters
    usage: Usage = Usage()
    cost: Cost | None = None  # dollars of all calls, including failures and repairs; None: a price is not known
    tier: str | None = None  # billed tier of the last answer, as the endpoint names it; None: not named
    calls: int = 0  # all calls, including failed calls
    unanswered: int = 0  # calls without an answer, which may have been billed
    cached: bool = False  # True: every answer is from an earlier call, without cost
    latency_ms: int | None = None  # of the last answered call
    deviations: tuple[str, ...] = ()  # harmless deviations of the answers


class PanelVerdict(Frozen):
    """One panel model's answer on one record, or the reason of its failure, with the cost of the calls."""

    model: str  # as the panel names it
    status: InclusionStatus | None = None  # for a filter `include` for yes, `exclude` for no; None: the model failed
    confidence: Confidence | None = Field(default=None, ge=0.0, le=1.0)  # confidence in `status`; None: no answer
    reasoning: str | None = None
    probability: float | None = None  # probability of inclusion, from the answer's tokens; None: not available
    relevance: int | None = None  # 0 to 100, the model's grade; None: not requested
    verdicts: dict[str, CriterionVerdict] = Field(default_factory=dict)  # by label, for an inclusion
    exclusion_reason: str | None = None
    answered_by: str | None = None  # model as the endpoint's answer names it
    usage: Usage = Usage()
    cost: Cost | None = None  # dollars; None: its price is not known
    cached: bool = False  # True: the answer is from an earlier call
    error_kind: ErrorKind | None = None
    error: str | None = None

    @property
    def score(self) -> float | None:
        """The model's support for inclusion, 0 to 1; one half for `uncertain`; None if the model failed."""
        if self.status is None or self.confidence is None:
            return None
        if self.status is InclusionStatus.UNCERTAIN:
            return 0.5
        return self.confidence if self.status is InclusionStatus.INCLUDE else 1 - self.confidence

    @property
    def words(self) -> str:
        """The model with its answer, for people: `small: include 0.90`."""
        if self.status is None:
            return f"{self.model}: {'failed' if self.error_kind is None else self.error_kind.value}"
        return f"{self.model}: {self.status.value} {self.confidence or 0.0:.2f}"


class PanelResult(Frozen):
    """The answers of a panel's models on one record, in the panel's order, and their disagreement."""

    policy: str  # a `PanelPolicy`
    verdicts: tuple[PanelVerdict, ...]  # of the panel's models
    score: float | None = None  # mean score for inclusion over the models that answered; None: none did
    disagreement: float | None = None  # share of pairs of models that disagree; None: no pair

    @property
    def answered_by(self) -> str | None:
        """The models' names in the endpoint's answers, each once, with commas; None if no answer names a model."""
        return ", ".join(dict.fromkeys(verdict.answered_by for verdict in self.verdicts if verdict.answered_by)) or None

    @property
    def words(self) -> str:
        """Each model's answer, for people: `small: include 0.90; large: timeout`."""
        return "; ".join(verdict.words for verdict in self.verdicts)

    def redacted(self, redact: Callable[[str], str]) -> Self:
        """Return the same result with redacted error messages."""
        verdicts = [
            row if row.error is None else row.model_copy(update={"error": redact(row.error)}) for row in self.verdicts
        ]
        return self.model_copy(update={"verdicts": tuple(verdicts)})


class ItemResult(CheckedGeneric[V_co], Frozen):
    """One row of a batch's results: the item, its result, and its origin.

    Type checkers infer the type of the value from the submitted operation: a `Filter` leads to `ItemResult[bool]`.
    """

    index: int  # place in the batch, from 0
    item_id: str
    origin: int | None = None  # in a later stage of a review: the record's place in the first stage
    source: str | None = None  # name of its source; None: the batch has at most one source
    status: str  # an ItemStatus
    result: EvaluationResult | FieldsResult | None = None  # None until the item is terminal
    exclusion: Exclusion | None = None  # of an item that was excluded before any model was asked
    probability: float | None = None  # probability of inclusion, from the answer's tokens; None: not available
    relevance: int | None = None  # 0 to 100, the model's grade; None: not requested
    decision: InclusionDecision | None = None  # of an inclusion
    detail: dict[str, Any] | None = None  # further result of an operation other than inclusion
    panel: PanelResult | None = None  # answers of the panel's models, also for a failed item; None: no panel
    evaluations: list[Evaluation] = Field(default_factory=list)  # metrics of an extraction from chunks
    error_kind: ErrorKind | None = None
    cut: dict[str, Cut] = Field(default_factory=dict)  # fields that were cut; empty: none
    provenance: Provenance | None = None
    outcome: str | None = None  # final decision, as in the ledger's view item_decisions; None: hidden
    override: Override | None = None  # human decision that counts; None: no person decided, or people are in conflict
    decisions: tuple[Override, ...] = ()  # each reviewer's current decision, oldest first
    remarks: tuple[Remark, ...] = ()  # people's labels and notes, oldest first
    item: dict[str, Any] = Field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """The record's labels, oldest first."""
        return tuple(remark.text for remark in self.remarks if remark.kind is RemarkKind.LABEL)

    @property
    def notes(self) -> tuple[str, ...]:
        """The record's notes with their authors, oldest first: `Reviewer A: see page 3`."""
        return tuple(f"{remark.reviewer}: {remark.text}" for remark in self.remarks if remark.kind is RemarkKind.NOTE)

    @property
    def cost(self) -> Decimal | None:
        """The cost in dollars; 0 if every answer came from the cache; None without a result or a known price."""
        return None if self.provenance is None else self.provenance.cost

    @property
    def value(self) -> V_co | None:
        """The operation's value, or the extracted fields; None if there is no result, or the result has no value."""
        if self.result is None:
            return None
        value: Any = self.result.fields if isinstance(self.result, FieldsResult) else self.result.value
        return cast("V_co | None", value)

    @property
    def error(self) -> str | None:
        """The error of the item's result; None if it has no error, or the item has not ended."""
        return None if self.result is None else self.result.error

    @computed_field(return_type=Any)  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def final_value(self) -> V_co | None:
        """The value that counts: a human's decision, or else the operation's value; None if people are in conflict."""
        if self.conflict:
            return None
        return self.value if self.override is None else cast("V_co | None", self.override.value)

    @computed_field  # type: ignore[prop-decorator]  # as above
    @property
    def overridden(self) -> bool:
        """True if a human's decision counts, and differs from the software's decision."""
        return self.override is not None and not self.override.confirms

    @computed_field  # type: ignore[prop-decorator]  # as above
    @property
    def conflict(self) -> bool:
        """True if people disagree, and no person has settled the conflict. Until then, no decision counts."""
        return self.override is None and bool(self.decisions)

    @property
    def decision_words(self) -> str | None:
        """Each reviewer's decision: `Reviewer A: include; Reviewer B: exclude (settles)`; None without decisions."""
        decisions = []
        for row in self.decisions:
            value = row.value if isinstance(row.value, str) else json.dumps(row.value, ensure_ascii=False)
            decisions.append(f"{row.reviewer}: {value}{' (settles)' if row.settles else ''}")
        return "; ".join(decisions) or None

    @property
    def cut_words(self) -> str | None:
        """The fields that were cut, for people: `abstract 40,000 of 120,000 characters`; None if no field was cut."""
        return "; ".join(f"{name} {cut.sent:,} of {cut.of:,} characters" for name, cut in self.cut.items()) or None

    @property
    def evaluation_words(self) -> str | None:
        """The metrics with a value: `context_relevance 0.67; size: context_precision 1`; None without such metrics.

        A metric of one extracted field begins with the field's name.
        """
        valued = [evaluation for evaluation in self.evaluations if evaluation.value is not None]
        words = [
            f"{'' if evaluation.field is None else f'{evaluation.field}: '}{evaluation.label} "
            + (f"{evaluation.value:.3g}" if isinstance(evaluation.value, float) else str(evaluation.value))
            for evaluation in valued
        ]
        return "; ".join(words) or None

    @property
    def exclusion_reason(self) -> str | None:
        """The reason of an exclusion: the filter's rule, or the first criterion that excludes the record; else None."""
        if self.exclusion is not None:
            return f"{self.exclusion.rule}: {self.exclusion.reason}"
        return None if self.decision is None else self.decision.exclusion_reason
