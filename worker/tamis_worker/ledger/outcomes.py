"""Outcomes: the decisions and failures of items.

The ledger accepts an outcome only with the fence number of the item's current claim. The transcript of the item's calls
is written together with the outcome. This module never reads it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import exists, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import Cut, ErrorKind, FieldsResult, ItemStatus, PanelResult, Provenance
from tamis_schemas.batches import wire
from tamis_schemas.ledger import batches, results

from ..operations import Decided, Failure
from .claims import Claim, item_keys
from .connection import storable, transaction

LARGEST_INTEGER = 2**31 - 1  # of Postgres
MOST_KNOWN = 4_096  # texts that a process knows to be in the ledger; others are sent again, without effect


@dataclass(frozen=True)
class CallsOfClaim:
    """The transcript of one claim: its calls to models as JSON objects.

    `tamis_schemas.answers.transcript` defines the fields of these objects.
    """

    calls: Sequence[Mapping[str, Any]]
    prompts: Mapping[str, str] = field(default_factory=dict)  # the texts that the calls refer to, by sha256


@dataclass(frozen=True)
class TranscribedClaim:
    """A claim with its transcript."""

    claim: Claim
    transcript: CallsOfClaim


class KnownPrompts:
    """The prompt texts that this process has already written to the ledger, and need not send again."""

    def __init__(self) -> None:
        self._known: dict[tuple[UUID, str], None] = {}

    def new(self, claims: Iterable[TranscribedClaim]) -> dict[tuple[UUID, str], str]:
        """Return the prompt texts of these claims that the ledger may lack, by batch id and SHA-256 of the text.

        The keys are sorted. So workers that write at the same time lock rows in the same order, without a deadlock.
        """
        new = {
            (entry.claim.key.batch_id, sha256): text
            for entry in claims
            for sha256, text in entry.transcript.prompts.items()
            if (entry.claim.key.batch_id, sha256) not in self._known
        }
        return dict(sorted(new.items()))

    def committed(self, texts: Iterable[tuple[UUID, str]], batches: Iterable[UUID]) -> None:
        """Record that the ledger has these texts (batch id, SHA-256), except those whose batch is not in `batches`."""
        accepted = set(batches)
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._known.update((key, None) for key in texts if key[0] in accepted)


def transcript_rows(claims: Sequence[TranscribedClaim]) -> str:
    """Return a JSON array with one object for each claim: the claim's columns and its calls."""
    rows = [entry.claim.columns | {"calls": entry.transcript.calls} for entry in claims]
    return json.dumps(rows, ensure_ascii=False)


def prompt_rows(texts: Mapping[tuple[UUID, str], str]) -> str:
    """Return a JSON array with one object for each text. A key of `texts` is a batch id and the text's SHA-256."""
    rows = [{"batch_id": str(batch_id), "sha256": sha256, "text": text} for (batch_id, sha256), text in texts.items()]
    return json.dumps(rows, ensure_ascii=False)


@dataclass(frozen=True)
class ClaimOutcome:
    """The outcome of one claim: the decision or failure of its item, with tokens, cost and transcript of its calls."""

    claim: Claim
    ended: Decided | Failure
    provenance: Provenance
    cut: Mapping[str, Cut] = field(default_factory=dict)  # fields that were too long to send whole
    transcript: CallsOfClaim | None = None  # None: no calls, or transcripts are off

    @property
    def status(self) -> ItemStatus:
        """The state of the item: decided or failed."""
        return ItemStatus.DECIDED if isinstance(self.ended, Decided) else ItemStatus.FAILED


# One statement in one commit writes the item's state if the fence number matches, and then the result, the transcript
# and the metrics. Failures have no metrics, and only failed items are evaluated again.
_RECORD = text("""
WITH given AS (
    SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS r(
        batch_id uuid, idx int, fence int, state text, value json, detail json, confidence float8,
        reasoning text, error_kind text, error text, model text, prompt_sha256 text,
        prompt_tokens bigint, completion_tokens bigint, cached_tokens bigint, cache_write_tokens bigint,
        reasoning_tokens bigint, tier text, cost numeric, calls int, unanswered int, cached bool, latency_ms int,
        cut json, deviations json, probability float8, relevance smallint)
), accepted AS (
    UPDATE item_states i SET state = given.state, worker = NULL
    FROM given
    WHERE i.batch_id = given.batch_id AND i.idx = given.idx AND i.fence = given.fence AND i.state = 'running'
    RETURNING i.batch_id, i.idx, i.fence
), evaluated AS (
    INSERT INTO evaluations (batch_id, idx, field, label, metric_type, score, category, reason)
    SELECT e.batch_id, e.idx, e.field, e.label, e.metric_type, e.score, e.category, e.reason
    FROM json_to_recordset(CAST(:evaluations AS json)) AS e(
        batch_id uuid, idx int, fence int, field text, label text, metric_type text, score float8, category text,
        reason text)
    JOIN accepted USING (batch_id, idx, fence)
    ON CONFLICT (batch_id, idx, field, label) DO UPDATE SET
        metric_type = EXCLUDED.metric_type, score = EXCLUDED.score, category = EXCLUDED.category,
        reason = EXCLUDED.reason
), common AS (
    INSERT INTO prompts (batch_id, sha256, text)
    SELECT p.batch_id, p.sha256, p.text
    FROM json_to_recordset(CAST(:prompts AS json)) AS p(batch_id uuid, sha256 text, text text)
    WHERE p.batch_id IN (SELECT batch_id FROM accepted)
    ON CONFLICT DO NOTHING
), transcribed AS (
    INSERT INTO transcripts (batch_id, idx, fence, round, calls)
    SELECT t.batch_id, t.idx, t.fence, b.round, t.calls
    FROM json_to_recordset(CAST(:transcripts AS json)) AS t(batch_id uuid, idx int, fence int, calls json)
    JOIN accepted USING (batch_id, idx, fence) JOIN batches b ON b.id = t.batch_id
)
INSERT INTO results (batch_id, idx, fence, round, value, detail, confidence, reasoning, error_kind, error, model,
                     prompt_sha256, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens,
                     reasoning_tokens, tier, cost, calls, unanswered, cached, latency_ms, cut, deviations,
                     probability, relevance)
SELECT given.batch_id, given.idx, given.fence, b.round, given.value, given.detail, given.confidence,
       given.reasoning, given.error_kind, given.error, given.model, given.prompt_sha256,
       given.prompt_tokens, given.completion_tokens, given.cached_tokens, given.cache_write_tokens,
       given.reasoning_tokens, given.tier, given.cost, given.calls, given.unanswered, given.cached, given.latency_ms,
       given.cut, given.deviations, given.probability, given.relevance
FROM given JOIN accepted USING (batch_id, idx, fence) JOIN batches b ON b.id = given.batch_id
ON CONFLICT (batch_id, idx) DO UPDATE SET  -- a new round replaces the failure of the last one, but not its bill
    fence = EXCLUDED.fence, round = EXCLUDED.round, value = EXCLUDED.value, detail = EXCLUDED.detail,
    confidence = EXCLUDED.confidence, reasoning = EXCLUDED.reasoning, error_kind = EXCLUDED.error_kind,
    error = EXCLUDED.error, model = EXCLUDED.model, prompt_sha256 = EXCLUDED.prompt_sha256,
    prompt_tokens = results.prompt_tokens + EXCLUDED.prompt_tokens,
    completion_tokens = results.completion_tokens + EXCLUDED.completion_tokens,
    cached_tokens = results.cached_tokens + EXCLUDED.cached_tokens,
    cache_write_tokens = results.cache_write_tokens + EXCLUDED.cache_write_tokens,
    reasoning_tokens = results.reasoning_tokens + EXCLUDED.reasoning_tokens,
    tier = EXCLUDED.tier,
    cost = CASE  -- unknown where one of them is; without a call there is nothing to know
        WHEN results.calls = 0 THEN EXCLUDED.cost
        WHEN EXCLUDED.calls = 0 THEN results.cost
        ELSE results.cost + EXCLUDED.cost END,
    calls = least(results.calls::bigint + EXCLUDED.calls, 2147483647),
    unanswered = least(results.unanswered::bigint + EXCLUDED.unanswered, 2147483647),
    cached = EXCLUDED.cached AND results.calls = 0,  -- calls of an earlier round were paid for
    latency_ms = EXCLUDED.latency_ms,
    cut = EXCLUDED.cut,
    deviations = EXCLUDED.deviations,
    probability = EXCLUDED.probability,
    relevance = EXCLUDED.relevance,
    created_at = now()
RETURNING batch_id, idx
""")


async def record(
    engine: AsyncEngine, outcomes: Sequence[ClaimOutcome], known: KnownPrompts | None = None
) -> Sequence[bool]:
    """Write outcomes, and return, in their order, True for each accepted outcome.

    The ledger refuses an outcome if a newer claim has raised the item's fence number. The ledger also refuses to write
    an outcome a second time, even if the first reply was lost. `known`: prompt texts that need not be sent; None: send
    all. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    known = known or KnownPrompts()
    transcribed = [TranscribedClaim(o.claim, o.transcript) for o in outcomes if o.transcript is not None]
    prompts = known.new(transcribed)
    rows = {
        "rows": json.dumps([_row(outcome) for outcome in outcomes], ensure_ascii=False),
        "evaluations": json.dumps([row for outcome in outcomes for row in _evaluations(outcome)], ensure_ascii=False),
        "transcripts": transcript_rows(transcribed),
        "prompts": prompt_rows(prompts),
    }
    async with transaction(engine) as connection:
        written = item_keys(await connection.execute(_RECORD, rows))
    known.committed(prompts, (batch_id for batch_id, _ in written))
    return [o.claim.key in written for o in outcomes]


async def latest_errors(engine: AsyncEngine, batch_id: UUID, limit: int) -> Sequence[ErrorKind | None]:
    """Return the error kinds of the batch's `limit` latest results, newest first. A decided item has the kind None.

    Items without content are left out, because no call was made for them. A small batch of a service has no latest
    results, because its items may be calls of several callers. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    c = results.c
    evaluated = (c.error_kind.is_(None)) | (c.error_kind != ErrorKind.NO_CONTENT)
    of_one_caller = exists().where(
        batches.c.id == batch_id, batches.c.service.is_(None) | (batches.c.n_items > wire.SMALL)
    )
    latest = select(c.error_kind).where(c.batch_id == batch_id, evaluated).order_by(c.created_at.desc()).limit(limit)
    statement = latest.where(of_one_caller)
    async with transaction(engine) as connection:
        return [kind and ErrorKind(kind) for kind in (await connection.execute(statement)).scalars()]


def refused(outcome: ClaimOutcome, why: str) -> tuple[ClaimOutcome, ClaimOutcome]:
    """Return two outcomes to record instead of an outcome that the ledger refused.

    Both outcomes are failures of the item. The first outcome keeps the tokens and the cost. The second drops them:
    record it if the ledger refuses the first outcome too. `why`: the reason of the refusal.
    """
    why = f"the ledger cannot store this outcome: {why}"
    failed = replace(outcome, ended=Failure(ErrorKind.INTERNAL, why), cut={}, transcript=None)
    unpaid = Provenance(calls=outcome.provenance.calls, unanswered=outcome.provenance.unanswered)
    unbilled = Failure(ErrorKind.INTERNAL, f"{why}; nor its cost")
    return failed, replace(failed, ended=unbilled, provenance=unpaid)


def _row(outcome: ClaimOutcome) -> dict[str, Any]:
    provenance, usage = outcome.provenance, outcome.provenance.usage
    row: dict[str, Any] = {
        **outcome.claim.columns,
        "state": outcome.status.value,
        "model": storable(provenance.model),
        "prompt_sha256": provenance.prompt_sha256,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "tier": storable(provenance.tier),
        "cost": None if provenance.cost is None else str(provenance.cost),
        "calls": min(provenance.calls, LARGEST_INTEGER),
        "unanswered": min(provenance.unanswered, LARGEST_INTEGER),
        "cached": provenance.cached,
        "latency_ms": None if provenance.latency_ms is None else min(provenance.latency_ms, LARGEST_INTEGER),
        "cut": storable(dict(outcome.cut)) or None,
        "deviations": storable(list(provenance.deviations)) or None,
    }
    match outcome.ended:
        case Failure(kind, message, panel):
            row |= {"error_kind": kind.value, "error": storable(message), "detail": _detail(None, panel)}
        case Decided(result, detail, panel=panel, probability=probability, relevance=relevance):
            value = result.fields if isinstance(result, FieldsResult) else result.value
            row |= {
                "value": storable(value),
                "confidence": result.confidence,
                "reasoning": storable(result.reasoning),
                "detail": _detail(detail, panel),
                "probability": probability,
                "relevance": relevance,
            }
    return row


def _detail(detail: BaseModel | None, panel: PanelResult | None) -> Any:
    """Return the JSON of a result's details, with the verdicts of a panel of models under the key `panel`."""
    written = None if detail is None else detail.model_dump(mode="json")
    if panel is not None:
        written = {**(written or {}), "panel": panel.model_dump(mode="json")}
    return storable(written)


def _evaluations(outcome: ClaimOutcome) -> list[dict[str, Any]]:
    """Return one row for each field and metric (`label`) of a decided item; no rows for a failure.

    If a metric has several values for a field, the last counts.
    """
    if not isinstance(outcome.ended, Decided):
        return []
    rows = {}
    for evaluation in outcome.ended.evaluations:
        field = storable(evaluation.field or "")
        rows[field, evaluation.label] = {
            **outcome.claim.columns,
            "field": field,
            "label": evaluation.label,
            "metric_type": evaluation.metric_type,
            "score": None if isinstance(evaluation.value, str) else evaluation.value,
            "category": storable(evaluation.value) if isinstance(evaluation.value, str) else None,
            "reason": storable(evaluation.reason),
        }
    return list(rows.values())
