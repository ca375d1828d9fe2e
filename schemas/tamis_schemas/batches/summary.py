"""Counts of a batch, possible unbilled costs, and the summary written once per round."""

from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from pydantic import Field, computed_field

from ..errors import ErrorKind
from ..values.frozen import Frozen
from ..values.money import NANO, Cost, dollars
from ..values.proportion import Proportion

# Bands of the confidence rubric: each begins at its value and ends where the next one begins.
CONFIDENCE_BANDS: tuple[tuple[str, float], ...] = (
    ("explicit", 0.9),
    ("strong", 0.7),
    ("weak", 0.4),
    ("insufficient", 0.0),
)


class PossiblyUnbilled(Frozen):
    """The costs that a batch's figures may lack: for calls without an answer, and for items whose worker died."""

    unanswered: int = 0  # calls that were sent and not answered
    lost_claims: int = 0  # claims whose worker died
    possibly_unbilled_cost: Cost | None = None  # dollars, an estimate; None: nothing is missing, or no price is known

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it; mypy knows no decorated property
    @property
    def possibly_unbilled(self) -> int:
        """The number of calls and claims with an unknown end."""
        return self.unanswered + self.lost_claims

    @property
    def unbilled_words(self) -> str | None:
        """The possible cost of lost claims and unanswered calls: `up to about $0.0312 (...)`; None without these."""
        parts = []
        if self.unanswered:
            parts.append(f"{self.unanswered:,} {'call' if self.unanswered == 1 else 'calls'} with an unknown end")
        if self.lost_claims:
            parts.append(f"{self.lost_claims:,} {'claim' if self.lost_claims == 1 else 'claims'} whose worker died")
        if not parts:
            return None
        cost = self.possibly_unbilled_cost
        return f"{'price not known' if cost is None else f'up to about {dollars(cost)}'} ({', '.join(parts)})"


def possibly_unbilled_cost(n: int, mean: Decimal | None) -> Decimal | None:
    """Return n * mean, rounded up: dollars that may have been spent on `n` calls and claims whose result is unknown.

    `mean`: the mean cost of an item in dollars; None if unknown. Return None if `n` is 0 or the mean is unknown.
    """
    return None if not n or mean is None else (n * mean).quantize(NANO, ROUND_CEILING)


class Counts(Frozen):
    """The numbers of a batch's items by state. They always add up to `n_items`: the accounting identity."""

    n_items: int = 0
    excluded_by_filter: int = 0
    decided: int = 0
    failed: int = 0
    cancelled: int = 0
    pending: int = 0
    running: int = 0

    @property
    def identity_holds(self) -> bool:
        """True if n_items = excluded_by_filter + decided + failed + cancelled + pending + running."""
        return self.n_items == (
            self.excluded_by_filter + self.decided + self.failed + self.cancelled + self.pending + self.running
        )

    @property
    def finished(self) -> int:
        """The number of items that are neither pending nor running."""
        return self.n_items - self.pending - self.running


class ConfidenceDistribution(Frozen):
    """The confidence of the decided items: mean, extremes, quartiles, and a count for each band of confidences.

    If no item is decided, mean, extremes and quartiles are None.
    """

    bands: dict[str, int] = Field(default_factory=dict)
    mean: float | None = None
    minimum: float | None = None
    lower_quartile: float | None = None
    median: float | None = None
    upper_quartile: float | None = None
    maximum: float | None = None


class MetricFigures(Frozen):
    """The figures of one metric over all items of a batch, and over all fields if a result has several fields."""

    n: int  # values
    mean: float | None = None  # of a score
    minimum: float | None = None
    categories: dict[str, int] = Field(default_factory=dict)  # for a categorical metric: number of each value
    without: dict[str, int] = Field(default_factory=dict)  # items without a value, by reason


class Summary(PossiblyUnbilled):
    """A round of a batch in numbers, read from the ledger at the end of the round."""

    batch_id: str
    round: int
    operation: str
    counts: Counts
    values: dict[str, int]  # decided items by value, if there are few: for a filter, an inclusion, a judgement
    pass_rate: Proportion  # for a filter or an inclusion: passed (true, include) out of decided; otherwise 0 out of 0
    unverified: int = 0  # uncertain items that the model excluded without a verified quote
    errors: dict[ErrorKind, int]  # failed items by kind
    exclusions: dict[str, int] = Field(default_factory=dict)  # items that no model was asked about, by rule
    confidence: ConfidenceDistribution
    evaluations: dict[str, MetricFigures] = Field(default_factory=dict)  # by metric; empty: no item had chunks
    recall_escalations: Proportion | None = None  # items with a question about recall, out of the items with chunks
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0  # in the prompts, at the price of cached input
    cache_write_tokens: int = 0  # in the prompts, at the price of cache writes
    reasoning_tokens: int = 0  # in the completions
    cost: Cost | None = None  # dollars, as far as prices are known; None: from a release without costs
    unpriced: int = 0  # items without a known price, which are not in `cost`
    calls: int  # paid calls, failed items included
    cached: int = 0  # items answered from the cache, without a call
    cut: int = 0  # items that were cut
    call_seconds_median: float | None
    call_seconds_p95: float | None
    wall_seconds: float  # from the first dispatch of the round to its last item
    models: dict[str, int]  # results by the endpoint's name of the model
    tiers: dict[str, int] = Field(default_factory=dict)  # results that name a tier, by the endpoint's name of it
    finished_at: datetime
