"""Methods that are awaited, made of those that block: same name, same arguments, same words about them."""

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from enum import Enum, auto
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from .client import Client
from .loop_client import Bridge

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
U = TypeVar("U")


class _End(Enum):
    END = auto()


class Mirror(Protocol):
    """An asynchronous object that stands for a synchronous one."""

    _bridge: Bridge

    def _blocking(self, client: Client) -> Any:
        """The synchronous object, over this client."""

    async def run_sync(self, function: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a function makes of the synchronous object, on this event loop.

        For functions of `tamis_review`: `await batch.run_sync(override, 3, "include", reviewer="Reviewer A")`.
        """
        return await self._bridge.run(function, self._blocking(self._bridge.here()), *args, **kwargs)

    async def run_on_thread(self, function: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a function makes of the synchronous object, on a thread: for one that computes for long."""
        return await self._bridge.on_thread(function, self._blocking(self._bridge.blocking), *args, **kwargs)


def _next(values: Iterator[T]) -> T | _End:
    return next(values, _End.END)


Awaited = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]


def awaited(method: Callable[Concatenate[S, P], T]) -> Awaited[P, T]:
    """The method, run on the caller's event loop."""

    @wraps(method)
    async def run(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run_sync(method, *args, **kwargs)

    return run


def awaited_as(method: Callable[Concatenate[S, P], T], convert: Callable[[Bridge, T], U]) -> Awaited[P, U]:
    """The same, where it gives what has an asynchronous form of its own."""
    plain = awaited(method)

    @wraps(method)
    async def run(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> U:
        return convert(self._bridge, await plain(self, *args, **kwargs))

    return run


def on_thread(method: Callable[Concatenate[S, P], T]) -> Awaited[P, T]:
    """The method, run on a thread: it reads whole batches, or asks a server that has no asynchronous client here."""

    @wraps(method)
    async def run(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run_on_thread(method, *args, **kwargs)

    return run


def iterated(method: Callable[Concatenate[S, P], Iterator[T]]) -> Callable[Concatenate[Any, P], AsyncIterator[T]]:
    """The values of a generator; it is closed with the iteration, and where that is cancelled."""

    @wraps(method)
    async def run(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        values = method(self._blocking(self._bridge.here()), *args, **kwargs)
        try:
            while (value := await self._bridge.run(_next, values)) is not _End.END:
                yield value
        finally:
            cast(Generator[T, None, None], values).close()  # it holds no connection where it stands

    return run
