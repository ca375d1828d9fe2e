"""The AI evaluation service of spec 1: filter, score and extract, one item or many, through the workers."""

import functools
import os
from collections.abc import Iterable
from typing import Any, TypeVar

from tamis_schemas import NO_STEERING, EvaluationResult, FieldsResult, Steering, parse_operation
from tamis_schemas.operations.extract import OutputType

from .client import Client
from .service_client import ServiceClient

MAX_CONCURRENT = 50  # items of one call in flight (spec 1)

Result = TypeVar("Result", EvaluationResult, FieldsResult)


class AIEvaluationService:
    """Every call is a batch of its own in the ledger, evaluated by the workers; its results come back as values.

    >>> service = get_ai_evaluation_service()
    >>> result = await service.filter({"title": "Cancer treatment"}, "Is this about oncology?")
    >>> result.value, result.confidence, result.reasoning, result.error

    Items are dicts, or whatever `to_item` takes. Batch methods return results in the order of the items:
    `zip(items, results)`. What goes wrong with one item is its result's `error`, with a `value` (or `fields`) of None;
    it disturbs no other item. Where the endpoint refuses the key or the model, the batch is paused after a few calls,
    and every item that was not evaluated has the reason as its `error`. Many items in one batch cost far less than many
    calls for one item.

    `max_concurrent` bounds the items of a batch that are in flight at once; the workers' own limits hold as well.

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
    ) -> None:
        """
        Args:
            client: what to submit with; it stays open. None: a client of its own, after the settings of the process.
            model: the model to ask; None: the one of the settings, else the workers' own.
            timeout: seconds to wait for one batch at most; None waits as long as it takes, for a worker too.
            steering: of every batch, as of `Client.submit`.
        """
        self._client = ServiceClient(client, timeout=timeout)
        self._model = model
        self._steering = steering

    async def filter(self, item: object, criteria: str, include_reasoning: bool = True) -> EvaluationResult:
        """Whether the item meets the criteria: True or False."""
        (result,) = await self.filter_batch([item], criteria, include_reasoning)
        return result

    async def filter_batch(
        self,
        items: Iterable[object],
        criteria: str,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
    ) -> list[EvaluationResult]:
        """Whether each item meets the criteria: True or False."""
        params = {"operation": "filter", "criteria": criteria, "include_reasoning": include_reasoning}
        return await self._results(EvaluationResult, params, items, max_concurrent)

    async def score(
        self,
        item: object,
        criteria: str,
        min_value: float = 0,
        max_value: float = 1,
        interval: float | None = None,
        include_reasoning: bool = True,
    ) -> EvaluationResult:
        """How the item rates from `min_value` to `max_value`, a float; with an interval, only at its steps."""
        (result,) = await self.score_batch([item], criteria, min_value, max_value, interval, include_reasoning)
        return result

    async def score_batch(
        self,
        items: Iterable[object],
        criteria: str,
        min_value: float = 0,
        max_value: float = 1,
        interval: float | None = None,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
    ) -> list[EvaluationResult]:
        """How each item rates from `min_value` to `max_value`, a float; with an interval, only at its steps."""
        params = {
            "operation": "score",
            "criteria": criteria,
            "min_value": min_value,
            "max_value": max_value,
            "interval": interval,
            "include_reasoning": include_reasoning,
        }
        return await self._results(EvaluationResult, params, items, max_concurrent)

    async def extract(
        self,
        item: object,
        instruction: str,
        output_type: OutputType = "text",
        enum_values: list[str] | None = None,
        include_reasoning: bool = True,
    ) -> EvaluationResult:
        """One value of the type asked for; None without an error where the item does not hold it."""
        (result,) = await self.extract_batch([item], instruction, output_type, enum_values, include_reasoning)
        return result

    async def extract_batch(
        self,
        items: Iterable[object],
        instruction: str,
        output_type: OutputType = "text",
        enum_values: list[str] | None = None,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
    ) -> list[EvaluationResult]:
        """One value of the type asked for from each item; None without an error where the item does not hold it."""
        params = {
            "operation": "extract",
            "instruction": instruction,
            "output_type": output_type,
            "enum_values": enum_values,
            "include_reasoning": include_reasoning,
        }
        return await self._results(EvaluationResult, params, items, max_concurrent)

    async def extract_fields(
        self,
        item: object,
        schema: dict[str, Any],
        instructions: str,
        field_instructions: dict[str, str] | None = None,
        include_reasoning: bool = True,
    ) -> FieldsResult:
        """Every property of a JSON schema; None for one that the item does not hold.

        Args:
            item: the source data.
            schema: what to extract: `{"type": "object", "properties": {...}}`.
            instructions: what the extraction is about.
            field_instructions: how to fill single properties, by their names.
            include_reasoning: ask for an explanation of the whole.
        """
        (result,) = await self.extract_fields_batch([item], schema, instructions, field_instructions, include_reasoning)
        return result

    async def extract_fields_batch(
        self,
        items: Iterable[object],
        schema: dict[str, Any],
        instructions: str,
        field_instructions: dict[str, str] | None = None,
        include_reasoning: bool = True,
        max_concurrent: int = MAX_CONCURRENT,
    ) -> list[FieldsResult]:
        """Every property of a JSON schema from each item; None for one that the item does not hold."""
        params = {
            "operation": "extract_fields",
            "schema": schema,
            "instructions": instructions,
            "field_instructions": field_instructions,
            "include_reasoning": include_reasoning,
        }
        return await self._results(FieldsResult, params, items, max_concurrent)

    def close(self) -> None:
        """Give its own connections back; a later call connects anew. A client that was given stays open."""
        self._client.close()

    async def _results(
        self, kind: type[Result], params: dict[str, Any], items: Iterable[object], max_concurrent: int
    ) -> list[Result]:
        operation = parse_operation(params)
        came = await self._client.rows(
            operation, items, model=self._model, max_concurrent=max_concurrent, steering=self._steering
        )
        return [row.result if isinstance(row.result, kind) else kind(error=came.reason(row)) for row in came.rows]


def get_ai_evaluation_service() -> AIEvaluationService:
    """The service of this process, after its settings; connects on first use, and anew after `close`."""
    return _service_of(os.getpid())


@functools.cache
def _service_of(_process: int) -> AIEvaluationService:
    """One for each process: a fork must not share its parent's connections."""
    return AIEvaluationService()
