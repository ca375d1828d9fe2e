"""Submission of a batch with a request's API key."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Response

from tamis_schemas import Exclusion, Item, Source

from ..client.batch import Batch
from ..client.client import Client
from .allowance import check_price
from .api_keys import ApiKey
from .batch_status_view import BatchStatusView
from .submission_body import Terms

REPLAYED = "Idempotency-Replayed"

# For the description of a submitting route.
SUBMITTED: dict[int | str, dict[str, Any]] = {
    HTTPStatus.CREATED.value: {
        "headers": {
            "Location": {"description": "The batch.", "schema": {"type": "string"}},
            REPLAYED: {
                "description": "true: the `Idempotency-Key` was used before, and this is the first batch.",
                "schema": {"type": "string", "enum": ["true"]},
            },
        }
    }
}


def submit_terms(
    client: Client,
    key: ApiKey,
    terms: Terms,
    items: Iterable[Item],
    response: Response,
    *,
    idempotency_key: str | None,
    label: str | None = None,
    exclusions: Mapping[int, Exclusion] | None = None,
    source: Sequence[Source] = (),
    updates: str | None = None,
) -> BatchStatusView:
    """Submit a batch with these terms, and return its state. `label` overrides the label of the terms.

    Raises the errors of `Client.submit`, and `InvalidParameters` if the key limits money but a price is unknown.
    """
    check_price(key, terms.operation, terms.model, client.settings)
    batch = client.submit(
        terms.operation,
        items,
        model=terms.model,
        label=label or terms.label,
        use_cache=terms.use_cache,
        exclusions=exclusions,
        source=source,
        updates=updates,
        priority=terms.priority,
        max_cost=terms.max_cost,
        steering=terms.steering,
        idempotency_key=idempotency_key,
        callback=terms.callback or key.callback,
        api_key_id=key.id,
    )
    return answer(batch, response, replayed=batch.replayed)


def answer(batch: Batch[Any], response: Response, *, replayed: bool) -> BatchStatusView:
    """Return a submitted batch's state.

    The headers of `response` get the batch's address, and show whether the batch existed before (`replayed`).
    """
    response.headers["Location"] = f"/v1/batches/{batch.id}"
    if replayed:
        response.headers[REPLAYED] = "true"
    return BatchStatusView.of(batch.status())
