"""The prices that a worker reckons with."""

from decimal import Decimal

from tamis_producer.price_file import known_prices
from tamis_schemas import ModelPrice, Prices

from .settings import WorkerSettings

FREE = ModelPrice(input=Decimal(0), output=Decimal(0), source="the embedded model, on this machine")


def prices_of(settings: WorkerSettings) -> Prices:
    """Those of the user's file, then those that are part of Tamis; the embedded model costs nothing.

    Raises:
        InputError: TAMIS_PRICES names a file that cannot be read, or says what is no price.
    """
    known = known_prices(settings.prices)
    embedded = None if settings.names_an_llm or settings.stack is None else settings.stack.model
    return known if embedded is None else known.before({embedded: FREE})
