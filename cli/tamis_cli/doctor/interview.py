"""An interview: it asks the endpoint a real question for each operation, with the workers' own client.

The first question is asked alone and finds the request format that the endpoint accepts. Then the other questions are
asked concurrently. A question about a long record shows whether the endpoint cuts long prompts. After an unusable
answer, another request format is tried, as workers do. Only this process remembers the format.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tamis_review import read_records
from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import NO_STEERING, ErrorKind, Extract, Inclusion, Item, Judge, Operation, Steering, parse_operation
from tamis_schemas import Answer as AnswerOperation
from tamis_schemas.operations import OPERATIONS, operation_name
from tamis_worker import operations
from tamis_worker.engine.attempt import checked_reply
from tamis_worker.engine.conversation import CallPolicy, chat_request
from tamis_worker.llm.answer_reading import read_answer
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Reply
from tamis_worker.llm.dialect import Dialect
from tamis_worker.llm.json_answer import Malformed
from tamis_worker.llm.llm import LlmClient
from tamis_worker.llm.token_probability import DecisionField, probability_of
from tamis_worker.operations import InvalidAnswer

from .endpoint import out_of_reach

# After these errors, other questions would fail as well, or time out.
HOPELESS = frozenset({ErrorKind.CONNECTION, ErrorKind.TIMEOUT, ErrorKind.RATE_LIMITED})
LONG_ABSTRACT = 20_000  # characters, about 5,000 tokens: more than the usual context of a small server


@dataclass(frozen=True)
class SampleQuestion:
    """A sample question of an operation, with the function that parses the answer."""

    operation: str
    request: ChatRequest
    parse: Callable[[object], Any]  # takes decoded JSON; returns a type of the operation


def sample_questions(model: str, patience: CallPolicy, steering: Steering = NO_STEERING) -> tuple[SampleQuestion, ...]:
    """Return a sample question for each operation, about made-up records. The first question is short."""
    questions = []
    for operation, item in _samples():
        program = operations.program_of(operation, item)
        question = next(program)[0]
        program.close()
        request = chat_request(question, model, patience, steering)
        questions.append(SampleQuestion(operation.operation, request, question.parse))
    return tuple(questions)


def _samples() -> Iterator[tuple[Operation, Item]]:
    record = read_records(CITATIONS)[0]
    abstract = record["abstract"]
    long = {**record, "abstract": " ".join([abstract] * (1 + LONG_ABSTRACT // len(abstract)))}
    classified = {
        "value": "randomised controlled trial",
        "confidence": 0.9,
        "reasoning": "Abstract 1 says that the participants were assigned at random.",
        "context": f"Abstract 1: {abstract}",
        "batch_size": 1,
    }
    for kind in sorted(OPERATIONS, key=lambda kind: kind in (Inclusion, AnswerOperation)):  # the long questions last
        criteria = {"criteria": read_criteria(CRITERIA)} if kind is Inclusion else {}
        operation = parse_operation({"operation": operation_name(kind), **kind.example, **criteria})
        yield operation, classified if kind is Judge else long if kind is Extract else record


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the model: its request format (`dialect`), and the reply."""

    dialect: Dialect
    reply: Reply
    problem: str | None = None  # why the answer is unusable; None: it is usable, or the reply is an error

    @property
    def read(self) -> bool:
        """Return whether the reply is a usable answer."""
        return isinstance(self.reply, ChatAnswer) and self.problem is None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of an operation, with the calls that asked it (at least one)."""

    operation: str
    calls: tuple[Call, ...]
    optional: Mapping[str, Any] = field(default_factory=dict)  # parameters that the request can omit
    decision: DecisionField | None = None  # the answer's field that includes or excludes; None: no such field

    @property
    def probability(self) -> float | None:
        """Return the probability of the decision, computed from the answer's tokens; None if it cannot be computed."""
        reply = self.last.reply
        if self.decision is None or not isinstance(reply, ChatAnswer):
            return None
        return probability_of(reply.content, reply.tokens, self.decision)

    @property
    def last(self) -> Call:
        """Return the last call, whose reply is the result of the question."""
        return self.calls[-1]


async def interview(llm: LlmClient, questions: Sequence[SampleQuestion], *, within: float) -> tuple[AskedQuestion, ...]:
    """Ask the questions, and return each with its calls, in the order of `questions`.

    If the first question shows that no question can be answered, return only the first. `within`: seconds for all
    questions together. The last call of a question that is not answered by then has the error `TIMEOUT`.
    """
    until = asyncio.get_running_loop().time() + within
    first = await _asked(llm, questions[0], until)
    reply = first.last.reply
    if isinstance(reply, CallError) and (reply.everyone or reply.kind in HOPELESS or out_of_reach(reply)):
        return (first,)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_asked(llm, question, until)) for question in questions[1:]]
    return (first, *(task.result() for task in tasks))


async def _asked(llm: LlmClient, question: SampleQuestion, until: float) -> AskedQuestion:
    calls: list[Call] = []
    request = question.request
    try:
        async with asyncio.timeout_at(until):
            anew = True
            while anew:
                with llm.dialect_turn(request) as turn:
                    await turn.wait()
                    reply = checked_reply(request, await llm.ask(request))
                    dialect = llm.dialect_of(request)
                    call = Call(replace(dialect, rung=reply.rung or dialect.rung), reply, _problem(question, reply))
                    calls.append(call)
                    anew = (await llm.learn(request, reply, usable=call.read)).ask_again
    except TimeoutError:
        calls.append(Call(llm.dialect_of(request), CallError(ErrorKind.TIMEOUT, "no answer in time")))
    parameters = {"temperature": request.temperature, **request.options}
    optional = {name: value for name, value in parameters.items() if value is not None}
    return AskedQuestion(question.operation, tuple(calls), optional, request.decision)


def _problem(question: SampleQuestion, reply: Reply) -> str | None:
    """Return the reason why workers could not use the answer; None if it is usable, or if the reply is an error."""
    if isinstance(reply, CallError):
        return None
    try:
        question.parse(read_answer(reply.content, question.request.schema).value)
    except (Malformed, InvalidAnswer) as reason:
        return str(reason)
    return None
