"""Prices by name, and the cost of what an endpoint counted, with the arithmetic written out."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tamis_schemas import ModelPrice, Prices, TierPrice, Usage, packaged_prices

D = Decimal
TABLE = {
    "small": ModelPrice(input=D("2.50"), cached_input=D("1.25"), output=D("10")),
    "small-2024-05-13": ModelPrice(input=D("5"), output=D("15")),
    "own": ModelPrice(input=D("0"), output=D("0")),
    "tiered": ModelPrice(
        input=D("2"),
        cached_input=D("0.2"),
        cache_write=D("2.5"),
        output=D("10"),
        tiers={
            "flex": TierPrice(factor=D("0.5")),
            "Fast": TierPrice(factor=D("2"), cached_input=D("0.41")),
            "plain": TierPrice(input=D("3"), output=D("4")),
        },
    ),
}
WRITTEN = Usage(1000, 200, cached_tokens=600, cache_write_tokens=200)
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
        # 200 x 0.000002 + 600 x 0.0000002 + 200 x 0.0000025 + 200 x 0.00001 = 0.0004 + 0.00012 + 0.0005 + 0.002
        ("tiered", WRITTEN, "0.00302"),
        # no surcharge is known: 400 x 0.0000025 + 600 x 0.00000125 + 200 x 0.00001
        ("small", WRITTEN, "0.00375"),
        # what is read is not written too: 600 x 0.0000002 + 400 x 0.0000025
        ("tiered", Usage(1000, 0, cached_tokens=600, cache_write_tokens=5000), "0.00112"),
        # a count that no call can have: 10 ** 15 x 0.000002 are 2,000,000,000
        ("tiered", Usage(10**15, 1), None),
        ("own", Usage(1000, 200), "0"),
        ("unknown", Usage(1000, 200), None),
        ("unknown", Usage(), "0"),
    ],
)
def test_a_call_costs_what_its_tokens_cost(model: str, usage: Usage, cost: str | None) -> None:
    assert PRICES.cost(model, usage) == (None if cost is None else D(cost))


@pytest.mark.parametrize(
    ("model", "tier", "cost"),
    [
        *(("tiered", standard, "0.00302") for standard in (None, "", "default", "standard", "auto", "on_demand")),
        ("tiered", "flex", "0.00151"),  # half of each
        ("tiered", " Flex ", "0.00151"),
        ("tiered-2026-01-31", "flex", "0.00151"),
        # 200 x 0.000004 + 600 x 0.00000041 + 200 x 0.000005 + 200 x 0.00002 = 0.0008 + 0.000246 + 0.001 + 0.004
        ("tiered", "priority", "0.006046"),
        ("tiered", "fast", "0.006046"),  # two names of one tier
        # prices of its own only: 1000 x 0.000003 + 200 x 0.000004, without a discount or a surcharge
        ("tiered", "plain", "0.0038"),
        ("tiered", "scale", None),
        ("tiered", "batch", None),
        ("small", "flex", None),
        ("unknown", "flex", None),
    ],
)
def test_the_tier_that_the_answer_names_has_a_price_of_its_own_or_none(
    model: str, tier: str | None, cost: str | None
) -> None:
    assert PRICES.cost(model, WRITTEN, tier) == (None if cost is None else D(cost))
    assert PRICES.knows(model, tier) is (cost is not None)


@pytest.mark.parametrize(
    "given",
    [
        {"flex": {}},
        {"flex": {"input": 1}},
        {"flex": {"factor": -1}},
        {"flex": {"factor": 0.5, "imput": 1}},
        {"default": {"factor": 1}},  # a second price of the standard tier
    ],
)
def test_a_tier_without_enough_to_reckon_with_is_refused(given: object) -> None:
    with pytest.raises(ValidationError):
        ModelPrice.model_validate({"input": 1, "output": 1, "tiers": given})


def test_a_factor_and_a_price_of_nothing_are_prices() -> None:
    price = ModelPrice.model_validate(
        {"input": 1, "output": 2, "tiers": {"scale": {"factor": 0}, "x": {"input": 0, "output": 0}}}
    )
    prices = Prices({"m": price})
    assert prices.cost("m", WRITTEN, "scale") == prices.cost("m", WRITTEN, "x") == 0


@pytest.mark.parametrize(
    ("tier", "most"),
    [
        (None, "4.5"),  # 1,000,000 written to the cache at 2.5, and 200,000 at 10
        ("flex", "4.5"),  # it may be answered at the standard tier
        ("priority", "9"),  # 5 + 4
        ("scale", None),
    ],
)
def test_the_most_that_a_call_may_cost_takes_the_dearest_input_of_the_dearer_tier(tier: str | None, most: str) -> None:
    assert PRICES.at_most("tiered", 1_000_000, 200_000, tier) == (None if most is None else D(most))


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


@given(
    model=st.sampled_from(["small", "tiered"]),
    prompt=st.integers(0, 10**7),
    answer=st.integers(0, 10**6),
    longest=st.integers(0, 10**6),
    cached=st.integers(0),
    written=st.integers(0),
    tiers=st.sampled_from([(None, None), ("flex", "flex"), ("flex", "default"), ("priority", "default")]),
)
def test_no_call_costs_more_than_is_reserved_for_it(
    model: str, prompt: int, answer: int, longest: int, cached: int, written: int, tiers: tuple[str | None, str | None]
) -> None:
    asked, answered = tiers if model == "tiered" else (None, None)
    most = PRICES.at_most(model, prompt, max(answer, longest), asked)
    usage = Usage(prompt, answer, cached_tokens=cached, cache_write_tokens=written)
    cost = PRICES.cost(model, usage, answered)
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
        if price.source == "embedded":  # on this machine
            assert (price.input, price.output) == (0, 0)
            continue
        for tier in (None, *price.tiers):
            at_tier = price.at(tier)
            assert at_tier is not None
            assert 0 < at_tier.input <= at_tier.output, name
            assert at_tier.cached_input is None or 0 < at_tier.cached_input <= at_tier.input, name
            assert at_tier.cache_write is None or at_tier.cache_write == D("1.25") * at_tier.input, name


@pytest.mark.parametrize(
    ("model", "tier", "prices"),
    [
        ("gpt-6-luna", "flex", ("0.05", "0.005", "0.0625", "0.25")),
        ("gpt-6-astra", "priority", ("20", "2", "25", "100")),
        ("gpt-5-mini", "priority", ("0.45", "0.045", None, "3.6")),
        ("gpt-5.4", "flex", ("1.25", "0.13", None, "7.5")),
        ("o4-mini", "flex", ("0.55", "0.138", None, "2.2")),
        ("llama-3.1-8b-instant", "flex", ("0.05", None, None, "0.08")),  # it has more room there, and no discount
    ],
)
def test_packaged_tiers_are_those_of_the_published_tables(
    model: str, tier: str, prices: tuple[str | None, ...]
) -> None:
    at_tier = packaged_prices().models[model].at(tier)
    assert at_tier is not None
    found = (at_tier.input, at_tier.cached_input, at_tier.cache_write, at_tier.output)
    assert found == tuple(None if price is None else D(price) for price in prices)
