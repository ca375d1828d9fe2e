"""Tags of what is told about a batch, so that whoever asks again is told in a line that nothing changed.

A tag is made of what every decision and every override changes: the batch's state, round and counts, and the last of
people's decisions; and of what is asked for. The decided items of a round only grow in number: none goes unnoticed.
It is weak (RFC 9110): what is told with equal tags means the same, and may be compressed or not.
"""

import hashlib
import json
from collections.abc import Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any
from uuid import UUID

from fastapi import HTTPException, Request
from sqlalchemy import Connection, func, select
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis_schemas.ledger import (
    audit_decisions,
    audits,
    batches,
    overrides,
    reading_orders,
    remarks,
    screening_modes,
    stop_samples,
)

from ..ledger import ledger_errors, read_views
from ..ledger.batch_view import BatchView
from .access import Of, Reader
from .description import BatchId

# The last override, decision of an audit and remark; how many audits there are; a number that grows whenever a sample
# of the stop rule does; the last override that the reading order knows; and the last screening mode that was set.
Humans = tuple[int, ...]


def tag_of(view: BatchView, humans: Humans, target: str) -> str:
    """The tag of what is told of a batch that stands like this, where this is `target` for."""
    state = view.model_dump(mode="json", include={"id", "label", "state", "round", "counts", "cost", "budget", "pause"})
    content = json.dumps([version("tamis"), state, view.finished_at and str(view.finished_at), humans, target])
    return f'W/"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'


def matches(tags: str, tag: str) -> bool:
    """Return whether an `If-None-Match` names this tag, weakly compared, or any."""
    named = {named_tag.strip().removeprefix("W/") for named_tag in tags.split(",")}
    return "*" in named or tag.removeprefix("W/") in named


def tagged(batch_id: BatchId, request: Request, client: Of, key: Reader) -> None:
    """A dependency: tags the answer to a request about a batch; 304 where the caller has it already."""
    batch_uuid = UUID(client.batch(batch_id).id)
    with ledger_errors(), client.snapshot() as connection:
        (view,) = read_views(connection, batch_id=batch_uuid)
        humans = _humans(connection, batch_uuid)
    # Asked for by its beginning or by its id, a batch is the same.
    path = request.url.path.partition(batch_id)[2]
    asked = f"{path}?{request.url.query}"
    if humans[-1]:  # what is told may depend on whom it is told
        asked += f" {key.label}"
    tag = tag_of(view, humans, asked)
    request.state.entity_tag = tag
    if matches(request.headers.get("if-none-match", ""), tag):
        raise HTTPException(HTTPStatus.NOT_MODIFIED)


class EntityTags:
    """An application whose answers bear the tags that `tagged` made.

    A program keeps what it was told, and asks with its tag; browsers are told to keep nothing (`no-store`).
    """

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
    """Return the marks of people's acts on a batch, or on another stage of its review, that can change an answer."""
    review = select(batches.c.review_id).where(batches.c.id == batch_id).scalar_subquery()
    stages = select(batches.c.id).where((batches.c.id == batch_id) | (batches.c.review_id == review))
    override = select(func.coalesce(func.max(overrides.c.id), 0)).where(overrides.c.batch_id.in_(stages))
    of_batch = select(audits.c.id).where(audits.c.batch_id.in_(stages))
    decision = select(func.coalesce(func.max(audit_decisions.c.id), 0)).where(audit_decisions.c.audit_id.in_(of_batch))
    remark = select(func.coalesce(func.max(remarks.c.id), 0)).where(remarks.c.batch_id.in_(stages))
    drawn = select(func.count()).select_from(of_batch.subquery())
    steps = stop_samples.c.drawn + func.num_nonnulls(stop_samples.c.id, stop_samples.c.closed_at)
    samples = select(func.coalesce(func.sum(steps), 0)).where(stop_samples.c.batch_id.in_(stages))
    order = select(func.coalesce(func.max(reading_orders.c.last_override), 0)).where(
        reading_orders.c.batch_id.in_(stages)
    )
    mode = select(func.coalesce(func.max(screening_modes.c.id), 0)).where(screening_modes.c.batch_id.in_(stages))
    marks = (override, decision, remark, drawn, samples, order, mode)
    return tuple(connection.execute(select(*(one.scalar_subquery() for one in marks))).one())
