"""Routes of labels: the sample for a person to label, and the quality of decisions, measured by such labels."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from io import StringIO
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.result_forms import TableForm
from tamis_review import evaluation
from tamis_review.overrides import read_visible
from tamis_schemas import InvalidRequest
from tamis_schemas.operations import check_decides
from tamis_schemas.records.random_order import LARGEST_SEED, seed_or_new
from tamis_schemas.values.frozen import Frozen
from tamis_schemas.values.whole_number import WholeNumber

from ..decisions.sheets import content_of, text_of, write_kept, write_pilot
from ..quality import words
from ..quality.gold_evaluation import GoldEvaluation
from ..quality.pilot import Calibration
from ..quality.words import FigureRow
from ..report.charts import draw_reliability
from ..report.gold_page import EvaluationWords, write_gold_page
from .upload import answered_by_files, form_body
from .written import csv_table


class EvaluationView(GoldEvaluation):
    """An evaluation of a batch by a person's labels, with the name of the labels' file."""

    batch_id: str
    finished: bool = Field(description="If false, open records count as referred to a human.")
    labels: str  # name of the labels' file
    words: EvaluationWords


class CalibrationWords(Frozen):
    """A calibration as text for people: rows of a table, and remarks."""

    rows: tuple[FigureRow, ...] = Field(description="The threshold and its promise; empty if there is no threshold.")
    remarks: tuple[str, ...] = Field(description="Records without a label, labels without a record, and copies.")
    sampling: str | None = Field(description="How far the labels represent the batch; null: nothing against it.")
    holds: str | None = Field(description="The scope of the threshold; null if there is no threshold.")
    score: str


class CalibrationView(Calibration):
    """A score threshold for a batch, computed from a person's labels, with the name of the labels' file."""

    batch_id: str
    finished: bool
    labels: str  # name of the labels' file
    below_ids: tuple[str, ...]
    words: CalibrationWords


router = APIRouter(
    prefix="/v1/batches/{batch_id}",
    tags=["labels of a human"],
    responses=problems.KEYED | problems.UNKNOWN | problems.OF_BODIES,
)
MOST_DRAWN = 10_000  # records in a sample
SEALED = {"Content-Security-Policy": "sandbox allow-downloads"}  # a page of figures runs no script here


class EvaluationForm(StrEnum):
    """The file format in which an evaluation is returned."""

    JSON = "json"
    HTML = "html"
    SVG = "svg"  # only the reliability curve


class NewPilot(BaseModel):
    """The random sample of records to draw, for a person to label."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"n": 200, "seed": 1}]})

    n: WholeNumber = Field(default=200, ge=1, le=MOST_DRAWN, description="Records to draw; all if there are fewer.")
    seed: WholeNumber | None = Field(
        default=None, ge=0, le=LARGEST_SEED, description="The same seed draws the same records. Default: a random seed."
    )


class PilotRecord(Frozen):
    """One record of a pilot (a random sample to label), without any decision on the record."""

    index: int
    id: str
    title: str
    abstract: str


class PilotView(Frozen):
    """A random sample of a batch's records, in the order drawn."""

    batch_id: str
    seed: int
    population: int = Field(description="Records of the batch, without copies.")
    records: tuple[PilotRecord, ...]


class LabelTerms(BaseModel):
    """How to read a file of labels."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"column": "include"}]})

    column: str | None = Field(
        default=None, max_length=200, description="The column of labels. Default: label, include, included or decision."
    )


class CalibrationTerms(LabelTerms):
    """How to read a file of labels, and the share of includes to keep."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"recall": 0.95, "delta": 0.05}]})

    recall: float = Field(default=0.95, strict=True, gt=0, lt=1, description="The share of includes to keep.")
    delta: float = Field(default=0.05, strict=True, gt=0, lt=1, description="The probability of keeping less.")


LABELS = "The screened file with a column of labels, or a table of ids and labels."


@router.post(
    "/pilots",
    summary="Draw a random sample of records, without their decisions, for a person to label; it is not stored",
    response_model=PilotView,
    responses={200: {"content": {"text/csv": {}}}},
)
def draw_pilot(
    batch_id: BatchId, wanted: NewPilot, client: Of, _: Reader, form: TableForm = TableForm.JSON
) -> PilotView | Response:
    """Draw a random sample to label. As CSV, it is the table that people fill in for `evaluation` and `calibration`."""
    batch = client.batch(batch_id)
    check_decides(batch.id, batch.status().operation, "A pilot")
    drawn = evaluation.draw_pilot(batch, wanted.n, seed=seed_or_new(wanted.seed))
    rows = {row.index: row for row in read_visible(batch, drawn.places)}
    if form is TableForm.CSV:
        return csv_table(lambda stream: write_pilot(drawn, list(rows.values()), stream))
    records = tuple(
        PilotRecord(
            index=place,
            id=rows[place].item_id,
            title=text_of(rows[place].item.get("title")),
            abstract=content_of(rows[place].item),
        )
        for place in drawn.places
    )
    return PilotView(batch_id=batch.id, seed=drawn.seed, population=drawn.population, records=records)


@router.post(
    "/evaluation",
    summary="Compare the decisions with a person's labels: a form with the file of labels, and terms to read it",
    response_model=EvaluationView,
    openapi_extra=form_body(LabelTerms, LABELS),
    responses=problems.OF_TYPES | {200: {"content": {"text/html": {}, "image/svg+xml": {}}}},
)
async def evaluate_batch(
    batch_id: BatchId, request: Request, client: Of, _: Reader, form: EvaluationForm = EvaluationForm.JSON
) -> EvaluationView | Response:
    """Return rates, lost includes, calibration and agreement, in figures and in words. Nothing is stored."""
    return await answered_by_files(request, client, LabelTerms, partial(_evaluated, batch_id, form), only="labels")


def _evaluated(
    batch_id: str, form: EvaluationForm, client: Client, terms: LabelTerms, called: Mapping[Path, str]
) -> EvaluationView | Response:
    batch, ((path, name),) = client.batch(batch_id), called.items()
    view, figures = batch.status(), evaluation.evaluate(batch, path, terms.column)
    if form is EvaluationForm.SVG:
        return Response(draw_reliability(figures.reliability), media_type="image/svg+xml", headers=SEALED)
    if form is EvaluationForm.HTML:
        page, title = StringIO(), view.label or f"batch {view.id[:8]}"
        write_gold_page(figures, page, name=title, batch_id=view.id, labels=name, written=datetime.now(UTC))
        return Response(page.getvalue(), media_type="text/html", headers=SEALED)
    sentences = EvaluationWords.of(figures)
    return EvaluationView(**dict(figures), batch_id=view.id, finished=view.finished, labels=name, words=sentences)


@router.post(
    "/calibration",
    summary="Find the score threshold that guarantees a recall, from a labelled random sample",
    response_model=CalibrationView,
    openapi_extra=form_body(CalibrationTerms, LABELS),
    responses=problems.OF_TYPES | {200: {"content": {"text/csv": {}}}},
)
async def calibrate_batch(
    batch_id: BatchId, request: Request, client: Of, _: Reader, form: TableForm = TableForm.JSON
) -> CalibrationView | Response:
    """Return the threshold, or as CSV the records that it keeps.

    If there is no threshold, `refusal` says why, and a request for CSV fails.
    """
    return await answered_by_files(
        request, client, CalibrationTerms, partial(_calibrated, batch_id, form), only="labels"
    )


def _calibrated(
    batch_id: str, form: TableForm, client: Client, terms: CalibrationTerms, called: Mapping[Path, str]
) -> CalibrationView | Response:
    batch, ((path, name),) = client.batch(batch_id), called.items()
    view, pilot = batch.status(), evaluation.calibrate(batch, path, terms.recall, terms.delta, column=terms.column)
    figures = pilot.calibration
    refused = figures.refusal is not None
    if form is TableForm.CSV:
        if figures.refusal is not None:
            raise InvalidRequest(figures.refusal)
        return csv_table(lambda stream: write_kept(pilot, stream))
    return CalibrationView(
        **dict(figures),
        batch_id=view.id,
        finished=view.finished,
        labels=name,
        below_ids=() if refused else tuple(record.item_id for record in pilot.records if not pilot.kept(record)),
        words=CalibrationWords(
            rows=tuple(words.threshold_rows(figures)),
            remarks=tuple(words.remarks(figures.matching)),
            sampling=words.sampling_remark(figures.sampling),
            holds=None if refused else words.holds_for(figures.sampling),
            score=words.score_remark(figures.score),
        ),
    )
