"""A coroutine function as a plain one: on every thread, on one loop, without losing an error or an interruption."""

import asyncio
import inspect
import os
import pickle
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tamis_worker.event_loop.loop import synchronous


async def divided_async(number: int, *, by: int = 2) -> float:
    """The quotient."""
    return number / by


divided = synchronous(divided_async)


@synchronous
async def current_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_a_coroutine_function_becomes_a_plain_one_with_its_parameters_and_errors() -> None:
    assert (divided(3), divided(3, by=4)) == (1.5, 0.75)
    with pytest.raises(ZeroDivisionError):
        divided(3, by=0)
    with pytest.raises(TypeError):
        divided(3, 4)  # type: ignore[misc] # the wrong use
    assert not inspect.iscoroutinefunction(divided)
    assert inspect.signature(divided) == inspect.signature(divided_async)


def test_it_has_the_name_without_async_under_which_it_can_be_sent_to_another_process() -> None:
    assert (divided.__name__, divided.__doc__) == ("divided", "The quotient.")
    assert pickle.dumps(divided).count(b"divided_async") == 0


def test_all_threads_share_one_loop_so_that_an_asynchronous_client_keeps_its_connections() -> None:
    with ThreadPoolExecutor(4) as threads:
        loops = {*threads.map(lambda _: current_loop(), range(8)), current_loop()}
    assert len(loops) == 1


@pytest.mark.spec("5.36")
async def test_it_can_be_called_where_a_loop_runs_already() -> None:
    assert divided(3) == 1.5
    assert current_loop() is not asyncio.get_running_loop()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # said from Python 3.12 on
def test_a_process_that_was_forked_has_a_loop_of_its_own() -> None:
    assert divided(3) == 1.5
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        signal.alarm(10)
        os._exit(0 if divided(3) == 1.5 else 1)
    assert os.waitpid(child, 0) == (child, 0)


def test_an_interrupted_wait_cancels_what_it_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @synchronous
    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def interrupted(_: "Future[None]", __: float | None) -> None:
        assert begun.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        endless()
    assert cancelled.wait(10)


def test_a_wait_of_the_bridge_for_itself_is_refused() -> None:
    @synchronous
    async def inner_async() -> int:
        return 1

    @synchronous
    async def outer_async() -> int:
        return inner_async()

    with pytest.raises(RuntimeError, match=r"inner would wait for itself here: await inner_async"):
        outer_async()
    assert inner_async() == 1
