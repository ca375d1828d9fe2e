"""What models cost: a table of prices, and the cost of what an endpoint has counted.

A price that is not known is None, never 0. The figures stand in `prices.json` beside this file, each with its source.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .money import NANO
from .results import Usage

PER_MILLION = Decimal("1e-6")
REMEMBERED = 1000  # names; a batch asks for one, and its answers name another
# A provider's dated snapshot of a model, or its moving name. Four digits alone are a date to one and a size to another.
_SNAPSHOT = re.compile(r"-(?:20\d\d-?[01]\d-?[0-3]\d|latest)$")

Price = Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=6)]


class ModelPrice(BaseModel):
    """US dollars per 1,000,000 tokens. A model that runs on one's own machine may cost 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Price
    output: Price  # of all completion tokens, those of reasoning among them
    cached_input: Price | None = None  # None: no discount is known, the input's price holds
    source: str | None = None


class PriceTable(BaseModel):
    """A file of prices: the one that is part of Tamis, or a user's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: Literal["USD"] = "USD"
    unit: Literal["1,000,000 tokens"] = "1,000,000 tokens"
    updated: date | None = None
    sources: dict[str, str] = Field(default_factory=dict)
    models: dict[str, ModelPrice]


@dataclass(frozen=True, slots=True)
class _PerToken:
    input: Decimal
    cached_input: Decimal
    output: Decimal

    @classmethod
    def of(cls, price: ModelPrice) -> "_PerToken":
        cached = price.input if price.cached_input is None else price.cached_input
        return cls(price.input * PER_MILLION, cached * PER_MILLION, price.output * PER_MILLION)


class Prices:
    """The prices of models by name; each name is looked up once."""

    def __init__(self, *tables: Mapping[str, ModelPrice]) -> None:
        """The first table that knows a name is the one that counts for it."""
        self._tables = tables
        self._known: dict[str, _PerToken | None] = {}

    def before(self, own: Mapping[str, ModelPrice]) -> "Prices":
        """These prices, where `own` says nothing of a model."""
        return Prices(own, *self._tables)

    def of(self, model: str) -> ModelPrice | None:
        """The price under exactly this name, else, of a dated snapshot or a `-latest`, that of the model it is of.

        `gpt-4o-2024-08-06` is `gpt-4o` unless it stands in the table itself; `gpt-4o-audio` is nothing that is known.
        """
        general = _SNAPSHOT.sub("", model)
        for table in self._tables:
            if (price := table.get(model) or table.get(general)) is not None:
                return price
        return None

    def knows(self, model: str) -> bool:
        """True where the model has a price, 0 among them."""
        return self._per_token(model) is not None

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """Dollars for what an endpoint counted, to the nanodollar; None where the model's price is not known.

        cost = (prompt - cached) x input + cached x cached input + completion x output; reasoning tokens are completion
        tokens. 1,000 prompt tokens, 600 of them cached, and 200 completion tokens of a model at 2.50, 1.25 and 10.00
        dollars per million: 400 x 0.0000025 + 600 x 0.00000125 + 200 x 0.00001 = 0.001 + 0.00075 + 0.002 = 0.00375.
        Nothing counted is nothing paid: such usage costs 0 whatever the model.
        """
        if not usage.prompt_tokens and not usage.completion_tokens:
            return Decimal(0)
        price = self._per_token(model)
        if price is None:
            return None
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        cost = (
            (usage.prompt_tokens - cached) * price.input
            + cached * price.cached_input
            + usage.completion_tokens * price.output
        )
        return cost.quantize(NANO, ROUND_HALF_EVEN)

    def at_most(self, model: str, prompt_tokens: int, max_tokens: int) -> Decimal | None:
        """Dollars that a call may cost: its prompt uncached, its answer as long as it may be. None: price not known."""
        price = self._per_token(model)
        if price is None:
            return None
        return (prompt_tokens * price.input + max_tokens * price.output).quantize(NANO, ROUND_CEILING)

    def _per_token(self, model: str) -> _PerToken | None:
        try:
            return self._known[model]
        except KeyError:
            price = self.of(model)
        if len(self._known) >= REMEMBERED:  # an endpoint that names every answer otherwise
            self._known.clear()
        found = self._known[model] = None if price is None else _PerToken.of(price)
        return found


@cache
def packaged_prices() -> PriceTable:
    """The table that is part of Tamis."""
    text = files(__package__).joinpath("prices.json").read_text("utf-8")
    return PriceTable.model_validate(json.loads(text, parse_float=Decimal))
