"""SIGINT, SIGTERM and SIGHUP as a user means them: the first says stop, the next says at once."""

import signal
import threading
from types import FrameType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """While entered: the first signal raises `KeyboardInterrupt`, later ones set `hurry`.

    Once `stopping()` was called, the first one sets `hurry` as well: a stop is never interrupted half-way. Only the
    main thread gets signals; entered elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.hurry = threading.Event()
        self._asked = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def stopping(self) -> None:
        """Say that the stop has begun."""
        self._asked = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # asked to outlive its terminal
            self._before = {
                number: signal.signal(number, self._on_signal)
                for number in SIGNALS
                if not (nohup and number is signal.SIGHUP)
            }
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            self.hurry.set()
            return
        self._asked = True
        raise KeyboardInterrupt
