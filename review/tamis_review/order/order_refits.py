"""The computation of reading orders for a client, in the caller's thread or in a child process.

An order takes seconds to compute. In a child process, the computation does not delay the parent's answers to people.
The child runs this file as a program, with a line of JSON for each request and each answer. The first line has the
database's address. The command line does not, because every user of the machine can see command lines.
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
NICER = 10  # relative to the parent, which serves people
END_WITHIN = 5  # s
PATIENCE = 1.5  # s before a caller gets an older order instead

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Child:
    process: "subprocess.Popen[str]"
    asked: "deque[tuple[dict[str, object], Future[None]]]" = field(default_factory=deque)  # the first is running


class OrderRefits:
    """The computation of reading orders for a client. It is thread-safe.

    With `beside`, a child process computes all orders except those of `cold`, so the client's event loop stays free. If
    `beside` is False, `finished` computes the order in the caller's thread. The child computes one order at a time. A
    request starts a child process if none is running.
    """

    def __init__(self, engine: Engine, database_url: str, *, beside: bool) -> None:
        self._engine = engine
        self._database_url = database_url
        self._beside = beside
        self._cache = FeatureCache()
        self._lock = Lock()
        self._child: _Child | None = None

    def finished(self, batch_id: UUID, terms: OrderTerms, *, patient: bool) -> bool:
        """Update a batch's order and return True.

        Without `patient`, return False if the update takes longer than `PATIENCE` seconds; the process that computes
        the order then continues.

        Raises the errors of `refit`, which computes the order, and `OperationFailed` if the child process has died.
        """
        if not self._beside:
            refit(self._engine, batch_id, terms, self._cache)
            return True
        with suppress(TimeoutError):
            self.ask(batch_id, terms).result(None if patient else PATIENCE)
            return True
        return False

    def begin(self, batch_id: UUID, terms: OrderTerms) -> None:
        """Start an update of a batch's order in the child process. Failures are logged."""
        self.ask(batch_id, terms).add_done_callback(lambda done: _tell(batch_id, done))

    def cold(self, batch_id: UUID, terms: OrderTerms) -> None:
        """Compute and store an order that ignores people's decisions, unless an order with these terms is stored.

        Raises the errors of `refit`.
        """
        refit(self._engine, batch_id, terms, self._cache, cold=True)

    def ask(self, batch_id: UUID, terms: OrderTerms) -> "Future[None]":
        """Start an update of a batch's order in the child process. Return the update's future, with the result None.

        If an equal request waits, the future of that request is returned instead. A running request is not reused,
        because it may have read the ledger before the newest decision.
        """
        with self._lock:
            child = self._living()
            request = {"batch_id": str(batch_id), **vars(terms)}
            for waiting, done in list(child.asked)[1:]:
                if waiting == request:
                    return done
            future: Future[None] = Future()
            child.asked.append((request, future))
            with suppress(OSError):  # the child has just died: its listener reports the death
                _send(child, request)
            return future

    def wait(self) -> None:
        """Wait until all requests are done or have failed."""
        while True:
            with self._lock:
                futures = [] if self._child is None else [done for _, done in self._child.asked]
            if not futures:
                return
            futures[-1].exception()

    def close(self) -> None:
        """End the child process. Unfinished orders are lost. A later request starts a new child."""
        with self._lock:
            child, self._child = self._child, None
            for _, future in () if child is None else child.asked:
                future.cancel()
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
        """Pass on a child process's answers to the callers until the child ends. Then fail its unanswered requests."""
        answers, requests = child.process.stdout, child.process.stdin
        assert answers is not None  # noqa: S101 - both are pipes
        assert requests is not None  # noqa: S101
        with answers:
            for line in answers:
                with self._lock:
                    _, future = child.asked.popleft()
                _settle(future, json.loads(line)["error"])
        child.process.wait()
        with self._lock:
            if self._child is child:
                self._child = None
            left = [future for _, future in child.asked]
            child.asked.clear()
            with suppress(OSError):
                requests.close()
        for future in left:
            _settle(future, [OperationFailed.__name__, "the process that computes reading orders has ended"])


def _send(child: _Child, line: dict[str, object]) -> None:
    assert child.process.stdin is not None  # noqa: S101 - it is a pipe
    child.process.stdin.write(json.dumps(line) + "\n")
    child.process.stdin.flush()


def _settle(future: "Future[None]", error: list[str] | None) -> None:
    if not future.set_running_or_notify_cancel():  # the process was closed
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(_raised(*error))


def _raised(name: str, message: str) -> TamisError:
    """Return the error that the child process reported, for the caller to raise.

    The error's class is the Tamis error called `name`. It is `OperationFailed` if there is no such class, or if the
    class needs more than a message.
    """
    kind = getattr(tamis_schemas, name, None)
    if isinstance(kind, type) and issubclass(kind, TamisError):
        with suppress(TypeError):  # a class that needs more than a message
            return kind(message)
    return OperationFailed(f"{message} ({name})")


def _tell(batch_id: UUID, done: "Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.warning("the reading order of batch %s stays unchanged: %s", batch_id, error)


def serve(requests: TextIO, answers: TextIO) -> None:
    """Compute the requested orders, one after another, until the input ends.

    All lines are JSON. The first line of `requests` has the database's address. Each further line has a batch's id and
    the terms of its order. Each request is answered by a line with the error, or null.
    """
    engine = connect(json.loads(requests.readline())["database_url"], READING_ORDERS)
    cache = FeatureCache()
    for line in requests:
        request = json.loads(line)
        try:
            refit(engine, UUID(request["batch_id"]), OrderTerms(request["seed"], request["explore"]), cache)
            error = None
        except Exception as failed:  # the caller gets the error, and the next request is served
            words = str(failed) if isinstance(failed, TamisError) else "the reading order could not be computed"
            error = [type(failed).__name__, words]
        answers.write(json.dumps({"error": error}) + "\n")
        answers.flush()
    engine.dispose()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(NICER)
    serve(sys.stdin, sys.stdout)
