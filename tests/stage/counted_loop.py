"""An event loop whose clock is counted: it jumps to the next timer instead of waiting for it."""

import asyncio
import selectors


class CountedLoop(asyncio.SelectorEventLoop):
    """Run timers in their order and at their exact time, however slow the machine is.

    For code without threads and sockets: while those are busy, the clock jumps past them.
    """

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Move the clock on."""
        self._now += seconds


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type] # the class depends on the system
    def __init__(self, loop: CountedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            self._loop.jump(timeout)
            timeout = 0
        return super().select(timeout)
