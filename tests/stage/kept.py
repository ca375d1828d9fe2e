"""A review with a row in every table that a batch can have rows in, as a ledger would hold it after weeks of work."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from sqlalchemy import Connection, func, insert, select, update

from tamis_schemas import (
    ConfidenceDistribution,
    Counts,
    Exclusion,
    Filter,
    InclusionDecision,
    ItemStatus,
    Summary,
    wilson,
)
from tamis_schemas.ledger import (
    audit_decisions,
    audit_items,
    audits,
    batches,
    copy_decisions,
    evaluations,
    overrides,
    past_failures,
    prompts,
    reading_orders,
    remarks,
    reviews,
    screening_modes,
    shards,
    spending,
    stop_samples,
    summaries,
    transcripts,
    webhooks,
)

from .screened import CRITERIA, SCREENING, Ledgered, Place, decided, failed, kept_out, write_batch, write_review

QUESTION = Filter(criteria="Is it a trial?")


def _record(n: int) -> dict[str, object]:
    # What a careless copy would change: order, line ends, numbers as they were written, signs of other scripts.
    return {
        "title": f"Title {n}\nof two lines",
        "id": f"r{n}",
        "abstract": 'ünï\u2028 \\ " \t',
        "_n": 1.10,
        "_e": 1e300,
    }


def _said(status: str, reason: str | None = None, **more: object) -> InclusionDecision:
    return InclusionDecision.model_validate(
        {"status": status, "confidence": 0.1 + 0.2, "rationale": "because", "exclusion_reason": reason, **more}
    )


SCREENED = [
    decided(_record(0), _said("include"), probability=0.75, relevance=80),
    kept_out(_record(1), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)),
    kept_out(_record(2), Exclusion(rule="title_pattern", reason="in rats", matched="in rats", field="title")),
    decided(_record(3), _said("exclude", CRITERIA.exclusion_criteria[0])),
    decided(_record(4), _said("exclude", f"not met: {CRITERIA.inclusion_criteria[1]}")),
    failed(_record(5), "timeout"),
    decided(_record(6), _said("uncertain")),
    Ledgered(_record(7), ItemStatus.CANCELLED),
    decided(_record(8), _said("exclude")),
    Ledgered(_record(9), ItemStatus.EXCLUDED_BY_FILTER),
    Ledgered(_record(10), ItemStatus.PENDING),
    decided(_record(11), _said("exclude", CRITERIA.inclusion_criteria[0])),
]
# item -> what people said of it, one after the other; None withdraws, a pair names another reviewer
HUMAN: dict[int, list[object]] = {
    0: ["exclude"],
    1: ["exclude"],
    2: ["include"],
    3: ["include", "exclude"],
    4: ["include", None],
    5: ["include"],
    6: ["exclude"],
    8: ["include", ("Reviewer 1", "exclude")],
    11: ["include"],
}


def write_kept_review(connection: Connection) -> UUID:
    """A finished review of two stages; its first batch has rows in every table. Its id."""
    review_id = write_review(connection, "kept.ris", SCREENING, QUESTION, finished=True)
    finished = [one for one in SCREENED if one.state is not ItemStatus.PENDING]
    first = write_batch(connection, finished, label="kept.ris", place=Place(review_id, 0))
    later = [Ledgered(_record(0), value=True, confidence=0.5, origin=0), Ledgered(_record(6), value=False, origin=6)]
    second = write_batch(connection, later, operation=QUESTION, label="kept.ris: filter", place=Place(review_id, 1))
    for batch_id, n in ((first, len(finished)), (second, len(later))):
        finish(connection, batch_id, n)
    decide(connection, first, {idx: said for idx, said in HUMAN.items() if idx < 10})
    surround(connection, first)
    return review_id


def finish(connection: Connection, batch_id: UUID, n: int, *, passed: int = 1, of: int = 2) -> None:
    """Give a batch its shard, its summary and the time of its end."""
    connection.execute(
        insert(shards).values(
            batch_id=batch_id, round=1, shard=0, first_idx=0, end_idx=n, state="aggregated", aggregated_at=func.now()
        )
    )
    operation = connection.execute(select(batches.c.operation).where(batches.c.id == batch_id)).scalar_one()
    summary = Summary(
        batch_id=str(batch_id),
        round=1,
        operation=operation,
        counts=Counts(n_items=n, decided=of),
        values={},
        pass_rate=wilson(passed, of),
        errors={},
        confidence=ConfidenceDistribution(),
        prompt_tokens=1,
        completion_tokens=1,
        calls=1,
        call_seconds_median=0.1,
        call_seconds_p95=0.1,
        wall_seconds=1.0,
        models={},
        finished_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    connection.execute(insert(summaries).values(batch_id=batch_id, round=1, summary=summary.model_dump(mode="json")))
    connection.execute(
        update(batches).where(batches.c.id == batch_id).values(started_at=func.now(), finished_at=func.now())
    )


def decide(connection: Connection, batch_id: UUID, human: dict[int, list[object]]) -> None:
    """What people said, in that order; the first of them where nobody else is named."""
    for idx, values in human.items():
        for said in values:
            reviewer, value = said if isinstance(said, tuple) else ("Reviewer 0", said)
            row = {"batch_id": batch_id, "idx": idx, "reviewer": reviewer, "note": "seen"}
            connection.execute(insert(overrides).values(row if value is None else row | {"value": value}))


def surround(connection: Connection, batch_id: UUID) -> None:
    """A row of everything else: transcript, prompt, failure, evaluation, order, mode, audit, sample, budget, hook."""
    key = {"batch_id": batch_id, "idx": 3}
    connection.execute(insert(transcripts).values(**key, fence=1, round=1, calls=[]))
    for removes in (False, True, False):  # put on, taken off, put on again
        connection.execute(
            insert(remarks).values(**key, kind="label", text="to discuss", removes=removes, reviewer="Reviewer A")
        )
    for idx, verdict in ((7, "copies"), (9, "copies"), (9, "different"), (7, None), (7, "copies")):  # one stands
        connection.execute(
            insert(copy_decisions).values(batch_id=batch_id, idx=idx, copy_of=0, verdict=verdict, reviewer="Lead")
        )
    connection.execute(insert(prompts).values(batch_id=batch_id, sha256="ab" * 32, text="You screen\n\trecords."))
    connection.execute(insert(past_failures).values(**key, round=1, error_kind="timeout", error="too late"))
    connection.execute(insert(evaluations).values(**key, label="grounding", metric_type="score", score=1 / 3))
    connection.execute(insert(spending).values(batch_id=batch_id, reserved=0, spent="0.000000123"))
    made_from = {"last_override": 1, "answered": 2, "decided": 1, "included": 1, "text_weight": 0.5}
    order = {"places": [2, 3], "reasons": ["model", "text"]}
    connection.execute(insert(reading_orders).values(batch_id=batch_id, seed=0, explore=0.05, **made_from, **order))
    for mode in ("pair", "single"):  # first blind, then open
        connection.execute(insert(screening_modes).values(batch_id=batch_id, mode=mode, set_by="Lead"))
    told = {"batch_id": str(batch_id)}
    connection.execute(
        insert(webhooks).values(batch_id=batch_id, round=1, type="batch.completed", url="https://a.example/", data=told)
    )
    audit_id = uuid4()
    connection.execute(insert(audits).values(id=audit_id, batch_id=batch_id, seed=7, stratum="all", population=4))
    for drawn, idx in enumerate((3, 2)):
        connection.execute(insert(audit_items).values(audit_id=audit_id, idx=idx, drawn=drawn))
    for include in (True, False):  # the second one is what they came to think
        connection.execute(
            insert(audit_decisions).values(audit_id=audit_id, idx=3, include=include, reviewer="Reviewer A")
        )
    promise = {"seed": 2**63 - 1, "recall": 0.95, "confidence": 0.1 + 0.2}
    frame = {"id": uuid4(), "batch_id": batch_id, "number": 1, "records": [9, 3, 7], "drawn": 2}
    connection.execute(insert(stop_samples).values(frame | promise))


def age(connection: Connection, days: int) -> None:
    """Let everything that is finished have been so for some days longer."""
    earlier = func.make_interval(0, 0, 0, days)
    connection.execute(update(batches).values(finished_at=batches.c.finished_at - earlier))
    connection.execute(update(reviews).values(finished_at=reviews.c.finished_at - earlier))
