"""Results: what an item ended with."""

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

Confidence = float  # 0 to 1, after the rubric of spec 1


class EvaluationResult(Frozen):
    """The result of one item (spec 1): a value with its confidence, or an error; never both.

    `value=None` with `error=None` means that the source data does not hold the information; it is a result.
    """

    value: str | bool | float | int | None = None
    confidence: Confidence = Field(default=0.0, ge=0.0, le=1.0)
    reasoning: str | None = None
    error: str | None = None


class FieldsResult(Frozen):
    """The fields of one item with one confidence for all of them, or an error; never both.

    `fields` holds every property of the schema that was asked for, at every level; a property whose information the
    source data does not hold is None, whether or not the schema requires it.
    """

    fields: dict[str, Any] | None = None
    confidence: Confidence = Field(default=0.0, ge=0.0, le=1.0)
    reasoning: str | None = None
    error: str | None = None


class InclusionStatus(StrEnum):
    """The decision on a record's screening."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    UNCERTAIN = "uncertain"


class Verdict(StrEnum):
    """A model's answer on one criterion: does the record show what the criterion describes?"""

    MET = "met"
    NOT_MET = "not met"
    SILENT = "not met by silence"  # the record says nothing of it, although one that meets it would; needs no quote
    UNCLEAR = "unclear"

    @property
    def denies(self) -> bool:
        """True where the record does not meet the criterion."""
        return self in (Verdict.NOT_MET, Verdict.SILENT)


class UncertainReason(StrEnum):
    """The reason why the software made a record uncertain that a model had decided about."""

    UNVERIFIED = "no verified quote"  # no criterion that would exclude it stands on words that the record holds
    CONTRADICTED = "its verdicts contradict it"
    UNCLEAR = "an unclear verdict is referred"
    PANEL = "the models of the panel disagree"


class Cut(NamedTuple):
    """The part of a field that was sent to the model; as JSON `[sent, of]`."""

    sent: int  # characters
    of: int


class QuoteState(StrEnum):
    """The state of a quote in the record that it is said to come from."""

    FOUND = "found"  # the record says so; marks and function words may differ
    ALTERED = "altered"  # the record says nearly so: a number, a unit, a negation or a content word differs
    NOT_FOUND = "not found"


class Difference(Frozen):
    """Words of an altered quote, and the record's own words in their place."""

    quoted: str  # empty: the quote leaves the record's words out
    recorded: str  # empty: the quote adds words
    start: int  # characters of the quote's text
    end: int  # one past the last

    @property
    def words(self) -> str:
        """The difference, for people: `"men" for "women"`, `"not" left out`, `"not" added`."""
        if not self.recorded:
            return f'"{self.quoted}" added'
        return f'"{self.quoted}" for "{self.recorded}"' if self.quoted else f'"{self.recorded}" left out'


class Quote(Frozen):
    """A model's quote for a verdict, and whether the record says so.

    The place is that of the most similar passage in the record's own text, and only there where the quote is found or
    altered in a field that holds a text; of a list or an object only the field is named.
    """

    text: str  # as the model gave it
    state: QuoteState
    similarity: float = Field(ge=0.0, le=1.0)  # to the most similar passage that it was compared with; 1.0: its words
    field: str | None = None
    start: int | None = None  # characters of that field
    end: int | None = None  # one past the last
    differences: tuple[Difference, ...] = ()  # of an altered quote, in order

    @model_validator(mode="before")
    @classmethod
    def _without_state(cls, value: Any) -> Any:
        """A ledger from before quotes could be altered says only whether one is found."""
        if isinstance(value, dict) and "state" not in value and "found" in value:
            return {**value, "state": QuoteState.FOUND if value["found"] else QuoteState.NOT_FOUND}
        return value

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it; mypy knows no decorated property
    @property
    def found(self) -> bool:
        """True where the record says so."""
        return self.state is QuoteState.FOUND


class CriterionVerdict(Frozen):
    """The verdict on one criterion, and the words of the record that it stands on."""

    verdict: Verdict
    quote: Quote | None = None  # None: the model names no words that speak to the criterion

    @model_validator(mode="before")
    @classmethod
    def _without_quote(cls, value: Any) -> Any:
        """A ledger from before there were quotes holds the verdict alone."""
        return {"verdict": value} if isinstance(value, str) else value


class InclusionDecision(Frozen):
    """The screening of one record (spec 3): status, confidence, rationale, and the criteria that decided."""

    status: InclusionStatus
    confidence: Confidence = Field(ge=0.0, le=1.0)  # lowered where a quote is altered or not in the record
    rationale: str
    verdicts: dict[str, CriterionVerdict] = Field(default_factory=dict)  # by label: I1, I2, ..., E1, E2, ...
    criteria: list[str] = Field(default_factory=list)  # the texts of the criteria that decided
    exclusion_reason: str | None = None  # of the first criterion that excludes, `not met: ...`; None unless excluded
    model_status: InclusionStatus | None = None  # what the model said, where its verdicts or the policy say otherwise
    uncertain_reason: UncertainReason | None = None  # why they do
    model_confidence: Confidence | None = None  # what the model said, where it was lowered
    flagged: bool = False  # at least one quote is altered or not in the record
    error: str | None = None  # why there is no decision: of an `InclusionEvaluator`'s failed item, never in the ledger

    @property
    def quote_words(self) -> str | None:
        """The quotes that flag the record, or None: `I1 altered: "men" for "women"; E1 not found: "in rats"`."""
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
    """Tokens as the endpoint counted them, over all calls that an item took."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0  # of the prompt's: the endpoint had them already, and asks less for them
    reasoning_tokens: int = 0  # of the completion's
    cache_write_tokens: int = 0  # of the prompt's, none of the cached: the endpoint kept them, and may ask more for it

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
    """The origin of a result: enough to ask again, and to defend it."""

    model: str | None = None  # as the endpoint names it in its answer
    prompt_sha256: str | None = None  # of the messages, the response schema and the sampling parameters
    usage: Usage = Usage()
    cost: Cost | None = None  # dollars, of all calls, failed ones and repairs too; None: a price is not known
    tier: str | None = None  # that the last answer was billed at, as the endpoint names it; None: it names none
    calls: int = 0  # calls that reached the endpoint, failed ones too
    unanswered: int = 0  # of the calls: no answer came, so nobody knows whether it was paid for
    cached: bool = False  # every answer was kept from an earlier call: no call, no cost
    latency_ms: int | None = None  # of the call that was answered last
    deviations: tuple[str, ...] = ()  # what was harmlessly otherwise in the answers that were read


class PanelVerdict(Frozen):
    """The word of one model of a panel on one record, or why it gave none; its bill in either case."""

    model: str  # as the panel names it
    status: InclusionStatus | None = None  # of a filter `include` for yes, `exclude` for no; None: it failed
    confidence: Confidence | None = Field(default=None, ge=0.0, le=1.0)  # in this status; None: it failed
    reasoning: str | None = None
    probability: float | None = None  # of inclusion, from the tokens of the answer; None: they say none
    relevance: int | None = None  # 0 to 100, as the model graded it; None: it was not asked to
    verdicts: dict[str, CriterionVerdict] = Field(default_factory=dict)  # of an inclusion, by label
    exclusion_reason: str | None = None
    answered_by: str | None = None  # the model as the endpoint names it in its answer
    usage: Usage = Usage()
    cost: Cost | None = None  # dollars; None: its price is not known
    cached: bool = False  # the answer was kept from an earlier call
    error_kind: ErrorKind | None = None
    error: str | None = None

    @property
    def score(self) -> float | None:
        """The model's support for inclusion, 0 to 1: of `uncertain` one half; None where it failed."""
        if self.status is None or self.confidence is None:
            return None
        if self.status is InclusionStatus.UNCERTAIN:
            return 0.5
        return self.confidence if self.status is InclusionStatus.INCLUDE else 1 - self.confidence

    @property
    def words(self) -> str:
        """The model with its word, for people: `small: include 0.90`."""
        if self.status is None:
            return f"{self.model}: {'failed' if self.error_kind is None else self.error_kind.value}"
        return f"{self.model}: {self.status.value} {self.confidence or 0.0:.2f}"


class PanelResult(Frozen):
    """The words of a panel's models on one record, in the panel's order, and how far they are apart."""

    policy: str  # a `PanelPolicy`
    verdicts: tuple[PanelVerdict, ...]  # of the models that were asked
    score: float | None = None  # for inclusion: the mean over the models that answered; None: none did
    disagreement: float | None = None  # the share of pairs of models that say different things; None: no pair

    @property
    def answered_by(self) -> str | None:
        """The models as the endpoint names them in its answers, each once; None: it names none."""
        return ", ".join(dict.fromkeys(one.answered_by for one in self.verdicts if one.answered_by)) or None

    @property
    def words(self) -> str:
        """Each model's word, for people: `small: include 0.90; large: timeout`."""
        return "; ".join(one.words for one in self.verdicts)

    def redacted(self, redact: Callable[[str], str]) -> Self:
        """The same, with every error message as `redact` gives it."""
        verdicts = [
            one if one.error is None else one.model_copy(update={"error": redact(one.error)}) for one in self.verdicts
        ]
        return self.model_copy(update={"verdicts": tuple(verdicts)})


class ItemResult(CheckedGeneric[V_co], Frozen):
    """One row of a batch's results: the item, its result, how it came about.

    A type checker knows an `ItemResult[bool]` by the operation that was submitted.
    """

    index: int  # place in the batch, from 0
    item_id: str
    origin: int | None = None  # in a later stage of a review: the record's place in the first one
    source: str | None = None  # the name of its source; None: the batch has no more than one
    status: str  # an ItemStatus
    result: EvaluationResult | FieldsResult | None = None  # None until the item is terminal
    exclusion: Exclusion | None = None  # of an item that was kept out before any model was asked
    probability: float | None = None  # of inclusion, from the tokens of the answer; None: they say none
    relevance: int | None = None  # 0 to 100, as the model graded it; None: it was not asked to
    decision: InclusionDecision | None = None  # of an inclusion
    detail: dict[str, Any] | None = None  # what stands behind the value of any other operation with more to say
    panel: PanelResult | None = None  # each model's word, of a failed item too; None: no panel was asked
    evaluations: list[Evaluation] = Field(default_factory=list)  # what the metrics say of an extraction from chunks
    error_kind: ErrorKind | None = None
    cut: dict[str, Cut] = Field(default_factory=dict)  # fields that were too long to be sent whole; empty: all were
    provenance: Provenance | None = None
    override: Override | None = None  # the human decision that counts; None: there is none, or they are in conflict
    decisions: tuple[Override, ...] = ()  # each reviewer's standing one, the oldest first
    remarks: tuple[Remark, ...] = ()  # what people put on it, the oldest first
    item: dict[str, Any] = Field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that people put on the record, the oldest first."""
        return tuple(one.text for one in self.remarks if one.kind is RemarkKind.LABEL)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes that people put on the record, each with who wrote it: `Reviewer A: see page 3`."""
        return tuple(f"{one.reviewer}: {one.text}" for one in self.remarks if one.kind is RemarkKind.NOTE)

    @property
    def cost(self) -> Decimal | None:
        """Dollars; 0 where every answer came from the cache, None without a result or a known price."""
        return None if self.provenance is None else self.provenance.cost

    @property
    def value(self) -> V_co | None:
        """The operation's value, or fields; None where it gave none, or the item has no result."""
        if self.result is None:
            return None
        value: Any = self.result.fields if isinstance(self.result, FieldsResult) else self.result.value
        return cast("V_co | None", value)

    @property
    def error(self) -> str | None:
        """Why there is no value; None where there is one, or none is known yet."""
        return None if self.result is None else self.result.error

    @computed_field(return_type=Any)  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def final_value(self) -> V_co | None:
        """The value that counts: a human's decision, else the operation's; None where people are in conflict."""
        if self.conflict:
            return None
        return self.value if self.override is None else cast("V_co | None", self.override.value)

    @computed_field  # type: ignore[prop-decorator]  # as above
    @property
    def overridden(self) -> bool:
        """True where a human's decision stands that is not the software's own."""
        return self.override is not None and not self.override.confirms

    @computed_field  # type: ignore[prop-decorator]  # as above
    @property
    def conflict(self) -> bool:
        """True where people decided differently and nobody has settled it: no decision counts, theirs or a model's."""
        return self.override is None and bool(self.decisions)

    @property
    def decision_words(self) -> str | None:
        """Each reviewer's decision, for people: `Reviewer A: include; Reviewer B: exclude (settles)`; None: none."""
        said = []
        for one in self.decisions:
            value = one.value if isinstance(one.value, str) else json.dumps(one.value, ensure_ascii=False)
            said.append(f"{one.reviewer}: {value}{' (settles)' if one.settles else ''}")
        return "; ".join(said) or None

    @property
    def cut_words(self) -> str | None:
        """The fields not sent whole, for people: `abstract 40,000 of 120,000 characters`; None where all were."""
        return "; ".join(f"{name} {cut.sent:,} of {cut.of:,} characters" for name, cut in self.cut.items()) or None

    @property
    def evaluation_words(self) -> str | None:
        """The metrics that have a value: `context_relevance 0.67; size: context_precision 1`; None: there is none."""
        valued = [one for one in self.evaluations if one.value is not None]
        words = [
            f"{'' if one.field is None else f'{one.field}: '}{one.label} "
            + (f"{one.value:.3g}" if isinstance(one.value, float) else str(one.value))
            for one in valued
        ]
        return "; ".join(words) or None

    @property
    def exclusion_reason(self) -> str | None:
        """The reason of an exclusion: the rule that kept the record out, or the first failed criterion; else None."""
        if self.exclusion is not None:
            return f"{self.exclusion.rule}: {self.exclusion.reason}"
        return None if self.decision is None else self.decision.exclusion_reason
