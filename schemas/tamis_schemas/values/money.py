"""Money: exact amounts in US dollars, and their form for people."""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated

from pydantic import PlainSerializer

NANO = Decimal("1e-9")  # the ledger's smallest amount: a tenth of a token at $0.01 per million

# In JSON an amount is a number, because programs cannot add texts. It is exact up to fifteen digits: a million dollars
# to the nanodollar.
Cost = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]


def dollars(amount: Decimal) -> str:
    """Return an amount as text: `$1,234.50`.

    An amount below a dollar has up to four decimals (`$0.98`, `$0.0123`); an amount below a tenth of a cent has two
    significant digits (`$0.00012`). A negative amount has its sign before the dollar.
    """
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    if amount >= 1 or amount == 0:
        return f"{sign}${amount:,.2f}"
    digits = 4 if amount >= Decimal("0.001") else 1 - amount.adjusted()
    rounded = f"{amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN):f}"
    cents, rest = rounded[:4], rounded[4:].rstrip("0")
    return f"{sign}${cents}{rest}"


def cost_words(cost: Decimal, unpriced: int) -> str:
    """Return the cost, and the number of items without a known price: `$0.0123, 3 items without a known price`."""
    if not unpriced:
        return dollars(cost)
    return f"{dollars(cost)}, {unpriced:,} {'item' if unpriced == 1 else 'items'} without a known price"
