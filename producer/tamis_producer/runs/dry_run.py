"""A rehearsal: what a batch would ask, and about what it would cost, without submitting it.

Prompts are rendered where they are sent from, on the worker's floor; a producer knows what goes in and what comes out.
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
    """A batch that might be submitted, without the records that no model would be asked about."""

    operation: Operation
    items: Sequence[Item]
    model: str | None  # None: the workers' own
    use_cache: bool = True
    steering: Steering = NO_STEERING

    @classmethod
    def of_stage(cls, stage: ReviewStage, items: Sequence[Item], *, use_cache: bool) -> Self | None:
        """A stage of a review as if all of these passed the stages before it: the most there can be.

        None: a judge, whose items are results that nobody knows beforehand.
        """
        if isinstance(stage.operation, Judge):
            return None
        return cls(stage.operation, items, stage.model, use_cache, stage.steering)

    @property
    def by_model(self) -> tuple["Planned", ...]:
        """The same for each model of the operation's panel alone; itself, where it asks one.

        Raises `InvalidParameters`: one model is named beside a panel.
        """
        panel = panel_of(self.operation)
        if panel is None:
            return (self,)
        batch_model(self.operation, self.model, None)
        alone = self.operation.model_copy(update={"panel": None})
        return tuple(replace(self, operation=alone, model=model) for model in panel.models)


@dataclass(frozen=True)
class RehearsedMessage:
    """One message of a prompt, as it would be sent."""

    role: str
    content: str


@dataclass(frozen=True)
class Sample:
    """The prompt that would be sent first about one item."""

    item_id: str
    messages: tuple[RehearsedMessage, ...]


@dataclass(frozen=True)
class Beginning:
    """The common beginning of all records' prompts, which an endpoint may read once; tokens are estimates."""

    tokens: int  # of the system message and the schema of the answer
    minimum: int  # tokens from which endpoints keep it

    @property
    def words(self) -> str:
        """The length in words, and whether it is enough."""
        told = f"about {self.tokens:,} tokens of each prompt are the same for all records"
        if self.tokens >= self.minimum:
            return f"{told}, enough for endpoints that keep {self.minimum:,} or more"
        return (
            f"{told}, {self.minimum - self.tokens:,} short of the {self.minimum:,} from which most endpoints keep them"
        )


@dataclass(frozen=True)
class Duration:
    """The time that the batch would take at least, and the limit that makes it so long."""

    seconds: float
    bound: str  # for people: `500 requests a minute`


@dataclass(frozen=True)
class Rehearsal:
    """The questions of the first round, one call each; tokens are estimates."""

    model: str | None  # None: only the workers know it
    samples: tuple[Sample, ...]
    items: int
    unasked: int  # items about which there is nothing to ask
    questions: int  # in the first round
    cached: int | None  # questions answered from the cache; None: nobody looked, see `unseen`
    unseen: str | None  # why nobody looked into the cache
    more_rounds: bool  # further questions may follow from the answers
    prompt_tokens: int  # of the questions that would be asked
    answer_tokens: int
    most_answer_tokens: int
    basis: str  # on what the length of the answers stands, for people
    price: ModelPrice | None  # at the tier that is asked for
    cost: Decimal | None  # dollars, about; None: the price is not known
    most_cost: Decimal | None  # with answers as long as they may be; retries and repairs are not in it
    duration: Duration
    model_note: str | None = None  # how the model is known, where that is worth saying; for people
    tier: str | None = None  # that is asked for; None: the standard one
    other_tiers: Mapping[str, Decimal] = field(default_factory=dict)  # dollars, about, at tiers that are not asked for
    beginning: Beginning | None = None  # None: nothing is asked

    @property
    def calls(self) -> int:
        """The questions of the first round that the cache does not answer."""
        return self.questions - (self.cached or 0)


@dataclass(frozen=True)
class PanelRehearsal:
    """A batch's questions, model by model."""

    policy: PanelPolicy | None  # None: one model alone is asked
    models: tuple[Rehearsal, ...]

    @classmethod
    def of(cls, planned: Planned, rehearse: Callable[[Planned], Rehearsal]) -> Self:
        """Rehearse a batch for each of its models. Raises what `rehearse` and `Planned.by_model` raise."""
        panel = panel_of(planned.operation)
        return cls(None if panel is None else panel.policy, tuple(map(rehearse, planned.by_model)))

    @property
    def calls(self) -> int:
        """The calls of all models."""
        return sum(one.calls for one in self.models)

    @property
    def cost(self) -> Decimal | None:
        """Dollars, about, of all models; None: a price is not known."""
        return _sum([one.cost for one in self.models])

    @property
    def most_cost(self) -> Decimal | None:
        """Dollars with answers as long as they may be; None: a price is not known."""
        return _sum([one.most_cost for one in self.models])


def _sum(costs: Sequence[Decimal | None]) -> Decimal | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None
