"""What an application adds to the gateway: routes, and a say in who may see what of a batch."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from fastapi import APIRouter, FastAPI, Request

from ..client.client import Client
from .access import Of, Reader
from .api_keys import ApiKey
from .description import BatchId


class Application(Protocol):
    """An application on top of the engine, as `create_app` takes it.

    `routers` are the routes of all applications of its class.
    """

    routers: ClassVar[Sequence[APIRouter]]

    def largest_bodies(self, client: Client) -> Mapping[str, int]:
        """Return the most bytes of a body, by path, of routes that take more than the others."""
        ...

    def prepare(self, app: FastAPI, client: Client) -> None:
        """Put into `app.state` what its routes keep between requests."""

    def check_open(self, batch_id: str, client: Client, key: ApiKey) -> None:
        """Raise `Blinded` where the holder of the key may not see all of a batch yet; else do nothing."""


def check_open(batch_id: BatchId, request: Request, client: Of, key: Reader) -> None:
    """A dependency: 403 where the application says that the caller may not see all of the batch yet."""
    application: Application = request.app.state.application
    application.check_open(batch_id, client, key)
