"""What the double billed: the sums that a bill must come to."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from .asked import DEFAULT_TIER


@dataclass(frozen=True)
class Charge:
    """What was billed for calls of one kind; tokens as the answers told them."""

    model: str = ""  # as it was asked for; "": several
    tier: str = ""  # as the answer named it, `default` where it named none; "": several
    read: bool = True  # False: the client left before the answer, or got a part of it only
    calls: int = 0
    prompt_tokens: int = 0  # cached and written ones included
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0  # thoughts included
    reasoning_tokens: int = 0

    def __add__(self, other: "Charge") -> "Charge":
        """Both; they count as what the first one is."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        return Charge(self.model, self.tier, self.read, **sums)


_SUMMED = ("calls", "prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")


@dataclass(frozen=True)
class Account:
    """The charges by model, tier and whether the answer was read. Errors are not billed."""

    charges: tuple[Charge, ...] = ()
    untold: int = 0  # answers sent without a usage: billed by nobody knows how much

    def of(self, *, model: str | None = None, tier: str | None = None, read: bool | None = None) -> Charge:
        """The sum of the charges that are so; without conditions, of all."""
        wanted = [
            charge
            for charge in self.charges
            if model in (None, charge.model) and tier in (None, charge.tier) and read in (None, charge.read)
        ]
        return sum(wanted, Charge(model or "", tier or "", True if read is None else read))

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """From what `to_json` wrote."""
        return cls(tuple(Charge(**charge) for charge in told["charges"]), told["untold"])


@dataclass
class Books:
    """Keeps the account."""

    _sums: dict[tuple[str, str, bool], list[int]] = field(default_factory=dict)  # in the order of _SUMMED
    _untold: int = 0

    def enter(self, model: str, completion: Mapping[str, Any], *, read: bool) -> None:
        """A completion that was sent, with whatever usage it tells."""
        usage = completion.get("usage")
        if not isinstance(usage, dict):
            self._untold += 1
            return
        tier = str(completion.get("service_tier") or DEFAULT_TIER)
        details = usage.get("prompt_tokens_details")
        counts = (
            1,
            _count(usage, "prompt_tokens"),
            _count(details, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens"),
            _count(details, "cache_write_tokens"),
            _count(usage, "completion_tokens"),
            _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        )
        sums = self._sums.setdefault((model, tier, read), [0] * len(_SUMMED))
        for place, count in enumerate(counts):
            sums[place] += count

    def account(self) -> Account:
        """Up to now."""
        return Account(tuple(Charge(*about, *sums) for about, sums in self._sums.items()), self._untold)


def _count(told: object, name: str) -> int:
    count = told.get(name) if isinstance(told, dict) else None
    return count if isinstance(count, int) else 0
