"""A process of its own that works orders out: it computes for seconds, while the one that asks answers people."""

import json
import subprocess
import sys
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from uuid import UUID

import tamis_schemas
from tamis_schemas import OperationFailed, TamisError

from .order_store import OrderTerms

PROGRAM = (sys.executable, "-m", "tamis_review.order.refit_program")
END_WITHIN = 5  # s


@dataclass(eq=False)
class _Asked:
    batch_id: UUID
    terms: OrderTerms
    done: "Future[None]" = field(default_factory=Future)


@dataclass(eq=False)
class _Child:
    process: "subprocess.Popen[str]"
    asked: deque[_Asked] = field(default_factory=deque)  # the first one is being worked out


class RefitProcess:
    """Works orders out, one after the other, in a child that is started when one is first asked for.

    Thread-safe. A child that dies is started again by the next request.
    """

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url
        self._lock = Lock()
        self._child: _Child | None = None

    def ask(self, batch_id: UUID, terms: OrderTerms) -> "Future[None]":
        """Have the order brought up to date; the future has no result, or the error.

        Who asks for the same before it is begun shares it; one that is under way may have read the ledger already.
        """
        with self._lock:
            child = self._living()
            for one in list(child.asked)[1:]:
                if (one.batch_id, one.terms) == (batch_id, terms):
                    return one.done
            asked = _Asked(batch_id, terms)
            child.asked.append(asked)
            request = {"batch_id": str(batch_id), "seed": terms.seed, "explore": terms.explore}
            with suppress(OSError):  # it has just died: who listens to it says so
                _send(child, request)
            return asked.done

    def wait(self) -> None:
        """Return once everything that was asked for is worked out, or has failed."""
        while True:
            with self._lock:
                last = self._child.asked[-1] if self._child is not None and self._child.asked else None
            if last is None:
                return
            last.done.exception()

    def close(self) -> None:
        """End the process; what it has not finished is not kept, and a later request starts another one."""
        with self._lock:
            child, self._child = self._child, None
            for asked in () if child is None else child.asked:
                asked.done.cancel()
        if child is not None:
            child.process.terminate()
            child.process.wait(END_WITHIN)

    def _living(self) -> _Child:
        if self._child is None or self._child.process.poll() is not None:
            process = subprocess.Popen(
                PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            self._child = _Child(process)
            with suppress(OSError):
                _send(self._child, {"database_url": self._database_url})
            Thread(target=self._listen, args=(self._child,), name="tamis reading orders", daemon=True).start()
        return self._child

    def _listen(self, child: _Child) -> None:
        """Hand on the answers of a child until it ends."""
        answers, requests = child.process.stdout, child.process.stdin
        assert answers is not None  # noqa: S101 - both are pipes
        assert requests is not None  # noqa: S101
        with answers:
            for line in answers:
                with self._lock:
                    asked = child.asked.popleft()
                _settle(asked, json.loads(line)["error"])
        child.process.wait()
        with self._lock:
            if self._child is child:
                self._child = None
            left = list(child.asked)
            child.asked.clear()
            with suppress(OSError):
                requests.close()
        for asked in left:
            _settle(asked, [OperationFailed.__name__, "the process that works reading orders out has ended"])


def _send(child: _Child, line: dict[str, object]) -> None:
    assert child.process.stdin is not None  # noqa: S101 - it is a pipe
    child.process.stdin.write(json.dumps(line) + "\n")
    child.process.stdin.flush()


def _settle(asked: _Asked, error: list[str] | None) -> None:
    if not asked.done.set_running_or_notify_cancel():  # the process was closed
        return
    if error is None:
        asked.done.set_result(None)
    else:
        asked.done.set_exception(_raised(*error))


def _raised(name: str, message: str) -> TamisError:
    """Return the error of the child, of its own class where that is one of Tamis's."""
    kind = getattr(tamis_schemas, name, None)
    if isinstance(kind, type) and issubclass(kind, TamisError):
        with suppress(TypeError):  # one that is made of more than its message
            return kind(message)
    return OperationFailed(f"{message} ({name})")
