"""The time that a service's single call adds to the model's time, and the time of many calls compared with a batch."""

import asyncio
import math
import statistics
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

from celery import Celery, group
from openai import AsyncOpenAI
from sqlalchemy import text

from llm_double import Double
from tamis_producer import AIEvaluationService, ProducerSettings
from tamis_schemas.batches import wire

from .options import Options
from .parts import API_KEY, Ledger, Parts
from .records import QUESTION, records, request_body
from .report import Cell, Table, ratio

AT_ONCE = 40
LATENCY = 0.05  # s, of one call
CONCURRENCY = 50  # calls in flight: what spec 1 has for one batch
SINGLE, SHORT_SINGLE = 60, 5  # calls one after the other, each beside a bare one
ROUNDS, SHORT_ROUNDS = 9, 1  # of so many at once, each beside a batch
WARM_UP = 3  # of each, which open every connection
TIMEOUT = 60.0  # s
PACE = 20  # calls a second
STEP_COLUMNS = ("step", "median ms", "p90 ms")
STEPS = (
    "check the item",
    "write the batch, publish it, fetch the message",
    "claim, terms, cache, rate limit",
    "the model's answer",
    "read the answer, keep it in the cache",
    "write the result, notify, read the result",
)
CPU_COLUMNS = ("calls", "worker CPU ms", "ratio")
COLUMNS = ("calls", "beside", "median ms", "beside ms", "more ms", "p90 ms", "ratio")


def service(parts: Parts, options: Options) -> list[Table]:
    """Measure calls through the service in milliseconds, in turn with the calls for comparison."""
    at_once = options.items or AT_ONCE
    single = options.repetitions or (SHORT_SINGLE if options.short else SINGLE)
    rounds = options.repetitions or (SHORT_ROUNDS if options.short else ROUNDS)
    slots: dict[str, Any] = {"concurrency": CONCURRENCY, "limit_concurrency": CONCURRENCY}
    with (
        parts.ledger() as ledger,
        Double.start(remember=False, latency=LATENCY) as double,
        parts.workers(1, ledger, double, **slots) as pids,
    ):
        options.say(f"service: {single} single calls, {rounds} times {at_once} at once")
        evaluation = AIEvaluationService(ledger.client, timeout=TIMEOUT)
        rows = asyncio.run(_rows(evaluation, double.base_url, single, rounds, at_once))
        by_name = _by_name(ledger.settings)
        paced: dict[str, tuple[Callable[[list[dict[str, Any]]], Awaitable[Any]], int]] = {
            "`tamis.evaluate` by name": (by_name, 1),
            f"`tamis.evaluate`, {at_once} in a group": (by_name, at_once),
            "`filter` of the service": (lambda given: evaluation.filter(given[0], QUESTION.criteria), 1),
        }
        steps = asyncio.run(_steps(evaluation, ledger, double, single))
        used = {
            name: asyncio.run(_worker_cpu(lambda: parts.cpu(pids, double).workers, call, 4 * single, together, seed))
            for seed, (name, (call, together)) in enumerate(paced.items(), 1)
        }
    notes = [
        f"one worker process, {LATENCY:g} s latency, {CONCURRENCY} calls in flight; nothing from the cache",
        "each call is made in turn with the one beside it; `more ms` is the median of the differences",
    ]
    beside = [*used.values()][-1]
    costs: list[list[Cell]] = [[name, cpu, ratio([cpu], [beside])] for name, cpu in used.items()]
    return [
        Table("Single calls of the services", COLUMNS, rows, notes),
        Table("Where the time of one single call goes", STEP_COLUMNS, steps, ["times of the ledger and the double"]),
        Table("Worker CPU of single calls", CPU_COLUMNS, costs, [f"{PACE} calls a second, with the idle worker's CPU"]),
    ]


async def _steps(evaluation: AIEvaluationService, ledger: Ledger, double: Double, calls: int) -> list[list[Cell]]:
    """Return the milliseconds of each step of a call, from the times that the ledger and the double recorded."""
    times = text("""
        SELECT extract(epoch FROM b.created_at), extract(epoch FROM i.claimed_at), extract(epoch FROM r.created_at)
        FROM batches b JOIN item_states i ON i.batch_id = b.id JOIN results r ON r.batch_id = b.id
        ORDER BY b.created_at DESC LIMIT 1
    """)
    double.script(remember=True)
    monotonic = time.time() - time.monotonic()
    rows = []
    for record in records(calls, seed=500_000):
        began = time.time()
        await evaluation.filter(record, QUESTION.criteria)
        ended = time.time()
        with ledger.client.engine.connect() as connection:
            created, claimed, written = map(float, connection.execute(times).one())
        call = double.calls()[-1]
        assert call.ended is not None  # noqa: S101 - its answer was used
        moments = (began, created, claimed, monotonic + call.started, monotonic + call.ended, written, ended)
        rows.append([1000 * (after - before) for before, after in pairwise(moments)])
    double.script(remember=False)
    return [
        [step, statistics.median(values), nine_of_ten(values)]
        for step, values in zip(STEPS, map(list, zip(*rows, strict=True)), strict=True)
    ]


def _by_name(settings: ProducerSettings) -> Callable[[list[dict[str, Any]]], Awaitable[Any]]:
    """Return a function that sends records as a service without Tamis does, and awaits the results on a thread."""
    app = Celery("service", broker=settings.broker, backend=settings.result_backend, set_as_current=False)
    prefix = {"global_keyprefix": wire.KEY_PREFIX}
    app.conf.update(
        broker_transport_options=prefix,
        result_backend_transport_options=prefix,
        task_routes={"tamis.*": {"queue": wire.DOOR_QUEUE}},
    )

    def send(given: list[dict[str, Any]]) -> None:
        asked = {"operation": "filter", "params": {"criteria": QUESTION.criteria}}
        sent = (app.signature(wire.EVALUATE, kwargs={"item": record, **asked}) for record in given)
        group(sent, app=app).apply_async().get(timeout=TIMEOUT)

    return lambda given: asyncio.to_thread(send, given)


async def _worker_cpu(
    cpu: Callable[[], float],
    call: Callable[[list[dict[str, Any]]], Awaitable[Any]],
    calls: int,
    together: int,
    seed: int,
) -> float:
    """Return the worker's CPU in milliseconds a call. At a fixed pace, `together` calls begin at once."""
    await asyncio.gather(*(call([record]) for record in records(WARM_UP, seed=100_000 * seed)))
    given = records(calls, seed=100_000 * seed + 1)
    before = cpu()
    async with asyncio.TaskGroup() as tasks:
        for first in range(0, calls, together):
            tasks.create_task(_awaited(call(given[first : first + together])))
            await asyncio.sleep(together / PACE)
    return 1000 * (cpu() - before) / calls


async def _awaited(answer: Awaitable[Any]) -> None:
    await answer


async def _rows(
    evaluation: AIEvaluationService, base_url: str, single: int, rounds: int, at_once: int
) -> list[list[Cell]]:
    async with AsyncOpenAI(base_url=base_url, api_key=API_KEY) as model:

        async def bare(record: dict[str, Any]) -> None:
            await model.chat.completions.create(**request_body(record))

        async def through(record: dict[str, Any]) -> None:
            result = await evaluation.filter(record, QUESTION.criteria)
            assert result.error is None, result.error  # noqa: S101 - else it was no call that counts

        async def together(given: list[dict[str, Any]]) -> None:
            await asyncio.gather(*(through(record) for record in given))

        async def batched(given: list[dict[str, Any]]) -> None:
            await evaluation.filter_batch(given, QUESTION.criteria)

        ones, bares = await _paired(through, bare, lambda n: records(1, seed=1000 + n)[0], single)
        many, batches = await _paired(together, batched, lambda n: records(at_once, seed=10_000 + n), rounds)
    return [
        _row("one", "a bare one", ones, bares),
        _row(f"{at_once} at once", f"one batch of {at_once}", many, batches),
    ]


async def _paired(
    call: Callable[[Any], Awaitable[None]],
    beside: Callable[[Any], Awaitable[None]],
    given: Callable[[int], Any],
    repeated: int,
) -> tuple[list[float], list[float]]:
    """Return the milliseconds of both kinds of calls, made in turn. Records never repeat, so no answer is cached."""
    calls, others = [], []
    for number in range(WARM_UP + repeated):
        calls.append(await _milliseconds(call, given(2 * number)))
        others.append(await _milliseconds(beside, given(2 * number + 1)))
    return calls[WARM_UP:], others[WARM_UP:]


async def _milliseconds(call: Callable[[Any], Awaitable[None]], given: Any) -> float:
    began = time.perf_counter()
    await call(given)
    return 1000 * (time.perf_counter() - began)


def _row(what: str, beside: str, calls: list[float], others: list[float]) -> list[Cell]:
    more = [one - other for one, other in zip(calls, others, strict=True)]
    medians = statistics.median(calls), statistics.median(others), statistics.median(more)
    return [what, beside, *medians, nine_of_ten(more), ratio(calls, others)]


def nine_of_ten(values: list[float]) -> float:
    """Return the smallest of the values that nine tenths of them do not exceed."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]
