"""The connections of a client: to the ledger, and to the broker once something is published."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, TypeVar, cast
from uuid import UUID

from tamis_schemas import BrokerUnavailable

from .. import ledger
from ..config.settings import ProducerSettings
from ..ledger.pool_kinds import CLIENT, PoolKind
from ..process.waiting import ON_THREAD, Waiting

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from ..transport.dispatch import Dispatcher
import time

LASTS = 5.0  # s; meanwhile the workers dispatch what is submitted
log = logging.getLogger(__name__)


class BrokerAbsence:
    """The broker's absence, as far as one process knows of it.

    A broker that was away a moment ago is taken to be away still: not every call waits to find it out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: float | None = None

    def begins(self) -> None:
        """Note that the broker did not answer just now."""
        self._until = self._clock() + LASTS

    @property
    def lasts(self) -> bool:
        """Whether it did not answer within the last `LASTS` seconds."""
        return self._until is not None and self._clock() < self._until


class Closable(Protocol):
    """Something with resources of its own."""

    def close(self) -> None:
        """Give them back."""


C = TypeVar("C", bound=Closable)


class Session:
    """The settings and connections that a client shares with its batches and reviews."""

    def __init__(self, settings: ProducerSettings | None = None, *, pool: PoolKind = CLIENT) -> None:
        """Raises `ConfigurationError` where no broker or ledger is named; connects on first use."""
        self.settings = settings or ProducerSettings.load()
        self._pool = pool
        self.engine: Engine = self._connect()
        self.waiting: Waiting = ON_THREAD
        self._broker = self.settings.broker
        self._lock = Lock()
        self._made: Dispatcher | None = None
        self._attached: dict[type, Closable] = {}
        self._absence = BrokerAbsence()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to the ledger. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection whose every statement sees the same moment. Raises `LedgerUnavailable`."""
        with self.reading() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: committed at its end, rolled back where it raises. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self.engine.begin() as connection:
            yield connection

    def attached(self, kind: type[C], make: Callable[[], C]) -> C:
        """Return what a layer above keeps with this client: made at the first call, closed with the client."""
        with self._lock:
            if kind not in self._attached:
                self._attached[kind] = make()
            return cast(C, self._attached[kind])

    def ready(self) -> None:
        """Import now what the first submission would import: Celery takes half a second."""
        self._dispatcher()

    def close(self) -> None:
        """Give every connection back."""
        with self._lock:
            made, self._made = self._made, None
            attached, self._attached = self._attached, {}
        for one in attached.values():
            one.close()
        self.engine.dispose()
        if made is not None:
            made.close()

    def dispatch(self, batch_id: UUID) -> None:
        """Fill a batch's window; the workers do it where the broker does not answer. Raises `LedgerUnavailable`."""
        message = "batch %s is in the ledger; the workers will dispatch it: %s"
        self._publish(message, batch_id, lambda: self._dispatcher().fill_window(batch_id))

    def request_summary(self, batch_id: UUID) -> None:
        """Have a cancelled batch summarised; the workers see to it where the broker does not answer."""
        message = "batch %s is cancelled; the workers will summarise it: %s"
        self._publish(message, batch_id, lambda: self._dispatcher().request_summary(batch_id))

    def forget(self) -> object:
        """Begin anew with connections of its own, in the child of a fork; returns what is the parent's."""
        made = None if self._made is None else self._made.forget()
        theirs = (self.engine.pool, self._attached, self._made, made)
        self.engine.dispose(close=False)
        self._made, self._lock, self._absence = None, Lock(), BrokerAbsence()
        self._attached = {}
        return theirs

    def _connect(self) -> Engine:
        return ledger.connect(self.settings.database, self._pool)

    def _publish(self, message: str, batch_id: UUID, publish: Callable[[], object]) -> None:
        """Publish, unless the broker was away a moment ago; where it does not answer, the workers publish later."""
        if self._absence.lasts:
            log.warning(message, batch_id, "the broker did not answer a moment ago")
            return
        try:
            publish()
        except BrokerUnavailable as error:
            self._absence.begins()
            log.warning(message, batch_id, error)

    def _dispatcher(self) -> Dispatcher:
        """Made when something is published: who only reads need not wait for Celery to be imported."""
        with self._lock:
            if self._made is None:
                from ..transport.broker import PRODUCER_WAITS, make_app
                from ..transport.dispatch import Dispatcher

                self._made = Dispatcher(
                    self.engine, make_app(self.settings, within=PRODUCER_WAITS), waiting=self.waiting
                )
            return self._made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
