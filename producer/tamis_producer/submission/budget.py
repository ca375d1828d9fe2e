"""The check of a batch's budget: its amount must be valid, and the price of the model must be known."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from tamis_schemas import InvalidParameters
from tamis_schemas.values.money import NANO

from ..files.price_file import known_prices

MOST = Decimal(1_000_000_000)  # dollars; the ledger's columns hold no more


def amount_of(value: object, *, name: str = "max_cost") -> Decimal:
    """Return an amount of dollars from a number or a text (`2`, `0.50`, `$0.50`), rounded to nanodollars.

    Raises `InvalidParameters` if the value is no such amount, or if the amount is negative or too large.
    """
    wrong = InvalidParameters(f"{name}: {value!r} is not an amount of dollars, for example 2.50")
    if isinstance(value, bool) or not isinstance(value, Decimal | int | float | str):
        raise wrong
    try:
        amount = Decimal(str(value).strip().removeprefix("$"))
    except InvalidOperation as error:
        raise wrong from error
    if not amount.is_finite() or not 0 <= amount < MOST:
        raise wrong
    return amount.quantize(NANO)


def has_none(batch_id: object) -> InvalidParameters:
    """Return the error for a new budget of a batch that was submitted without a budget."""
    return InvalidParameters(
        f"max_cost: batch {batch_id} was submitted without a budget, and cannot get one. Submit it again with "
        "--max-cost"
    )


def budget_of(max_cost: object | None, models: Sequence[str | None], own_prices: Path | None) -> Decimal | None:
    """Return the budget of a batch that asks these models; None if `max_cost` is None.

    A model of None is the workers' model. Only the workers can look up that model's price. Without a price, they pause
    the batch before its first call.

    Raises:
        InvalidParameters: the amount is invalid, or a model has no known price, so no budget could limit its cost.
        InputError: the user's own price file cannot be read.
    """
    if max_cost is None:
        return None
    amount = amount_of(max_cost)
    for model in models:
        if model is not None and not known_prices(own_prices).knows(model):
            raise InvalidParameters(
                f"max_cost: no price is known for the model {model!r}, so its cost cannot be limited. Put its price "
                "in a file, and set TAMIS_PRICES to that file, also for the workers"
            )
    return amount
