"""Routes that answer at once what others ask of the queue: the services of specs 1 and 2, over HTTP."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonValue

from tamis_schemas import EvaluationResult, IterationData, resolve_item_id
from tamis_schemas.words import Words

from ..api_keys import ApiKey, Scope
from ..evaluation_service import AIEvaluationService
from ..iterative_answer import IterativeAnswerService
from . import problems
from .access import holder_of
from .submission import EXAMPLE_ITEM

router = APIRouter(prefix="/api", tags=["services"], responses=problems.KEYED | problems.OF_BODIES)

Submitter = Annotated[ApiKey, Depends(holder_of(Scope.SUBMIT))]
Items = Annotated[list[dict[str, Any]], Field(min_length=1)]


def _request(**example: JsonValue) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class FilterRequest(BaseModel):
    """Which items meet the criteria (boolean), or how well each does, from 0 to 1 (number)."""

    model_config = _request(items=[EXAMPLE_ITEM], criteria="Is this about oncology?", output_type="boolean")

    items: Items
    criteria: Words
    output_type: Literal["boolean", "number"] = "boolean"


class ExtractRequest(BaseModel):
    """What to find in each item, as text."""

    model_config = _request(items=[EXAMPLE_ITEM], prompt="The study design")

    items: Items
    prompt: Words


class GenerateAnswerRequest(BaseModel):
    """A question, what an answer should look like, and what makes one good."""

    model_config = _request(
        instruct="What does early mobilisation change after a stroke?",
        resp_format="Three sentences",
        eval_crit="Names the outcome and its direction",
    )

    instruct: Words = Field(description="The question or instruction")
    resp_format: Words = Field(description="Desired response format")
    eval_crit: Words = Field(description="Evaluation criteria")
    iter_max: int = Field(default=3, ge=1, le=10, description="Max iterations")
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


class GenerateAnswerResponse(BaseModel):
    """The answer, and how it came about."""

    final_answer: str
    iterations: list[IterationData]
    success: bool
    total_iterations: int
    final_score: float


def _evaluation(request: Request) -> AIEvaluationService:
    return AIEvaluationService(request.app.state.client)


def _answers(request: Request) -> IterativeAnswerService:
    return IterativeAnswerService(client=request.app.state.client)


@router.post("/tablizer/filter", summary="Filter or score items")
async def filter_items(
    asked: FilterRequest, service: Annotated[AIEvaluationService, Depends(_evaluation)], _: Submitter
) -> Results:
    each = service.filter_batch if asked.output_type == "boolean" else service.score_batch
    return _results(asked.items, await each(asked.items, asked.criteria))


@router.post("/tablizer/extract", summary="Extract a text from items")
async def extract_from_items(
    asked: ExtractRequest, service: Annotated[AIEvaluationService, Depends(_evaluation)], _: Submitter
) -> Results:
    return _results(asked.items, await service.extract_batch(asked.items, asked.prompt))


@router.post("/lab/generate-answer", summary="Generate an answer, evaluate it, and refine it")
async def generate_answer(
    asked: GenerateAnswerRequest, service: Annotated[IterativeAnswerService, Depends(_answers)], _: Submitter
) -> GenerateAnswerResponse:
    return GenerateAnswerResponse(**await service.generate_answer(**asked.model_dump()))


def _results(items: list[dict[str, Any]], results: list[EvaluationResult]) -> Results:
    pairs = zip(items, results, strict=True)
    return Results(results=[Evaluated(item_id=resolve_item_id(item), **one.model_dump()) for item, one in pairs])
