"""The services of specs 1 and 2, through the workers: evaluate one item or many, and answer iteratively."""

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

MAX_CONCURRENT = 50  # items of one call in flight (spec 1)
SERVICE, ANSWERS = "evaluation", "answer"  # under these names the calls of each service are shown together
ITEM_ID = "question"  # an answer without source data has no record to be named after

Result = TypeVar("Result", EvaluationResult, FieldsResult)


class AIEvaluationService:
    """Every call is items in the ledger, evaluated by the workers; their results come back as values.

    >>> service = get_ai_evaluation_service()
    >>> result = await service.filter({"title": "Cancer treatment"}, "Is this about oncology?")
    >>> result.value, result.confidence, result.reasoning, result.error

    Items are dicts, or whatever `to_item` takes. Batch methods return results in the order of the items:
    `zip(items, results)`. What goes wrong with one item is its result's `error`, with a `value` (or `fields`) of None;
    it disturbs no other item. Where the endpoint refuses the key or the model, the batch is paused after a few calls,
    and every item that was not evaluated has the reason as its `error`. Many items in one batch cost less than many
    calls for one item; of these, calls of the same question at the same time share a batch.

    `max_concurrent` bounds the items of a batch that are in flight at once; the workers' own limits hold as well.
    `fresh` asks the model even where an answer to the same question is kept; the new answer is kept in its place.

    Every method raises:
        InvalidParameters: the parameters or an item are wrong. Nothing is written, and no item is evaluated.
        ConfigurationError: no broker or ledger is named.
        LedgerUnavailable: the ledger does not answer.
        WaitTimeout: the batch took longer than `timeout`; it goes on.

    A call that is cancelled leaves its batch to the workers, too.
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
        """
        Args:
            client: what to submit with; it stays open. None: a client of its own, after the settings of the process.
            model: the model to ask; None: the one of the settings, else the workers' own.
            timeout: seconds to wait for one batch at most; None waits as long as it takes, for a worker too.
            steering: of every batch, as of `Client.submit`.
            service: under which name its calls are shown together, by the hour, beside the batches that people follow.
            api_key_id: the gateway's key on whose behalf it asks; None: no key.
        """
        self._client = ServiceClient(client)
        self._timeout = timeout
        self._model = model
        self._steering = steering
        self._service = service
        self._api_key_id = api_key_id

    async def filter(
        self, item: object, criteria: str, include_reasoning: bool = True, *, fresh: bool = False
    ) -> EvaluationResult:
        """Return whether the item meets the criteria: True or False."""
        return await self._result(EvaluationResult, _filter(criteria, include_reasoning), item, fresh)

    async def filter_batch(
        self,
        items: Iterable[object],
        criteria: str,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
        *,
        fresh: bool = False,
    ) -> list[EvaluationResult]:
        """Return whether each item meets the criteria: True or False."""
        params = _filter(criteria, include_reasoning)
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
        """Rate the item from `min_value` to `max_value`, as a float; with an interval, only at its steps."""
        params = _score(criteria, min_value, max_value, interval, include_reasoning)
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
        """Rate each item from `min_value` to `max_value`, as a float; with an interval, only at its steps."""
        params = _score(criteria, min_value, max_value, interval, include_reasoning)
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
        """One value of the type asked for; None without an error where the item does not hold it."""
        params = _extract(instruction, output_type, enum_values, include_reasoning)
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
        """One value of the type asked for from each item; None without an error where the item does not hold it."""
        params = _extract(instruction, output_type, enum_values, include_reasoning)
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
        """Every property of a JSON schema; None for one that the item does not hold.

        Args:
            item: the source data.
            schema: what to extract: `{"type": "object", "properties": {...}}`.
            instructions: what the extraction is about.
            field_instructions: how to fill single properties, by their names.
            include_reasoning: ask for an explanation of the whole.
            fresh: past the answers that are kept.
        """
        params = _extract_fields(schema, instructions, field_instructions, include_reasoning)
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
        """Every property of a JSON schema from each item; None for one that the item does not hold."""
        params = _extract_fields(schema, instructions, field_instructions, include_reasoning)
        return await self._results(FieldsResult, params, items, max_concurrent, fresh)

    def close(self) -> None:
        """Give its own connections back; a later call connects anew. A client that was given stays open."""
        self._client.close()

    async def _result(self, kind: type[Result], params: dict[str, Any], item: object, fresh: bool) -> Result:
        question = self._question(params, fresh)
        return _as(kind, await self._client.connected.calls.ask(question, item, within=self._timeout))

    async def _results(
        self, kind: type[Result], params: dict[str, Any], items: Iterable[object], max_concurrent: int, fresh: bool
    ) -> list[Result]:
        question = self._question(params, fresh)
        came = await self._client.connected.calls.ask_all(
            question, items, max_concurrent=max_concurrent, within=self._timeout
        )
        return [_as(kind, one) for one in came]

    def _question(self, params: dict[str, Any], fresh: bool) -> CallQuestion:
        return CallQuestion(
            parse_operation(params),
            service=self._service,
            model=self._model,
            steering=self._steering,
            fresh=fresh,
            api_key_id=self._api_key_id,
        )


def _as(kind: type[Result], came: CallResult) -> Result:
    return came.result if isinstance(came.result, kind) else kind(error=came.reason)


def _filter(criteria: str, include_reasoning: bool) -> dict[str, Any]:
    return {"operation": "filter", "criteria": criteria, "include_reasoning": include_reasoning}


def _score(
    criteria: str, min_value: float, max_value: float, interval: float | None, include_reasoning: bool
) -> dict[str, Any]:
    return {
        "operation": "score",
        "criteria": criteria,
        "min_value": min_value,
        "max_value": max_value,
        "interval": interval,
        "include_reasoning": include_reasoning,
    }


def _extract(
    instruction: str, output_type: OutputType, enum_values: list[str] | None, include_reasoning: bool
) -> dict[str, Any]:
    return {
        "operation": "extract",
        "instruction": instruction,
        "output_type": output_type,
        "enum_values": enum_values,
        "include_reasoning": include_reasoning,
    }


def _extract_fields(
    schema: dict[str, Any], instructions: str, field_instructions: dict[str, str] | None, include_reasoning: bool
) -> dict[str, Any]:
    return {
        "operation": "extract_fields",
        "schema": schema,
        "instructions": instructions,
        "field_instructions": field_instructions,
        "include_reasoning": include_reasoning,
    }


def get_ai_evaluation_service() -> AIEvaluationService:
    """The service of this process, after its settings; connects on first use, and anew after `close`."""
    return _service_of(os.getpid())


@functools.cache
def _service_of(_process: int) -> AIEvaluationService:
    """One for each process: a fork must not share its parent's connections."""
    return AIEvaluationService()


class IterativeAnswerService:
    """Every answer is an item in the ledger; calls of the same question at the same time share a batch."""

    def __init__(
        self,
        score_threshold: float = 0.8,
        *,
        client: Client | None = None,
        timeout: float | None = None,
        service: str = ANSWERS,
        api_key_id: str | None = None,
    ) -> None:
        """Args:
            score_threshold: an answer of this score, from 0.0 to 1.0, is accepted.
            client: what to submit with; it stays open. None: a client of its own, after the settings of the process.
            timeout: seconds to wait for one answer at most; None waits as long as it takes, for a worker too.
            service: under which name its calls are shown together, by the hour, beside the batches that people follow.
            api_key_id: the gateway's key on whose behalf it asks; None: no key.

        Raises `InvalidParameters`: a threshold that is none.
        """
        parse_operation(_params("-", "-", "-", score_threshold=score_threshold))
        self.score_threshold = score_threshold
        self._client = ServiceClient(client)
        self._timeout = timeout
        self._service = service
        self._api_key_id = api_key_id

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
        """The first answer whose score reaches the threshold, else the best of all iterations.

        Args:
            instruct: the question, or the task.
            resp_format: what the answer should look like.
            eval_crit: what makes an answer good.
            iter_max: generate and evaluate at most so many times, from 1 to 10.
            model: the model to ask. None: the one of the settings, else the workers' own; spec 2 has "gpt-4o", which
                only endpoints that serve this model could answer.
            score_threshold: instead of the service's own; 0.0 is a threshold, which every evaluated answer reaches.
            parallel_attempts: answers generated and evaluated side by side in each iteration, from 1 to 10.
            fresh: past the answers that are kept of the same questions.

        Returns:
            A dict of `final_answer` (str), `iterations` (`IterationData` in the order made, failed ones among them),
            `success` (bool: the final answer reached the threshold), `total_iterations` (int), `final_score` (float).

        Raises:
            InvalidParameters: naming the parameter that is wrong. Nothing is written.
            OperationFailed: no attempt could be evaluated; with the kind of error and its message.
            ConfigurationError: no broker or ledger is named.
            LedgerUnavailable: the ledger does not answer.
            WaitTimeout: it took longer than the timeout; the batch goes on.
        """
        operation = parse_operation(
            _params(
                instruct,
                resp_format,
                eval_crit,
                iter_max=iter_max,
                score_threshold=self.score_threshold if score_threshold is None else score_threshold,
                parallel_attempts=parallel_attempts,
            )
        )
        question = CallQuestion(operation, service=self._service, model=model, fresh=fresh, api_key_id=self._api_key_id)
        return dict(answer_of(await self._client.connected.calls.ask(question, {"id": ITEM_ID}, within=self._timeout)))

    def close(self) -> None:
        """Give its own connections back; a later call connects anew. A client that was given stays open."""
        self._client.close()


def _params(instruct: str, resp_format: str, eval_crit: str, **others: object) -> dict[str, object]:
    return {"operation": "answer", "instruct": instruct, "resp_format": resp_format, "eval_crit": eval_crit, **others}


def answer_of(came: CallResult) -> AnswerResult:
    """The answer that a call came to. Raises `OperationFailed` where no attempt could be evaluated, saying why."""
    if came.detail is not None:
        return AnswerResult.model_validate(came.detail)
    if came.error_kind is not None and came.result is not None:
        raise OperationFailed(f"{came.error_kind}: {came.result.error}")
    raise OperationFailed(came.reason)


class ServiceClient:
    """Connects on first use, and anew after `close`; may be used in any thread."""

    def __init__(self, client: Client | None) -> None:
        """`client` stays open. None: a client of its own, after the settings of the process."""
        self._given = client
        self._own: Client | None = None
        self._lock = Lock()

    @property
    def connected(self) -> Client:
        """The client. Raises `ConfigurationError` where no broker or ledger is named."""
        if self._given is not None:
            return self._given
        with self._lock:
            self._own = self._own or Client()
            return self._own

    def close(self) -> None:
        """Give its own connections back; a client that was given stays open."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.close()
