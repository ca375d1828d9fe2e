"""Reads the explanation of a record from the ledger, in the snapshot of the caller's connection."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Integer, Row, and_, cast, select

from tamis_producer.ledger import read_overrides, stream_results
from tamis_producer.ledger.copies import read_copies, stages_of
from tamis_producer.ledger.sources import read_sources
from tamis_schemas import (
    Inclusion,
    InvalidParameters,
    ItemResult,
    ItemStatus,
    Operation,
    Override,
    Provenance,
    Quote,
    Source,
    parse_operation,
)
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.answers.transcript import Transcript
from tamis_schemas.ledger import (
    audit_decisions,
    audit_items,
    audits,
    batches,
    exclusions,
    items,
    past_failures,
    payloads,
    prompts,
    transcripts,
)
from tamis_schemas.records.record_number import indexed_words

from .document import (
    DrawnIn,
    ExplainedBatch,
    ExplainedCopy,
    ExplainedVerdict,
    Explanation,
    HumanAct,
    HumanWord,
    OtherStage,
    PastFailure,
    because,
)


def read_origin(
    connection: Connection, batch: Row[Any], result: ItemResult
) -> tuple[Source | None, tuple[ExplainedCopy, ...]]:
    """Return a record's source and its duplicates. In a later stage of a review, read both from the first stage."""
    place = result.index if result.origin is None else result.origin
    stages = select(batches).where(batches.c.id.in_(stages_of(batch.id))).order_by(batches.c.stage)
    first = connection.execute(stages.limit(1)).one()
    sources = read_sources(first)
    source_place = select(payloads.c.source).where(payloads.c.batch_id == first.id, payloads.c.idx == place)
    source = connection.execute(source_place).scalar_one() or 0
    copies = (
        select(exclusions.c.idx, exclusions.c.exclusion, items.c.item_id, payloads.c.source)
        .join(items, and_(items.c.batch_id == first.id, items.c.idx == exclusions.c.idx))
        .join(payloads, and_(payloads.c.batch_id == first.id, payloads.c.idx == exclusions.c.idx))
        .where(
            exclusions.c.batch_id == first.id,
            exclusions.c.rule == DUPLICATE,
            cast(exclusions.c.exclusion.op("->>")("duplicate_of"), Integer) == place,
        )
        .order_by(exclusions.c.idx)
    )
    return sources[source] if sources else None, tuple(
        ExplainedCopy(
            index=row.idx,
            item_id=row.item_id,
            source=None if row.source is None else sources[row.source].name,
            reason=row.exclusion["reason"],
        )
        for row in connection.execute(copies)
    )


NOT_DECIDED = "the record is not decided yet: its calls are stored with its result"
NOT_ASKED = "no model was asked about the record"
CALLED_COPY = "a person called the record a copy: its calls are shown when this is taken back"
NOT_KEPT = (
    "prompts and answers were not kept: the worker had TAMIS_TRANSCRIPTS=false, or the ledger could not store them"
)


def read_explanation(connection: Connection, batch_id: UUID, index: int) -> Explanation:
    """Return the full history of the record at an index. Raise `InvalidParameters` if the batch has no such index."""
    batch = connection.execute(select(batches).where(batches.c.id == batch_id)).one()
    operation = parse_operation(batch.params)
    result = _result(connection, batch_id, index)
    if result is None:
        raise InvalidParameters(f"batch {batch_id} has no record {indexed_words(index)}: it has {batch.n_items:,}")
    copied = index in read_copies(connection, batch_id)  # its calls would show a decision that does not count
    claims = () if copied else _transcripts(connection, batch_id, index)
    lost = select(items.c.lost_claims).where(items.c.batch_id == batch_id, items.c.idx == index)
    lost_claims: int = connection.execute(lost).scalar_one()
    source, copies = read_origin(connection, batch, result)
    return Explanation(
        batch=_batch(batch, operation),
        record=result,
        source=source,
        copies=copies,
        verdicts=_verdicts(operation, result),
        because=because(operation, result),
        transcripts=claims,
        prompts=_prompts(connection, batch_id, claims),
        gap=CALLED_COPY if copied else _gap(result, claims, lost_claims),
        past_failures=_past_failures(connection, batch_id, index),
        humans=_humans(connection, batch_id, index),
        audits=_audits(connection, batch_id, index),
        stages=_stages(connection, batch, result),
        lost_claims=lost_claims,
    )


def _batch(row: Row[Any], operation: Operation) -> ExplainedBatch:
    criteria = tuple(operation.criteria.labelled()) if isinstance(operation, Inclusion) else ()
    review = None if row.review_id is None else str(row.review_id)
    return ExplainedBatch.model_validate(row._asdict() | {"id": str(row.id), "criteria": criteria, "review": review})


def _result(connection: Connection, batch_id: UUID, index: int) -> ItemResult | None:
    results = list(stream_results(connection, batch_id, [index]))
    return results[0] if results else None


def _verdicts(operation: Operation, result: ItemResult) -> tuple[ExplainedVerdict, ...]:
    if result.decision is None:
        return ()
    criteria = {c.label: c for c in operation.criteria.labelled()} if isinstance(operation, Inclusion) else {}
    return tuple(
        ExplainedVerdict(
            label=label,
            criterion=criteria[label].text if label in criteria else None,
            excludes=label in criteria and criteria[label].excludes,
            verdict=verdict.verdict,
            quote=verdict.quote,
            passage=None if verdict.quote is None else _passage(result, verdict.quote),
        )
        for label, verdict in result.decision.verdicts.items()
    )


def _passage(result: ItemResult, quote: Quote) -> str | None:
    text = None if quote.field is None or quote.start is None else result.item.get(quote.field)
    return text[quote.start : quote.end] if isinstance(text, str) else None


def _transcripts(connection: Connection, batch_id: UUID, index: int) -> tuple[Transcript, ...]:
    statement = (
        select(transcripts.c.fence, transcripts.c.round, transcripts.c.created_at, transcripts.c.calls)
        .where(transcripts.c.batch_id == batch_id, transcripts.c.idx == index)
        .order_by(transcripts.c.fence)
    )
    return tuple(Transcript.model_validate(row._asdict()) for row in connection.execute(statement))


def _prompts(connection: Connection, batch_id: UUID, claims: Sequence[Transcript]) -> dict[str, str]:
    calls = [call for claim in claims for call in claim.calls]
    named = {message.sha256 for call in calls for message in call.messages}
    named |= {call.format.sha256 for call in calls if call.format is not None}
    wanted = prompts.c.sha256.in_(sorted(name for name in named if name is not None))
    statement = select(prompts.c.sha256, prompts.c.text).where(prompts.c.batch_id == batch_id, wanted)
    return {row.sha256: row.text for row in connection.execute(statement)}


def _gap(result: ItemResult, claims: Sequence[Transcript], lost_claims: int) -> str | None:
    bill = result.provenance or Provenance()
    kept = sum(not call.cached for claim in claims for call in claim.calls)
    if result.status is ItemStatus.EXCLUDED_BY_FILTER:
        return NOT_ASKED
    if result.status in (ItemStatus.PENDING, ItemStatus.RUNNING):
        return NOT_DECIDED
    if not claims:
        return NOT_KEPT if bill.calls or bill.cached else NOT_ASKED
    if kept < bill.calls:
        return f"calls with a stored transcript: {kept} of {bill.calls}"
    if lost_claims:
        workers = "a dead worker" if lost_claims == 1 else f"{lost_claims} dead workers"
        return f"the calls of {workers} were not kept"
    return None


def _past_failures(connection: Connection, batch_id: UUID, index: int) -> tuple[PastFailure, ...]:
    failed = past_failures.c
    statement = (
        select(failed.round, failed.error_kind.label("kind"), failed.error.label("message"))
        .where(failed.batch_id == batch_id, failed.idx == index)
        .order_by(failed.round)
    )
    return tuple(PastFailure.model_validate(row._asdict()) for row in connection.execute(statement))


def _humans(connection: Connection, batch_id: UUID, index: int) -> tuple[HumanWord, ...]:
    words = [_word(entry) for entry in read_overrides(connection, batch_id, history=True, places=[index])]
    audited = (
        select(audit_decisions)
        .join(audits, audits.c.id == audit_decisions.c.audit_id)
        .where(audits.c.batch_id == batch_id, audit_decisions.c.idx == index)
        .order_by(audit_decisions.c.id)
    )
    for row in connection.execute(audited):
        facts = {"by": row.reviewer, "at": row.created_at, "value": row.include, "note": row.note}
        words.append(HumanWord(act=HumanAct.AUDITED, audit=str(row.audit_id), **facts))
    return tuple(sorted(words, key=lambda word: word.at))


def _word(entry: Override) -> HumanWord:
    act = HumanAct.WITHDREW if entry.withdrawn else HumanAct.CONFIRMED if entry.confirms else HumanAct.DECIDED
    about = {"stage": entry.stage, "reason": entry.reason, "settles": entry.settles}
    return HumanWord(act=act, by=entry.reviewer, at=entry.created_at, value=entry.value, note=entry.note, **about)


def _audits(connection: Connection, batch_id: UUID, index: int) -> tuple[DrawnIn, ...]:
    statement = (
        select(audits, audit_items.c.drawn, audits.c.created_at.label("at"))
        .join(audit_items, audit_items.c.audit_id == audits.c.id)
        .where(audits.c.batch_id == batch_id, audit_items.c.idx == index)
        .order_by(audits.c.created_at)
    )
    rows = connection.execute(statement)
    return tuple(DrawnIn.model_validate(row._asdict() | {"audit": str(row.id)}) for row in rows)


def _stages(connection: Connection, batch: Row[Any], result: ItemResult) -> tuple[OtherStage, ...]:
    """Return the record's results in other stages of the review."""
    origin = result.index if result.origin is None else result.origin
    first = (batches.c.stage == 0) & (payloads.c.idx == origin)
    later = (batches.c.stage > 0) & (payloads.c.origin == origin)
    statement = (
        select(batches.c.id, batches.c.stage, batches.c.operation, batches.c.params, payloads.c.idx)
        .join(payloads, payloads.c.batch_id == batches.c.id)
        .where(batches.c.id.in_(stages_of(batch.id)), batches.c.id != batch.id, first | later)
        .order_by(batches.c.stage)
    )
    stages = []
    for row in connection.execute(statement).all():
        if (other := _result(connection, row.id, row.idx)) is not None:
            of_batch = {"stage": row.stage, "batch_id": str(row.id), "operation": row.operation}
            stages.append(OtherStage(**of_batch, result=other, because=because(parse_operation(row.params), other)))
    return tuple(stages)
