"""What summaries and reports take from a batch's rows alike."""

from sqlalchemy import update

from stage.screened import Ledgered, decided, failed, kept_out, write_batch
from tamis_producer import Client
from tamis_producer.ledger.aggregates import count_values, read_counts, read_totals
from tamis_review import override
from tamis_schemas import Exclusion, Filter, InclusionDecision, ItemStatus, UncertainReason
from tamis_schemas.ledger import exclusions, results


def record(n: int) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"Title {n}"}


def said(status: str, **more: object) -> InclusionDecision:
    return InclusionDecision.model_validate({"status": status, "confidence": 0.8, "rationale": "because", **more})


# One decided by a-model, two by b-model of which one lacks a verified quote, one failed, one kept out, one open.
ROWS = [
    decided(record(0), said("include"), model="a-model", tokens=(100, 10)),
    decided(record(1), said("exclude"), model="b-model", tokens=(200, 20)),
    decided(
        record(2),
        said("uncertain", uncertain_reason=UncertainReason.UNVERIFIED),
        model="b-model",
        tokens=(300, 30),
        cut={"title": [1, 2]},
    ),
    failed(record(3), "timeout"),
    kept_out(record(4), Exclusion(rule="title_pattern", reason="in rats")),
    Ledgered(record(5), ItemStatus.PENDING),
]


def test_rows_are_counted_and_summed_once_for_all_who_tell_of_them(client: Client) -> None:
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, ROWS, state="running")
        counts = read_counts(connection, batch_id, len(ROWS))
        by_name = count_values(connection, batch_id, results.c.model, results.c.error_kind.is_(None))
        most_first = count_values(
            connection, batch_id, results.c.model, results.c.error_kind.is_(None), most_first=True
        )
        errors = count_values(connection, batch_id, results.c.error_kind)
        rules = count_values(connection, batch_id, exclusions.c.rule, table=exclusions)
        totals = read_totals(connection, batch_id)
    assert (counts.decided, counts.failed, counts.excluded_by_filter, counts.pending) == (3, 1, 1, 1)
    assert counts.finished == 5
    assert list(by_name.items()) == [("a-model", 1), ("b-model", 2)]
    assert list(most_first.items()) == [("b-model", 2), ("a-model", 1)]
    assert errors == {"timeout": 1}  # those without an error are not counted
    assert rules == {"title_pattern": 1}
    assert (totals["unverified"], totals["cut"], totals["cached"]) == (1, 1, 0)
    assert totals["prompt_tokens"] == 1_500  # 100 + 200 + 300, and 900 of the failed one
    assert totals["completion_tokens"] == 180  # 10 + 20 + 30 + 120
    assert (totals["calls"], totals["call_seconds_median"]) == (4, 0.8)


def test_of_the_seconds_of_calls_the_median_and_the_95th_percentile_are_told(client: Client) -> None:
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, [decided(record(n), said("include")) for n in range(21)])
        connection.execute(update(results).values(latency_ms=1_000 * results.c.idx))  # 0 to 20 s
        totals = read_totals(connection, batch_id)
    assert (totals["call_seconds_median"], totals["call_seconds_p95"]) == (10.0, 19.0)  # 0.5 x 20, 0.95 x 20


def test_of_a_batch_without_a_result_nothing_was_taken(client: Client) -> None:
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, [Ledgered(record(0), ItemStatus.PENDING)], state="running")
        totals = read_totals(connection, batch_id)
        assert count_values(connection, batch_id, results.c.model) == {}
    assert {name: totals[name] for name in ("prompt_tokens", "reasoning_tokens", "calls", "unverified", "cost")} == (
        dict.fromkeys(("prompt_tokens", "reasoning_tokens", "calls", "unverified", "cost"), 0)
    )
    assert (totals["call_seconds_median"], totals["possibly_unbilled_cost"]) == (None, None)


def test_what_kept_a_record_out_counts_as_the_exclusion_that_its_operation_knows(client: Client) -> None:
    row = kept_out(record(0), Exclusion(rule="title_pattern", reason="in rats"))
    with client.engine.begin() as connection:
        screened = str(write_batch(connection, [row]))
        asked = str(write_batch(connection, [row], operation=Filter(criteria="Is it a trial?")))
    found = override(client.batch(screened), 0, "exclude", reviewer="R")
    assert (found.system_value, found.confirms) == ("exclude", True)
    found = override(client.batch(asked), 0, False, reviewer="R")
    assert (found.system_value, found.confirms) == (False, True)
