"""Counts of a batch, and the summary written once per round."""

from datetime import datetime

from pydantic import Field

from ..costs.unbilled import PossiblyUnbilled
from ..errors import ErrorKind
from ..values.frozen import Frozen
from ..values.money import Cost
from ..values.proportion import Proportion

# Bands of the confidence rubric (spec 1): each begins where it says and ends where the one above begins.
CONFIDENCE_BANDS: tuple[tuple[str, float], ...] = (
    ("explicit", 0.9),
    ("strong", 0.7),
    ("weak", 0.4),
    ("insufficient", 0.0),
)


class Counts(Frozen):
    """The number of a batch's items in each state. They always add up to `n_items`: the accounting identity."""

    n_items: int = 0
    excluded_by_filter: int = 0
    decided: int = 0
    failed: int = 0
    cancelled: int = 0
    pending: int = 0
    running: int = 0

    @property
    def identity_holds(self) -> bool:
        """n_items = excluded_by_filter + decided + failed + cancelled + pending + running."""
        return self.n_items == (
            self.excluded_by_filter + self.decided + self.failed + self.cancelled + self.pending + self.running
        )

    @property
    def finished(self) -> int:
        """Items that are terminal."""
        return self.n_items - self.pending - self.running


class ConfidenceDistribution(Frozen):
    """The confidence of the decided items: a count per band of the rubric, and quartiles; None where none decided."""

    bands: dict[str, int] = Field(default_factory=dict)
    mean: float | None = None
    minimum: float | None = None
    lower_quartile: float | None = None
    median: float | None = None
    upper_quartile: float | None = None
    maximum: float | None = None


class MetricFigures(Frozen):
    """One metric over all items of a batch, and over all fields where a result has several."""

    n: int  # values
    mean: float | None = None  # of a score
    minimum: float | None = None
    categories: dict[str, int] = Field(default_factory=dict)  # of a categorical metric: how often each
    without: dict[str, int] = Field(default_factory=dict)  # where it has no value: how often, by reason


class Summary(PossiblyUnbilled):
    """A round of a batch in numbers, taken from the ledger when its last item became terminal."""

    batch_id: str
    round: int
    operation: str
    counts: Counts
    values: dict[str, int]  # decided items by value, where there are few: of a filter, an inclusion, a judgement
    pass_rate: Proportion  # of a filter or an inclusion: passed (true, include) out of decided; else out of none
    unverified: int = 0  # uncertain ones that the model excluded without a verified quote
    errors: dict[ErrorKind, int]  # failed items by kind
    exclusions: dict[str, int] = Field(default_factory=dict)  # items that no model was asked about, by rule
    confidence: ConfidenceDistribution
    evaluations: dict[str, MetricFigures] = Field(default_factory=dict)  # by metric; empty: no item had chunks
    recall_escalations: Proportion | None = None  # items whose recall a model was asked about, out of those with chunks
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0  # of the prompts', at the price of cached input
    cache_write_tokens: int = 0  # of the prompts', at the price of cache writes
    reasoning_tokens: int = 0  # of the completions'
    cost: Cost | None = None  # dollars, as far as prices are known; None: written before costs were
    unpriced: int = 0  # items without a known price: they are not in `cost`
    calls: int  # paid calls, those of failed items too
    cached: int = 0  # items answered from the cache, without a call
    cut: int = 0  # items that were too long to be sent whole
    call_seconds_median: float | None
    call_seconds_p95: float | None
    wall_seconds: float  # from the first dispatch of the round to its last item
    models: dict[str, int]  # results by the model that the endpoint named
    tiers: dict[str, int] = Field(default_factory=dict)  # results by the tier that the endpoint named, where it did
    finished_at: datetime
