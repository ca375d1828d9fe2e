"""Routes of a judgement: is the reasoning behind a finished batch's results evidence of the right kind?"""

from http import HTTPStatus
from typing import Annotated

import anyio
from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Request, Response
from pydantic import ConfigDict, Field

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Submitter
from tamis_producer.gateway.batch_status_view import BatchStatusView
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.extension import check_open
from tamis_producer.gateway.submission_body import Terms
from tamis_producer.gateway.submitting import SUBMITTED, submit_terms
from tamis_producer.runs.dry_run import Planned
from tamis_review.stages import judge_items
from tamis_schemas import Judge

from ..plans.stages import judgement_label
from .dry_run_route import Estimate, Rehearse, estimated, rehearsable

router = APIRouter(
    prefix="/v1/batches/{batch_id}/judgement",
    tags=["batches"],
    responses=problems.KEYED | problems.UNKNOWN | problems.OF_BODIES,
    dependencies=[Depends(check_open)],  # what the model gave as its reasons stands in the new batch
)


class JudgementTerms(Terms):
    """Which evidence counts, and the terms of the batch that judges by it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"operation": {**Judge.example}}]})

    operation: Judge = Field(description="Which evidence counts, and below which quality it blocks a result.")


@router.post(
    "",
    operation_id="judge_batch",
    status_code=HTTPStatus.CREATED,
    summary="Judge the reasoning of each result of a finished batch against its record, as a batch of its own",
    responses=SUBMITTED | problems.CONFLICT | problems.OF_MONEY,
)
def judge(
    batch_id: BatchId,
    terms: JudgementTerms,
    response: Response,
    client: Of,
    key: Submitter,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> BatchStatusView:
    """Results without a reasoning, and what people decided, are not judged."""
    judged = client.batch(batch_id)
    return submit_terms(
        client,
        key,
        terms,
        judge_items(judged),
        response,
        idempotency_key=idempotency_key,
        label=terms.label or judgement_label(judged.status().label or judged.id),
    )


@router.post(
    "/dry-run",
    operation_id="dry_run_judgement",
    summary="Say what judging a batch's results would ask and cost; nothing is submitted",
)
async def dry_run(batch_id: BatchId, terms: JudgementTerms, request: Request, client: Of, _: Submitter) -> Estimate:
    """`records` are the results of the batch, `asked` those with a reasoning. No model is asked."""
    rehearse: Rehearse = request.app.state.rehearse
    limiter: anyio.CapacityLimiter = request.app.state.dry_runs
    return await to_thread.run_sync(_rehearsed, client, batch_id, terms, rehearse, limiter=limiter)


def _rehearsed(client: Client, batch_id: str, terms: JudgementTerms, rehearse: Rehearse) -> Estimate:
    judged = client.batch(batch_id)
    asked = rehearsable(judge_items(judged))
    planned = Planned(terms.operation, asked, terms.model, use_cache=terms.use_cache, steering=terms.steering)
    return estimated(planned, judged.status().counts.n_items, terms.max_cost, rehearse)
