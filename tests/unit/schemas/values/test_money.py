"""Amounts as people read them."""

from decimal import Decimal

import pytest

from tamis_schemas import Provenance, Usage, cost_words, dollars


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0.00"),
        ("1234.5", "$1,234.50"),
        ("1", "$1.00"),
        ("0.98", "$0.98"),
        ("0.1", "$0.10"),
        ("0.0123", "$0.0123"),
        ("0.01234", "$0.0123"),
        ("0.00375", "$0.0038"),
        ("0.000123", "$0.00012"),
        ("0.000000004", "$0.000000004"),
        ("0.99999", "$1.00"),
        ("-0.5", "-$0.50"),
    ],
)
def test_dollars(amount: str, shown: str) -> None:
    assert dollars(Decimal(amount)) == shown


@pytest.mark.parametrize(
    ("unpriced", "said"),
    [
        (0, "$0.0123"),
        (1, "$0.0123, 1 item without a known price"),
        (3000, "$0.0123, 3,000 items without a known price"),
    ],
)
def test_a_cost_says_how_many_items_are_not_in_it(unpriced: int, said: str) -> None:
    assert cost_words(Decimal("0.0123"), unpriced) == said


def test_a_cost_is_a_number_in_json_and_comes_back_exactly() -> None:
    provenance = Provenance(usage=Usage(7, 4, 3, 2), cost=Decimal("0.000000123"))
    text = provenance.model_dump_json()
    assert '"cost":1.23e-7' in text
    assert Provenance.model_validate_json(text) == provenance
