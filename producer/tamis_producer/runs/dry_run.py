"""A rehearsal: what a batch would ask, and about what it would cost, without submitting it.

Prompts are rendered where they are sent from, on the worker's floor; a producer knows what goes in and what comes out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from tamis_schemas import NO_STEERING, Item, ModelPrice, Operation, Steering


@dataclass(frozen=True)
class Planned:
    """A batch that might be submitted, without the records that no model would be asked about."""

    operation: Operation
    items: Sequence[Item]
    model: str | None  # None: the workers' own
    use_cache: bool = True
    steering: Steering = NO_STEERING


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
