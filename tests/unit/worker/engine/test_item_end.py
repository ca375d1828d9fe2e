"""What an evaluator says became of an item, whatever its claim, its calls and its ledger came to."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from stage.trace_receiver import traced_here
from tamis_schemas import ErrorKind, Filter
from tamis_worker.engine.backpressure import Backpressure, RequiredServer
from tamis_worker.engine.batch_interrupts import BatchInterrupts, Halted
from tamis_worker.engine.conversation import CallPolicy
from tamis_worker.engine.evaluate import Evaluator, Writers
from tamis_worker.engine.failure_streaks import FailureStreaks
from tamis_worker.engine.item_end import ItemDecided, ItemEnd, NoOutcome
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.ledger.batches import BatchTerms
from tamis_worker.ledger.claims import Claim, ClaimRefusal, HeldClaims, ItemKey
from tamis_worker.operations import Failure

KEY = ItemKey(uuid4(), 3)
RECORD = {"title": "Emicizumab in adults"}
TERMS = BatchTerms(KEY.batch_id, Filter(criteria="Is it?"), model=None)
POLICY = CallPolicy(RetryPolicy(max_calls=5, deadline=900.0), temperature=0.0, max_output_tokens=100)
ANSWER = {"value": True, "confidence": 0.784, "reasoning": "It is about adults."}


def writer(reply: object) -> Any:
    """Writes nothing, and gives this reply; raises it where it is an error."""

    async def submit(_: object) -> object:
        if isinstance(reply, Exception):
            raise reply
        return reply

    return SimpleNamespace(submit=submit)


class Runner:
    """Its first call fails; the second one comes to this end."""

    def __init__(self, end: object = ANSWER) -> None:
        self.end = end

    async def ask(
        self, _: object, parse: Callable[[object], object], accounting: Any, *__: object, **more: object
    ) -> Any:
        accounting.retried(ErrorKind.SERVER)
        if isinstance(self.end, Exception):
            raise self.end
        return self.end if isinstance(self.end, Failure) else parse(self.end)


def evaluator(
    *,
    claim: object = None,
    runner: Runner | None = None,
    accepted: object = True,
    cancelled: bool = False,
    payload: dict[str, Any] = RECORD,
    backpressure: Backpressure | None = None,
    interrupts: Any = None,
) -> Evaluator:
    async def of(_: object) -> BatchTerms:
        return TERMS

    configs: Any = SimpleNamespace(of=of, expect=lambda batch_id: None)
    asked: Any = runner or Runner()

    async def no_results(batch_id: UUID, limit: int) -> list[ErrorKind | None]:
        return []

    return Evaluator(
        Writers(
            claims=writer(claim or Claim(KEY, fence=1, item_id="r3", payload=payload)),
            outcomes=writer(accepted),
            returns=writer(cancelled),
            cancellations=writer(cancelled),
        ),
        configs,
        asked,
        interrupts or stopping(False),
        HeldClaims(),
        FailureStreaks(no_results, 20),
        default_model="m",
        policy=POLICY,
        backpressure=backpressure or Backpressure(),
    )


def stopping(now: bool) -> BatchInterrupts:
    async def write(*_: object) -> bool:
        return True

    interrupts = BatchInterrupts(write)
    if now:
        interrupts.stop()
    return interrupts


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ({}, ItemDecided("true 0.78")),
        ({"runner": Runner(Failure(ErrorKind.TIMEOUT, "120 s"))}, ErrorKind.TIMEOUT),
        ({"runner": Runner(RuntimeError("a fault of ours"))}, ErrorKind.INTERNAL),
        ({"payload": {}}, ErrorKind.NO_CONTENT),
        ({"runner": Runner(Halted())}, NoOutcome.RETURNED),
        ({"runner": Runner(Halted()), "cancelled": True}, NoOutcome.CANCELLED),
        ({"accepted": False}, NoOutcome.SKIPPED),  # another claim's outcome counts
        ({"claim": ClaimRefusal(cancelled=False)}, NoOutcome.SKIPPED),
        ({"claim": ClaimRefusal(cancelled=True)}, NoOutcome.CANCELLED),
    ],
)
async def test_an_item_ends_as_the_ledger_has_it(parts: dict[str, Any], end: ItemEnd) -> None:
    assert await evaluator(**parts).evaluate(KEY) == end


@pytest.mark.parametrize(
    ("parts", "kinds"),
    [
        ({}, [None]),
        ({"runner": Runner(Failure(ErrorKind.TIMEOUT, "120 s"))}, ["timeout"]),
        ({"accepted": False}, []),
        ({"runner": Runner(Halted())}, []),
    ],
)
async def test_only_an_outcome_that_the_ledger_accepted_is_an_event(parts: dict[str, Any], kinds: list[str]) -> None:
    exporter = InMemorySpanExporter()
    with traced_here(exporter):
        await evaluator(**parts).evaluate(KEY)
    (span,) = exporter.get_finished_spans()
    assert [(event.attributes or {}).get("error.type") for event in span.events] == kinds


async def test_an_outcome_that_the_ledger_refuses_is_the_failure_that_it_holds_in_its_place() -> None:
    refusing = evaluator()
    replies = iter([ValueError("it cannot be held"), True])

    async def submit(_: object) -> object:
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    writers: Any = SimpleNamespace(claims=refusing.writers.claims, outcomes=SimpleNamespace(submit=submit))
    refusing.writers = writers
    refusing._schemas = None  # it is not the transcript
    assert await refusing.evaluate(KEY) is ErrorKind.INTERNAL


@pytest.mark.parametrize(("stops", "end"), [(True, NoOutcome.NOT_BEGUN), (False, NoOutcome.SKIPPED)])
async def test_an_item_that_waits_for_the_servers_is_not_begun_where_the_worker_stops_and_skipped_where_its_batch_does(
    *, stops: bool, end: NoOutcome
) -> None:
    backpressure = Backpressure()
    backpressure.failed(RequiredServer.LEDGER, "a test", "it is away")
    interrupts = stopping(stops)
    if not stops:
        await interrupts.pause(KEY.batch_id, SimpleNamespace(kind="requested", message=""))  # type: ignore[arg-type]
    waiting = evaluator(backpressure=backpressure, interrupts=interrupts)
    assert await waiting.evaluate(KEY) is end


async def test_who_delivered_an_item_hears_of_each_call_that_is_made_again() -> None:
    told: list[ErrorKind] = []
    await evaluator().evaluate(KEY, told.append)
    assert told == [ErrorKind.SERVER]
