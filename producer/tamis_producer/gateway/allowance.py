"""Checks of a key before it spends; the ledger keeps to its amount when the batch is written."""

from tamis_schemas import NotAllowed, Operation
from tamis_schemas.operations import models_of

from ..client.batch import Batch
from ..config.settings import ProducerSettings
from ..ledger.allowance import read_key_id
from ..submission.budget import budget_of
from .api_keys import ApiKey


def check_price(key: ApiKey, operation: Operation, model: str | None, settings: ProducerSettings) -> None:
    """Raises `InvalidParameters` where the key bounds money, and the price of a model is not known.

    Its batch would get a budget, which the workers could not keep to: they would pause it before its first call.
    """
    budget_of(key.monthly_cost, models_of(operation, model or settings.batch_model), settings.prices)


def check_spending(key: ApiKey, batch: Batch) -> None:
    """Raises `NotAllowed` where the key is restricted, and the batch another one's: its money is not this key's."""
    if key.restricted and _key_id(batch) != key.id:
        raise NotAllowed(
            f"the key {key.id} may ask certain models or spend a certain amount alone, so it retries its own batches "
            "and raises their budgets, and nobody else's"
        )


def _key_id(batch: Batch) -> str | None:
    with batch.session.reading() as connection:
        return read_key_id(connection, batch.uuid)
