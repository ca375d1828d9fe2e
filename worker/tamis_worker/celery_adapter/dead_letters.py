"""Dead letters on their way: from the consumer's thread to the ledger, and back to be acknowledged.

A message is acknowledged once its letter is committed. While the ledger is away it stays unacknowledged, and is
delivered again where the worker ends meanwhile. One that is only counted, because too many came, is acknowledged at
once: a flood of them takes no room from items.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.backpressure import Backpressure
from ..engine.group_commit import GroupCommit
from ..event_loop.loop import LoopThread
from ..ledger.dead_letters import DeadLetter, Gathered
from .acknowledge import acknowledge
from .foreign_message import Redact, dead_letter, raw_letter
from .mailbox import Mailbox, ThreadMailbox

KEPT_A_MINUTE = 100  # letters of one process; the others of that minute are counted
MINUTE = 60.0  # s
ACKNOWLEDGED_AT_ONCE = 200
STOP_WITHIN = 5.0  # s, while the worker stops, for what is not written yet
CLOSE_WITHIN = 1.0  # s, for counts

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ForeignMessage:
    """A message that nobody understands, until it is acknowledged."""

    message: Any  # of kombu's; None where there is nothing to acknowledge
    letter: Callable[[], DeadLetter]
    acknowledged: bool = False


class Allowance:
    """How many letters are kept: so many in each minute, which begins with the first of them."""

    def __init__(self, most: int = KEPT_A_MINUTE, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._began = clock() - MINUTE
        self._left = 0

    def take(self) -> bool:
        """Return whether one more may be kept now."""
        now = self._clock()
        if now >= self._began + MINUTE:
            self._began, self._left = now, self._most
        if self._left == 0:
            return False
        self._left -= 1
        return True


class DeadLetterBox:
    """Takes foreign messages on the consumer's thread, writes on the loop, acknowledges on the consumer's thread."""

    def __init__(
        self,
        loop: LoopThread,
        record: Callable[[Sequence[Gathered]], Awaitable[Sequence[None]]],
        redact: Redact,
        *,
        backpressure: Backpressure | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        """`record` writes letters to the ledger, on the loop; `redact` takes the secrets of this process out."""
        self.commit: GroupCommit[Gathered, None] = GroupCommit("dead letters", record, backpressure=backpressure)
        self._redact = redact
        self._allowance = allowance or Allowance()
        self._arrived: Mailbox[ForeignMessage | int] = Mailbox(lambda: loop.call_soon(self._take))  # a number: counted
        self._counted = 0  # that the loop has not heard of
        self._tasks: set[asyncio.Task[None]] = set()
        self.written: ThreadMailbox[ForeignMessage] = ThreadMailbox()
        self._held: set[ForeignMessage] = set()  # that came over the present connection
        self._unacknowledged: list[Any] = []  # of those that are written: the broker did not answer
        self.taken = 0  # so far

    @property
    def held(self) -> int:
        """Messages that are not acknowledged yet; may be asked from any thread."""
        return len(self._held)

    def keep(self, message: Any, why: str) -> None:
        """Have a message's letter written, and acknowledge it afterwards; on the consumer's thread."""
        self._put(message, lambda: dead_letter(message, why, self._redact))

    def keep_bytes(self, queue: str, raw: bytes, why: str) -> None:
        """Have a letter written of what is no message, and is out of its queue already; on the consumer's thread."""
        self._put(None, lambda: raw_letter(queue, raw, why, self._redact))

    def _put(self, message: Any, letter: Callable[[], DeadLetter]) -> None:
        self.taken += 1
        foreign = ForeignMessage(message, letter)
        if message is not None:
            self._held.add(foreign)
        if self._allowance.take():
            self._arrived.put(foreign)
        else:
            self._counted += 1
            self.written.put(foreign)

    def tell_counted(self) -> None:
        """Have those that are only counted written, now and then; on the consumer's thread."""
        if self._counted:
            counted, self._counted = self._counted, 0
            self._arrived.put(counted)

    def settle(self) -> None:
        """Acknowledge what is written; on the consumer's thread."""
        written = self.written.take()
        # The others came over a connection that is gone: their messages come again.
        mine = [foreign for foreign in written if foreign in self._held]
        self._held.difference_update(mine)
        for start in range(0, len(mine), ACKNOWLEDGED_AT_ONCE):
            group: list[Any] = mine[start : start + ACKNOWLEDGED_AT_ONCE]
            self._unacknowledged += acknowledge(group)

    def acknowledge_again(self) -> None:
        """Acknowledge what could not be acknowledged; on the consumer's thread."""
        if self._unacknowledged:
            late, self._unacknowledged = self._unacknowledged, []
            self._unacknowledged = acknowledge(late)

    def forget(self) -> None:
        """Forget what came over a connection that is lost, and with it the right to acknowledge that."""
        self._held.clear()
        self._unacknowledged.clear()

    def finish(self) -> None:
        """Settle until nothing is held, or the time for it is over; on the consumer's thread, while it stops."""
        self.tell_counted()
        until = time.monotonic() + STOP_WITHIN
        while self._held and (left := until - time.monotonic()) > 0:
            self.written.wait(left)
            self.settle()
        self.acknowledge_again()
        if self._held:
            log.warning("%d messages that nobody understands go back to their queues", len(self._held))

    async def close(self) -> None:
        """Write no more; what is being written has a moment to get there. On the loop."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_WITHIN)
        await self.commit.close()

    def _take(self) -> None:
        arrived = self._arrived.take()
        task = asyncio.ensure_future(self._write(arrived))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self, arrived: list[ForeignMessage | int]) -> None:
        kept = [one for one in arrived if isinstance(one, ForeignMessage)]
        letters = []
        for foreign in kept:
            letters.append(foreign.letter())
            await asyncio.sleep(0)  # others have their turn: a letter of a large message takes a millisecond
        gathered = Gathered(tuple(letters), more=sum(one for one in arrived if isinstance(one, int)))
        try:
            await self.commit.submit(gathered)
        except Exception as error:  # the ledger refuses it: what is wrong is in the log then, and nothing waits for it
            log.warning("dead letters cannot be written: %s; %s", error, [letter.why for letter in letters])
        else:
            _tell(gathered)
        for foreign in kept:
            self.written.put(foreign)


def _tell(gathered: Gathered) -> None:
    kept = len(gathered.letters)
    if kept == 0:
        log.debug("%d more messages that nobody understands are counted", gathered.more)
        return
    more = f", {gathered.more} more are counted" if gathered.more else ""
    log.warning(
        "dead letters: %d kept%s, the first one of task %r: %s; `tamis dead-letters` lists them",
        kept,
        more,
        gathered.letters[0].task,
        gathered.letters[0].why,
    )
