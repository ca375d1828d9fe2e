"""Routes for waiting callers: the evaluation and answer services, over HTTP."""

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, FailFast, Field
from pydantic.config import ExtraValues, JsonValue

from tamis_schemas import (
    AnswerResult,
    EvaluationResult,
    IllegalTransition,
    ItemResult,
    ItemStatus,
    Operation,
    Pause,
    parse_operation,
    resolve_item_id,
)
from tamis_schemas.values.whole_number import WholeNumber
from tamis_schemas.values.words import Words

from ..client.batch import Batch
from ..ledger import CallResult
from ..process.waiting import poll_pauses
from ..services.evaluation_service import ITEM_ID, MAX_CONCURRENT, answer_of
from ..submission.item_conversion import to_item
from . import problems
from .access import Of, Submitter
from .allowance import check_price
from .frame import disconnected
from .submission_body import EXAMPLE_ITEM, Dollars

HUNG_UP = 499  # nginx's status, for logs and metrics; no caller reads the answer
_WAIT = re.compile(r'(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])', re.IGNORECASE)
_ASYNC = re.compile(r"(?:^|[,;\s])respond-async\s*(?:$|[,;])", re.IGNORECASE)
Items = Annotated[list[dict[str, Any]], Field(min_length=1), FailFast()]  # one error is enough


class Accepted(BaseModel):
    """A batch that continues. Read its results with a key that has the scope `read`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"batch_id": "3f2a91c0-...", "results": "/v1/batches/..."}]}
    )

    batch_id: str
    results: str = Field(description="The address of its results.")


ACCEPTED: dict[int | str, dict[str, Any]] = {
    HTTPStatus.ACCEPTED.value: {
        "model": Accepted,
        "description": "It took longer than a request waits (`Prefer: wait=`, TAMIS_HTTP_WAIT_SECONDS) and continues.",
        "headers": {"Location": {"description": "The address of its results.", "schema": {"type": "string"}}},
    }
}


@dataclass(frozen=True)
class Rows:
    """The results of a batch."""

    rows: list[ItemResult]  # every item with its result, in the order of the request
    pause: Pause | None = None  # reason why the batch was paused; its other items are pending

    def call(self, place: int) -> CallResult:
        """Return the result of the item at this place."""
        row = self.rows[place]
        return CallResult(ItemStatus(row.status), row.result, row.detail, row.error_kind, self.pause)


def seconds_of(prefer: str, most: int) -> int:
    """Return the seconds that a request waits, at most `most`.

    `prefer`: the header `Prefer` (RFC 7240), such as `wait=10` or `respond-async`. Without either, return `most`.
    """
    waits = _WAIT.search(prefer)
    if waits is not None:
        return min(int(waits[1]), most)
    return 0 if _ASYNC.search(prefer) else most


class WaitingRequest:
    """A FastAPI dependency that submits a batch with the request's key, and waits for the batch's end, up to a limit.

    After the limit, the answer has the URL of the results. If the caller disconnects, the batch is cancelled: no
    further item is asked about, and paid results are kept.
    """

    def __init__(
        self,
        request: Request,
        client: Of,
        key: Submitter,
        prefer: Annotated[str, Header(description="`wait=10`: seconds to wait at most.")] = "",
    ) -> None:
        self._request = request
        self._client = client
        self._key = key
        self._seconds = seconds_of(prefer, client.settings.http_wait_seconds)
        self._applied = {"Preference-Applied": f"wait={self._seconds}"} if prefer else {}

    async def rows(
        self,
        operation: Operation,
        items: Iterable[object],
        *,
        service: str,
        model: str | None = None,
        max_cost: Decimal | None = None,
    ) -> Rows | Response:
        """Return every item with its result, in order.

        If the waiting time is over, return a response with the URL of the results. If the caller has disconnected,
        return an empty response. Raises the errors of `Client.submit`.
        """
        check_price(self._key, operation, model, self._client.settings)
        batch = await run_in_threadpool(
            self._client.submit,
            operation,
            map(to_item, items),  # on the thread: 50,000 items take a tenth of a second
            model=model,
            shard_size=MAX_CONCURRENT,
            window=1,
            max_cost=max_cost,
            api_key_id=self._key.id,
            service=service,
        )
        left = asyncio.ensure_future(disconnected(self._request))
        try:
            rows = await self._ended(batch, left)
        finally:
            left.cancel()
        if rows is not None:
            return rows
        if left.done() and not left.cancelled():
            await _cancel(batch)
            return Response(status_code=HUNG_UP)
        results = f"/v1/batches/{batch.id}/results"
        accepted = Accepted(batch_id=batch.id, results=results).model_dump()
        return JSONResponse(accepted, HTTPStatus.ACCEPTED, {"Location": results} | self._applied)

    async def _ended(self, batch: Batch, left: "asyncio.Future[None]") -> Rows | None:
        """Return the batch's results; None if the caller is gone, or the time is over."""
        pauses = poll_pauses(self._seconds)
        while True:
            view = await run_in_threadpool(batch.status)
            if view.finished or view.stuck is not None:
                rows = Rows(await run_in_threadpool(lambda: list(batch.results())), view.stuck)
                if not view.finished:  # the caller gets the reason; a paused batch would hold its key's money
                    await _cancel(batch)
                return rows
            pause = next(pauses, None)
            if pause is None or self._request.app.state.stops():
                return None
            await asyncio.wait([left], timeout=pause)
            if left.done():
                return None


async def _cancel(batch: Batch) -> None:
    with suppress(IllegalTransition):  # it has ended already
        await run_in_threadpool(batch.cancel)


router = APIRouter(
    prefix="/api", tags=["services"], responses=ACCEPTED | problems.KEYED | problems.OF_MONEY | problems.OF_BODIES
)

Waits = Annotated[WaitingRequest, Depends()]


def _request(extra: ExtraValues, **example: JsonValue) -> ConfigDict:
    return ConfigDict(extra=extra, json_schema_extra={"examples": [example]})


class Paid(BaseModel):
    """The budget of a request."""

    max_cost: Dollars | None = Field(default=None, description="Dollars; None: only the key's budget.")


class FilterRequest(Paid):
    """Items and criteria. The answer says whether each item meets the criteria (boolean), or to what degree (number).

    Other fields are ignored.
    """

    model_config = _request("ignore", items=[EXAMPLE_ITEM], criteria="Is this about oncology?", output_type="boolean")

    items: Items
    criteria: Words
    output_type: Literal["boolean", "number"] = "boolean"


class ExtractRequest(Paid):
    """The instruction to extract a text from each item. Other fields are ignored."""

    model_config = _request("ignore", items=[EXAMPLE_ITEM], prompt="The study design")

    items: Items
    prompt: Words


class GenerateAnswerRequest(Paid):
    """A question, the form of the answer, and the criteria of a good answer."""

    model_config = _request(
        "forbid",
        instruct="What does early mobilisation change after a stroke?",
        resp_format="Three sentences",
        eval_crit="Names the outcome and its direction",
    )

    instruct: Words = Field(description="The question or instruction")
    resp_format: Words = Field(description="Desired response format")
    eval_crit: Words = Field(description="Evaluation criteria")
    iter_max: WholeNumber = Field(default=3, ge=1, le=10, description="Max iterations")
    score_threshold: float = Field(
        default=0.8, ge=0.0, le=1.0, strict=True, description="Minimum score to accept answer"
    )
    model: str | None = Field(default=None, description="None: the model of the settings, else the workers' model")


class Evaluated(EvaluationResult):
    """One item's result."""

    item_id: str


class Results(BaseModel):
    """The results in the order of the items; `error` says why an item failed."""

    results: list[Evaluated]


class GenerateAnswerResponse(AnswerResult):
    """The answer, with all attempts."""


@router.post("/tablizer/filter", summary="Filter or score items", response_model=Results)
async def filter_items(request: FilterRequest, waits: Waits) -> Results | Response:
    named = "filter" if request.output_type == "boolean" else "score"
    return await _results(waits, request, {"operation": named, "criteria": request.criteria}, "tablizer filter")


@router.post("/tablizer/extract", summary="Extract a text from items", response_model=Results)
async def extract_from_items(request: ExtractRequest, waits: Waits) -> Results | Response:
    return await _results(waits, request, {"operation": "extract", "instruction": request.prompt}, "tablizer extract")


@router.post(
    "/lab/generate-answer",
    summary="Generate an answer, evaluate it, and refine it",
    response_model=GenerateAnswerResponse,
    responses=problems.CONFLICT,
)
async def generate_answer(request: GenerateAnswerRequest, waits: Waits) -> GenerateAnswerResponse | Response:
    operation = parse_operation({"operation": "answer"} | request.model_dump(exclude={"model", "max_cost"}))
    rows = await waits.rows(
        operation, [{"id": ITEM_ID}], service="lab answer", model=request.model, max_cost=request.max_cost
    )
    if isinstance(rows, Response):
        return rows
    if rows.pause is not None:
        raise HTTPException(HTTPStatus.CONFLICT, rows.call(0).reason)
    return GenerateAnswerResponse(**dict(answer_of(rows.call(0))))


async def _results(
    waits: WaitingRequest, request: FilterRequest | ExtractRequest, params: dict[str, object], service: str
) -> Results | Response:
    rows = await waits.rows(parse_operation(params), request.items, service=service, max_cost=request.max_cost)
    if isinstance(rows, Response):
        return rows
    results = [
        Evaluated(item_id=resolve_item_id(item), **_result(rows, place).model_dump())
        for place, item in enumerate(request.items)
    ]
    return Results(results=results)


def _result(rows: Rows, place: int) -> EvaluationResult:
    call = rows.call(place)
    return call.result if isinstance(call.result, EvaluationResult) else EvaluationResult(error=call.reason)
