"""The account of one item over all of its questions (calls, tokens, dollars, seconds), and the cost of a call."""

from dataclasses import dataclass, field
from decimal import Decimal

from tamis_schemas import Prices, Usage

from ..llm.chat import CallError, ChatAnswer, Reply
from ..operations.program import QuestionBill
from ..telemetry.chat import ChatSpan
from .capacity import Waited
from .item_end import Retried, untold

MOST_DEVIATIONS = 50  # stored per item, over all of its questions


@dataclass
class CallAccounting:
    """The calls and costs of one item so far."""

    calls: int = 0  # all calls, failed calls included
    unanswered: int = 0  # calls that may or may not have been charged
    tier: str | None = None  # service tier of the last answer, as the endpoint names it
    cached: int = 0  # questions answered from the cache
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)  # dollars; None: the cost of an answer is unknown
    model: str | None = None
    waited: Waited = field(default_factory=Waited)  # the wait for capacity at the flex tier
    latency_ms: int | None = None  # duration of the last call
    worked: float = 0.0  # seconds of the rounds of questions so far, without rate-limit waits
    longest: float = 0.0  # seconds of the longest of the concurrent questions of this round
    answers: int = 0  # valid answers, from calls or the cache
    deviations: tuple[str, ...] = ()  # harmless deviations of the used answers, without duplicates
    rated: ChatSpan | None = None  # span of the call with the first valid answer; the account's owner ends it
    retried: Retried = untold

    def of_question(self) -> "CallAccounting":
        """Return a new account for one question, still without calls and costs.

        After the question, pass the new account to `add`. The new account starts with this account's `worked` seconds.
        """
        return CallAccounting(waited=self.waited, worked=self.worked, retried=self.retried)

    def add(self, question: "CallAccounting") -> None:
        """Add the account of one ended question to this account."""
        self.calls += question.calls
        self.unanswered += question.unanswered
        self.cached += question.cached
        self.usage += question.usage
        self.cost = None if self.cost is None or question.cost is None else self.cost + question.cost
        self.model = question.model or self.model
        self.longest = max(self.longest, question.longest)
        self._deviate(question.deviations)
        if question.calls:
            self.latency_ms = question.latency_ms
        if question.tier is not None or (question.calls and question.model is not None):
            self.tier = question.tier
        if not self.answers:
            self.rated = question.rated
        elif question.rated is not None:
            question.rated.end()  # only the span of the first answer stays open
        self.answers += question.answers

    @property
    def bill(self) -> QuestionBill:
        """This account as the bill of one question."""
        return QuestionBill(self.model, self.usage, self.cost, cached=self.cached > 0)

    def end_round(self) -> None:
        """End a round of concurrent questions. The round took as long as its longest question."""
        self.worked, self.longest = self.worked + self.longest, 0.0

    def answered(self, deviations: tuple[str, ...], by: ChatSpan | None = None) -> None:
        """Record a valid answer and its deviations. `by` is the trace span of its call; a cached answer has none."""
        self.answers += 1
        self._deviate(deviations)
        if self.answers == 1 and by is not None:
            self.rated = by.keep()

    def note(self, reply: Reply, cost: Decimal | None) -> None:
        """Add one call to this account. `cost` is in dollars, or None if the cost is unknown."""
        self.calls += 1
        self.unanswered += is_unanswered(reply)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.usage += reply.usage
        self.latency_ms = reply.latency_ms
        if isinstance(reply, ChatAnswer):
            self.model = reply.model
        if isinstance(reply, ChatAnswer) or reply.tier is not None:
            self.tier = reply.tier

    def _deviate(self, deviations: tuple[str, ...]) -> None:
        if deviations:
            self.deviations = tuple(dict.fromkeys(self.deviations + deviations))[:MOST_DEVIATIONS]


def usage_of(reply: Reply) -> Usage | None:
    """Return the tokens that a call was charged for, possibly 0. Return None if their number is unknown."""
    if reply.usage.total_tokens:
        return reply.usage
    if isinstance(reply, ChatAnswer):
        return None  # the endpoint reports no counts
    if reply.status is None:
        return None if reply.sent else reply.usage
    return None if reply.status == 200 else reply.usage


def is_unanswered(reply: Reply) -> bool:
    """Return whether a call failed and may have been charged."""
    return isinstance(reply, CallError) and usage_of(reply) is None


def cost_of(prices: Prices, model: str, reply: Reply) -> Decimal | None:
    """Return the cost of a call in dollars. Return None if the call was answered, but the answer's cost is unknown.

    The price of the requested model is used. If that price is unknown, the price of the model that the answer names is
    used. The price is for the service tier that the answer names. A call without an answer costs 0 here, because its
    tokens are unknown.
    """
    priced = reply.model if isinstance(reply, ChatAnswer) and not prices.knows(model) else model
    if isinstance(reply, ChatAnswer) and not reply.usage.total_tokens:
        price = prices.of(model)
        return Decimal(0) if price is not None and price.input == price.output == 0 else None
    return prices.cost(priced, reply.usage, reply.tier)
