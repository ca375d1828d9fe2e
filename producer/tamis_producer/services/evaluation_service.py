"""The evaluation service, for one item or many, and the answer service, which refines answers step by step."""

import functools
import os
from collections.abc import Iterable
from threading import Lock
from typing import Any, TypeVar

from tamis_schemas import (
    NO_STEERING,
    AnswerResult,
    EvaluationResult,
    FieldsResult,
    OperationFailed,
    Steering,
    parse_operation,
)
from tamis_schemas.operations.extract import OutputType

from ..calls.single_calls import CallQuestion
from ..client.client import Client
from ..ledger import CallResult

MAX_CONCURRENT = 50  # items of one call in flight, as specified
SERVICE, ANSWERS = "evaluation", "answer"  # names under which each service's calls are shown together
ITEM_ID = "question"  # the name of an answer without source data

Result = TypeVar("Result", EvaluationResult, FieldsResult)


class AIEvaluationService:
    """The evaluation service: each call writes items to the ledger, and workers evaluate them.

    >>> service = get_ai_evaluation_service()
    >>> result = await service.filter({"title": "Cancer treatment"}, "Is this about oncology?")
    >>> result.value, result.confidence, result.reasoning, result.error

    Items are dicts, or other objects that `to_item` accepts. Batch methods return results in the order of the items. If
    an item fails, its result has an `error`, and None as `value` (or `fields`); the other items continue. If the
    endpoint refuses the key or the model, the batch is paused, and items without a result have this reason as `error`.

    `max_concurrent` limits the items of a batch in flight, within the workers' own limits. `fresh` asks the model even
    if the answer is cached; the new answer replaces the cached answer. `include_reasoning` also asks for the reasons of
    an answer.

    Every method raises:
        InvalidParameters: the parameters or an item are wrong. Nothing is written, and no item is evaluated.
        ConfigurationError: no broker or ledger is configured.
        LedgerUnavailable: the ledger does not answer.
        WaitTimeout: the batch took longer than `timeout`; it continues.

    If a call is cancelled, the workers finish its batch.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        model: str | None = None,
        timeout: float | None = None,
        steering: Steering = NO_STEERING,
        service: str = SERVICE,
        api_key_id: str | None = None,
    ) -> None:
        """Create the service.

        Args:
            client: submits the batches; it stays open. None: a new client with the settings of the process.
            model: the model to ask. None: the model of the settings, else the workers' model.
            timeout: longest wait for one batch in seconds, even if no worker runs. None: no limit.
            steering: reasoning effort, service tier, and further fields and headers of the requests, for every batch.
            service: name under which lists of batches show these calls together, by hour.
            api_key_id: the gateway's key that makes the calls. None: no key.
        """
        self._client = ServiceClient(client)
        self._timeout = timeout
        self._question = functools.partial(
            CallQuestion, service=service, model=model, steering=steering, api_key_id=api_key_id
        )

    async def filter(
        self, item: object, criteria: str, include_reasoning: bool = True, *, fresh: bool = False
    ) -> EvaluationResult:
        """Return a result with the value True if the item meets the criteria, and False if not."""
        return await self._result(EvaluationResult, _asked("filter", include_reasoning, criteria=criteria), item, fresh)

    async def filter_batch(
        self,
        items: Iterable[object],
        criteria: str,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
        *,
        fresh: bool = False,
    ) -> list[EvaluationResult]:
        """Return a result for each item, with the value True if the item meets the criteria, and False if not."""
        params = _asked("filter", include_reasoning, criteria=criteria)
        return await self._results(EvaluationResult, params, items, max_concurrent, fresh)

    async def score(
        self,
        item: object,
        criteria: str,
        min_value: float = 0,
        max_value: float = 1,
        interval: float | None = None,
        include_reasoning: bool = True,
        *,
        fresh: bool = False,
    ) -> EvaluationResult:
        """Return a result with the item's score: a float from `min_value` to `max_value`.

        If `interval` is set, scores are in steps of this size.
        """
        params = _asked(
            "score", include_reasoning, criteria=criteria, min_value=min_value, max_value=max_value, interval=interval
        )
        return await self._result(EvaluationResult, params, item, fresh)

    async def score_batch(
        self,
        items: Iterable[object],
        criteria: str,
        min_value: float = 0,
        max_value: float = 1,
        interval: float | None = None,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
        *,
        fresh: bool = False,
    ) -> list[EvaluationResult]:
        """Return a result with the score of each item: a float from `min_value` to `max_value`.

        If `interval` is set, scores are in steps of this size.
        """
        params = _asked(
            "score", include_reasoning, criteria=criteria, min_value=min_value, max_value=max_value, interval=interval
        )
        return await self._results(EvaluationResult, params, items, max_concurrent, fresh)

    async def extract(
        self,
        item: object,
        instruction: str,
        output_type: OutputType = "text",
        enum_values: list[str] | None = None,
        include_reasoning: bool = True,
        *,
        fresh: bool = False,
    ) -> EvaluationResult:
        """Return a result with a value of the requested type.

        If the item contains no such value, the result has neither value nor error.
        """
        params = _asked(
            "extract", include_reasoning, instruction=instruction, output_type=output_type, enum_values=enum_values
        )
        return await self._result(EvaluationResult, params, item, fresh)

    async def extract_batch(
        self,
        items: Iterable[object],
        instruction: str,
        output_type: OutputType = "text",
        enum_values: list[str] | None = None,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
        *,
        fresh: bool = False,
    ) -> list[EvaluationResult]:
        """Return a result with a value of the requested type for each item.

        If an item contains no such value, its result has neither value nor error.
        """
        params = _asked(
            "extract", include_reasoning, instruction=instruction, output_type=output_type, enum_values=enum_values
        )
        return await self._results(EvaluationResult, params, items, max_concurrent, fresh)

    async def extract_fields(
        self,
        item: object,
        schema: dict[str, Any],
        instructions: str,
        field_instructions: dict[str, str] | None = None,
        include_reasoning: bool = True,
        *,
        fresh: bool = False,
    ) -> FieldsResult:
        """Return a value for every property of a JSON schema; None if the item does not contain the property.

        Args:
            item: the source data.
            schema: the properties to extract: `{"type": "object", "properties": {...}}`.
            instructions: the subject of the extraction.
            field_instructions: instructions for single properties, by name.
            include_reasoning: ask for one explanation of all values.
            fresh: ignore cached answers.
        """
        texts = {"instructions": instructions, "field_instructions": field_instructions}
        params = _asked("extract_fields", include_reasoning, schema=schema, **texts)
        return await self._result(FieldsResult, params, item, fresh)

    async def extract_fields_batch(
        self,
        items: Iterable[object],
        schema: dict[str, Any],
        instructions: str,
        field_instructions: dict[str, str] | None = None,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
        *,
        fresh: bool = False,
    ) -> list[FieldsResult]:
        """Return, for each item, a value for every property of a JSON schema.

        The value is None if the item does not contain the property.
        """
        texts = {"instructions": instructions, "field_instructions": field_instructions}
        params = _asked("extract_fields", include_reasoning, schema=schema, **texts)
        return await self._results(FieldsResult, params, items, max_concurrent, fresh)

    def close(self) -> None:
        """Close the service's own client; a later call connects again. A client from the caller stays open."""
        self._client.close()

    async def _result(self, kind: type[Result], params: dict[str, Any], item: object, fresh: bool) -> Result:
        question = self._question(parse_operation(params), fresh=fresh)
        return _as(kind, await self._client.connected.calls.ask(question, item, within=self._timeout))

    async def _results(
        self, kind: type[Result], params: dict[str, Any], items: Iterable[object], max_concurrent: int, fresh: bool
    ) -> list[Result]:
        question = self._question(parse_operation(params), fresh=fresh)
        calls = await self._client.connected.calls.ask_all(
            question, items, max_concurrent=max_concurrent, within=self._timeout
        )
        return [_as(kind, result) for result in calls]


def _as(kind: type[Result], call: CallResult) -> Result:
    return call.result if isinstance(call.result, kind) else kind(error=call.reason)


def _asked(operation: str, include_reasoning: bool, **fields: object) -> dict[str, Any]:
    return {"operation": operation, "include_reasoning": include_reasoning, **fields}


def get_ai_evaluation_service() -> AIEvaluationService:
    """Return the service of this process, with the settings of this process.

    The service connects on first use, and again on first use after `close`.
    """
    return _service_of(os.getpid())


@functools.cache
def _service_of(_process: int) -> AIEvaluationService:
    """Return the service of a process.

    The process is a parameter, because a fork must not use its parent's connections.
    """
    return AIEvaluationService()


class IterativeAnswerService:
    """The answer service: a model generates, evaluates and refines an answer, until the answer is good enough.

    Each answer is an item in the ledger. Simultaneous calls of the same question share a batch.
    """

    def __init__(
        self,
        score_threshold: float = 0.8,
        *,
        client: Client | None = None,
        timeout: float | None = None,
        service: str = ANSWERS,
        api_key_id: str | None = None,
    ) -> None:
        """Create the service.

        Args:
            score_threshold: score, from 0.0 to 1.0, at which an answer is accepted.
            client: submits the batches; it stays open. None: a new client with the settings of the process.
            timeout: longest wait for one answer in seconds, even if no worker runs. None: no limit.
            service: name under which lists of batches show these calls together, by hour.
            api_key_id: the gateway's key that makes the calls. None: no key.

        Raises `InvalidParameters` if the threshold is not between 0 and 1.
        """
        parse_operation(_params("-", "-", "-", score_threshold=score_threshold))
        self.score_threshold = score_threshold
        self._client = ServiceClient(client)
        self._timeout = timeout
        self._question = functools.partial(CallQuestion, service=service, api_key_id=api_key_id)

    async def generate_answer(
        self,
        instruct: str,
        resp_format: str,
        eval_crit: str,
        iter_max: int = 3,
        model: str | None = None,
        score_threshold: float | None = None,
        *,
        parallel_attempts: int = 1,
        fresh: bool = False,
    ) -> dict[str, Any]:
        """Return the first answer whose score reaches the threshold. If there is none, return the best of all answers.

        Args:
            instruct: the question, or the task.
            resp_format: the form of the answer.
            eval_crit: the criteria of a good answer.
            iter_max: largest number of iterations, from 1 to 10.
            model: the model to ask. None: the model of the settings, else the workers' model.
            score_threshold: replaces the service's threshold. At 0.0, every evaluated answer is accepted.
            parallel_attempts: answers generated and evaluated side by side in each iteration, from 1 to 10.
            fresh: ignore cached answers.

        Returns:
            A dict of `final_answer` (str), `iterations` (`IterationData`, oldest first, including failed attempts),
            `success` (bool: the final answer reached the threshold), `total_iterations` (int), `final_score` (float).

        Raises:
            InvalidParameters: a parameter is wrong; the message names it. Nothing is written.
            OperationFailed: no attempt could be evaluated; the message has the kind of error.
            ConfigurationError: no broker or ledger is configured.
            LedgerUnavailable: the ledger does not answer.
            WaitTimeout: the answer took longer than the timeout; the batch continues.
        """
        threshold = self.score_threshold if score_threshold is None else score_threshold
        tries = {"iter_max": iter_max, "parallel_attempts": parallel_attempts}
        params = _params(instruct, resp_format, eval_crit, score_threshold=threshold, **tries)
        question = self._question(parse_operation(params), model=model, fresh=fresh)
        return dict(answer_of(await self._client.connected.calls.ask(question, {"id": ITEM_ID}, within=self._timeout)))

    def close(self) -> None:
        """Close the service's own client; a later call connects again. A client from the caller stays open."""
        self._client.close()


def _params(instruct: str, resp_format: str, eval_crit: str, **others: object) -> dict[str, object]:
    return {"operation": "answer", "instruct": instruct, "resp_format": resp_format, "eval_crit": eval_crit, **others}


def answer_of(came: CallResult) -> AnswerResult:
    """Return the answer of a call. Raises `OperationFailed` with the reason if no attempt could be evaluated."""
    if came.detail is not None:
        return AnswerResult.model_validate(came.detail)
    if came.error_kind is not None and came.result is not None:
        raise OperationFailed(f"{came.error_kind}: {came.result.error}")
    raise OperationFailed(came.reason)


class ServiceClient:
    """The client of a service, for any thread. It connects on first use, and again on first use after `close`."""

    def __init__(self, client: Client | None) -> None:
        """Prepare the client, without a connection.

        `client` stays open. None: a new client with the settings of the process.
        """
        self._given = client
        self._own: Client | None = None
        self._lock = Lock()

    @property
    def connected(self) -> Client:
        """The client. Raises `ConfigurationError` if no broker or ledger is configured."""
        if self._given is not None:
            return self._given
        with self._lock:
            self._own = self._own or Client()
            return self._own

    def close(self) -> None:
        """Close the service's own client; a client from the caller stays open."""
        with self._lock:
            client, self._own = self._own, None
        if client is not None:
            client.close()
