"""Routes that answer at once what others ask of the queue: the services of specs 1 and 2, over HTTP."""

from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import ExtraValues, JsonValue

from tamis_schemas import AnswerResult, EvaluationResult, parse_operation, resolve_item_id
from tamis_schemas.values.words import Words

from ..services.iterative_answer import ITEM_ID, answer_of
from . import problems
from .submission_body import EXAMPLE_ITEM, Dollars
from .waiting import ACCEPTED, Rows, WaitingRequest

router = APIRouter(
    prefix="/api", tags=["services"], responses=ACCEPTED | problems.KEYED | problems.OF_MONEY | problems.OF_BODIES
)

Waits = Annotated[WaitingRequest, Depends()]
Items = Annotated[list[dict[str, Any]], Field(min_length=1)]


def _request(extra: ExtraValues, **example: JsonValue) -> ConfigDict:
    return ConfigDict(extra=extra, json_schema_extra={"examples": [example]})


class Paid(BaseModel):
    """The budget and the model of a request."""

    max_cost: Dollars | None = Field(default=None, description="Dollars; None: no budget but the key's own.")


class FilterRequest(Paid):
    """The criteria that items meet (boolean), or how well they do (number); other fields are ignored."""

    model_config = _request("ignore", items=[EXAMPLE_ITEM], criteria="Is this about oncology?", output_type="boolean")

    items: Items
    criteria: Words
    output_type: Literal["boolean", "number"] = "boolean"


class ExtractRequest(Paid):
    """The instruction to find something in each item, as text; other fields are ignored."""

    model_config = _request("ignore", items=[EXAMPLE_ITEM], prompt="The study design")

    items: Items
    prompt: Words


class GenerateAnswerRequest(Paid):
    """A question, what an answer should look like, and what makes one good."""

    model_config = _request(
        "forbid",
        instruct="What does early mobilisation change after a stroke?",
        resp_format="Three sentences",
        eval_crit="Names the outcome and its direction",
    )

    instruct: Words = Field(description="The question or instruction")
    resp_format: Words = Field(description="Desired response format")
    eval_crit: Words = Field(description="Evaluation criteria")
    iter_max: int = Field(default=3, strict=True, ge=1, le=10, description="Max iterations")
    score_threshold: float = Field(
        default=0.8, ge=0.0, le=1.0, strict=True, description="Minimum score to accept answer"
    )
    model: str | None = Field(default=None, description="None: the one of the settings, else the workers' own")


class Evaluated(EvaluationResult):
    """One item's result."""

    item_id: str


class Results(BaseModel):
    """The results in the order of the items; what went wrong with one item is its `error`."""

    results: list[Evaluated]


class GenerateAnswerResponse(AnswerResult):
    """The answer, and how it came about."""


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
    params = request.model_dump(exclude={"model", "max_cost"})
    operation = parse_operation({"operation": "answer"} | params)
    came = await waits.rows(
        operation, [{"id": ITEM_ID}], service="lab answer", model=request.model, max_cost=request.max_cost
    )
    if isinstance(came, Response):
        return came
    if came.pause is not None:
        raise HTTPException(HTTPStatus.CONFLICT, came.call(0).reason)
    return GenerateAnswerResponse(**dict(answer_of(came.call(0))))


async def _results(
    waits: WaitingRequest, request: FilterRequest | ExtractRequest, params: dict[str, object], service: str
) -> Results | Response:
    came = await waits.rows(parse_operation(params), request.items, service=service, max_cost=request.max_cost)
    if isinstance(came, Response):
        return came
    results = [
        Evaluated(item_id=resolve_item_id(item), **_result(came, place).model_dump())
        for place, item in enumerate(request.items)
    ]
    return Results(results=results)


def _result(came: Rows, place: int) -> EvaluationResult:
    call = came.call(place)
    return call.result if isinstance(call.result, EvaluationResult) else EvaluationResult(error=call.reason)
