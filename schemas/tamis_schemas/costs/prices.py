"""Prices of models: a table, and the cost of the tokens that an endpoint counted.

An unknown price is None, never 0. The figures are in `prices.json` beside this file, each with its source.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from ..answers.results import Usage
from ..values.frozen import Frozen
from ..values.money import NANO

PER_MILLION = Decimal("1e-6")
MOST_OF_A_CALL = Decimal(1_000_000)  # dollars; a larger cost of a call means that its count of tokens is wrong
REMEMBERED = 1000  # names of models; a batch asks for one name, and its answers may have another
# A provider's dated snapshot of a model, or its moving name. Four digits alone may be a date or a size.
_SNAPSHOT = re.compile(r"-(?:20\d\d-?[01]\d-?[0-3]\d|latest)$")

# Endpoints' names for their standard prices, which also hold for answers without a tier.
_STANDARD = frozenset({"", "auto", "default", "standard", "on_demand"})
_RENAMED = {"fast": "priority"}  # two names of one tier

Price = Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=6)]
Factor = Annotated[Decimal, Field(ge=0, max_digits=6, decimal_places=4)]


def tier_name(tier: str | None) -> str | None:
    """Return a tier's name in price tables; None for the standard tier, under any of its names."""
    name = (tier or "").strip().lower()
    return None if name in _STANDARD else _RENAMED.get(name, name)


class TierPrice(Frozen):
    """A model's price at another tier: a factor of the standard prices, or the tier's own prices.

    If both are given, an own price overrides the factor.
    """

    model_config = ConfigDict(extra="forbid")

    factor: Factor | None = None  # of all standard prices
    input: Price | None = None
    output: Price | None = None
    cached_input: Price | None = None
    cache_write: Price | None = None

    @model_validator(mode="after")
    def _says_enough(self) -> Self:
        if self.factor is None and (self.input is None or self.output is None):
            raise ValueError("needs a factor of the standard prices, or its own input and output")
        return self


class ModelPrice(Frozen):
    """US dollars per 1,000,000 tokens of a model. A model on your own machine may cost 0."""

    model_config = ConfigDict(extra="forbid")

    input: Price
    output: Price  # all completion tokens, with reasoning
    cached_input: Price | None = None  # None: no discount is known, so the input's price holds
    cache_write: Price | None = None  # None: no surcharge is known, so the input's price holds
    tiers: dict[str, TierPrice] = Field(default_factory=dict)  # by their names in answers
    source: str | None = None

    @field_validator("tiers", mode="after")
    @classmethod
    def _named(cls, tiers: dict[str, TierPrice]) -> dict[str, TierPrice]:
        """Return the tiers by name, with the names of price tables. Raises `ValueError` for the standard tier."""
        for name in tiers:
            if tier_name(name) is None:
                raise ValueError(f"{name!r} is the standard tier: write its prices beside `tiers`")
        return {tier_name(name) or name: price for name, price in tiers.items()}

    def at(self, tier: str | None) -> "ModelPrice | None":
        """Return the prices at a tier; None if the tier has no prices. `tier` may be any name of the tier."""
        name = tier_name(tier)
        if name is None:
            return self
        if (at_tier := self.tiers.get(name)) is None:
            return None
        prices = {}
        for kind in ("input", "output", "cached_input", "cache_write"):
            stated, standard = getattr(at_tier, kind), getattr(self, kind)
            derived = None if at_tier.factor is None or standard is None else at_tier.factor * standard
            prices[kind] = derived if stated is None else stated
        return self.model_copy(update={**prices, "tiers": {}})


class PriceTable(Frozen):
    """A file of prices: Tamis's file, or a user's own file."""

    model_config = ConfigDict(extra="forbid")

    currency: Literal["USD"] = "USD"
    unit: Literal["1,000,000 tokens"] = "1,000,000 tokens"
    updated: date | None = None
    sources: dict[str, str] = Field(default_factory=dict)
    models: dict[str, ModelPrice]


@dataclass(frozen=True, slots=True)
class _PerToken:
    input: Decimal
    cached_input: Decimal
    cache_write: Decimal
    output: Decimal

    @classmethod
    def of(cls, price: ModelPrice) -> "_PerToken":
        cached = price.input if price.cached_input is None else price.cached_input
        written = price.input if price.cache_write is None else price.cache_write
        return cls(*(rate * PER_MILLION for rate in (price.input, cached, written, price.output)))

    @property
    def dearest_input(self) -> Decimal:
        return max(self.input, self.cached_input, self.cache_write)


class Prices:
    """The prices of models by name; each name is looked up once."""

    def __init__(self, *tables: Mapping[str, ModelPrice]) -> None:
        """Combine tables. If several tables name a model, the first of these tables counts."""
        self._tables = tables
        self._known: dict[tuple[str, str | None], _PerToken | None] = {}

    def before(self, own: Mapping[str, ModelPrice]) -> "Prices":
        """Return these prices, overridden by the prices in `own`."""
        return Prices(own, *self._tables)

    def of(self, model: str) -> ModelPrice | None:
        """Return the price of a model by its name, or by its name without a date or `-latest`; None if unknown.

        `gpt-4o-2024-08-06` has the price of `gpt-4o` unless it has its own price. `gpt-4o-audio` is unknown.
        """
        general = _SNAPSHOT.sub("", model)
        for table in self._tables:
            if (price := table.get(model) or table.get(general)) is not None:
                return price
        return None

    def knows(self, model: str, tier: str | None = None) -> bool:
        """Return whether the price of the model at the tier is known. A price of 0 is a known price."""
        return self._per_token(model, tier) is not None

    def cost(self, model: str, usage: Usage, tier: str | None = None) -> Decimal | None:
        """Return the dollars for an endpoint's count of tokens, to the nanodollar; None if the price is not known.

        `tier`: the tier in the answer. An unknown tier has no known price: the standard price does not replace it.

        cost = (prompt - cached - written) * input + cached * cached_input + written * cache_write + completion *
        output. Reasoning tokens are completion tokens.

        Example: 1,000 prompt tokens (600 read from the endpoint's cache, 200 written to it) and 200 completion tokens.
        Prices per million are 2.00 (input), 0.20 (cached_input), 2.50 (cache_write) and 10.00 (output) dollars. Then
        cost = 200 * 0.000002 + 600 * 0.0000002 + 200 * 0.0000025 + 200 * 0.00001 = 0.00302.

        Usage without tokens costs 0 for any model. An impossible count has no known cost.
        """
        if not usage.prompt_tokens and not usage.completion_tokens:
            return Decimal(0)
        price = self._per_token(model, tier)
        if price is None:
            return None
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        written = min(usage.cache_write_tokens, usage.prompt_tokens - cached)
        cost = (
            (usage.prompt_tokens - cached - written) * price.input
            + cached * price.cached_input
            + written * price.cache_write
            + usage.completion_tokens * price.output
        )
        return cost.quantize(NANO, ROUND_HALF_EVEN) if cost < MOST_OF_A_CALL else None

    def at_most(self, model: str, prompt_tokens: int, max_tokens: int, tier: str | None = None) -> Decimal | None:
        """Return the most dollars that a call may cost; None if a price is not known.

        The prompt costs the highest input price. Of the prices at `tier` and at the standard tier, the higher price
        counts.
        """
        prices = [self._per_token(model, name) for name in {None, tier_name(tier)}]
        per_token = [price for price in prices if price is not None]
        if len(per_token) < len(prices):
            return None
        most = max(prompt_tokens * price.dearest_input + max_tokens * price.output for price in per_token)
        return most.quantize(NANO, ROUND_CEILING)

    def _per_token(self, model: str, tier: str | None = None) -> _PerToken | None:
        key = model, tier
        try:
            return self._known[key]
        except KeyError:
            price = self.of(model)
        if len(self._known) >= REMEMBERED:  # an endpoint may give every answer another name
            self._known.clear()
        at_tier = None if price is None else price.at(tier)
        per_token = self._known[key] = None if at_tier is None else _PerToken.of(at_tier)
        return per_token


@cache
def packaged_prices() -> PriceTable:
    """Return the price table that is part of Tamis."""
    text = files(__package__).joinpath("prices.json").read_text("utf-8")
    return PriceTable.model_validate(json.loads(text, parse_float=Decimal))
