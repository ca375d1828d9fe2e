"""The reading of large uploads in a separate process, which saves the gateway memory and computing.

The process runs this file as a program, reads one upload, and ends. Its input is a pickled `Job`. Its output is the
finished answer: a line of JSON with status and headers, then the body.
"""

import asyncio
import json
import logging
import os
import pickle
import sys
from asyncio import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from traceback import clear_frames
from typing import IO, Any, TypeVar, cast

from anyio import to_thread
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response
from starlette.types import Message

from tamis_schemas import Unavailable

from ..client.client import Client
from ..client.session import Sight
from ..config.redaction import Redaction
from ..config.settings import ProducerSettings
from ..ledger.pool_kinds import PoolKind
from ..process import tracing
from . import problems
from .frame import LARGE, LARGE_AT_ONCE, disconnected
from .streams import Pieces, pieces_of

PROGRAM = (sys.executable, "-m", "tamis_producer.gateway.reading_process")
NICER = 10  # than the gateway, whose answers people wait for
FIRST_KILLED = b"1000"  # if the machine or container has no memory left: this process, and not the gateway
LIMIT_OF_CONTAINER = Path("/sys/fs/cgroup/memory.max")
LONGEST_LOG = 10_000  # bytes

Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """A call that reads an upload, with the route's status and model for the answer."""

    call: Callable[[], object]
    settings: ProducerSettings
    status: int | None
    response_model: Any
    traceparent: str | None


async def answered(request: Request, size: int, call: Callable[[], Answer]) -> Answer:
    """Return the answer of `call`, which reads an upload of `size` bytes.

    A small upload is read on a thread. A large upload is read in a process that is killed when the caller disconnects
    or the gateway stops. So `call` and its arguments must be picklable. In the process, a client opens new connections.

    Raises:
        HTTPException: 400 if the caller has gone.
        Unavailable: the process was killed.
    """
    app = request.app
    if size <= LARGE:
        return await to_thread.run_sync(call, limiter=app.state.large_bodies.threads)
    route = request.scope["route"]
    with ExitStack() as stack, tracing.span("tamis.upload", {"bytes": size}, kind=tracing.SpanKind.PRODUCER):
        settings = app.state.client.settings
        job = Job(call, settings, route.status_code, route.response_model, tracing.traceparent())
        answer = stack.enter_context(TemporaryFile())
        await _run(request, pickled(job), answer)
        answer.seek(0)
        head = json.loads(answer.readline())
        response = Pieces(pieces_of(answer, stack.pop_all()), head["status"])
        response.raw_headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head["headers"]]
        return cast(Answer, response)  # FastAPI sends a response as it is


async def _run(request: Request, job: bytes, answer: IO[bytes]) -> None:
    """Let a process write the answer of a pickled job, and wait until the process has ended or was killed."""
    with TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(*PROGRAM, stdin=subprocess.PIPE, stdout=answer, stderr=errors)
        ended, gone = asyncio.ensure_future(process.wait()), asyncio.ensure_future(disconnected(request))
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            process.stdin.write(job)  # not closed: its end tells the process that the gateway has ended
            await asyncio.wait((ended, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            killed = process.returncode is None
            if killed:
                with suppress(ProcessLookupError):
                    process.kill()
            gone.cancel()
            await ended
            process.stdin.close()
            errors.seek(0)
            if words := errors.read(LONGEST_LOG).decode(errors="replace").strip():
                log.warning("an upload's process: %s", words)
    if killed:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the caller has gone")
    if process.returncode:
        log.error("the process that read an upload ended with %s", process.returncode)
        raise Unavailable(
            "the process that read the upload has ended, probably for want of memory: nothing or everything is "
            "recorded; send it again, with the same Idempotency-Key or in smaller parts"
        )


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        if isinstance(value, Client):
            return _opened, (value.settings, value._pool, value.sight)
        return NotImplemented


def pickled(job: Job) -> bytes:
    """Return the job as a pickle for another process, which opens the job's clients anew."""
    written = BytesIO()
    _Pickler(written).dump(job)
    return written.getvalue()


def _opened(settings: ProducerSettings, pool: PoolKind, sight: Sight | None) -> Client:
    client = Client(settings, pool=pool)
    return client if sight is None else client.seen_by(sight)


def perform(job: Job, answer: IO[bytes]) -> None:
    """Do a job, and write the answer of the job's route: a line of JSON with status and headers, then the body."""
    app = FastAPI(openapi_url=None)
    problems.install(app, Redaction.of(job.settings))

    @app.exception_handler(MemoryError)
    async def too_large(_: Request, error: Exception) -> Response:
        clear_frames(error.__traceback__)  # they hold the records
        detail = "reading the upload takes more memory than the gateway has: split the search"
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return problems.problem(status, "request-entity-too-large", status.phrase, detail)

    @app.post("/", status_code=job.status, response_model=job.response_model)
    def answer_of() -> Any:
        return job.call()

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
            answer.write(json.dumps({"status": message["status"], "headers": headers}).encode() + b"\n")
        answer.write(message.get("body", b""))

    tracing.attach(job.traceparent)
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
    try:
        asyncio.run(app(scope, receive, send))
    except Exception:  # it has been answered as an internal error
        log.exception("reading an upload failed")
    answer.flush()


def most_memory() -> int:
    """Return the most memory of one process in bytes: equal shares for the gateway and its readers of large bodies."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or a container without a limit
        whole = min(whole, int(LIMIT_OF_CONTAINER.read_text()))
    return whole // (LARGE_AT_ONCE + 1)


def _confine() -> None:
    """Lower this process's priority and limit its memory, so that the gateway has precedence (only on Linux)."""
    if sys.platform != "linux":
        return
    import resource

    os.nice(NICER)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(FIRST_KILLED)
    # Not RLIMIT_AS, which counts libraries and stacks, and what is reserved and never used.
    resource.setrlimit(resource.RLIMIT_DATA, (most_memory(),) * 2)


def _end_with_gateway() -> None:
    os.read(sys.stdin.fileno(), 1)  # until the gateway has ended, in any way
    os._exit(1)


if __name__ == "__main__":
    _confine()
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    job = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the gateway
    Thread(target=_end_with_gateway, daemon=True).start()
    perform(job, output)
