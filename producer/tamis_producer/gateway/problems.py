"""Errors as RFC 9457 problem details: the error tree as HTTP statuses, in one table.

`type` is a word of ours, `title` says the same to people, `detail` is the error's own message.
"""

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tamis_schemas import (
    ConfigurationError,
    IdempotencyConflict,
    IllegalTransition,
    InvalidRequest,
    OperationFailed,
    TamisError,
    Unavailable,
    UnknownBatch,
)

from ..redaction import Redaction

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 5  # s

# The first that fits counts.
_KINDS: tuple[tuple[type[TamisError], HTTPStatus, str, str], ...] = (
    (UnknownBatch, HTTPStatus.NOT_FOUND, "unknown", "There is no such thing"),
    (IdempotencyConflict, HTTPStatus.CONFLICT, "idempotency-conflict", "The key was used for something else"),
    (IllegalTransition, HTTPStatus.CONFLICT, "illegal-transition", "That cannot follow the present state"),
    (InvalidRequest, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", "The request cannot be carried out"),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "A server that is needed does not answer"),
    (ConfigurationError, HTTPStatus.INTERNAL_SERVER_ERROR, "configuration", "The gateway is not set up"),
    (OperationFailed, HTTPStatus.INTERNAL_SERVER_ERROR, "operation-failed", "Something did not work"),
)


def problem(status: HTTPStatus, kind: str, title: str, detail: str, **more: object) -> JSONResponse:
    """A response that says what is wrong."""
    body = {"type": f"urn:tamis:problem:{kind}", "title": title, "status": status.value, "detail": detail, **more}
    headers = {"Retry-After": str(RETRY_AFTER)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    if status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, status.value, headers, media_type=MEDIA_TYPE)


def install(app: FastAPI, redact: Redaction) -> None:
    """Have an application tell every error this way; no secret is in anything it says."""

    async def known(_: Request, error: Exception) -> JSONResponse:
        for kind, status, word, title in _KINDS:
            if isinstance(error, kind):
                return problem(status, word, title, redact(str(error)))
        return await fault(_, error)

    async def fault(_: Request, error: Exception) -> JSONResponse:
        told = "nothing is known of what was asked; the gateway's log says what happened"
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "A fault of Tamis itself", told)

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it alone
        errors = [
            {"pointer": "/" + "/".join(str(part) for part in one["loc"]), "detail": one["msg"]}
            for one in error.errors()
        ]
        told = "; ".join(f"{one['pointer']}: {one['detail']}" for one in errors[:3])
        return problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", "The request cannot be read", told, errors=errors
        )

    async def of_http(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101 - registered for it alone
        status = HTTPStatus(error.status_code)
        return problem(status, status.phrase.lower().replace(" ", "-"), status.phrase, str(error.detail))

    app.add_exception_handler(TamisError, known)
    app.add_exception_handler(Exception, fault)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, of_http)
