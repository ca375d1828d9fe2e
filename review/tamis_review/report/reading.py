"""Figures from the ledger: every number of a report, counted by SQL in one snapshot."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from itertools import compress, count
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, Integer, Row, String, any_, cast, func, select, text

from tamis_producer.ledger import find_either, ledger_errors, read_audits, read_human_counts, read_reviewers
from tamis_producer.ledger.aggregates import count_values, read_counts, read_totals
from tamis_producer.ledger.overrides import human_decisions
from tamis_producer.ledger.snapshots import read_snapshot_change
from tamis_producer.ledger.sources import read_sources
from tamis_producer.runs.retry_bias import read_retry_bias
from tamis_schemas import HumanStage, ItemStatus, ReviewPlan, UnknownBatch, wilson
from tamis_schemas.ledger import batches, reading_orders, results, reviews, stop_samples
from tamis_schemas.operations import kind_of

from ..decisions.audits import verdict
from ..decisions.copy_pairs import read_pairs
from ..decisions.final_outcome import INCLUSION, Outcome, outcomes
from ..decisions.human_agreement import read_agreement, read_panel
from ..decisions.stop_samples import read_reading_state
from ..decisions.stopping import read_stop
from .figures import (
    BINS,
    AuditFigures,
    BatchCosts,
    BatchFigures,
    ConfidenceSeries,
    Figures,
    FindingFigures,
    HumanFigures,
    OrderFigures,
    Prompts,
    Quotes,
    ReadingFigures,
    SubjectKind,
)
from .flow_reading import Tallied, read_flow, read_report_rows, tally


@dataclass(frozen=True)
class ReportSubject:
    """The subject of a report: a batch, or a review with its batches in the order of their stages."""

    kind: SubjectKind
    id: UUID
    label: str | None
    batches: tuple[Any, ...]  # rows of `batches`
    read_at: datetime  # by the database's clock
    planned: tuple[str, ...]  # the operations of all stages
    ended: bool  # no further stage will begin


def find_subject(connection: Connection, prefix: str) -> ReportSubject:
    """Return the batch or the review whose id is, or begins with, `prefix`.

    Raises:
        UnknownBatch: no id begins with `prefix`, or the review has no batch yet.
        InvalidRequest: several ids begin with `prefix`.
    """
    match = find_either(connection, prefix)
    if match.review_id is not None:
        return _review(connection, match.review_id)
    row = connection.execute(select(batches, func.now().label("read_at")).where(batches.c.id == match.batch_id)).one()
    return ReportSubject(SubjectKind.BATCH, row.id, row.label, (row,), row.read_at, (row.operation,), ended=True)


def _review(connection: Connection, review_id: UUID) -> ReportSubject:
    review = connection.execute(select(reviews, func.now().label("read_at")).where(reviews.c.id == review_id)).one()
    rows = tuple(connection.execute(select(batches).where(batches.c.review_id == review_id).order_by(batches.c.stage)))
    if not rows:
        raise UnknownBatch(f"review {review_id} has no batch yet: there is nothing to report")
    planned = tuple(stage.name for stage in ReviewPlan.model_validate(review.plan).stages)
    ended = review.finished_at is not None
    return ReportSubject(SubjectKind.REVIEW, review.id, review.label, rows, review.read_at, planned, ended=ended)


def read_human_figures(connection: Connection, batch: Row[Any]) -> HumanFigures:
    """Return the figures of people's decisions on a batch. Without decisions and audits, all counts are 0."""
    counts, audits = read_human_counts(connection, batch.id), read_audits(connection, batch.id)
    if counts is None and not audits:
        return HumanFigures()
    return HumanFigures(
        **({} if counts is None else dict(counts)),
        reviewers=read_reviewers(connection, batch.id),
        agreement=read_agreement(connection, batch.id) if kind_of(batch.operation).decides() else None,
        audits=tuple(
            AuditFigures(
                id=audit.id,
                created_at=audit.created_at,
                verdict=verdict(audit),
                reviewers=tuple(sorted({item.reviewer for item in audit.items if item.reviewer is not None})),
            )
            for audit in audits
        ),
    )


def read_reading_figures(connection: Connection, batch: Row[Any]) -> ReadingFigures | None:
    """Return the figures of people's reading.

    Return None if people used no reading order and drew no stop sample, or if the operation makes no decisions.
    """
    if not kind_of(batch.operation).decides():
        return None
    order = _order(connection, batch)
    drawn = select(stop_samples.c.id).where(stop_samples.c.batch_id == batch.id).limit(1)
    sampled = connection.execute(drawn).first() is not None
    if order is None and not sampled:
        return None
    state = read_reading_state(connection, batch.id, batch.operation)
    finds = tuple(compress(count(1), state.in_order or state.included.values()))
    finding = FindingFigures(records=state.records, read=state.read, finds=finds, ordered=not state.together)
    stop = read_stop(connection, batch.id, priced=False) if sampled else None
    return ReadingFigures(finding=finding, order=order, stop=stop)


def _order(connection: Connection, batch: Row[Any]) -> OrderFigures | None:
    kept, view = reading_orders.c, human_decisions.c
    ordered = (view.batch_id == batch.id, view.stage == HumanStage.OWN.value, view.current, view.in_order)
    samples = stop_samples.c
    drawn = (samples.batch_id == view.batch_id) & (view.idx == any_(samples.records[1 : samples.drawn]))  # at random
    places = select(func.count(view.idx.distinct())).where(*ordered, ~select(samples.id).where(drawn).exists())
    read = places.scalar_subquery().label("read")
    statement = select(kept.seed, kept.explore, kept.decided, kept.text_weight, read).where(kept.batch_id == batch.id)
    row = connection.execute(statement).one_or_none()
    return OrderFigures.model_validate(row._asdict()) if row is not None and row.read else None


DECISIONS = (Outcome.PASSED, Outcome.EXCLUDED, Outcome.UNCERTAIN)


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that reads one snapshot of the ledger. May raise `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        yield connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def read_figures(connection: Connection, subject: ReportSubject) -> Figures:
    """Return the figures of a batch or a review. The figures are consistent if `snapshot` opened the connection.

    Raises `OperationFailed` if the ledger's own numbers do not add up.
    """
    tallied = [tally(connection, batch) for batch in subject.batches]
    flow = read_flow(connection, subject.batches, tallied)
    screening = None if flow.reports is None or flow.screening is None else subject.batches[flow.screening]
    return Figures(
        kind=subject.kind,
        id=str(subject.id),
        label=subject.label,
        read_at=subject.read_at,
        software=f"Tamis {version('tamis')}",
        flow=flow,
        planned=subject.planned,
        ended=subject.ended,
        report_reviewers=() if screening is None else _report_reviewers(connection, screening.id),
        reports=() if screening is None else read_report_rows(connection, screening),
        batches=tuple(
            _batch(connection, batch, counted) for batch, counted in zip(subject.batches, tallied, strict=True)
        ),
    )


def _report_reviewers(connection: Connection, batch_id: UUID) -> tuple[str, ...]:
    stages = (HumanStage.RETRIEVAL, HumanStage.FULL_TEXT)
    return tuple(sorted({name for stage in stages for name in read_reviewers(connection, batch_id, stage)}))


def _batch(connection: Connection, batch: Row[Any], counted: Tallied) -> BatchFigures:
    created = results.c.created_at
    dates = select(func.min(created).label("first_result_at"), func.max(created).label("last_result_at"))
    columns = ("label", "operation", "state", "round", "use_cache", "created_at", "started_at", "finished_at")
    deciding = kind_of(batch.operation).decides()
    decided = sum(counted.n(system=outcome) for outcome in DECISIONS)
    in_the_end = sum(counted.n(outcome=outcome) for outcome in (*DECISIONS, Outcome.CONFLICT))
    return BatchFigures(
        **{name: batch._mapping[name] for name in columns},
        **connection.execute(dates.where(results.c.batch_id == batch.id)).one()._asdict(),
        id=str(batch.id),
        parameters=batch.params,
        model_asked=batch.model,
        models=count_values(connection, batch.id, results.c.model, most_first=True),
        snapshots=read_snapshot_change(connection, batch.id),
        sources=read_sources(batch),
        counts=read_counts(connection, batch.id, batch.n_items),
        outcomes={str(outcome): n for outcome in Outcome if (n := counted.n(system=outcome))},
        final_outcomes={str(outcome): n for outcome in Outcome if (n := counted.n(outcome=outcome))},
        pass_rate=wilson(counted.n(system=Outcome.PASSED), decided) if deciding else wilson(0, 0),
        final_pass_rate=wilson(counted.n(outcome=Outcome.PASSED), in_the_end) if deciding else wilson(0, 0),
        humans=read_human_figures(connection, batch),
        panel=read_panel(connection, batch.id),
        reading=read_reading_figures(connection, batch),
        exclusions=counted.removed_by,
        copies=read_pairs(connection, batch.id),
        reasons=counted.tallies(outcome=Outcome.EXCLUDED, system=Outcome.EXCLUDED),
        errors=counted.tallies(system=Outcome.FAILED),
        confidence=_confidence(connection, batch),
        quotes=_quotes(connection, batch) if batch.operation == INCLUSION else Quotes(),
        spending=BatchCosts.model_validate(read_totals(connection, batch.id)),
        prompts=_prompts(connection, batch),
        failures=read_retry_bias(connection, batch.id),
    )


def _confidence(connection: Connection, batch: Row[Any]) -> tuple[ConfidenceSeries, ...]:
    item = outcomes(batch.id).subquery("each")
    # Rounding corrects floats just below a tenth (0.7 * 10) before they are cut off.
    place = cast(func.least(func.floor(func.round(item.c.confidence * BINS * 1e6) / 1e6), BINS - 1), Integer)
    statement = (
        select(item.c.system, place.label("place"), func.count().label("n"))
        .where(item.c.confidence.is_not(None))
        .group_by(item.c.system, "place")
        .order_by(item.c.system, "place")
    )
    counts = {(row.system, row.place): row.n for row in connection.execute(statement)}
    bins = {outcome: tuple(counts.get((outcome, n), 0) for n in range(BINS)) for outcome in DECISIONS}
    return tuple(ConfidenceSeries(outcome=outcome, bins=tenths) for outcome, tenths in bins.items() if any(tenths))


def _quotes(connection: Connection, batch: Row[Any]) -> Quotes:
    # Older verdicts are plain words without a quote.
    statement = text(
        """
        SELECT count(*) FILTER (WHERE v.value -> 'quote' ->> 'text' IS NOT NULL) AS given,
               count(*) FILTER (WHERE v.value -> 'quote' ->> 'found' = 'true') AS found,
               count(*) FILTER (WHERE v.value -> 'quote' ->> 'state' = 'altered') AS altered,
               count(DISTINCT r.idx) FILTER (WHERE r.detail ->> 'flagged' = 'true') AS flagged
        FROM results r
        JOIN item_states i ON i.batch_id = r.batch_id AND i.idx = r.idx AND i.state = :decided
        LEFT JOIN LATERAL json_each(
            CASE WHEN json_typeof(r.detail -> 'verdicts') = 'object' THEN r.detail -> 'verdicts' END
        ) v ON true
        WHERE r.batch_id = :batch_id
        """
    )
    row = connection.execute(statement, {"batch_id": batch.id, "decided": ItemStatus.DECIDED.value}).one()
    return Quotes.model_validate(row._asdict())


def _prompts(connection: Connection, batch: Row[Any]) -> Prompts:
    digest = text(
        "SELECT count(prompt_sha256) AS n, "
        "encode(sha256(convert_to(string_agg(prompt_sha256, E'\\n' ORDER BY idx), 'UTF8')), 'hex') AS digest "
        "FROM results WHERE batch_id = :batch_id"
    ).columns(n=Integer, digest=String)
    row = connection.execute(digest, {"batch_id": batch.id}).one()
    return Prompts(records=row.n, sha256=row.digest, parameters_sha256=parameters_sha256(batch.params))


def parameters_sha256(parameters: dict[str, Any]) -> str:
    """Return the SHA-256 of an operation's parameters, written as JSON with sorted names, without spaces, in UTF-8."""
    canonical = json.dumps(parameters, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
