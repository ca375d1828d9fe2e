"""Prices by name, and the cost of what an endpoint counted, with the arithmetic written out."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ModelPrice, Prices, Usage, packaged_prices

D = Decimal
TABLE = {
    "small": ModelPrice(input=D("2.50"), cached_input=D("1.25"), output=D("10")),
    "small-2024-05-13": ModelPrice(input=D("5"), output=D("15")),
    "own": ModelPrice(input=D("0"), output=D("0")),
}
PRICES = Prices(TABLE)


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("small", Usage(1_000_000, 0), "2.50"),
        ("small", Usage(0, 1_000_000), "10"),
        # 400 x 0.0000025 + 600 x 0.00000125 + 200 x 0.00001
        ("small", Usage(1000, 200, cached_tokens=600), "0.00375"),
        # the 150 tokens of reasoning are among the 200
        ("small", Usage(1000, 200, cached_tokens=600, reasoning_tokens=150), "0.00375"),
        # no discount is known: 1000 x 0.000005 + 200 x 0.000015
        ("small-2024-05-13", Usage(1000, 200, cached_tokens=600), "0.008"),
        # more cached than asked cannot be: 100 x 0.00000125
        ("small", Usage(100, 0, cached_tokens=5000), "0.000125"),
        ("own", Usage(1000, 200), "0"),
        ("unknown", Usage(1000, 200), None),
        ("unknown", Usage(), "0"),
    ],
)
def test_a_call_costs_what_its_tokens_cost(model: str, usage: Usage, cost: str | None) -> None:
    assert PRICES.cost(model, usage) == (None if cost is None else D(cost))


@pytest.mark.parametrize(
    ("asked", "priced_as"),
    [
        ("small", "small"),
        ("small-2024-08-06", "small"),
        ("small-20240806", "small"),
        ("small-latest", "small"),
        ("small-2024-05-13", "small-2024-05-13"),  # it stands there itself
        ("small-0613", None),  # a date to one provider, a size to another
        ("small-mini", None),
        ("small-audio-2024-08-06", None),
        ("small-2024-08-06-preview", None),
        ("smal", None),
        ("Small", None),
        ("provider/small", None),
        ("", None),
    ],
)
def test_a_name_is_matched_exactly_or_as_a_snapshot_and_never_by_guess(asked: str, priced_as: str | None) -> None:
    assert PRICES.of(asked) == (None if priced_as is None else TABLE[priced_as])
    assert PRICES.knows(asked) is (priced_as is not None)


def test_a_users_price_goes_before_the_packaged_one_also_for_snapshots() -> None:
    own = ModelPrice(input=D("1"), output=D("1"))
    prices = PRICES.before({"small": own})
    assert prices.of("small") == prices.of("small-2024-05-13") == own
    assert prices.of("own") == TABLE["own"]


@given(prompt=st.integers(0, 10**7), answer=st.integers(0, 10**6), longest=st.integers(0, 10**6), cached=st.integers(0))
def test_no_call_costs_more_than_is_reserved_for_it(prompt: int, answer: int, longest: int, cached: int) -> None:
    most = PRICES.at_most("small", prompt, max(answer, longest))
    cost = PRICES.cost("small", Usage(prompt, answer, cached_tokens=cached))
    assert most is not None
    assert cost is not None
    assert 0 <= cost <= most


def test_many_names_of_answers_are_not_all_remembered() -> None:
    prices = Prices(TABLE)
    for n in range(5000):
        prices.knows(f"answer-{n}")
    assert len(prices._known) <= 1000
    assert prices.knows("small")


def test_every_packaged_price_has_a_source_and_no_price_stands_for_unknown() -> None:
    table = packaged_prices()
    assert len(table.models) >= 20
    assert table.updated is not None
    for name, price in table.models.items():
        assert price.source in table.sources, name
        assert 0 < price.input <= price.output, name
        assert price.cached_input is None or 0 < price.cached_input <= price.input, name
