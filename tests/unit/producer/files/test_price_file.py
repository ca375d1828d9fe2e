"""A user's own file of prices, and every way to get it wrong."""

from decimal import Decimal
from pathlib import Path

import pytest

from tamis_producer.files.price_file import EXAMPLE, known_prices, read_prices
from tamis_producer.submission.budget import amount_of, budget_of
from tamis_schemas import InputError, InvalidParameters


def write(folder: Path, text: str, name: str = "prices.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_file_adds_models_and_overrides_those_that_are_known(tmp_path: Path) -> None:
    prices = known_prices(
        write(tmp_path, "models:\n  local:\n    input: 0\n    output: 0\n  gpt-4o: {input: 1, output: 2}\n")
    )
    local, own, packaged = prices.of("local"), prices.of("gpt-4o-2024-08-06"), prices.of("gpt-5-nano")
    assert local is not None
    assert local.input == 0
    assert own is not None
    assert own.output == 2
    assert packaged is not None
    assert packaged.output == Decimal("0.4")


def test_without_a_file_the_packaged_prices_are_known() -> None:
    assert known_prices(None).knows("gpt-4o")
    assert not known_prices(None).knows("local")


def test_json_is_read_as_well_and_fractions_are_exact(tmp_path: Path) -> None:
    text = '{"currency": "USD", "updated": "2026-01-31", "models": {"m": {"input": 0.1, "output": "0.30"}}}'
    table = read_prices(write(tmp_path, text, "prices.json"))
    assert (table.models["m"].input, table.models["m"].output) == (Decimal("0.1"), Decimal("0.30"))


def test_the_example_of_the_messages_is_a_valid_file(tmp_path: Path) -> None:
    price = read_prices(write(tmp_path, EXAMPLE)).models["my-model"]
    assert (price.cached_input, price.cache_write) == (Decimal("0.025"), Decimal("0.3125"))
    at_flex = price.at("flex")
    assert at_flex is not None
    assert (at_flex.input, at_flex.output) == (Decimal("0.125"), Decimal("1"))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("models:\n  m:\n    input: 1\n    ouput: 2\n", 4, "did you mean 'output'"),
        ("models:\n  m:\n    input: 1\n", 3, "'output' is missing"),
        ("models:\n  m:\n    input: -1\n    output: 2\n", 3, "-1 is not a price"),
        ("models:\n  m:\n    input: free\n    output: 2\n", 3, "'free' is not a price"),
        ("models:\n  m: 3\n", 2, "needs input and output"),
        ("models:\n  405: {input: 1, output: 1}\n", 2, "that is a number in quotes"),
        ("models: {}\n", 1, "must list models"),
        ("prices:\n  m: {input: 1, output: 1}\n", 1, "unknown field"),
        ("currency: EUR\nmodels:\n  m: {input: 1, output: 1}\n", 1, "USD"),
        ("models:\n  m: {input: 1, output: 1}\n  m: {input: 2, output: 1}\n", 3, "occurs twice"),
        ("models:\n  m:\n    input: 1\n    output: 1\n    cache_write: much\n", 5, "'much' is not a price"),
        ("models:\n  m:\n    input: 1\n    output: 1\n    tiers: flex\n", 5, "must list tiers by name"),
        ("models:\n  m:\n    input: 1\n    output: 1\n    tiers:\n      2: {factor: 1}\n", 6, "tiers by name"),
        ("models:\n  m:\n    input: 1\n    output: 1\n    tiers:\n      flex: 0.5\n", 6, "needs a factor"),
        ("models:\n  m:\n    input: 1\n    output: 1\n    tiers:\n      flex: {faktor: 1}\n", 6, "mean 'factor'"),
        ("models:\n  m:\n    input: 1\n    output: 1\n    tiers:\n      flex: {input: 1}\n", 6, "needs a factor"),
        ("models:\n  m:\n    input: 1\n    output: 1\n    tiers:\n      auto: {factor: 1}\n", 6, "the standard tier"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        known_prices(path)
    assert caught.value.line == line
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml"):
        known_prices(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("given", "amount"),
    [("2.50", "2.5"), ("$0.50", "0.5"), (3, "3"), (0.1, "0.1"), (Decimal("0.1234567891"), "0.123456789"), (0, "0")],
)
def test_an_amount_is_dollars(given: object, amount: str) -> None:
    assert amount_of(given) == Decimal(amount)


@pytest.mark.parametrize("given", ["", "two", "-1", "nan", "inf", True, None, [1], "1e12"])
def test_what_is_no_amount_is_refused(given: object) -> None:
    with pytest.raises(InvalidParameters, match="max_cost"):
        amount_of(given)


def test_a_budget_needs_a_price_where_the_model_is_known() -> None:
    assert budget_of(None, ["unheard-of"], None) is None
    assert budget_of("1", ["gpt-5-mini"], None) == 1
    assert budget_of("1", [None], None) == 1  # the workers look their own model up
    with pytest.raises(InvalidParameters, match=r"'unheard-of'.*TAMIS_PRICES"):
        budget_of("1", ["gpt-5-mini", "unheard-of"], None)
