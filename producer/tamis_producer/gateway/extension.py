"""The extension of the gateway by an application, which adds routes, and rules for access to a batch."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from fastapi import APIRouter, FastAPI, Request

from ..client.client import Client
from .access import Of, Reader
from .api_keys import ApiKey
from .description import BatchId


class Application(Protocol):
    """An application on top of the engine, to be passed to `create_app`.

    All applications of a class have the same `routers`.
    """

    routers: ClassVar[Sequence[APIRouter]]

    def largest_bodies(self, client: Client) -> Mapping[str, int]:
        """Return the largest allowed body in bytes, by path, for routes that allow more than the default."""
        ...

    def prepare(self, app: FastAPI, client: Client) -> None:
        """Store in `app.state` the objects that the application's routes keep between requests."""

    def check_open(self, batch_id: str, client: Client, key: ApiKey) -> None:
        """Raise `Blinded` if a part of the batch is still hidden from the holder of the key."""


def check_open(batch_id: BatchId, request: Request, client: Of, key: Reader) -> None:
    """Answer 403, as a dependency, if the application says that a part of the batch is still hidden from the caller."""
    application: Application = request.app.state.application
    application.check_open(batch_id, client, key)
