"""A batch with the key of a request; headers of the answer say where it is, and whether it was there already."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from tamis_schemas import Exclusion, InvalidParameters, Item, ReviewPlan, Source
from tamis_schemas.batches.review_plan import ReviewStage
from tamis_schemas.operations import first_complaint

from ..client.batch import Batch
from ..client.client import Client
from .allowance import check_price
from .api_keys import ApiKey
from .batch_status_view import BatchStatusView
from .submission_body import Terms

REPLAYED = "Idempotency-Replayed"

# Of a submitting route, for its description.
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
    review: str | None = None,
    updates: str | None = None,
) -> BatchStatusView:
    """The batch that the terms ask for; `label` goes before theirs. Raises as `Client.submit` and `check_price` do.

    With the title of a `review` it is the only stage of one: the one that is there where all of it is the same.
    """
    check_price(key, terms.operation, terms.model, client.settings)
    if review is not None:
        begun = client.submit_review(
            _plan(terms),
            items,
            label=review,
            use_cache=terms.use_cache,
            exclusions=exclusions,
            source=source,
            updates=updates,
            priority=terms.priority,
            callback=terms.callback or key.callback,
            api_key_id=key.id,
        )
        return _answer(begun.stages()[0], response, replayed=begun.replayed)
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
    return _answer(batch, response, replayed=batch.replayed)


def _plan(terms: Terms) -> ReviewPlan:
    try:
        stage = ReviewStage(
            operation=terms.operation, model=terms.model, max_cost=terms.max_cost, steering=terms.steering
        )
        return ReviewPlan(stages=(stage,))
    except ValidationError as error:
        raise InvalidParameters(f"terms: review: {first_complaint(error)}") from error


def _answer(batch: Batch[Any], response: Response, *, replayed: bool) -> BatchStatusView:
    response.headers["Location"] = f"/v1/batches/{batch.id}"
    if replayed:
        response.headers[REPLAYED] = "true"
    return BatchStatusView.of(batch.status())
