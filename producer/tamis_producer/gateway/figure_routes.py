"""Routes of figures about a batch's decisions: how far people, models and software agree, and what failed."""

from fastapi import APIRouter, Depends

from tamis_schemas import RetryBias

from ..decisions.human_agreement import AgreementFigures
from ..quality.panel_figures import PanelFigures
from . import problems
from .access import Of, Reader
from .description import BatchId
from .sight import check_open

router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["figures"], responses=problems.KEYED | problems.UNKNOWN)


@router.get(
    "/agreement",
    operation_id="get_agreement",
    summary="How far the software agrees with the people who decided about the same records, and they among themselves",
    dependencies=[Depends(check_open)],
)
def agreement(batch_id: BatchId, client: Of, _: Reader) -> AgreementFigures:
    return client.batch(batch_id).agreement()


@router.get(
    "/failures",
    operation_id="get_failures",
    summary="What failed in each round, and whether it depends on length, year or neighbours",
)
def failures(batch_id: BatchId, client: Of, _: Reader) -> RetryBias:
    """No rounds where nothing ever failed."""
    return client.batch(batch_id).failures()


@router.get(
    "/panel",
    operation_id="get_panel_figures",
    summary="How far the models of a batch's panel agree, whether they err together, and what each of them brought",
    dependencies=[Depends(check_open)],
)
def panel(batch_id: BatchId, client: Of, _: Reader) -> PanelFigures:
    """Errors are measured by what people decided about the batch. 422 where it asks one model."""
    return client.batch(batch_id).panel()
