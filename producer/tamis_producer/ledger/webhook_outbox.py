"""The outbox of webhooks (events to be sent to receivers): list events, send them again, and send a test."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Engine, Row, String, cast, func, insert, null, select, update

from tamis_schemas import Callback, InvalidRequest
from tamis_schemas.ledger import webhooks
from tamis_schemas.ledger.tables import WebhookState
from tamis_schemas.values.frozen import Frozen

from . import ledger_errors

TEST = "webhook.test"
HEX = frozenset("0123456789abcdef-")


class WebhookView(Frozen):
    """An event for a receiver, and the state of its delivery."""

    id: UUID  # id of each request about it
    batch_id: UUID | None  # None: a test
    type: str
    url: str
    state: WebhookState
    tries: int
    created_at: datetime
    next_at: datetime | None  # None: there is no further try
    last_at: datetime | None
    last_status: int | None  # None: no try yet, or no answer
    last_said: str | None  # outcome of the last try, or why there is none


def read_all(engine: Engine, *, limit: int = 20, state: WebhookState | None = None) -> list[WebhookView]:
    """Return the latest webhook events, newest first; with `state`, only events in this state.

    May raise `LedgerUnavailable`.
    """
    latest = select(webhooks).order_by(webhooks.c.created_at.desc(), webhooks.c.id).limit(limit)
    query = latest if state is None else latest.where(webhooks.c.state == state)
    with ledger_errors(), engine.connect() as connection:
        return [_view(row) for row in connection.execute(query)]


def read_one(engine: Engine, webhook_id: UUID) -> WebhookView:
    """Return the event with this id. Raises `InvalidRequest` if there is none, and `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        row = connection.execute(select(webhooks).where(webhooks.c.id == webhook_id)).one_or_none()
    if row is None:
        raise InvalidRequest(f"there is no webhook {str(webhook_id)!r}: `tamis webhooks list` lists them")
    return _view(row)


def replay(engine: Engine, prefix: str) -> list[WebhookView]:
    """Let workers send an event, or all events of a batch, once more with the same ids and bodies. Return the events.

    Their schedule of tries begins again.

    Raises:
        InvalidRequest: no id, or more than one id, of an event or of a batch with events begins with `prefix`.
        LedgerUnavailable: the ledger does not answer.
    """
    digits = prefix.strip().lower()
    w = webhooks.c
    with ledger_errors(), engine.begin() as connection:
        for column in (w.id, w.batch_id):
            begins = cast(column, String).startswith(digits) if digits and HEX.issuperset(digits) else column.is_(None)
            ids = connection.execute(select(column).where(begins, column.is_not(None)).distinct().limit(2)).all()
            if len(ids) > 1:
                raise InvalidRequest(f"several webhooks begin with {prefix!r}: give more of the id")
            if ids:
                again = update(webhooks).where(column == ids[0][0]).returning(*w)
                anew = {"state": WebhookState.WAITING.value, "tries": 0, "next_at": func.now(), "ended_at": null()}
                return [_view(row) for row in connection.execute(again.values(anew))]
    raise InvalidRequest(f"no webhook, and no batch with webhooks, begins with {prefix!r}: see `tamis webhooks list`")


def write_test(engine: Engine, callback: Callback) -> UUID:
    """Write an empty test event for the workers to send; return its id. May raise `LedgerUnavailable`."""
    row = {"type": TEST, "url": callback.url, "data": {}}
    with ledger_errors(), engine.begin() as connection:
        return UUID(str(connection.execute(insert(webhooks).values(row).returning(webhooks.c.id)).scalar_one()))


def _view(row: Row[tuple[object, ...]]) -> WebhookView:
    fields = row._asdict()
    return WebhookView.model_validate(fields if row.state == WebhookState.WAITING else fields | {"next_at": None})
