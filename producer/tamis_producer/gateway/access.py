"""Authorisation: the key of a request, and the scope that a route requires."""

from collections.abc import Callable
from functools import cache, partial
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from ..client.client import Client
from .api_keys import ApiKey, Scope, find
from .wrong_keys import WrongKeys

_bearer = HTTPBearer(auto_error=False, description="A key made by `tamis keys create`.")


def client_of(request: Request) -> Client:
    """Return the client of the application."""
    client: Client = request.app.state.client
    return client


@cache  # so that a request looks its key up once
def holder_of(scope: Scope) -> Callable[..., ApiKey]:
    """Return a dependency that returns the request's key. It answers 401 without a valid key, 403 without the scope."""

    def holder(
        request: Request,
        client: Annotated[Client, Depends(client_of)],
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    ) -> ApiKey:
        key = None
        if credentials is not None:
            wrong_keys: WrongKeys = request.app.state.wrong_keys
            key = wrong_keys.key_for(
                request, credentials.credentials, partial(find, client.engine, credentials.credentials)
            )
        if key is None:
            raise HTTPException(HTTPStatus.UNAUTHORIZED, "no valid key: send `Authorization: Bearer tamis_...`")
        if scope not in key.scopes:
            raise HTTPException(HTTPStatus.FORBIDDEN, f"the key {key.id} lacks the scope {scope.value!r}")
        return key

    return holder


Of = Annotated[Client, Depends(client_of)]
Reader = Annotated[ApiKey, Depends(holder_of(Scope.READ))]
Submitter = Annotated[ApiKey, Depends(holder_of(Scope.SUBMIT))]
Operator = Annotated[ApiKey, Depends(holder_of(Scope.CONTROL))]
Reviewer = Annotated[ApiKey, Depends(holder_of(Scope.DECIDE))]
