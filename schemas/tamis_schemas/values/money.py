"""Money: amounts in US dollars, exact, and how people read them."""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated

from pydantic import PlainSerializer

NANO = Decimal("1e-9")  # the smallest amount that the ledger holds: a tenth of a token at $0.01 per million

# In JSON a number: nobody adds up texts. Exact up to fifteen digits, which is a million dollars to the nanodollar.
Cost = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]


def dollars(amount: Decimal) -> str:
    """`$1,234.50`; below a dollar down to a hundredth of a cent (`$0.98`, `$0.0123`), below that two digits.

    Raises nothing: a negative amount has its sign before the dollar.
    """
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    if amount >= 1 or amount == 0:
        return f"{sign}${amount:,.2f}"
    digits = 4 if amount >= Decimal("0.001") else 1 - amount.adjusted()
    rounded = f"{amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN):f}"
    cents, rest = rounded[:4], rounded[4:].rstrip("0")
    return f"{sign}${cents}{rest}"


def cost_words(cost: Decimal, unpriced: int) -> str:
    """Return the cost, and for how many items nobody knows it: `$0.0123, 3 items without a known price`."""
    if not unpriced:
        return dollars(cost)
    return f"{dollars(cost)}, {unpriced:,} {'item' if unpriced == 1 else 'items'} without a known price"
