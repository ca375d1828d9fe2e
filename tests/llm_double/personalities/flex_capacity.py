"""The flex tier: half the price, slow, and not always there. The answer names the tier at which it is billed."""

from dataclasses import dataclass, field

from ..asked import DEFAULT_TIER, Asked
from ..errors import Problem
from ..script import draw
from .behaviour import Behaviour, JsonObject

FLEX = "flex"
NO_CAPACITY = "Resource unavailable: there is no flex capacity for this model at the moment. Please try again later."


@dataclass
class FlexCapacity(Behaviour):
    """Refuses calls of the flex tier for want of capacity, and slows those that it serves; other tiers are as ever."""

    available: bool = True  # False: no capacity, until it is scripted otherwise
    probability: float = 0.0  # of no capacity, drawn from the prompt and how often it came: order is no matter
    seed: int = 0
    away: tuple[tuple[int, int], ...] = ()  # first and last of the flex calls, from 1, that find no capacity
    slower: float = 0.0  # seconds that a flex call takes longer
    bills_default: float = 0.0  # the share of flex calls that are served, and billed, at the default tier
    status: int = 429  # 498 at Groq
    code: str = "resource_unavailable"  # capacity_exceeded at Groq
    retry_after: str | None = None
    _calls: int = field(default=0, init=False)

    def refusal(self, asked: Asked) -> Problem | None:
        """No capacity: nothing is billed."""
        if asked.tier != FLEX:
            return None
        self._calls += 1
        gone = any(first <= self._calls <= last for first, last in self.away)
        if self.available and not gone and self._draw("capacity", asked) >= self.probability:
            return None
        headers = {} if self.retry_after is None else {"retry-after": self.retry_after}
        return Problem(self.status, NO_CAPACITY, "requests", None, self.code, headers)

    def delay(self, asked: Asked) -> float:
        """The slowness of the flex tier."""
        return self.slower if self._billed(asked) == FLEX else 0.0

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion with the tier at which it is billed."""
        return completion | {"service_tier": self._billed(asked)}

    def _billed(self, asked: Asked) -> str:
        if asked.tier != FLEX or self._draw("bill", asked) < self.bills_default:
            return DEFAULT_TIER
        return FLEX

    def _draw(self, about: str, asked: Asked) -> float:
        return draw(f"{about}|{self.seed}|{asked.seen}|{asked.prompt}")
