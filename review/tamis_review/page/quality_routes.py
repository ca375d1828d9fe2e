"""Routes of figures about a batch's decisions: agreement of people, models and software, and failures.

Other routes begin or estimate a batch that judges the results of a finished batch.
"""

from http import HTTPStatus
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import ConfigDict, Field, field_validator

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader, Submitter
from tamis_producer.gateway.batch_status_view import BatchStatusView
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.submission_body import Terms
from tamis_producer.gateway.submission_terms import SUBMITTED, submit_terms
from tamis_producer.runs.dry_run import Planned
from tamis_review.evaluation import list_agreement_records, measure_agreement, measure_panel
from tamis_review.records import read_failures
from tamis_review.stages import judge_items
from tamis_schemas import Judge, RetryBias
from tamis_schemas.values.frozen import Frozen

from ..decisions.human_agreement import AgreementFigures, AgreementRecords, CellQuery
from ..plans.judge_items import judgement_label
from ..quality.panel_figures import PanelFigures
from ..report.sections import MEMBERS, PAIRS, panel_part
from .preview_routes import Estimate, Rehearse, estimated, rehearsable


class PanelWords(Frozen):
    """The figures of a panel of models in words: sentences, a table of models, and a table of pairs of models."""

    sentences: tuple[str, ...]
    member_heads: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]
    pair_heads: tuple[str, ...]
    pairs: tuple[tuple[str, ...], ...]


class PanelView(PanelFigures):
    """The figures of a panel, in numbers and in words."""

    words: PanelWords


PREFIX, RESPONSES = "/v1/batches/{batch_id}", problems.KEYED | problems.UNKNOWN
figure_router = APIRouter(prefix=PREFIX, tags=["figures"], responses=RESPONSES)
judgement_router = APIRouter(prefix=PREFIX, tags=["batches"], responses=RESPONSES)


@figure_router.get(
    "/agreement",
    summary="Measure the agreement of the software with people, and of people with each other, on the same records",
)
def get_agreement(batch_id: BatchId, client: Of, _: Reader) -> AgreementFigures:
    return measure_agreement(client.batch(batch_id))


@figure_router.get(
    "/agreement/records", summary="List the records behind a cell of a table of agreement, in batch order, in pages"
)
def get_agreement_records(
    batch_id: BatchId, client: Of, _: Reader, query: Annotated[CellQuery, Query()]
) -> AgreementRecords:
    """Return the records behind a cell of a table of agreement: those with the cell's pair of decisions.

    In a table of software and people, the software is the first judge.
    """
    return list_agreement_records(client.batch(batch_id), query)


@figure_router.get(
    "/failures", summary="Count the failures of each round, and test whether they depend on length, year or neighbours"
)
def get_failures(batch_id: BatchId, client: Of, _: Reader) -> RetryBias:
    """Return the failures of the first round and of each retry round. The list is empty if no record ever failed."""
    return read_failures(client.batch(batch_id))


@figure_router.get(
    "/panel", summary="Measure how far a panel's models agree, whether they make the same errors, and what each adds"
)
def get_panel_figures(batch_id: BatchId, client: Of, _: Reader) -> PanelView:
    """Return the figures of a panel, with its errors by people's decisions. For a single model, the answer is 422."""
    figures = measure_panel(client.batch(batch_id))
    part = panel_part(figures)
    words = PanelWords(
        sentences=part.sentences, member_heads=MEMBERS, members=part.members, pair_heads=PAIRS, pairs=part.pairs
    )
    return PanelView(**dict(figures), words=words)


class JudgementTerms(Terms):
    """The terms of a batch that judges another batch's results. The operation states which evidence counts."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"operation": {"operation": "judge", **Judge.example}}]}
    )

    operation: Judge = Field(description="Which evidence counts, and the quality below which a result is blocked.")

    @field_validator("operation", mode="before")
    @classmethod
    def _named(cls, operation: Any) -> Any:
        if isinstance(operation, dict) and "operation" not in operation:
            raise ValueError("state the operation: judge")
        return operation


@judgement_router.post(
    "/judgement",
    operation_id="judge_batch",
    status_code=HTTPStatus.CREATED,
    summary="Judge the reasoning of each result of a finished batch against its record, in a new batch",
    responses=SUBMITTED | problems.CONFLICT | problems.OF_MONEY | problems.OF_BODIES,
)
def judge(
    batch_id: BatchId,
    terms: JudgementTerms,
    response: Response,
    client: Of,
    key: Submitter,
    _: Reader,  # the new batch contains the model's reasons
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> BatchStatusView:
    """Submit a batch that judges the results, except results that have no reasoning or that people changed."""
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


@judgement_router.post(
    "/judgement/dry-run",
    operation_id="dry_run_judgement",
    summary="Estimate the calls and cost of judging a batch's results; nothing is submitted",
    responses=problems.OF_BODIES,
)
async def dry_run(
    batch_id: BatchId, terms: JudgementTerms, request: Request, client: Of, _: Submitter, __: Reader
) -> Estimate:
    """Return the estimate. `records` is the number of the batch's items, `asked` the number of results to judge."""
    state = request.app.state
    return await to_thread.run_sync(_rehearsed, client, batch_id, terms, state.rehearse, limiter=state.dry_runs)


def _rehearsed(client: Client, batch_id: str, terms: JudgementTerms, rehearse: Rehearse) -> Estimate:
    judged = client.batch(batch_id)
    items = rehearsable(judge_items(judged))
    planned = Planned(terms.operation, items, terms.model, use_cache=terms.use_cache, steering=terms.steering)
    return estimated(planned, judged.status().counts.n_items, terms.max_cost, rehearse)
