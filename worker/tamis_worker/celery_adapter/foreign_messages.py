"""Messages that no worker understands: each is counted, described in the log, and acknowledged.

Their content is never loaded or run. Any part of such a message may have any type, because any program can send one.

The log gives the reason in one sentence, which describes the sender's likely mistake.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..event_loop.loop import ThreadMailbox
from ..telemetry.measures import NULL_MEASURES, Measures
from .delivery import acknowledge

SAID_A_MINUTE = 100  # log lines of one process; further messages of that minute are counted
MINUTE = 60.0  # s
ACKNOWLEDGED_AT_ONCE = 200
SHOWN = 200  # characters of a part
# A secret that is cut in two is not recognised, so more is read than shown: more than any key's length.
BEYOND = 4_096

Redact = Callable[[str], str]

log = logging.getLogger(__name__)

JSON = "application/json"
ERROR_MOST = 200  # characters of another library's message


@dataclass(eq=False)
class _Refused:
    """A refused message (an object of kombu). `acknowledged` is True after its acknowledgement."""

    message: Any
    acknowledged: bool = False


class LogAllowance:
    """A limit on the number of messages that the log describes in a minute."""

    def __init__(self, most: int = SAID_A_MINUTE, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._began = clock() - MINUTE
        self._left = 0

    def take(self) -> bool:
        """Count one log line. Return False if this minute's limit is already reached."""
        now = self._clock()
        if now >= self._began + MINUTE:
            self._began, self._left = now, self._most
        if self._left == 0:
            return False
        self._left -= 1
        return True


class ForeignMessages:
    """The refusal of messages that no worker understands. Use the object on the consumer's thread only."""

    def __init__(
        self, redact: Redact, *, measures: Measures = NULL_MEASURES, allowance: LogAllowance | None = None
    ) -> None:
        """Begin without messages.

        `redact` removes the secrets of this process from log lines. `allowance` limits the log lines per minute.
        """
        self._redact = redact
        self._measures = measures
        self._allowance = allowance or LogAllowance()
        self._unsaid = 0
        self._unacknowledged: list[Any] = []  # the broker did not answer
        self.refused: ThreadMailbox[Any] = ThreadMailbox()  # to be acknowledged
        self.taken = 0  # so far
        self.held = 0  # not acknowledged yet; readable from any thread

    def refuse(self, message: Any, why: str) -> None:
        """Log a message, and the reason (`why`) for its refusal. `settle` acknowledges the message later."""
        headers, delivery = _mapping(message.headers), _mapping(message.delivery_info)
        self._count(why, delivery.get("routing_key"), headers.get("task"), headers.get("id"), message.body)
        self.held += 1
        self.refused.put(_Refused(message))

    def refuse_bytes(self, queue: str, raw: bytes, why: str) -> None:
        """Log an entry of a queue that is not a message, and the reason (`why`) for its refusal."""
        self._count(why, queue, None, None, raw)

    def tell_unsaid(self) -> None:
        """Log how many refused messages were not described in the log, because its limit was reached."""
        if self._unsaid:
            log.warning("%d more messages that no worker understands", self._unsaid)
            self._unsaid = 0

    def settle(self) -> None:
        """Acknowledge refused messages."""
        messages = self.refused.take()
        late: list[Any] = []
        for start in range(0, len(messages), ACKNOWLEDGED_AT_ONCE):
            late += acknowledge(messages[start : start + ACKNOWLEDGED_AT_ONCE])
        self._unacknowledged += late
        self.held -= len(messages) - len(late)

    def acknowledge_again(self) -> None:
        """Try once more to acknowledge the messages whose acknowledgement failed."""
        if self._unacknowledged:
            late, self._unacknowledged = self._unacknowledged, []
            self._unacknowledged = acknowledge(late)
            self.held -= len(late) - len(self._unacknowledged)

    def forget(self) -> None:
        """Drop the messages of a lost connection, which can no longer be acknowledged."""
        self.refused.take()
        self._unacknowledged.clear()
        self.held = 0

    def finish(self) -> None:
        """Acknowledge the remaining messages, and log how many were not described. Call this while the worker stops."""
        self.settle()
        self.acknowledge_again()
        self.tell_unsaid()

    def _count(self, why: str, queue: Any, task: Any, task_id: Any, body: Any) -> None:
        self.taken += 1
        self._measures.refused_message()
        if not self._allowance.take():
            self._unsaid += 1
            return
        shown = (_shown(part, self._redact) for part in (queue, task, task_id, body))
        log.warning(
            "a message that no worker understands: %s. queue=%s task=%s id=%s body=%s",
            _beginning(why, self._redact),
            *shown,
        )


def names_no_task() -> str:
    """Return the reason to refuse a message without the header that names its task."""
    return "it names no task, so another program than Celery writes to this queue"


def unknown_task(name: object, version: str) -> str:
    """Return the reason to refuse a task that is not registered in this release (`version`) of Tamis."""
    return (
        f"Tamis {version} has no task {name!r}: the name is misspelt, or belongs to another release, or to another "
        "service, which needs its own queues"
    )


def unreadable(content_type: object, error: BaseException) -> str:
    """Return the reason to refuse a message's body: its content type is not JSON, or its text is not valid JSON."""
    if content_type != JSON:
        return (
            f"its body is of the type {content_type!r}, but workers read only {JSON}: "
            "set task_serializer='json' in the sender"
        )
    return f"its body cannot be read as JSON: it is incomplete, or not written by Celery ({_said(error)})"


def wrong_arguments(task: str, takes: str, error: BaseException) -> str:
    """Return the reason to refuse a task with wrong arguments. `takes` describes the right arguments."""
    return f"{task} takes {takes}; send it with a client of Tamis, not by hand ({_said(error)})"


def not_a_message(error: BaseException) -> str:
    """Return the reason to refuse bytes in a queue that are not a message written by Celery."""
    return f"it is not a message: another program than Celery has written to this Redis list ({_said(error)})"


def _said(error: BaseException) -> str:
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:ERROR_MOST] if message else type(error).__name__


def _shown(part: Any, redact: Redact) -> str:
    """Return the beginning of a message's part as one line, without secrets."""
    if part is None:
        return "-"
    if isinstance(part, bytes | bytearray | memoryview):
        part = bytes(part[: SHOWN + BEYOND]).decode("utf-8", "backslashreplace")
    try:
        text = part if isinstance(part, str) else repr(part)
    except RecursionError:
        text = type(part).__name__
    return repr(_beginning(text, redact))


def _beginning(text: str, redact: Redact) -> str:
    redacted = redact(text[: SHOWN + BEYOND])
    if len(text) > SHOWN + BEYOND:  # the end may be the beginning of a secret
        redacted = redacted[: max(0, len(redacted) - BEYOND)]
    return redacted[:SHOWN]


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}
