"""Measurements of a batch's decisions: pilots, labels, calibration, agreement, and the models of a panel."""

from collections.abc import Mapping

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_schemas import InvalidRequest
from tamis_schemas.operations import check_decides

from .decisions import human_agreement, sheets
from .decisions.human_agreement import AgreementFigures, AgreementRecords, CellQuery
from .decisions.sheets import Pilot
from .decisions.visibility import visible
from .quality import gold_evaluation, pilot
from .quality.gold_evaluation import GoldEvaluation
from .quality.gold_labels import Labels, labels_of
from .quality.matching import Matched, match
from .quality.panel_figures import PanelFigures
from .quality.pilot import Calibrated


def draw_pilot(batch: Batch, n: int, *, seed: int) -> Pilot:
    """Return a random sample of `n` records for a human to label, without duplicates.

    The same seed draws the same sample. Raises `InvalidParameters` for an `n` below 1 or an invalid seed, and
    `LedgerUnavailable`.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch)
        population = ledger.read_originals(connection, batch.uuid)
    return sheets.draw_pilot(population, n, seed=seed)


def evaluate(batch: Batch, labels: Labels, column: str | None = None) -> GoldEvaluation:
    """Return how good the batch's decisions are against a human's labels: rates, lost includes, calibration, agreement.

    `labels`: a file of labels, or a dict from item id to True (included) or False. `column`: the name of the file's
    column with the labels.

    Raises:
        InvalidRequest: the operation makes no decisions, there is no label, or labels and records do not match.
        InputError: a file has no labels.
        Blinded: a decision is hidden from the client's user.
        ConfigurationError: the extra `files` is not installed.
        LedgerUnavailable: the ledger does not answer.
    """
    matched = _match(batch, labels, column)
    return gold_evaluation.evaluate(matched).model_copy(update={"panel": _panel(batch, _human(matched))})


def calibrate(
    batch: Batch, labels: Labels, recall: float = 0.95, delta: float = 0.05, *, column: str | None = None
) -> Calibrated:
    """Return a calibration, whose threshold keeps the share `recall` of the includes with probability 1 - `delta`.

    The labels must come from a random sample, for example from `draw_pilot`. If there is no threshold, the result's
    `calibration.refusal` says why. `kept(record)` says whether the threshold keeps a record.

    Raises `InvalidParameters` if recall or delta is not between 0 and 1, and the errors of `evaluate`.
    """
    return pilot.calibrate(_match(batch, labels, column), recall, delta)


def measure_agreement(batch: Batch) -> AgreementFigures:
    """Return how far software and people agree on the same records, and how far people agree with each other.

    Raises:
        InvalidRequest: the operation makes no decisions.
        Blinded: a decision is hidden from the client's user.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch).check_whole()
        return human_agreement.read_agreement(connection, batch.uuid)


def list_agreement_records(batch: Batch, query: CellQuery) -> AgreementRecords:
    """Return a page of the records that a cell of a table of agreement counts, in batch order.

    Raises `InvalidParameters` if the cell needs two reviewers, and the errors of `measure_agreement`.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch).check_whole()
        return human_agreement.read_cell(connection, batch.uuid, query)


def measure_panel(batch: Batch, labels: Labels | None = None, column: str | None = None) -> PanelFigures:
    """Return the agreement of the models of the batch's panel, their joint errors, and each model's contribution.

    Errors are counted against `labels`, as in `evaluate`, or against people's decisions if `labels` is None.

    Raises `InvalidRequest` if the batch asks a single model, and the errors of `evaluate`.
    """
    figures = _panel(batch, None if labels is None else _human(_match(batch, labels, column)))
    if figures is None:
        raise InvalidRequest(f"batch {batch.id} asks one model: only a panel has figures on several models")
    return figures


def _match(batch: Batch, labels: Labels, column: str | None) -> Matched:
    check_decides(batch.id, batch.status().operation, "An evaluation by labels")
    return match(batch.results(), labels_of(labels, column, max_bytes=batch.session.settings.max_file_bytes))


def _human(matched: Matched) -> dict[int, bool]:
    return {record.index: record.human for record in matched.records if record.human is not None}


def _panel(batch: Batch, human: Mapping[int, bool] | None) -> PanelFigures | None:
    with batch.session.snapshot() as connection:
        visible(connection, batch).check_whole()
        return human_agreement.read_panel(connection, batch.uuid, human)
