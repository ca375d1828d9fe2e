"""How large a request may be depends on its route."""

import asyncio
from typing import Any

import pytest

from tamis_producer.gateway.frame import Frame

LARGEST_OF = {"/v1/batches": None, "/v1/batches/{batch_id}/decisions": 100}


def status(path: str, length: int, method: str = "POST") -> int:
    """What a caller is told who announces so many bytes."""
    told: list[Any] = []

    async def answers(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": []})

    async def sent(message: Any) -> None:
        told.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"content-length", b"%d" % length)]}
    frame = Frame(answers, largest=10, largest_of=LARGEST_OF)  # type: ignore[arg-type]  # as far as it asks
    asyncio.run(frame(scope, None, sent))  # type: ignore[arg-type]
    return int(told[0]["status"])


@pytest.mark.parametrize(
    ("path", "length", "expected"),
    [
        ("/v1/batches", 1_000, 201),  # its route counts them
        ("/v1/batches/3f2a91c0/decisions", 100, 201),
        ("/v1/batches/3f2a91c0/decisions", 101, 413),
        ("/v1/batches/3f2a91c0/pause", 10, 201),
        ("/v1/batches/3f2a91c0/pause", 11, 413),
        ("/v1/batches/a/b/decisions", 11, 413),
        ("/v1/other/3f2a91c0/decisions", 11, 413),
    ],
)
def test_a_file_of_decisions_may_be_larger_than_another_request(path: str, length: int, expected: int) -> None:
    assert status(path, length) == expected
    assert status(path, 11, method="PUT") == 413
