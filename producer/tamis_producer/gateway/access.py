"""Authorisation: the key of a request, and the scope that a route requires."""

from collections.abc import Awaitable, Callable
from functools import cache, partial
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from ..client.client import Client
from .api_keys import ApiKey, Scope, find
from .extension import Application
from .wrong_keys import WrongKeys

_bearer = HTTPBearer(auto_error=False, description="A key made by `tamis keys create`.")


def client_of(request: Request) -> Client:
    """Return the client of the application."""
    client: Client = request.app.state.client
    return client


def key_of(
    request: Request,
    client: Annotated[Client, Depends(client_of)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> ApiKey:
    """Return the request's API key, as a FastAPI dependency. Answer 401 if the key is missing or not valid."""
    key = None
    if credentials is not None:
        wrong_keys: WrongKeys = request.app.state.wrong_keys
        key = wrong_keys.key_for(
            request, credentials.credentials, partial(find, client.engine, credentials.credentials)
        )
    if key is None:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "no valid key: send `Authorization: Bearer tamis_...`")
    return key


Keyed = Annotated[ApiKey, Depends(key_of)]


@cache  # so that FastAPI calls it once in a request
def holder_of(scope: Scope) -> Callable[..., Awaitable[ApiKey]]:
    """Return a FastAPI dependency that returns the request's API key.

    The dependency answers 401 without a valid key, and 403 if the key lacks the scope.
    """

    async def holder(key: Keyed) -> ApiKey:
        if scope not in key.scopes:
            raise HTTPException(HTTPStatus.FORBIDDEN, f"the key {key.id} lacks the scope {scope.value!r}")
        return key

    return holder


async def seen_client(request: Request, key: Keyed) -> Client:
    """Return a client for the key's holder. The client shows no decision that is hidden from the holder."""
    application: Application = request.app.state.application
    return client_of(request).seen_by(application.sight(key))


Of = Annotated[Client, Depends(seen_client)]
Reader = Annotated[ApiKey, Depends(holder_of(Scope.READ))]
Submitter = Annotated[ApiKey, Depends(holder_of(Scope.SUBMIT))]
Operator = Annotated[ApiKey, Depends(holder_of(Scope.CONTROL))]
Reviewer = Annotated[ApiKey, Depends(holder_of(Scope.DECIDE))]
