"""A client's connections: to the ledger, and to the broker when something is first published."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import copy
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, TypeVar, cast
from uuid import UUID

from tamis_schemas import BrokerUnavailable, ConfigurationError

from .. import ledger
from ..config.settings import ProducerSettings
from ..ledger.pool_kinds import CLIENT, PoolKind
from ..process.waiting import ON_THREAD, Waiting

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from ..transport.dispatch import Dispatcher, Shard
import time

LASTS = 5.0  # s after a failure of the broker, during which only the workers dispatch new batches
log = logging.getLogger(__name__)


class BrokerAbsence:
    """The last failure of the broker, as this process saw it.

    For five seconds afterwards, no call tries the broker, because each call would probably wait until its timeout.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: float | None = None
        self._unsaid: Exception | None = None

    def begins(self, unsaid: Exception | None = None) -> None:
        """Record that the broker has just failed to answer. `unsaid`: the error, if it was not logged yet."""
        self._until = self._clock() + LASTS
        self._unsaid = unsaid

    def reason(self) -> str:
        """Return the reason for not trying the broker. The first call returns the error passed to `begins`, if any."""
        error, self._unsaid = self._unsaid, None
        return "the broker did not answer a moment ago" if error is None else str(error)

    @property
    def lasts(self) -> bool:
        """True if the broker's last failure to answer was less than five seconds ago."""
        return self._until is not None and self._clock() < self._until


class Closable(Protocol):
    """An object with resources to close."""

    def close(self) -> None:
        """Release the resources."""


C = TypeVar("C", bound=Closable)


class Sight(Protocol):
    """A rule that says which decisions of people and models one person may see. The application defines the rule."""

    @property
    def person(self) -> str:
        """The name under which the person decides."""

    def check_whole(self, connection: Connection, batch_id: UUID) -> None:
        """Raise `Blinded` if a decision in the batch, or in another stage of its review, is hidden from the person."""

    def check_records(self, connection: Connection, batch_id: UUID) -> None:
        """Raise `Blinded` if the batch's records passed an earlier stage by decisions hidden from the person."""


class Session:
    """The settings and connections that a client shares with its batches and reviews."""

    sight: Sight | None = None  # None: a program, or a terminal without a person, which shows every decision

    def __init__(self, settings: ProducerSettings | None = None, *, pool: PoolKind = CLIENT) -> None:
        """Prepare the connections, which open on first use.

        Raise `ConfigurationError` if no broker or ledger is configured.
        """
        self.settings = settings or ProducerSettings.load()
        self._pool = pool
        self.engine: Engine = self._connect()
        self.waiting: Waiting = ON_THREAD
        self._broker = self.settings.broker
        self._lock = Lock()
        self._made: Dispatcher | None = None
        self._attached: dict[type, Closable] = {}
        self._absence = BrokerAbsence()

    def seen_by(self, sight: Sight) -> Self:
        """Return a copy for a person who may see only what `sight` shows. The copy shares all connections."""
        other = copy(self)
        other.sight = sight
        other._dispatcher = self._dispatcher  # type: ignore[method-assign]  # the one publisher of both
        return other

    def check_whole(self, batch_id: UUID) -> None:
        """Raise `Blinded` if a decision in the batch, or in its review, is hidden from the client's user.

        Also raises `LedgerUnavailable`.
        """
        if self.sight is not None:
            with self.snapshot() as connection:
                self.sight.check_whole(connection, batch_id)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to the ledger. May raise `LedgerUnavailable`."""
        with ledger.ledger_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Yield a connection whose statements all see the ledger as it was at one moment.

        May raise `LedgerUnavailable`.
        """
        with self.reading() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction. May raise `LedgerUnavailable`.

        The transaction is committed at the end of the block, or rolled back after an error.
        """
        with ledger.ledger_errors(), self.engine.begin() as connection:
            yield connection

    def attached(self, kind: type[C], make: Callable[[], C]) -> C:
        """Return the client's object of the class `kind`.

        The first call creates the object by `make`. Closing the client closes the object.
        """
        with self._lock:
            if kind not in self._attached:
                self._attached[kind] = make()
            return cast(C, self._attached[kind])

    def ready(self) -> None:
        """Import now the modules that the first submission needs (Celery takes half a second), and check the servers.

        Raises:
            ConfigurationError: a server can never be used, for example a Redis Cluster.
        """
        if not self._absence.lasts:
            try:
                self._dispatcher()
            except BrokerUnavailable as error:  # the workers dispatch then
                self._absence.begins(error)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            dispatcher, self._made = self._made, None
            attached, self._attached = self._attached, {}
        for resource in attached.values():
            resource.close()
        self.engine.dispose()
        if dispatcher is not None:
            dispatcher.close()

    def dispatch(self, batch_id: UUID, unblock: Collection[str | None] = ()) -> None:
        """Dispatch shards until the batch has its most shards in flight. May raise `LedgerUnavailable`.

        If the broker does not answer, the workers dispatch the shards later. `unblock`: models to ask again at once,
        although their endpoint requested a wait.
        """
        self._dispatch(batch_id, unblock)

    def _take_first(self, connection: Connection, batch_id: UUID) -> Shard | None:
        """Mark the first shard of a new batch as dispatched, in the transaction that writes the batch.

        `_dispatch` publishes the shard. While the broker does not answer, return None, so that the shard waits.
        """
        from ..transport.dispatch import take_shard  # imports Celery

        return None if self._absence.lasts else take_shard(connection, batch_id)

    def _dispatch(self, batch_id: UUID, unblock: Collection[str | None] = (), first: Shard | None = None) -> None:
        if unblock:
            self._unblock(unblock)
        message = "batch %s is in the ledger; the workers will dispatch it: %s"
        self._publish(message, batch_id, lambda: self._dispatcher().fill_window(batch_id, first))

    def request_summary(self, batch_id: UUID) -> None:
        """Request the summary of a cancelled batch. Without an answer of the broker, the workers write it later."""
        message = "batch %s is cancelled; the workers will summarise it: %s"
        self._publish(message, batch_id, lambda: self._dispatcher().request_summary(batch_id))

    def _unblock(self, models: Collection[str | None]) -> None:
        from ..transport.blocks import lift_blocks  # imports Celery

        try:
            lift_blocks(self.settings.limiter, models)
        except (BrokerUnavailable, ConfigurationError) as error:
            log.warning("the endpoint is asked only when its block ends: %s", error)

    def forget(self) -> object:
        """Start with new connections in the child of a fork. Return the parent's connections, which stay open."""
        publisher = None if self._made is None else self._made.forget()
        parents = (self.engine.pool, self._attached, self._made, publisher)
        self.engine.dispose(close=False)
        self._made, self._lock, self._absence = None, Lock(), BrokerAbsence()
        self._attached = {}
        return parents

    def _connect(self) -> Engine:
        return ledger.connect(self.settings.database, self._pool)

    def _publish(self, message: str, batch_id: UUID, publish: Callable[[], object]) -> None:
        """Call `publish`, unless the broker failed a moment ago.

        If the broker does not answer, the workers publish later.
        """
        if self._absence.lasts:
            log.warning(message, batch_id, self._absence.reason())
            return
        try:
            publish()
        except BrokerUnavailable as error:
            self._absence.begins()
            log.warning(message, batch_id, error)

    def _dispatcher(self) -> Dispatcher:
        """Return the dispatcher, made on first use so that reading does not import Celery.

        Raises `BrokerUnavailable`, and `ConfigurationError` if a server can never be used.
        """
        from ..transport.broker import PRODUCER_WAITS, make_app
        from ..transport.dispatch import Dispatcher
        from ..transport.redis_servers import check_servers

        if self._made is None:
            check_servers(self.settings.redis_urls, within=PRODUCER_WAITS)
        with self._lock:
            if self._made is None:
                self._made = Dispatcher(
                    self.engine, make_app(self.settings, within=PRODUCER_WAITS), waiting=self.waiting
                )
            return self._made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
