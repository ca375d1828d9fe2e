"""What answers have taught all workers of how to ask, as one process knows it, and the gate before what is not known.

As long as no answer on a model's rung could be used, one call at a time finds out, of all workers together: it holds a
lease of the store. The first answer that could be used opens the gate for everybody. From then on a call costs one
look into a dict; what others have learned is heard within seconds.

A store that is away holds nothing up: the process goes on with what it knows, and finds out alone.
"""

import asyncio
import itertools
import logging
import math
import random
import secrets
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar

from tamis_schemas import LedgerUnavailable

from .dialect_store import LEASE, DialectStore, Leased, MemoryDialects
from .lesson import Learned, Lesson, Tried, after_answer
from .rung import LOWEST, START, Rung, is_below

STORE_WITHIN = 5.0  # s; a store that takes longer counts as away
CLOSED_WITHIN = 2.0  # s
FRESH = 5.0  # s; what is older is read again, beside the calls
LOOK_AGAIN = (0.1, 0.5)  # s; between two looks at a lease that another call holds
TRIES = 5  # to change what others change at the same moment

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Model:
    """What this process knows of a model."""

    learned: Learned = field(default_factory=Learned)
    looked_at: float = -math.inf  # by the loop's clock
    reading: bool = False  # it is being read again
    open: bool = False  # the shape was followed, though no answer could be used yet: calls need not wait
    climbs: bool = False  # the next call tries the first rung anew
    alone_until: float = -math.inf  # by the loop's clock; a call of this process finds out, without the store
    line: asyncio.Lock = field(default_factory=asyncio.Lock)  # who is at its head asks for the lease
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # set, and replaced, when something was learned here
    tried: dict[Rung, Tried] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)  # the names of the schemas that were followed
    first: dict[str, asyncio.Lock] = field(default_factory=dict)  # by the same names: whose call is the first

    @property
    def settled(self) -> bool:
        """Whether calls need not wait for one that finds out."""
        return self.learned.proven or self.open

    def take(self, learned: Learned) -> None:
        """Know from now on what the store said."""
        if learned.rung is not self.learned.rung:
            self.open = False
            self.tried.clear()
        self.learned = learned
        self.looked_at = asyncio.get_running_loop().time()

    def move(self) -> None:
        """Wake whoever waits."""
        self.moved.set()
        self.moved = asyncio.Event()


class SharedDialects:
    """Of one endpoint; one per worker process, on one event loop."""

    def __init__(
        self, store: DialectStore | None = None, *, worker: str | None = None, hopeless_after: int = 20
    ) -> None:
        """`store` is what all workers share; without one the process learns for itself. `worker` is its unique name.

        A model is hopeless after so many answers in a row on the lowest rung, none of which could be used.
        """
        self._store: DialectStore = store or MemoryDialects()
        self._worker = worker or secrets.token_hex(4)
        self._hopeless_after = hopeless_after
        self._calls = itertools.count(1)
        self._models: dict[str, _Model] = {}
        self._statements: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """Let what is being written end, if it ends soon: whoever waits for a lease would wait for all of it."""
        if self._statements:
            await asyncio.wait(self._statements, timeout=CLOSED_WITHIN)
        for task in self._statements:
            task.cancel()
        await asyncio.gather(*self._statements, return_exceptions=True)

    def learned(self, model: str) -> Learned:
        """What is known of a model."""
        return self._of(model).learned

    def rung(self, model: str) -> Rung:
        """The rung of the next call: as answers have taught, or the first one where it is tried anew by this call."""
        known = self._of(model)
        if known.climbs:
            known.climbs = False
            return START
        return known.learned.rung

    def turn(self, model: str, shape: str = "") -> "DialectTurn":
        """The leave to make one call, to be waited for and then left; `shape` is the name of its schema."""
        return DialectTurn(self, self._of(model), model, shape)

    def tried(self, model: str, rung: Rung) -> Tried:
        """How often this process had answers on a rung."""
        return self._of(model).tried.setdefault(rung, Tried())

    async def heard(
        self, model: str, asked_on: Rung, lesson: Lesson, *, shape: str = "", repair: bool = False
    ) -> Learned:
        """What is known after an answer, and shared with all workers before it is given.

        A `repair` speaks of a record that was counted already: one that no model can answer well is one glitch.
        """
        known = self._of(model)
        if lesson in (Lesson.USABLE, Lesson.FOLLOWED):
            known.seen.add(shape)
        tried = self.tried(model, asked_on)
        if not repair:
            tried.note(lesson)
        if lesson is Lesson.USABLE and known.learned.proven and not is_below(known.learned.rung, asked_on):
            return known.learned
        if lesson is not Lesson.USABLE:  # others may have gone down since
            await self._read(known, model)
        for _ in range(TRIES):
            seen = known.learned
            then = after_answer(seen, asked_on, lesson, worn=tried.wears(lesson))
            climbed_in_vain = seen.due and is_below(seen.rung, asked_on)
            if then == seen and not climbed_in_vain:
                break
            now = await self._asked(self._store.exchange(model, seen, then))
            known.take(then if now is None else now)
            if now is None or now == then:
                if then.rung is not seen.rung:
                    log.warning("model=%s is asked on the rung %s from now on, after %s", model, then.rung, seen.rung)
                break
        if lesson in (Lesson.FOLLOWED, Lesson.OUT_OF_BOUNDS) and asked_on is known.learned.rung is not LOWEST:
            known.open = True  # the endpoint does what it was told: it is no use to go on one by one
        known.move()
        return known.learned

    async def hopeless(self, model: str) -> int | None:
        """After how many answers the model is hopeless, told to one caller; the count begins anew. None: it is not."""
        learned = self._of(model).learned
        count = learned.unusable
        if learned.rung is not LOWEST or learned.proven or count < self._hopeless_after:
            return None
        return count if await self.change(model, replace(learned, unusable=0)) else None

    async def change(self, model: str, then: Learned) -> bool:
        """Put something else in the place of what is known; False where others were first."""
        known = self._of(model)
        now = await self._asked(self._store.exchange(model, known.learned, then))
        known.take(then if now is None else now)
        known.move()
        return known.learned == then

    def _of(self, model: str) -> _Model:
        known = self._models.get(model)
        if known is None:
            known = self._models[model] = _Model()
        return known

    async def _wait(self, known: _Model, model: str) -> str | None:
        """Return when a call may be made; the holder's name where it is the one that finds out."""
        if known.looked_at == -math.inf:
            await self._read(known, model)
        if known.settled:
            return None
        clock = asyncio.get_running_loop().time
        async with known.line:  # the store is asked by one call of this process at a time
            while not known.settled:
                holder = f"{self._worker}/{next(self._calls)}"
                leased = await self._leased(model, holder)
                if leased is not None:
                    known.take(leased.learned)
                    await self._start_anew(known, model)
                granted = clock() >= known.alone_until if leased is None else leased.granted
                if granted and not known.settled:
                    known.alone_until = clock() + LEASE
                    return holder
                if granted:  # it was proven the moment before
                    self._begin(self._store.release(model, holder))
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(random.uniform(*LOOK_AGAIN)):  # noqa: S311 - spreads looks
                        await known.moved.wait()
        return None

    async def _leased(self, model: str, holder: str) -> Leased | None:
        """What became of asking for the lease; a wait that is cancelled leaves none behind."""
        asking = self._begin(self._store.lease(model, holder))
        try:
            return await self._result(asking)
        except asyncio.CancelledError:
            self._begin(self._released_after(asking, model, holder))
            raise

    async def _released_after(self, asking: "asyncio.Task[Leased]", model: str, holder: str) -> None:
        await asyncio.wait({asking})
        await self._store.release(model, holder)

    async def _start_anew(self, known: _Model, model: str) -> None:
        """After a day a rung that never gave a usable answer is no knowledge to begin with."""
        if known.learned.due and not known.learned.proven:
            now = await self._asked(self._store.exchange(model, known.learned, Learned()))
            known.take(now or Learned())

    def _leave(self, known: _Model, model: str, holder: str) -> None:
        known.alone_until = -math.inf
        self._begin(self._released(known, model, holder))

    async def _released(self, known: _Model, model: str, holder: str) -> None:
        try:
            await self._store.release(model, holder)
        finally:
            known.move()

    def _look_again(self, known: _Model, model: str) -> None:
        """Hear of what others have learned, beside the calls."""
        if known.reading or asyncio.get_running_loop().time() - known.looked_at < FRESH:
            return
        known.reading = True
        self._begin(self._hear(known, model))

    async def _hear(self, known: _Model, model: str) -> None:
        try:
            await self._read(known, model)
            if known.learned.due and known.learned.proven and not known.climbs:
                leased = await self._asked(self._store.lease(model, f"{self._worker}/{next(self._calls)}"))
                known.climbs = leased is not None and leased.granted
        finally:
            known.reading = False

    async def _read(self, known: _Model, model: str) -> None:
        learned = await self._asked(self._store.look(model))
        if learned is not None:
            known.take(learned)
        else:  # nothing is known, or the store is away: what this process knows stands
            known.looked_at = asyncio.get_running_loop().time()

    async def _asked(self, statement: Coroutine[Any, Any, T]) -> T | None:
        """What the store says; None where it is away. To cancel the wait does not cut the statement off."""
        return await self._result(self._begin(statement))

    async def _result(self, task: "asyncio.Task[T]") -> T | None:
        done, _ = await asyncio.wait({task}, timeout=STORE_WITHIN)
        if not done:
            log.debug("the dialects' store does not answer within %.0f s", STORE_WITHIN)
            return None
        try:
            return task.result()
        except LedgerUnavailable as error:
            log.debug("the dialects' store is away: %s", error)
        except Exception:  # how to ask best is worth no item: the process goes on with what it knows
            log.warning("what is known of dialects could not be read or written", exc_info=True)
        return None

    def _begin(self, statement: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(statement)
        self._statements.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._statements.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a statement about dialects failed: %s", error)


class DialectTurn:
    """The leave to make one call; left with its context, and then whoever waits is let in."""

    __slots__ = ("_dialects", "_first", "_holder", "_known", "_model", "_shape")

    def __init__(self, dialects: SharedDialects, known: _Model, model: str, shape: str) -> None:
        self._dialects = dialects
        self._known = known
        self._model = model
        self._shape = shape
        self._holder: str | None = None
        self._first: asyncio.Lock | None = None

    def __enter__(self) -> "DialectTurn":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._first is not None:
            self._first.release()
        if self._holder is not None:
            self._dialects._leave(self._known, self._model, self._holder)

    async def wait(self) -> None:
        """Return when the call may be made; at once where the model's rung is proven, and its schema was followed."""
        if self._known.settled:
            self._dialects._look_again(self._known, self._model)
        else:
            self._holder = await self._dialects._wait(self._known, self._model)
        if self._holder is None and self._is_new():
            await self._wait_for_the_first()

    def _is_new(self) -> bool:
        """Whether nobody here knows that the model keeps to the bounds of this schema, of which it is not told."""
        return self._known.learned.rung is START and self._shape not in self._known.seen

    async def _wait_for_the_first(self) -> None:
        """One call of this process goes first: else all that are in flight would be wasted on the same lesson."""
        first = self._known.first.setdefault(self._shape, asyncio.Lock())
        with suppress(TimeoutError):
            async with asyncio.timeout(LEASE):
                await first.acquire()
            if self._is_new():
                self._first = first
            else:
                first.release()
