"""The models that an endpoint lists."""

import json
from collections.abc import Mapping
from typing import TypeAlias

import openai

LONGEST = 5_000_000  # bytes; a list of thousands of models is far below

ModelList: TypeAlias = tuple[str, ...]


async def listed_models(client: openai.AsyncOpenAI, headers: Mapping[str, str]) -> ModelList:
    """Return the names that the endpoint lists at `/models`, in the endpoint's order.

    `headers` override the client's headers.

    Raises:
        ValueError: the answer is no list of models, or too long.
        openai.OpenAIError: the endpoint answered 4xx or 5xx, or not at all.
    """
    body = b""
    async with client.models.with_streaming_response.list(extra_headers=headers) as response:
        async for part in response.iter_bytes():
            body += part
            if len(body) > LONGEST:
                raise ValueError(f"the list of models has more than {LONGEST:,} bytes")
    return names_in(body)


def names_in(body: bytes) -> ModelList:
    """Return the names in a list of models. Raise `ValueError` for any other body."""
    listed = json.loads(body)
    try:
        return tuple(str(entry["id"]) for entry in listed["data"])
    except (KeyError, TypeError) as error:
        raise ValueError("it is not a list of models") from error
