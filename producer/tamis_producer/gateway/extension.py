"""The extension of the gateway by an application, which adds routes, and rules for access to a batch."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from fastapi import APIRouter, FastAPI

from ..client.client import Client
from ..client.session import Sight
from .api_keys import ApiKey


class Application(Protocol):
    """An extension of the gateway, passed to `create_app`: it adds routes, and rules for access.

    All objects of a class have the same `routers`.
    """

    routers: ClassVar[Sequence[APIRouter]]

    def largest_bodies(self, client: Client) -> Mapping[str, int]:
        """Return the largest allowed body in bytes, by path, for routes that allow more than the default."""

    def prepare(self, app: FastAPI, client: Client) -> None:
        """Store in `app.state` the objects that the application's routes keep between requests."""

    def sight(self, key: ApiKey) -> Sight:
        """Return the rule that says which decisions the key's holder may see. Every reading route applies this rule."""
