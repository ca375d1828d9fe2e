"""Entity tags of answers about a batch: if an answer has not changed, a short 304 replaces it.

A tag depends on the request, on the batch's state, round and counts, and on the latest decision by people. Every
decision of the model increases a count, so no change is missed. Tags are weak (RFC 9110): answers with equal tags mean
the same, but their bytes may differ.
"""

import hashlib
import json
from collections.abc import Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any
from uuid import UUID

from fastapi import HTTPException, Request
from sqlalchemy import Column, Connection, Select, func, select
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis_schemas.ledger import (
    audit_decisions,
    audits,
    overrides,
    reading_orders,
    remarks,
    screening_modes,
    stop_samples,
)

from ..ledger import ledger_errors, read_views
from ..ledger.batch_view import BatchView
from ..ledger.copies import last_verdict, stages_of
from .access import Of, Reader
from .description import BatchId

# The last verdict on copies and audit decision; the number of audits; a number that grows with each sample of the stop
# rule; the last override, remark, override in the reading order, and screening mode.
Humans = tuple[int, ...]


def tag_of(view: BatchView, humans: Humans, target: str) -> str:
    """Return the entity tag of an answer about a batch in this state.

    `humans`: numbers that change when people act on the batch. `target`: path and query of the request.
    """
    state = view.model_dump(mode="json", include={"id", "label", "state", "round", "counts", "cost", "budget", "pause"})
    content = json.dumps([version("tamis"), state, view.finished_at and str(view.finished_at), humans, target])
    return f'W/"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'


def matches(tags: str, tag: str) -> bool:
    """Return whether `tags`, the value of an `If-None-Match`, has this tag (weakly compared) or `*`."""
    named = {named_tag.strip().removeprefix("W/") for named_tag in tags.split(",")}
    return "*" in named or tag.removeprefix("W/") in named


def tagged(batch_id: BatchId, request: Request, client: Of, key: Reader) -> None:
    """Set the entity tag of an answer about a batch, or answer 304 if the caller already has this answer.

    Routes use this function as a FastAPI dependency.
    """
    batch_uuid = UUID(client.batch(batch_id).id)
    with ledger_errors(), client.snapshot() as connection:
        (view,) = read_views(connection, batch_id=batch_uuid)
        humans = _humans(connection, batch_uuid)
    # The prefix and the id of a batch give the same tag.
    address = f"{request.url.path.partition(batch_id)[2]}?{request.url.query}"
    if humans[-1]:  # the answer may depend on the key's holder
        address += f" {key.label}"
    tag = tag_of(view, humans, address)
    request.state.entity_tag = tag
    if matches(request.headers.get("if-none-match", ""), tag):
        raise HTTPException(HTTPStatus.NOT_MODIFIED)


class EntityTags:
    """ASGI middleware that adds the header `ETag`, with the tag that the route set by `tagged`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        state: Mapping[str, Any] = scope.setdefault("state", {}) if scope["type"] == "http" else {}

        async def tagging(message: Message) -> None:
            begins = message["type"] == "http.response.start"
            if begins and "entity_tag" in state and message["status"] in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED):
                MutableHeaders(raw=message["headers"])["ETag"] = state["entity_tag"]
            await send(message)

        await self._app(scope, receive, tagging)


def _humans(connection: Connection, batch_id: UUID) -> Humans:
    """Return numbers that change when people act on a batch, or on another stage of the batch's review."""
    stages = stages_of(batch_id)

    def last(column: Column[Any]) -> Select[tuple[int]]:
        return select(func.coalesce(func.max(column), 0)).where(column.table.c.batch_id.in_(stages))

    of_batch = select(audits.c.id).where(audits.c.batch_id.in_(stages))
    decision = select(func.coalesce(func.max(audit_decisions.c.id), 0)).where(audit_decisions.c.audit_id.in_(of_batch))
    drawn = select(func.count()).select_from(of_batch.subquery())
    steps = stop_samples.c.drawn + func.num_nonnulls(stop_samples.c.id, stop_samples.c.closed_at)
    samples = select(func.coalesce(func.sum(steps), 0)).where(stop_samples.c.batch_id.in_(stages))
    people = map(last, (overrides.c.id, remarks.c.id, reading_orders.c.last_override, screening_modes.c.id))
    marks = (last_verdict(batch_id), decision, drawn, samples, *people)
    return tuple(connection.execute(select(*(mark.scalar_subquery() for mark in marks))).one())
