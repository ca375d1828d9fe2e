"""Errors as RFC 9457 problem details. One table gives the HTTP status of each class of errors.

`type` is a stable code for programs, `title` says the same to people, and `detail` is the error's message.
"""

import tempfile
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from tamis_schemas import (
    AllowanceSpent,
    Blinded,
    ConfigurationError,
    IdempotencyConflict,
    IllegalTransition,
    InvalidRequest,
    NotAllowed,
    OperationFailed,
    TamisError,
    Unavailable,
    UnknownBatch,
)
from tamis_schemas.ledger.driver_outages import NO_ROOM

from ..config.redaction import Redaction
from .advice import over_http

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 5  # s

# The first match counts.
_KINDS: tuple[tuple[type[TamisError], HTTPStatus, str, str], ...] = (
    (UnknownBatch, HTTPStatus.NOT_FOUND, "unknown", "Not found"),
    (IdempotencyConflict, HTTPStatus.CONFLICT, "idempotency-conflict", "The request conflicts with an earlier one"),
    (IllegalTransition, HTTPStatus.CONFLICT, "illegal-transition", "The present state does not allow this"),
    (AllowanceSpent, HTTPStatus.PAYMENT_REQUIRED, "allowance-spent", "The key's monthly allowance is spent"),
    (Blinded, HTTPStatus.FORBIDDEN, "blinded", "People read blind"),
    (NotAllowed, HTTPStatus.FORBIDDEN, "not-allowed", "The key does not allow this"),
    (InvalidRequest, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", "The request cannot be carried out"),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "A required server does not answer"),
    (ConfigurationError, HTTPStatus.INTERNAL_SERVER_ERROR, "configuration", "The gateway is not configured"),
    (OperationFailed, HTTPStatus.INTERNAL_SERVER_ERROR, "operation-failed", "The operation failed"),
)

_MEANINGS = {
    HTTPStatus.NOT_MODIFIED: "`If-None-Match` names the present `ETag`: nothing changed.",
    HTTPStatus.UNAUTHORIZED: "No valid key.",
    HTTPStatus.PAYMENT_REQUIRED: "The key's monthly allowance is spent; `detail` says when the month ends.",
    HTTPStatus.FORBIDDEN: "The key lacks the scope or does not allow this, or people read blind.",
    HTTPStatus.NOT_FOUND: "The requested thing does not exist.",
    HTTPStatus.CONFLICT: "The present state, or an earlier request with the same key or id, does not allow it.",
    HTTPStatus.REQUEST_TIMEOUT: "The body arrives too slowly.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many wrong keys or open answers; `Retry-After` says when to try again.",
    HTTPStatus.LENGTH_REQUIRED: "The request does not state its length.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The request is too large.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The request has an unsupported media type.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "The request cannot be read or carried out; `detail` names the place.",
    HTTPStatus.INSUFFICIENT_STORAGE: "The gateway's disk has no room for the request.",
    HTTPStatus.SERVICE_UNAVAILABLE: "A required server does not answer; `Retry-After` says when to try again.",
}


class Complaint(BaseModel):
    """The complaint about one part of a request."""

    pointer: str
    detail: str


class Problem(BaseModel):
    """A problem, as in RFC 9457."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:tamis:problem:unknown",
                    "title": "Not found",
                    "status": 404,
                    "detail": "there is no batch '31': `GET /v1/batches` lists them",
                }
            ]
        }
    )

    type: str = Field(description="A stable code for programs.")
    title: str = Field(description="The same for people.")
    status: int
    detail: str = Field(description="This case, and what to do about it.")
    errors: list[Complaint] = Field(default=[], description="The mistakes by place, if the request cannot be read.")


def described(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Return the value of FastAPI's argument `responses` that describes problems with these statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
    return {status.value: {"description": _MEANINGS[status], "content": content} for status in statuses}


UNCHANGED: dict[int | str, dict[str, Any]] = {
    HTTPStatus.NOT_MODIFIED.value: {"description": _MEANINGS[HTTPStatus.NOT_MODIFIED]}
}


KEYED = described(
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
UNKNOWN = described(HTTPStatus.NOT_FOUND)
CONFLICT = described(HTTPStatus.CONFLICT)
OF_MONEY = described(HTTPStatus.PAYMENT_REQUIRED)
OF_TYPES = described(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
OF_BODIES = described(*map(HTTPStatus, (408, 411, 413, 507)))  # too slow, without a length, too large, no room


def problem(
    status: HTTPStatus,
    kind: str,
    title: str,
    detail: str,
    *,
    errors: list[Complaint] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a response that describes the problem."""
    advice = over_http(detail)
    body = Problem(type=f"urn:tamis:problem:{kind}", title=title, status=status, detail=advice, errors=errors or [])
    more = dict(headers or {})
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        more["Retry-After"] = str(RETRY_AFTER)
    if status is HTTPStatus.UNAUTHORIZED:
        more["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body.model_dump(exclude_defaults=True), status.value, more, media_type=MEDIA_TYPE)


def unreadable(detail: str, errors: list[Complaint] | None = None) -> JSONResponse:
    """Return the response to a request that does not match the OpenAPI description."""
    title = "The request cannot be read"
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", title, detail, errors=errors)


def install(app: FastAPI, redact: Redaction) -> None:
    """Make the application answer every error with problem details (RFC 9457), without secrets."""

    async def of_tamis(_: Request, error: Exception) -> JSONResponse:
        for kind, status, word, title in _KINDS:
            if isinstance(error, kind):
                return problem(status, word, title, redact(str(error)))
        return await fault(_, error)

    async def fault(_: Request, error: Exception) -> JSONResponse:
        detail = "it is unknown whether the request was carried out; the gateway's log shows the error"
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "An internal error of Tamis", detail)

    async def no_room(_: Request, error: Exception) -> JSONResponse:
        if not isinstance(error, OSError) or error.errno not in NO_ROOM:
            raise error
        detail = f"the gateway has no room for the request in its folder {tempfile.gettempdir()}"
        return problem(HTTPStatus.INSUFFICIENT_STORAGE, "no-room", "No room on the gateway's disk", detail)

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it alone
        errors = [
            Complaint(pointer="/" + "/".join(str(part) for part in complaint["loc"]), detail=complaint["msg"])
            for complaint in error.errors()
        ]
        return unreadable("; ".join(f"{complaint.pointer}: {complaint.detail}" for complaint in errors[:3]), errors)

    async def of_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - registered for it alone
        status = HTTPStatus(error.status_code)
        if status is HTTPStatus.NOT_MODIFIED:
            return Response(status_code=status)
        if status is HTTPStatus.BAD_REQUEST:  # for a body that is not text
            return unreadable(str(error.detail))
        word = status.phrase.lower().replace(" ", "-")
        return problem(status, word, status.phrase, str(error.detail), headers=error.headers)

    app.add_exception_handler(TamisError, of_tamis)
    app.add_exception_handler(Exception, fault)
    app.add_exception_handler(OSError, no_room)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, of_http)
