"""Whether a submission was a new one: a header of its answer."""

from http import HTTPStatus
from typing import Any

from fastapi import Response

from ..batch import Batch

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


def tell_replay(response: Response, batch: Batch) -> None:
    """Say of a batch that was there already that it was."""
    if batch.replayed:
        response.headers[REPLAYED] = "true"
