"""The account of one item: calls, tokens, dollars and seconds, over all of its questions; and what a call did cost."""

from dataclasses import dataclass, field
from decimal import Decimal

from tamis_schemas import Prices, Usage

from ..llm.chat import CallError, ChatAnswer, Reply
from ..operations.program import QuestionBill
from ..telemetry.chat import ChatSpan
from .capacity import Waited
from .item_end import Retried, untold

MOST_DEVIATIONS = 50  # that are kept of an item, over all of its questions


@dataclass
class CallAccounting:
    """The cost of one item so far."""

    calls: int = 0  # that reached the endpoint
    unanswered: int = 0  # of the calls: nobody knows whether it was paid for
    tier: str | None = None  # that the last answer was billed at, as the endpoint names it
    cached: int = 0  # questions answered from the cache
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)  # dollars; None: of some answer nobody knows what it cost
    model: str | None = None
    waited: Waited = field(default_factory=Waited)  # for capacity of its tier
    latency_ms: int | None = None
    worked: float = 0.0  # seconds of the rounds of questions so far, rate-limit waits taken out
    longest: float = 0.0  # of this round's questions, which are asked side by side
    answers: int = 0  # valid ones, of whatever source
    deviations: tuple[str, ...] = ()  # what was harmlessly otherwise in the answers that were used; each once
    rated: ChatSpan | None = None  # of the call that the first of them came from; whoever owns the account ends it
    retried: Retried = untold

    def of_question(self) -> "CallAccounting":
        """An account for one more question, which `add` puts on this one; its seconds count from this one's."""
        return CallAccounting(waited=self.waited, worked=self.worked, retried=self.retried)

    def add(self, question: "CallAccounting") -> None:
        """Put the account of a question on this one."""
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
            question.rated.end()  # only that of the first answer is left open
        self.answers += question.answers

    @property
    def bill(self) -> QuestionBill:
        """The bill of one question."""
        return QuestionBill(self.model, self.usage, self.cost, cached=self.cached > 0)

    def end_round(self) -> None:
        """The questions asked side by side are answered; they took as long as the longest of them."""
        self.worked, self.longest = self.worked + self.longest, 0.0

    def answered(self, deviations: tuple[str, ...], by: ChatSpan | None = None) -> None:
        """There is a valid answer, read with these deviations; None: from the cache."""
        self.answers += 1
        self._deviate(deviations)
        if self.answers == 1 and by is not None:
            self.rated = by.keep()

    def note(self, reply: Reply, cost: Decimal | None) -> None:
        """Add one call."""
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
    """The tokens that a call was charged for, none among them; None where nobody knows whether it was."""
    if reply.usage.total_tokens:
        return reply.usage
    if isinstance(reply, ChatAnswer):
        return None  # the endpoint does not count
    if reply.status is None:
        return None if reply.sent else reply.usage
    return None if reply.status == 200 else reply.usage


def is_unanswered(reply: Reply) -> bool:
    """True for a call that failed after it was sent, and of which nobody knows whether it was paid for."""
    return isinstance(reply, CallError) and usage_of(reply) is None


def cost_of(prices: Prices, model: str, reply: Reply) -> Decimal | None:
    """Dollars for a call; None where it was answered and nobody knows for how much.

    The price is that of the model as it was asked for; where none is known, of the model that the answer names. The
    tier is the one that the answer names. A call that ended without an answer is not in it: nobody counted its tokens.
    """
    priced = reply.model if isinstance(reply, ChatAnswer) and not prices.knows(model) else model
    if isinstance(reply, ChatAnswer) and not reply.usage.total_tokens:
        price = prices.of(model)
        return Decimal(0) if price is not None and price.input == price.output == 0 else None
    return prices.cost(priced, reply.usage, reply.tier)
