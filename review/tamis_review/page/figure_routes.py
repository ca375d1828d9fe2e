"""Routes of figures about a batch's decisions: how far people, models and software agree, and what failed."""

from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.extension import check_open
from tamis_producer.ledger import ledger_errors
from tamis_review.evaluation import measure_agreement, measure_panel
from tamis_review.records import read_failures
from tamis_schemas import HumanStage, RetryBias
from tamis_schemas.values.frozen import Frozen

from ..decisions.agreement_records import AgreementAmong, AgreementRecords, CellQuery, read_cell
from ..decisions.human_agreement import AgreementFigures
from ..quality.panel_figures import PanelFigures
from ..report.panels import MEMBERS, PAIRS, panel_part


class PanelWords(Frozen):
    """A panel for people: what its figures mean, and the tables of its models and of each two of them."""

    sentences: tuple[str, ...]
    member_heads: tuple[str, ...]
    members: tuple[tuple[str, ...], ...] = Field(description="None of one model asked several times.")
    pair_heads: tuple[str, ...]
    pairs: tuple[tuple[str, ...], ...]


class PanelView(PanelFigures):
    """A panel in numbers and in words."""

    words: PanelWords

    @classmethod
    def of(cls, found: PanelFigures) -> Self:
        """The view of a panel's figures."""
        part = panel_part(found)
        words = PanelWords(
            sentences=part.sentences,
            member_heads=MEMBERS,
            members=part.members,
            pair_heads=PAIRS,
            pairs=part.pairs,
        )
        return cls(**dict(found), words=words)


router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["figures"], responses=problems.KEYED | problems.UNKNOWN)

MOST = 500  # records of one page
Word = Annotated[str, Query(max_length=100, description="As a cell of the table says it.")]
Name = Annotated[
    str | None, Query(max_length=100, description="Of people: whose table it is, as `agreement` has them.")
]


@router.get(
    "/agreement",
    summary="How far the software agrees with the people who decided about the same records, and they among themselves",
    dependencies=[Depends(check_open)],
)
def get_agreement(batch_id: BatchId, client: Of, _: Reader) -> AgreementFigures:
    return measure_agreement(client.batch(batch_id))


@router.get(
    "/agreement/records",
    summary="The records behind a cell of a table of agreement, in the order of the batch, page by page",
    dependencies=[Depends(check_open)],
)
def get_agreement_records(
    batch_id: BatchId,
    client: Of,
    _: Reader,
    among: Annotated[AgreementAmong, Query(description="The figure of `agreement` whose table it is.")],
    first_said: Word,
    second_said: Word,
    stage: Annotated[HumanStage, Query(description="Of people.")] = HumanStage.OWN,
    first: Name = None,
    second: Name = None,
    after: Annotated[int | None, Query(ge=0, lt=2**31, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 50,
) -> AgreementRecords:
    """The software is the first of its tables, people are the second."""
    query = CellQuery(among, first_said, second_said, stage, first, second, after, limit)
    with ledger_errors(), client.snapshot() as connection:
        return read_cell(connection, UUID(client.batch(batch_id).id), query)


@router.get(
    "/failures",
    summary="What failed in each round, and whether it depends on length, year or neighbours",
)
def get_failures(batch_id: BatchId, client: Of, _: Reader) -> RetryBias:
    """No rounds where nothing ever failed."""
    return read_failures(client.batch(batch_id))


@router.get(
    "/panel",
    summary="How far the models of a batch's panel agree, whether they err together, and what each of them brought",
    dependencies=[Depends(check_open)],
)
def get_panel_figures(batch_id: BatchId, client: Of, _: Reader) -> PanelView:
    """Errors are measured by what people decided about the batch. 422 where it asks one model."""
    return PanelView.of(measure_panel(client.batch(batch_id)))
