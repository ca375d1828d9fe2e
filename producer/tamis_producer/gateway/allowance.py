"""Checks of an API key before a submission.

The ledger enforces the key's monthly amount when the batch is written.
"""

from tamis_schemas import NotAllowed, Operation
from tamis_schemas.operations import models_of

from ..client.batch import Batch
from ..config.settings import ProducerSettings
from ..ledger.allowance import read_key_id
from ..submission.budget import budget_of
from .api_keys import ApiKey


def check_price(key: ApiKey, operation: Operation, model: str | None, settings: ProducerSettings) -> None:
    """Raise `InvalidParameters` if the key limits money, and the price of a model is unknown.

    Without a price, the workers could not enforce the limit, and would pause the batch before its first call.
    """
    budget_of(key.monthly_cost, models_of(operation, model or settings.batch_model), settings.prices)


def check_spending(key: ApiKey, batch: Batch) -> None:
    """Raise `NotAllowed` if a restricted key is to spend money on a batch of another key."""
    if key.restricted and _key_id(batch) != key.id:
        raise NotAllowed(
            f"the key {key.id} is restricted to certain models or a certain amount, so it can retry only its own "
            "batches and raise only their budgets"
        )


def _key_id(batch: Batch) -> str | None:
    with batch.session.reading() as connection:
        return read_key_id(connection, batch.uuid)
