"""A rehearsal: the questions of a batch and their approximate cost, without submitting it.

The worker's package renders the prompts. This module has only the input and the output of a rehearsal.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Self

from tamis_schemas import NO_STEERING, Item, Judge, ModelPrice, Operation, PanelPolicy, Steering
from tamis_schemas.batches.review_plan import ReviewStage
from tamis_schemas.operations import panel_of

from ..submission.asked_models import batch_model


@dataclass(frozen=True)
class Planned:
    """A batch that could be submitted, without the records that are excluded before any model is asked."""

    operation: Operation
    items: Sequence[Item]
    model: str | None  # None: the workers' model
    use_cache: bool = True
    steering: Steering = NO_STEERING

    @classmethod
    def of_stage(cls, stage: ReviewStage, items: Sequence[Item], *, use_cache: bool) -> Self | None:
        """Return the largest possible batch of a review's stage, as if all items had passed the earlier stages.

        Return None for a judge, because a judge's items are results, which are not known beforehand.
        """
        if isinstance(stage.operation, Judge):
            return None
        return cls(stage.operation, items, stage.model, use_cache, stage.steering)

    @property
    def by_model(self) -> tuple["Planned", ...]:
        """A copy of this batch for each model of the operation's panel. Without a panel, only the batch itself.

        Raises `InvalidParameters` if both a model and a panel are named.
        """
        panel = panel_of(self.operation)
        if panel is None:
            return (self,)
        batch_model(self.operation, self.model, None)
        alone = self.operation.model_copy(update={"panel": None})
        return tuple(replace(self, operation=alone, model=model) for model in panel.models)


@dataclass(frozen=True)
class RehearsedMessage:
    """A message of a prompt, as it would be sent."""

    role: str
    content: str


@dataclass(frozen=True)
class Sample:
    """The first prompt about one item."""

    item_id: str
    messages: tuple[RehearsedMessage, ...]
    title: str | None = None  # the record's title, in one line


@dataclass(frozen=True)
class Beginning:
    """The beginning that the prompts of all records share, and that an endpoint may cache. Tokens are estimates."""

    tokens: int  # in the system message and the answer's schema
    minimum: int  # fewest tokens that endpoints cache

    @property
    def words(self) -> str:
        """A text for people: the length of the shared beginning, and whether endpoints would cache this beginning."""
        size = f"about {self.tokens:,} tokens of each prompt are the same for all records"
        if self.tokens >= self.minimum:
            return f"{size}, enough for endpoints that cache {self.minimum:,} or more"
        missing = self.minimum - self.tokens
        return f"{size}, {missing:,} fewer than the {self.minimum:,} that most endpoints need to cache them"


@dataclass(frozen=True)
class Duration:
    """The shortest time that the batch can take, and the rate limit that causes it."""

    seconds: float
    bound: str  # for people: `500 requests a minute`


@dataclass(frozen=True)
class Rehearsal:
    """The expected figures of a batch's first round, if each question takes one call. Token counts are estimates."""

    model: str | None  # None: only the workers know the model
    samples: tuple[Sample, ...]
    items: int
    unasked: int  # items without a question
    questions: int  # in the first round
    cached: int | None  # questions answered from the cache; None: not looked up, see `unseen`
    unseen: str | None  # reason why the cache was not read
    more_rounds: bool  # True if the answers may lead to further questions
    prompt_tokens: int  # in the calls that the cache does not answer
    answer_tokens: int
    most_answer_tokens: int
    basis: str  # basis of the answers' length, for people
    price: ModelPrice | None  # at the requested tier
    cost: Decimal | None  # dollars, approximately; None: the price is not known
    most_cost: Decimal | None  # with the longest answers; without retries and repairs
    duration: Duration
    model_note: str | None = None  # source of the model's name, for people; None: no note
    tier: str | None = None  # requested; None: the standard one
    other_tiers: Mapping[str, Decimal] = field(default_factory=dict)  # dollars, approximately, at the other tiers
    beginning: Beginning | None = None  # None: nothing is asked

    @property
    def calls(self) -> int:
        """The number of questions in the first round that the cache does not answer."""
        return self.questions - (self.cached or 0)


@dataclass(frozen=True)
class PanelRehearsal:
    """The rehearsal of a batch (its questions and expected cost), model by model."""

    policy: PanelPolicy | None  # None: a single model
    models: tuple[Rehearsal, ...]

    @classmethod
    def of(cls, planned: Planned, rehearse: Callable[[Planned], Rehearsal]) -> Self:
        """Return a rehearsal for each model of a batch.

        Raises the errors of `rehearse`, and `InvalidParameters` if both a model and a panel are named.
        """
        panel = panel_of(planned.operation)
        return cls(None if panel is None else panel.policy, tuple(map(rehearse, planned.by_model)))

    @property
    def calls(self) -> int:
        """The number of calls to all models."""
        return sum(model.calls for model in self.models)

    @property
    def cost(self) -> Decimal | None:
        """The approximate cost of all models in dollars; None if a price is not known."""
        return _sum([model.cost for model in self.models])

    @property
    def most_cost(self) -> Decimal | None:
        """The cost of all models in dollars if every answer is as long as possible; None if a price is not known."""
        return _sum([model.most_cost for model in self.models])


def _sum(costs: Sequence[Decimal | None]) -> Decimal | None:
    priced = [cost for cost in costs if cost is not None]
    return sum(priced, Decimal(0)) if len(priced) == len(costs) else None
