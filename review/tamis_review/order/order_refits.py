"""Orders as a client has them worked out: in the caller's thread, or in a process beside it.

The process beside computes for seconds, while the one that asks answers people. It is this file as a program, which
reads a line of JSON for each request, and writes one for each answer. The first line names the ledger, because a
command line is shown to whoever lists processes.
"""

import json
import logging
import os
import subprocess
import sys
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TextIO
from uuid import UUID

from sqlalchemy import Engine

import tamis_schemas
from tamis_producer.ledger import connect
from tamis_producer.ledger.pool_kinds import READING_ORDERS
from tamis_schemas import OperationFailed, TamisError

from .order_store import OrderTerms
from .refit import FeatureCache, refit

PROGRAM = (sys.executable, "-m", "tamis_review.order.order_refits")
NICER = 10  # than the process that asks, which answers people
END_WITHIN = 5  # s
PATIENCE = 1.5  # s that a caller waits who would rather have an older order than wait longer

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Child:
    process: "subprocess.Popen[str]"
    asked: "deque[tuple[dict[str, object], Future[None]]]" = field(default_factory=deque)  # the first one is under way


class OrderRefits:
    """Works orders out for a client. Thread-safe.

    `beside`: never in this process, whose event loop would stand still meanwhile. Otherwise what a caller waits for is
    done in the caller's thread, and the rest beside. The child works out one order after the other. It is started when
    one is first asked for, and again by the next request where it has died.
    """

    def __init__(self, engine: Engine, database_url: str, *, beside: bool) -> None:
        self._engine = engine
        self._database_url = database_url
        self._beside = beside
        self._cache = FeatureCache()
        self._lock = Lock()
        self._child: _Child | None = None

    def finished(self, batch_id: UUID, terms: OrderTerms, *, patient: bool) -> bool:
        """Return True once the order is up to date; False where that takes longer and the caller is not `patient`.

        Raises what `refit` raises, and `OperationFailed` where the process beside has died.
        """
        if not self._beside:
            refit(self._engine, batch_id, terms, self._cache)
            return True
        try:
            self.ask(batch_id, terms).result(None if patient else PATIENCE)
        except TimeoutError:
            return False
        return True

    def begin(self, batch_id: UUID, terms: OrderTerms) -> None:
        """Have the order brought up to date beside; where that fails, a log line says so."""
        self.ask(batch_id, terms).add_done_callback(lambda done: _tell(batch_id, done))

    def cold(self, batch_id: UUID, terms: OrderTerms) -> None:
        """Keep the order before any decision, where none of these terms is kept; raises as `refit`."""
        refit(self._engine, batch_id, terms, self._cache, cold=True)

    def ask(self, batch_id: UUID, terms: OrderTerms) -> "Future[None]":
        """Have the order brought up to date beside; the future has no result, or the error.

        Who asks for the same before it is begun shares it; one that is under way may have read the ledger already.
        """
        with self._lock:
            child = self._living()
            request = {"batch_id": str(batch_id), **vars(terms)}
            for waiting, done in list(child.asked)[1:]:
                if waiting == request:
                    return done
            asked: Future[None] = Future()
            child.asked.append((request, asked))
            with suppress(OSError):  # it has just died: who listens to it says so
                _send(child, request)
            return asked

    def wait(self) -> None:
        """Return once everything that was asked for is worked out, or has failed."""
        while True:
            with self._lock:
                asked = [] if self._child is None else [done for _, done in self._child.asked]
            if not asked:
                return
            asked[-1].exception()

    def close(self) -> None:
        """End the process; what it has not finished is not kept, and a later request starts another one."""
        with self._lock:
            child, self._child = self._child, None
            for _, asked in () if child is None else child.asked:
                asked.cancel()
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
                    _, asked = child.asked.popleft()
                _settle(asked, json.loads(line)["error"])
        child.process.wait()
        with self._lock:
            if self._child is child:
                self._child = None
            left = [asked for _, asked in child.asked]
            child.asked.clear()
            with suppress(OSError):
                requests.close()
        for asked in left:
            _settle(asked, [OperationFailed.__name__, "the process that works reading orders out has ended"])


def _send(child: _Child, line: dict[str, object]) -> None:
    assert child.process.stdin is not None  # noqa: S101 - it is a pipe
    child.process.stdin.write(json.dumps(line) + "\n")
    child.process.stdin.flush()


def _settle(asked: "Future[None]", error: list[str] | None) -> None:
    if not asked.set_running_or_notify_cancel():  # the process was closed
        return
    if error is None:
        asked.set_result(None)
    else:
        asked.set_exception(_raised(*error))


def _raised(name: str, message: str) -> TamisError:
    """Return the error of the child, of its own class where that is one of Tamis's."""
    kind = getattr(tamis_schemas, name, None)
    if isinstance(kind, type) and issubclass(kind, TamisError):
        with suppress(TypeError):  # one that is made of more than its message
            return kind(message)
    return OperationFailed(f"{message} ({name})")


def _tell(batch_id: UUID, done: "Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.warning("the reading order of batch %s stays as it is: %s", batch_id, error)


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer requests in their order, until there are no more."""
    engine = connect(json.loads(requests.readline())["database_url"], READING_ORDERS)
    cache = FeatureCache()
    for line in requests:
        request = json.loads(line)
        try:
            refit(engine, UUID(request["batch_id"]), OrderTerms(request["seed"], request["explore"]), cache)
            error = None
        except TamisError as failed:
            error = [type(failed).__name__, str(failed)]
        except Exception as failed:  # whoever asked is told, and the next request is another one
            error = [type(failed).__name__, "the reading order could not be worked out"]
        answers.write(json.dumps({"error": error}) + "\n")
        answers.flush()
    engine.dispose()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(NICER)
    serve(sys.stdin, sys.stdout)
