"""The nursery itself: listens, imports, forks. One thread, so that a fork is a whole copy."""

import array
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

# What processes of Tamis spend their start on. Not the command line itself: it looks at its terminal when imported.
IMPORTED = (
    *("aiohttp", "alembic.migration", "fakeredis", "httpcore2", "markdown_it", "openai", "openai.resources.chat"),
    *("openai.resources.models", "psycopg", "psycopg.types.json", "psycopg_binary", "redis.asyncio", "rich.console"),
    *("rich.markdown", "rich.progress", "rich.status", "rich.table", "sqlalchemy.dialects.postgresql.psycopg"),
    *("sqlalchemy.ext.asyncio", "structlog", "truststore", "typer", "uvloop"),
    *("billiard.pool", "celery", "celery.app.control", "celery.app.events", "celery.app.log", "celery.apps.worker"),
    *("celery.concurrency.thread", "celery.events", "celery.fixups.django", "celery.worker.autoscale"),
    *("celery.worker.components", "kombu.matcher", "kombu.pidbox", "kombu.transport.redis"),
    *("encodings.idna", "encodings.utf_8_sig", "llm_double.connection", "llm_double.server"),
    *("tamis_schemas", "tamis_schemas.ledger", "tamis_schemas.answers.filter_result"),
    *("tamis_producer.client.client", "tamis_producer.client.glance", "tamis_review.explanation"),
    *("tamis_review.plans.criteria_file", "tamis_review.plans.plan_file"),
    *("tamis_review.intake", "tamis_review.intake.duplicates", "tamis_review.report"),
    *("tamis_producer.gateway.app", "tamis_producer.gateway.server", "uvicorn.lifespan.on", "uvicorn.loops.asyncio"),
    *("tamis_producer.runs.dry_run", "tamis_review.filter", "tamis_review.filter.identification"),
    *(
        "tamis_review.filter.initial_filter",
        "tamis_producer.transport.broker",
        "tamis_producer.transport.dispatch",
    ),
    *("tamis_worker.process.run", "tamis_worker.process.runtime", "tamis_worker.process.run"),
    *("tamis_worker.telemetry.tracing",),
)


def main(address: Path, parent: int) -> None:
    """Fork what is asked for until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(f"{address}-")
    listening.listen(64)
    Path(f"{address}-").rename(address)  # seen once it listens
    while not select.select([listening], [], [], 2.0)[0]:
        if os.getppid() != parent:
            return
    for name in IMPORTED:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    wakes, woken = socket.socketpair()
    wakes.setblocking(False)
    woken.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    selector.register(woken, selectors.EVENT_READ)
    children: dict[int, socket.socket] = {}
    while os.getppid() == parent:
        for key, _ in selector.select(timeout=2.0):
            if key.fileobj is woken:
                with suppress(BlockingIOError):
                    woken.recv(4096)
                continue
            connection, _ = listening.accept()
            asked, streams = _asked(connection)
            pid = os.fork()
            if pid == 0:
                inherited = [listening, wakes, woken, connection, *children.values()]
                selector.close()
                signal.set_wakeup_fd(-1)
                for one in inherited:
                    one.close()
                _become(asked, streams)
            for stream in streams:
                os.close(stream)
            connection.sendall(pid.to_bytes(8, "big"))
            children[pid] = connection
        _reap(children)


def _asked(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    streams = array.array("i")
    length, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_LEN(3 * streams.itemsize))
    for _, _, data in ancillary:
        streams.frombytes(data)
    body, left = b"", int.from_bytes(length, "big")
    while len(body) < left:
        body += connection.recv(left - len(body))
    return json.loads(body), [*streams]


def _reap(children: dict[int, socket.socket]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        connection = children.pop(pid)
        with suppress(OSError):  # whoever asked for it may be gone
            connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        connection.close()


def _become(asked: dict[str, Any], streams: list[int]) -> None:
    """The process that is asked for; never returns."""
    code: object = 1
    try:
        if asked["network"] is not None:
            _enter(asked["network"])
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        # As a new interpreter has them: these were opened for the nursery's own.
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["cwd"])
        sys.path[0] = asked["cwd"]
        sys.argv = [asked["module"], *asked["arguments"]]
        runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    _leave(code if isinstance(code, int) else 0 if code is None else 1)


def _enter(network: str) -> None:
    with Path("/run/netns", network).open("rb") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) != 0:  # os.setns is of Python 3.12
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {network}")


def _leave(code: int) -> None:
    """As an interpreter ends: threads that are no daemons, `atexit`, buffers; and nothing of the nursery's own."""
    import atexit
    import threading

    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined] # what Py_Finalize calls, too
    with suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
