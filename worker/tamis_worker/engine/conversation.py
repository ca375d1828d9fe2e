"""A conversation: the questions about one item, asked round by round as the operation's program demands."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from tamis_schemas import NO_STEERING, Provenance, Steering, Tier

from ..config.settings import WorkerSettings
from ..evaluation import RECALL_THRESHOLD
from ..ledger.batches import BatchTerms
from ..ledger.outcomes import CallsOfClaim
from ..llm.chat import ChatRequest
from ..llm.prompt_cache import Breakpoint, cache_options
from ..llm.token_probability import options as token_options
from ..operations import Decided, Failure
from ..operations.program import Answered, EvaluationFailed, OperationProgram, Question, QuestionResult, Unanswered
from ..telemetry.chat import ChatSpan
from .cache import fingerprint
from .call_accounting import CallAccounting
from .item_end import Retried, untold
from .question_runner import QuestionRunner
from .retry import RetryPolicy
from .transcript import TranscriptWriter


@dataclass(frozen=True)
class CallPolicy:
    """The limits and options of an item's model calls, from a worker's settings."""

    retry: RetryPolicy
    temperature: float | None
    max_output_tokens: int
    max_prompt_chars: int = 100_000  # of an item's fields
    recall_threshold: float = RECALL_THRESHOLD  # if an extraction from chunks scores lower, a model judges its recall
    flex_timeout: float | None = None  # seconds of one call at the flex tier; None: the same as at other tiers
    logprobs: bool = True  # request the probabilities of the tokens for answers that decide
    cache_breakpoint: Breakpoint | None = None  # the mark after a prompt's common beginning; None: no mark

    @classmethod
    def of(cls, settings: WorkerSettings) -> Self:
        """Return the policy for a worker's settings."""
        return cls(
            retry=RetryPolicy(max_calls=settings.max_calls, deadline=settings.item_deadline),
            temperature=settings.temperature,
            max_output_tokens=settings.max_output_tokens,
            max_prompt_chars=settings.max_prompt_chars,
            recall_threshold=settings.recall_threshold,
            flex_timeout=settings.flex_call_timeout,
            logprobs=settings.logprobs,
            cache_breakpoint=settings.cache_breakpoint,
        )


@dataclass(eq=False)
class Conversation:
    """The run of one operation's program (the sequence of its questions) for an item, and the cost of that run.

    `writer` records every call. If it is None, there is no transcript. `retried` is called for each repeated call.
    """

    runner: QuestionRunner
    policy: CallPolicy
    terms: BatchTerms
    model: str
    writer: TranscriptWriter | None = None
    retried: Retried = untold

    def __post_init__(self) -> None:
        self._accounting = CallAccounting(retried=self.retried)
        self._first_key: str | None = None
        self._questions = 0

    async def run(self, program: OperationProgram) -> Decided | Failure:
        """Run the program to its end, and return its result. Raise `Halted` if the item's claim must be released."""
        try:
            questions = next(program)
            while True:
                questions = program.send(await self._results(questions))
        except StopIteration as ended:
            evaluation: Decided = ended.value
            return evaluation
        except EvaluationFailed as ended:
            return Failure(ended.kind, ended.message, ended.panel)
        finally:
            program.close()

    @property
    def rated(self) -> ChatSpan | None:
        """The open trace span of the call with the first valid answer. None if that answer came from the cache."""
        return self._accounting.rated

    @property
    def response_id(self) -> str | None:
        """The endpoint's id of the answer. None if there are several answers, or if the answer came from the cache."""
        return self.rated.response_id if self.rated is not None and self._accounting.answers == 1 else None

    @property
    def transcript(self) -> CallsOfClaim | None:
        """The calls made so far. None if no call was made, or if no transcript is written."""
        return None if self.writer is None else self.writer.written

    def provenance(self) -> Provenance:
        """Return the origin and the cost of the evaluation. `prompt_sha256` is the cache key of the first question."""
        return Provenance(
            model=self._accounting.model,
            prompt_sha256=self._first_key,
            usage=self._accounting.usage,
            cost=self._accounting.cost,
            tier=self._accounting.tier,
            calls=self._accounting.calls,
            unanswered=self._accounting.unanswered,
            cached=self._questions > 0 and self._accounting.cached == self._questions,
            latency_ms=self._accounting.latency_ms,
            deviations=self._accounting.deviations,
        )

    async def _results(self, questions: Sequence[Question[Any]]) -> tuple[QuestionResult, ...]:
        self._questions += len(questions)
        try:
            if len(questions) == 1:
                return (await self._result(questions[0]),)
            return await self._side_by_side(questions)
        finally:
            self._accounting.end_round()

    async def _side_by_side(self, questions: Sequence[Question[Any]]) -> tuple[QuestionResult, ...]:
        tasks = [asyncio.create_task(self._result(question)) for question in questions]
        try:
            # If one is halted, the other calls still finish: their answers are cached.
            await asyncio.wait(tasks)
            return tuple(task.result() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
                if task.done() and not task.cancelled():
                    task.exception()  # of several halted questions, one raises

    async def _result(self, question: Question[Any]) -> QuestionResult:
        request = chat_request(question, question.model or self.model, self.policy, self.terms.steering)
        key = fingerprint(request, question.sample)
        self._first_key = self._first_key or key
        transcript = None
        if self.writer is not None:
            transcript = self.writer.question(request.schema_name, question.sample, key)
        accounting = self._accounting.of_question()
        try:
            value = await self.runner.ask(
                request,
                question.parse,
                accounting,
                self.terms,
                key=key,
                fresh=not self.terms.use_cache,
                transcript=transcript,
            )
        finally:
            self._accounting.add(accounting)
        if isinstance(value, Failure):
            return Unanswered(value.kind, value.message, accounting.bill)
        return Answered(value, accounting.bill)


def chat_request(
    question: Question[Any], model: str, policy: CallPolicy, steering: Steering = NO_STEERING
) -> ChatRequest:
    """Return the request that asks `model` a question. The question's cache key is computed from this request."""
    usual = policy.temperature
    temperature = usual if question.temperature is None or usual is None else question.temperature
    options = cache_options(model, question.messages, question.schema, policy.cache_breakpoint)
    if policy.logprobs and question.decision is not None:
        options |= token_options(steering.options)
    return ChatRequest(
        model=model,
        messages=question.messages,
        schema_name=question.schema_name,
        schema=question.schema,
        temperature=temperature,
        max_tokens=max(policy.max_output_tokens, question.tokens),
        options=options | steering.options,
        headers=steering.extra_headers,
        timeout=policy.flex_timeout if steering.tier is Tier.FLEX else None,
        decision=question.decision,
    )
