"""Questions asked side by side, and what becomes of them when the item is to be given back."""

import asyncio
from collections.abc import Generator
from typing import Any
from uuid import uuid4

import pytest

from tamis_schemas import EvaluationResult, Extract
from tamis_worker.engine.batch_interrupts import Halted
from tamis_worker.engine.call_accounting import CallAccounting
from tamis_worker.engine.conversation import CallPolicy, Conversation
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.ledger.batches import BatchTerms
from tamis_worker.llm.chat import ChatRequest, Message
from tamis_worker.operations import Decided
from tamis_worker.operations.program import OperationProgram, Question, QuestionResult

TERMS = BatchTerms(uuid4(), Extract(instruction="Which design?"), model=None)
PATIENCE = CallPolicy(RetryPolicy(max_calls=5, deadline=900.0), temperature=0.0, max_output_tokens=100)


def asking(*words: str) -> Question[Any]:
    return Question((Message("user", " ".join(words)),), "extract", {}, parse=lambda data: data)


def rounds(*questions: tuple[str, ...]) -> OperationProgram:
    """Each tuple is asked side by side, one tuple after the other."""

    def program() -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], Decided]:
        for words in questions:
            yield tuple(asking(word) for word in words)
        return Decided(EvaluationResult(value="a trial", confidence=0.9))

    return program()


class QuestionRunner:
    """Answers each question when it is told to; `halted` are given back instead."""

    def __init__(self, *, halted: tuple[str, ...] = (), seconds: dict[str, float] | None = None) -> None:
        self.halted = halted
        self.seconds = seconds or {}
        self.answered: list[str] = []
        self.worked: list[float] = []
        self.in_flight = asyncio.Event()
        self.deviations: dict[str, tuple[str, ...]] = {}

    async def ask(
        self,
        request: ChatRequest,
        parse: object,
        accounting: CallAccounting,
        terms: BatchTerms,
        *,
        key: object,
        **more: object,
    ) -> str:
        word = request.messages[0].content
        self.worked.append(accounting.worked)
        if word in self.halted:
            raise Halted
        await self.in_flight.wait()
        accounting.longest = max(accounting.longest, self.seconds.get(word, 0.0))
        self.answered.append(word)
        accounting.answered(self.deviations.get(word, ()))
        return word


def conversation(asker: Any) -> Conversation:
    return Conversation(asker, PATIENCE, TERMS, "m")


async def test_where_one_question_is_halted_the_calls_of_the_others_are_finished() -> None:
    asker = QuestionRunner(halted=("b", "d"))
    run = asyncio.create_task(conversation(asker).run(rounds(("a", "b", "c", "d"))))
    await asyncio.wait([run], timeout=0.05)
    assert not run.done()
    asker.in_flight.set()
    with pytest.raises(Halted):
        await asyncio.wait_for(run, 5)
    assert asker.answered == ["a", "c"]


async def test_a_conversation_that_is_cancelled_cancels_its_questions() -> None:
    asker = QuestionRunner()
    run = asyncio.create_task(conversation(asker).run(rounds(("a", "b"))))
    await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_questions_side_by_side_take_as_long_as_the_longest_of_them() -> None:
    asker = QuestionRunner(seconds={"a": 1.0, "b": 3.0, "c": 2.0, "d": 5.0})
    asker.in_flight.set()
    await conversation(asker).run(rounds(("a", "b"), ("c",), ("d",)))
    assert asker.worked == [0.0, 0.0, 3.0, 5.0]  # max(1, 3), and 2 more


async def test_the_provenance_holds_what_was_otherwise_in_any_of_the_answers() -> None:
    asker = QuestionRunner()
    asker.deviations = {"a": ("an array",), "c": ("extra key 'n' ignored", "an array")}
    asker.in_flight.set()
    held = conversation(asker)
    await held.run(rounds(("a", "b"), ("c",)))
    assert held.provenance().deviations == ("an array", "extra key 'n' ignored")
