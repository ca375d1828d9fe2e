"""One loop for whatever a worker does again and again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tamis_schemas import TamisError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Looper:
    """Runs a step every `interval` seconds; a step that fails is tried again after the next interval.

    An outage is in the log once, until a step works or meets another one.
    """

    name: str  # of the step, in the log
    step: Callable[[], Awaitable[float | None]]  # returns the seconds to the next step; None: the interval
    interval: float

    async def run(self) -> None:
        """Run until cancelled."""
        pause, met = self.interval, ""
        while True:
            await asyncio.sleep(pause)
            pause, before, met = self.interval, met, ""
            try:
                pause = await self.step() or self.interval
            except TamisError as error:  # a server is away, or a file cannot be written
                met = str(error)
                if met != before:
                    log.warning("%s put off: %s", self.name, error)
            except Exception:  # the worker goes on either way
                log.exception("%s failed", self.name)
