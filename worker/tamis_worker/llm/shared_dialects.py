"""The request format of each model in one process, and the waiting of calls until a format is proven.

Until an answer in a model's request format is usable, all workers together make one call to the model at a time. That
call holds a lease in the store. The first usable answer admits all calls. From then on, admitting a call costs one
look-up in a dict. Changes by other workers arrive within seconds.

If the store fails, calls do not wait: the process continues with the formats that it knows.
"""

import asyncio
import itertools
import logging
import math
import random
import secrets
from collections import defaultdict
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tamis_schemas import LedgerUnavailable

from ..event_loop.loop import wait_within
from .chat import LOWEST, START, Rung, is_below
from .dialect import Adherence, AnswerCounts, RungState, after_answer
from .dialect_store import LEASE, DialectStore, Leased, MemoryDialects

FRESH = 5.0  # s; older states are read again, during calls
LOOK_AGAIN = (0.1, 0.5)  # s; between two tries for a lease that another call holds
TRIES = 5  # to write a state that others change at the same time

STORE_WITHIN = 5.0  # s; a slower store counts as unreachable
CLOSED_WITHIN = 2.0  # s

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _ModelDialect:
    """The knowledge of this process about one model's request format, and the calls that wait for the format."""

    rung_state: RungState = field(default_factory=RungState)
    read_at: float = -math.inf  # by the loop's clock
    reading: bool = False  # True: a read is running
    open: bool = False  # True: calls need not wait, because the model follows the shape, though no answer was usable
    climbs: bool = False  # True: the next call tries the start format again
    alone_until: float = -math.inf  # by the loop's clock; until then, one call tries the format if the store fails
    queue: asyncio.Lock = field(default_factory=asyncio.Lock)  # the call that holds this lock requests the lease
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # set, then replaced, to wake waiting calls
    counts: dict[Rung, AnswerCounts] = field(default_factory=dict)
    followed: set[str] = field(default_factory=set)  # the names of the schemas that the model followed
    first: dict[str, asyncio.Lock] = field(default_factory=dict)  # by schema name; the first call holds the lock

    @property
    def settled(self) -> bool:
        """True if calls may start without waiting for a call that tries the format."""
        return self.rung_state.proven or self.open

    def apply(self, rung_state: RungState) -> None:
        if rung_state.rung is not self.rung_state.rung:
            self.open = False
            self.counts.clear()
        self.rung_state = rung_state
        self.read_at = asyncio.get_running_loop().time()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class SharedDialects:
    """The request formats of one endpoint's models in a worker process, on one event loop."""

    def __init__(
        self, store: DialectStore | None = None, *, worker: str | None = None, hopeless_after: int = 20
    ) -> None:
        """Prepare the formats.

        All workers share `store`; None: the process learns alone. `worker`: the worker's unique name.

        A model counts as hopeless after `hopeless_after` unusable answers in a row, in the least binding format.
        """
        self._store = BoundedStore(store or MemoryDialects())
        self._worker = worker or secrets.token_hex(4)
        self._hopeless_after = hopeless_after
        self._calls = itertools.count(1)
        self._models: defaultdict[str, _ModelDialect] = defaultdict(_ModelDialect)

    async def close(self) -> None:
        """Wait a short time for running writes to the store, then cancel them."""
        await self._store.close()

    def rung_state(self, model: str) -> RungState:
        """Return a model's request format, and whether it is proven."""
        return self._models[model].rung_state

    def next_rung(self, model: str) -> Rung:
        """Return the format of the next call: the learned format, or the start format if that is due for a new try."""
        dialect = self._models[model]
        if dialect.climbs:
            dialect.climbs = False
            return START
        return dialect.rung_state.rung

    def turn(self, model: str, shape: str = "") -> "DialectTurn":
        """Return the context manager that admits one call.

        Enter the context, await `wait`, call the model, and leave the context.

        `shape`: the name of the call's schema.
        """
        return DialectTurn(self, self._models[model], model, shape)

    def answer_counts(self, model: str, rung: Rung) -> AnswerCounts:
        """Return this process's counts of a model's answers in one format."""
        return self._models[model].counts.setdefault(rung, AnswerCounts())

    async def record_answer(
        self, model: str, asked_on: Rung, adherence: Adherence, *, shape: str = "", repair: bool = False
    ) -> RungState:
        """Record for all workers the consequence of an answer, and return the state of the model's format.

        `repair`: this is the second answer about a record. Only the first answer is counted.
        """
        dialect = self._models[model]
        if adherence in (Adherence.USABLE, Adherence.FOLLOWED):
            dialect.followed.add(shape)
        counts = self.answer_counts(model, asked_on)
        if not repair:
            counts.add(adherence)
        state = dialect.rung_state
        if adherence is Adherence.USABLE and state.proven and not is_below(state.rung, asked_on):
            return state
        if adherence is not Adherence.USABLE:  # others may have chosen a less binding format since
            await self._read(dialect, model)
        for _ in range(TRIES):
            seen = dialect.rung_state
            then = after_answer(seen, asked_on, adherence, beyond_tolerance=counts.beyond_tolerance(adherence))
            climbed_in_vain = seen.due and is_below(seen.rung, asked_on)
            if then == seen and not climbed_in_vain:
                break
            dialect.apply(await self._store.exchange(model, seen, then))
            if dialect.rung_state == then:
                if then.rung is not seen.rung:
                    log.warning("model=%s is asked on the rung %s from now on, after %s", model, then.rung, seen.rung)
                break
        state = dialect.rung_state
        if adherence in (Adherence.FOLLOWED, Adherence.OUT_OF_BOUNDS) and asked_on is state.rung is not LOWEST:
            dialect.open = True  # the endpoint follows the shape: waiting for single calls gains nothing
        dialect.wake()
        return state

    async def hopeless(self, model: str) -> int | None:
        """If a model is hopeless, return the number of its unusable answers in a row; else return None.

        A model is hopeless if this number reaches a limit before any usable answer. The count then restarts.
        """
        state = self.rung_state(model)
        if state.rung is not LOWEST or state.proven or state.unusable < self._hopeless_after:
            return None
        return state.unusable if await self.change(model, replace(state, unusable=0)) else None

    async def change(self, model: str, then: RungState) -> bool:
        """Store the state `then` for a model. Return False if another worker has changed the state first."""
        dialect = self._models[model]
        dialect.apply(await self._store.exchange(model, dialect.rung_state, then))
        dialect.wake()
        return dialect.rung_state == then

    async def _wait(self, dialect: _ModelDialect, model: str) -> str | None:
        """Wait until a call may start. Return the name under which it holds the lease; None if it needs no lease.

        A call needs the lease only to try a format that is not yet proven.
        """
        if dialect.read_at == -math.inf:
            await self._read(dialect, model)
        if dialect.settled:
            return None
        clock = asyncio.get_running_loop().time
        async with dialect.queue:  # one call of this process at a time asks the store
            while not dialect.settled:
                holder = self._next_holder()
                leased = await self._store.lease(model, holder)
                if leased is not None:
                    dialect.apply(leased.state)
                    await self._start_anew(dialect, model)
                granted = clock() >= dialect.alone_until if leased is None else leased.granted
                if granted and not dialect.settled:
                    dialect.alone_until = clock() + LEASE
                    return holder
                if granted:  # another call has just proven the format
                    self._store.release(model, holder)
                    break
                await wait_within(dialect.changed, random.uniform(*LOOK_AGAIN))  # noqa: S311 - spreads looks
        return None

    def _next_holder(self) -> str:
        return f"{self._worker}/{next(self._calls)}"

    async def _start_anew(self, dialect: _ModelDialect, model: str) -> None:
        """Change back to the start format if the present format is not proven, and has stayed the same for a day."""
        if dialect.rung_state.due and not dialect.rung_state.proven:
            dialect.apply(await self._store.exchange(model, dialect.rung_state, RungState()))

    def _leave(self, dialect: _ModelDialect, model: str, holder: str) -> None:
        dialect.alone_until = -math.inf
        self._store.release(model, holder).add_done_callback(lambda _: dialect.wake())

    def _refresh_if_stale(self, dialect: _ModelDialect, model: str) -> None:
        """If the state was read too long ago, begin to read it from the store. Calls do not wait for this."""
        if dialect.reading or asyncio.get_running_loop().time() - dialect.read_at < FRESH:
            return
        dialect.reading = True
        self._store.start(self._refresh(dialect, model))

    async def _refresh(self, dialect: _ModelDialect, model: str) -> None:
        try:
            await self._read(dialect, model)
            if dialect.rung_state.due and dialect.rung_state.proven and not dialect.climbs:
                leased = await self._store.lease(model, self._next_holder())
                dialect.climbs = leased is not None and leased.granted
        finally:
            dialect.reading = False

    async def _read(self, dialect: _ModelDialect, model: str) -> None:
        state = await self._store.look(model)
        if state is not None:
            dialect.apply(state)
        else:  # no state is stored, or the store is unreachable: the process's own state stays
            dialect.read_at = asyncio.get_running_loop().time()


@dataclass(eq=False, slots=True)
class DialectTurn:
    """The admission of one call. The end of its `with` block admits the calls that wait for this call's answer."""

    dialects: SharedDialects
    dialect: _ModelDialect
    model: str
    shape: str
    _holder: str | None = field(init=False, default=None)
    _first: asyncio.Lock | None = field(init=False, default=None)

    def __enter__(self) -> "DialectTurn":
        return self

    def __exit__(self, *exc: object) -> None:
        if self._first is not None:
            self._first.release()
        if self._holder is not None:
            self.dialects._leave(self.dialect, self.model, self._holder)

    async def wait(self) -> None:
        """Wait until the call may start.

        The call may start at once if the model's format is proven and the model has followed the call's schema before.
        """
        if self.dialect.settled:
            self.dialects._refresh_if_stale(self.dialect, self.model)
        else:
            self._holder = await self.dialects._wait(self.dialect, self.model)
        if self._holder is None and self._is_new():
            await self._wait_for_the_first()

    def _is_new(self) -> bool:
        """Return True if the start format is used, and no answer in this process has followed this schema yet."""
        return self.dialect.rung_state.rung is START and self.shape not in self.dialect.followed

    async def _wait_for_the_first(self) -> None:
        """Wait for the end of the first call with this schema, at most `LEASE` seconds.

        So a format that fails costs only one call.
        """
        first = self.dialect.first.setdefault(self.shape, asyncio.Lock())
        with suppress(TimeoutError):
            async with asyncio.timeout(LEASE):
                await first.acquire()
            if self._is_new():
                self._first = first
            else:
                first.release()


class BoundedStore:
    """A store whose callers wait at most `STORE_WITHIN` seconds. A wait that ends does not cancel its statement."""

    def __init__(self, store: DialectStore) -> None:
        self._store = store
        self._statements: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def close(self) -> None:
        """Wait for running statements, at most `CLOSED_WITHIN` seconds, then cancel them.

        One of them may release a lease. Otherwise other workers would wait until the lease expires.
        """
        if self._statements:
            await asyncio.wait(self._statements, timeout=CLOSED_WITHIN)
        self._closing = True
        for task in self._statements:
            task.cancel()
        await asyncio.gather(*self._statements, return_exceptions=True)

    async def look(self, model: str) -> RungState | None:
        """Return the stored state of a model's request format; None if there is none, or the store is unreachable."""
        return await self._result(self.start(self._store.look(model)))

    async def lease(self, model: str, holder: str) -> Leased | None:
        """Request the lease to try a format. Return None if the store is unreachable.

        If the caller is cancelled, a lease that is granted afterwards is released.
        """
        asking = self.start(self._store.lease(model, holder))
        try:
            return await self._result(asking)
        except asyncio.CancelledError:
            if not self._closing:
                self.start(self._release_after(asking, model, holder))
            raise

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        """Replace the stored state `seen` by the state `then`. Any other stored state stays.

        Return the state that is stored afterwards. If the store is unreachable, return `then`.
        """
        return await self._result(self.start(self._store.exchange(model, seen, then))) or then

    def release(self, model: str, holder: str) -> "asyncio.Task[None]":
        """Begin to release a lease."""
        return self.start(self._store.release(model, holder))

    def start(self, statement: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Start a task with one or several statements. `close` waits for the task."""
        task = asyncio.create_task(statement)
        self._statements.add(task)
        task.add_done_callback(self._ended)
        return task

    async def _release_after(self, asking: "asyncio.Task[Leased]", model: str, holder: str) -> None:
        await asyncio.wait({asking})
        await self._store.release(model, holder)

    async def _result(self, task: "asyncio.Task[T]") -> T | None:
        done, _ = await asyncio.wait({task}, timeout=STORE_WITHIN)
        if not done:
            log.debug("the store of dialects does not answer within %.0f s", STORE_WITHIN)
            return None
        try:
            return task.result()
        except LedgerUnavailable as error:
            log.debug("the store of dialects is unreachable: %s", error)
        except Exception:  # no item may fail for the form of requests: the process continues with its own knowledge
            log.warning("the dialects could not be read or written", exc_info=True)
        return None

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._statements.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a statement about dialects failed: %s", error)
