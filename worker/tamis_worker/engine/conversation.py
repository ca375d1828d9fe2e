"""A conversation: the questions of one item's program, asked one round after the other."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tamis_schemas import NO_STEERING, Provenance, Steering, Tier

from ..ledger.batches import BatchTerms
from ..ledger.transcripts import CallsOfClaim
from ..llm.chat import ChatRequest
from ..llm.prompt_cache import cache_options
from ..operations import Decided, Failure
from ..operations.program import Answered, EvaluationFailed, OperationProgram, Question, QuestionResult, Unanswered
from ..telemetry.chat import ChatSpan
from .question_runner import CallAccounting, CallPolicy, QuestionRunner, fingerprint
from .transcript import TranscriptWriter


class Conversation:
    """Runs one program, and knows afterwards what it cost."""

    def __init__(
        self,
        asker: QuestionRunner,
        patience: CallPolicy,
        terms: BatchTerms,
        model: str,
        transcript: TranscriptWriter | None = None,
    ) -> None:
        """`transcript` gets every call; None: nothing is kept of them."""
        self._transcript = transcript
        self._asker = asker
        self._patience = patience
        self._terms = terms
        self._model = model
        self._tally = CallAccounting()
        self._first_key: str | None = None
        self._questions = 0

    async def run(self, program: OperationProgram) -> Decided | Failure:
        """What the program comes to. Raises `Halted` where the worker stops meanwhile, or the batch is not to go on."""
        try:
            questions = next(program)
            while True:
                questions = program.send(await self._readings(questions))
        except StopIteration as ended:
            evaluation: Decided = ended.value
            return evaluation
        except EvaluationFailed as ended:
            return Failure(ended.kind, ended.message)
        finally:
            program.close()

    @property
    def rated(self) -> ChatSpan | None:
        """The span of the call whose answer the first question got, still open; None: it came from the cache."""
        return self._tally.rated

    @property
    def transcript(self) -> CallsOfClaim | None:
        """What was asked and answered so far; None where nothing was, or it is not kept."""
        return None if self._transcript is None else self._transcript.written

    def provenance(self) -> Provenance:
        """How the evaluation came about; the prompt is that of the first question."""
        return Provenance(
            model=self._tally.model,
            prompt_sha256=self._first_key,
            usage=self._tally.usage,
            cost=self._tally.cost,
            tier=self._tally.tier,
            calls=self._tally.calls,
            unanswered=self._tally.unanswered,
            cached=self._questions > 0 and self._tally.cached == self._questions,
            latency_ms=self._tally.latency_ms,
            deviations=self._tally.deviations,
        )

    async def _readings(self, questions: Sequence[Question[Any]]) -> tuple[QuestionResult, ...]:
        self._questions += len(questions)
        try:
            if len(questions) == 1:
                return (await self._reading(questions[0]),)
            return await self._side_by_side(questions)
        finally:
            self._tally.end_round()

    async def _side_by_side(self, questions: Sequence[Question[Any]]) -> tuple[QuestionResult, ...]:
        tasks = [asyncio.create_task(self._reading(question)) for question in questions]
        try:
            # Where one is halted, the calls of the others are finished all the same: their answers are kept.
            await asyncio.wait(tasks)
            return tuple(task.result() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
                if task.done() and not task.cancelled():
                    task.exception()  # of several that were halted, one is told

    async def _reading(self, question: Question[Any]) -> QuestionResult:
        request = chat_request(question, self._model, self._patience, self._terms.steering)
        key = fingerprint(request, question.sample)
        self._first_key = self._first_key or key
        kept_in = None
        if self._transcript is not None:
            kept_in = self._transcript.question(request.schema_name, question.sample, key)
        read = await self._asker.ask(
            request,
            question.parse,
            self._tally,
            self._terms,
            key=key,
            fresh=not self._terms.use_cache,
            transcript=kept_in,
        )
        return Unanswered(read.kind, read.message) if isinstance(read, Failure) else Answered(read)


def chat_request(
    question: Question[Any], model: str, patience: CallPolicy, steering: Steering = NO_STEERING
) -> ChatRequest:
    """A question as it is put to a model: what determines its answer, and so its key in the cache."""
    set_to = patience.temperature
    asked = set_to if question.temperature is None or set_to is None else question.temperature
    return ChatRequest(
        model=model,
        messages=question.messages,
        schema_name=question.schema_name,
        schema=question.schema,
        temperature=asked,
        max_tokens=max(patience.max_output_tokens, question.tokens),
        options=cache_options(model, question.messages, question.schema, patience.cache_breakpoint) | steering.options,
        headers=steering.extra_headers,
        timeout=patience.flex_timeout if steering.tier is Tier.FLEX else None,
    )
