"""The route of the dry run: what a batch out of files would ask, take and cost; nothing is submitted."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from http import HTTPStatus
from itertools import islice
from typing import TypeAlias

import anyio
from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic import Field
from starlette.datastructures import UploadFile

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Submitter
from tamis_producer.gateway.description import component
from tamis_producer.runs.dry_run import PanelRehearsal, Planned, Rehearsal
from tamis_review.page.files import FileForm, FileNote, FileTerms, identified_of, notes_of
from tamis_review.page.upload import MEDIA_TYPE, uploaded
from tamis_schemas import ConfigurationError, InvalidParameters, Item, PanelPolicy
from tamis_schemas.batches.review_plan import ReviewStage
from tamis_schemas.operations import panel_of
from tamis_schemas.values.frozen import Frozen

router = APIRouter(prefix="/v1", tags=["files"], responses=problems.KEYED | problems.UNKNOWN | problems.OF_BODIES)

Rehearse: TypeAlias = Callable[[Planned], Rehearsal]

AT_ONCE = 1  # for all callers: each renders every prompt
MOST_ASKED = 20_000  # records: their prompts are in memory together
DOUBTS_TOLD = 100


class DoubtfulPair(Frozen):
    """Two records that may be copies; both are asked about."""

    ids: tuple[str | int | None, str | int | None]
    titles: tuple[str | None, str | None]
    reason: str  # what agrees, and what contradicts it


class Estimate(Frozen):
    """What a batch would ask, take and cost; it was not submitted."""

    records: int
    asked: int = Field(description="Those of them that a model would be asked about.")
    models: tuple[Rehearsal, ...] = Field(description="One for each model that is asked; prompts of the first alone.")
    policy: PanelPolicy | None = Field(description="Of several models.")
    calls: int = Field(description="Of all models.")
    cost: Decimal | None = Field(description="Dollars, about, of these calls; null: a price is not known.")
    most_cost: Decimal | None = Field(description="Dollars, with answers as long as they may be.")
    max_cost: Decimal | None = Field(description="The budget of the terms, or of the stage.")


class FurtherStage(Frozen):
    """A stage of a review after the first, as if every record passed the stages before it: the most there can be."""

    name: str
    dry_run: Estimate | None = Field(description="null: a judge's, whose items are results that nobody knows yet.")


class DryRun(Estimate):
    """A batch out of files that was not submitted, or the first stage of a review that was not begun."""

    duplicates: int = Field(description="Copies of other records, which nobody is asked about.")
    rejected: int = Field(description="By the initial filter.")
    doubts: int = Field(description="Pairs of records that may be copies; both stay.")
    doubtful: tuple[DoubtfulPair, ...] = Field(description=f"The first {DOUBTS_TOLD} of these pairs.")
    skipped: int = Field(description="Lines and the like that belong to no record.")
    lost: int = Field(description="Records that could not be read.")
    notes: tuple[FileNote, ...]
    stages: tuple[FurtherStage, ...] = Field(description="Of a review: those after the first.")


def nothing_renders(_: Planned) -> Rehearsal:
    """Rehearse nothing, where nothing renders prompts. Raises `ConfigurationError`."""
    raise ConfigurationError("this gateway renders no prompts: `tamis serve` does, with the extra `worker`")


@router.post(
    "/dry-run",
    operation_id="dry_run",
    summary="Say what a batch out of files would ask and cost: the form of `/v1/files`; nothing is submitted",
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": component(FileForm)}}}},
    responses=problems.described(HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
)
async def dry_run(
    request: Request,
    client: Of,
    _: Submitter,
) -> DryRun:
    """Prompts of three records as they would be sent; tokens, cost and time are estimates. No model is asked."""
    rehearse: Rehearse = request.app.state.rehearse
    limiter: anyio.CapacityLimiter = request.app.state.dry_runs
    async with uploaded(request, FileTerms, largest=client.settings.max_file_bytes) as (terms, files):
        return await to_thread.run_sync(_rehearsed, client, terms, files, rehearse, limiter=limiter)


def rehearsable(asked: Iterable[Item]) -> list[Item]:
    """Return the records that a model would be asked about. Raises `InvalidParameters` for more than `MOST_ASKED`."""
    taken = list(islice(asked, MOST_ASKED + 1))  # no more are taken in than it takes to refuse them
    if len(taken) > MOST_ASKED:
        raise InvalidParameters(
            f"more than {MOST_ASKED:,} records to ask about are not rehearsed here; `--dry-run` on the command line "
            "takes more"
        )
    return taken


def estimated(planned: Planned, records: int, max_cost: Decimal | None, rehearse: Rehearse) -> Estimate:
    """Return the estimate of a batch of so many records. Raises what submitting it would raise."""
    each = [rehearse(one) for one in planned.by_model]
    models = (each[0], *(replace(one, samples=()) for one in each[1:]))  # every model gets the same prompts
    panel = panel_of(planned.operation)
    together = PanelRehearsal(PanelPolicy.ANY if panel is None else panel.policy, models)
    return Estimate(
        records=records,
        asked=len(planned.items),
        models=models,
        policy=None if panel is None else panel.policy,
        calls=together.calls,
        cost=together.cost,
        most_cost=together.most_cost,
        max_cost=max_cost,
    )


def _rehearsed(client: Client, terms: FileTerms, files: Sequence[UploadFile], rehearse: Rehearse) -> DryRun:
    identified = identified_of(client, terms, files)
    asked = rehearsable(identified.asked)
    operation = client.with_examples(terms.operation)
    planned = Planned(operation, asked, terms.model, use_cache=terms.use_cache, steering=terms.steering)
    skipped, lost, notes = notes_of(identified)

    def pair(index: int, of: int, reason: str) -> DoubtfulPair:
        one, other = identified.records[index], identified.records[of]
        return DoubtfulPair(
            ids=(one.get("id"), other.get("id")), titles=(one.get("title"), other.get("title")), reason=reason
        )

    def further(stage: ReviewStage) -> FurtherStage:
        planned = Planned.of_stage(stage, asked, use_cache=terms.use_cache)
        if planned is None:
            return FurtherStage(name=stage.name, dry_run=None)
        planned = replace(planned, operation=client.with_examples(planned.operation))
        return FurtherStage(name=stage.name, dry_run=estimated(planned, len(asked), stage.max_cost, rehearse))

    review = terms.new_review
    return DryRun(
        **dict(estimated(planned, len(identified.records), terms.max_cost, rehearse)),
        duplicates=identified.duplicates,
        rejected=identified.rejected,
        doubts=len(identified.doubts),
        doubtful=tuple(pair(one.index, one.of, one.reason) for one in identified.doubts[:DOUBTS_TOLD]),
        skipped=skipped,
        lost=lost,
        notes=notes,
        stages=() if review is None else review.plan.each(further, skip=1),
    )
