"""Rounds in the ledger: exactly the failed items are asked about again; nothing else changes or is forgotten."""

import html
import io
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
from sqlalchemy import text

from stage import Finished, abstracts, tamis, wait_until
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.runs.retry_bias import read_retry_bias
from tamis_review import read_failures, submit_review
from tamis_review.plans.stages import advance
from tamis_review.report import ReportForm, write_report
from tamis_review.stages import has_later_stage
from tamis_schemas import (
    BatchStatus,
    ErrorKind,
    Extract,
    Filter,
    IllegalTransition,
    InvalidParameters,
    InvalidRequest,
    Pause,
    PauseKind,
    ReviewPlan,
    ReviewStage,
)
from tamis_schemas.batches import wire

ONCOLOGY = Filter(criteria="Is this about oncology?")
PLAN = ReviewPlan(stages=(ReviewStage(operation=ONCOLOGY), ReviewStage(operation=Extract(instruction="Which design?"))))
FAILED = {3: "timeout", 40: "connection", 41: "timeout", 119: "malformed"}


def sql(client: Client, statement: str, **values: object) -> list[Any]:
    with client.engine.begin() as connection:
        done = connection.execute(text(statement), values)
        return list(done) if done.returns_rows else []


def ended(client: Client, batch_id: str, failed: dict[int, str], *, cancelled: tuple[int, ...] = ()) -> None:
    """End every open item of a batch in its present round, with yes or with an error; and the batch with them."""
    given = {"id": batch_id, "failed": list(failed), "kinds": list(failed.values()), "cancelled": list(cancelled)}
    sql(
        client,
        "UPDATE item_states SET state = 'cancelled' WHERE batch_id = :id AND idx = ANY(CAST(:cancelled AS int[]))"
        " AND state = 'pending'",
        **given,
    )
    sql(
        client,
        "UPDATE item_states SET state = 'running', fence = fence + 1, attempts = 1, worker = 'w', claimed_at = now()"
        " WHERE batch_id = :id AND state = 'pending'",
        **given,
    )
    sql(
        client,
        "WITH e AS (SELECT * FROM unnest(CAST(:failed AS int[]), CAST(:kinds AS text[])) AS e(idx, kind)) "
        "INSERT INTO results (batch_id, idx, fence, round, value, confidence, error_kind, error, prompt_tokens,"
        " completion_tokens, cost, calls) "
        "SELECT i.batch_id, i.idx, i.fence, b.round, CASE WHEN e.kind IS NULL THEN CAST('true' AS json) END,"
        " CASE WHEN e.kind IS NULL THEN 0.9 END, e.kind, CASE WHEN e.kind IS NOT NULL THEN 'no answer' END,"
        " 10, 1, 0.01, 1 "
        "FROM items i JOIN batches b ON b.id = i.batch_id LEFT JOIN e ON e.idx = i.idx "
        "WHERE i.batch_id = :id AND i.state = 'running' "
        "ON CONFLICT (batch_id, idx) DO UPDATE SET round = EXCLUDED.round, value = EXCLUDED.value,"
        " error_kind = EXCLUDED.error_kind, error = EXCLUDED.error, confidence = EXCLUDED.confidence",
        **given,
    )
    sql(
        client,
        "UPDATE item_states SET state = CASE WHEN idx = ANY(CAST(:failed AS int[])) THEN 'failed' ELSE 'decided' END,"
        " worker = NULL WHERE batch_id = :id AND state = 'running'",
        **given,
    )
    sql(client, "UPDATE shards SET state = 'aggregated', aggregated_at = now() WHERE batch_id = :id", **given)
    sql(client, "UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id", **given)


@pytest.fixture
def batch(client: Client) -> Batch:
    """120 items in shards of 50; all decided but four that failed in three ways."""
    batch = client.submit(ONCOLOGY, abstracts(120))
    ended(client, batch.id, FAILED)
    return batch


def messages(settings: ProducerSettings, *, drain: bool = False) -> int:
    """How many messages wait for items, in all queues."""
    with redis.Redis.from_url(settings.broker) as broker:
        waiting = [key for key in broker.scan_iter(f"{wire.KEY_PREFIX}*", _type="list") if b"control" not in key]
        n = sum(broker.llen(key) for key in waiting)
        for key in waiting if drain else []:
            broker.delete(key)
        return int(n)


def pending(client: Client, batch: Batch) -> list[int]:
    rows = sql(client, "SELECT idx FROM items WHERE batch_id = :id AND state = 'pending' ORDER BY idx", id=batch.id)
    return [row.idx for row in rows]


def digest(client: Client, batch: Batch) -> str:
    """md5 over every decided item's rows, as Postgres writes them down."""
    rows = sql(
        client,
        "SELECT i::text AS item, r::text AS result FROM items i JOIN results r USING (batch_id, idx) "
        "WHERE batch_id = :id AND i.state = 'decided' AND r.round = 1 ORDER BY idx",
        id=batch.id,
    )
    return md5("\n".join(f"{row.item}{row.result}" for row in rows).encode(), usedforsecurity=False).hexdigest()


def test_a_round_asks_about_exactly_the_failed_items_and_leaves_every_other_row_as_it_is(
    client: Client, settings: ProducerSettings, batch: Batch
) -> None:
    messages(settings, drain=True)
    before = digest(client, batch)
    assert batch.retry() == 4
    assert pending(client, batch) == [3, 40, 41, 119]
    assert messages(settings) == 4
    assert digest(client, batch) == before
    view = batch.status()
    assert (view.state, view.round, view.finished_at) == (BatchStatus.RUNNING, 2, None)
    assert view.started_at is not None
    assert view.started_at > view.created_at
    fences = sql(
        client, "SELECT DISTINCT fence, attempts FROM items WHERE batch_id = :id AND idx IN (3, 119)", id=batch.id
    )
    assert [tuple(row) for row in fences] == [(1, 0)]  # only the next claim raises the fence


def test_one_item_to_retry_costs_one_small_shard(client: Client, settings: ProducerSettings, batch: Batch) -> None:
    messages(settings, drain=True)
    assert batch.retry(["connection"]) == 1
    shards = sql(client, "SELECT shard, first_idx, end_idx FROM shards WHERE batch_id = :id AND round = 2", id=batch.id)
    assert [tuple(row) for row in shards] == [(0, 40, 41)]
    assert messages(settings) == 1


def test_failed_items_far_apart_share_shards_of_the_batchs_size(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(40), shard_size=3, window=1)
    ended(client, batch.id, dict.fromkeys([0, 10, 20, 30, 39], "timeout"))
    batch.retry()
    shards = sql(
        client, "SELECT first_idx, end_idx FROM shards WHERE batch_id = :id AND round = 2 ORDER BY shard", id=batch.id
    )
    assert [tuple(row) for row in shards] == [(0, 21), (30, 40)]


def test_only_the_kinds_that_are_named_are_asked_about_again(client: Client, batch: Batch) -> None:
    assert batch.retry(["timeout", ErrorKind.MALFORMED]) == 3
    assert pending(client, batch) == [3, 41, 119]
    assert batch.status().counts.failed == 1


def test_an_item_that_is_pending_again_counts_as_pending_and_keeps_its_bill(client: Client, batch: Batch) -> None:
    before = batch.status()
    batch.retry()
    view = batch.status()
    assert (view.counts.decided, view.counts.failed, view.counts.pending) == (116, 0, 4)
    assert view.counts.identity_holds
    assert (view.cost, view.prompt_tokens) == (before.cost, before.prompt_tokens)
    row = list(batch.results())[3]
    assert (row.status, row.result, row.error_kind) == ("pending", None, None)
    assert row.cost == Decimal("0.01")  # paid for in the first round


def test_the_rate_is_that_of_the_round(client: Client, batch: Batch) -> None:
    batch.retry()
    assert batch.status().ended_in_round == 0
    assert not batch.status().rate
    ended(client, batch.id, {3: "timeout"})
    assert batch.status().ended_in_round == 4


def test_what_items_failed_with_is_kept_with_the_round_they_failed_in(client: Client, batch: Batch) -> None:
    batch.retry(["connection"])
    ended(client, batch.id, {40: "server"})
    batch.retry()  # the three of the first round, and the one that failed again in the second
    kept = sql(client, "SELECT idx, round, error_kind, error FROM past_failures ORDER BY idx, round")
    assert [tuple(row) for row in kept] == [
        (3, 1, "timeout", "no answer"),
        (40, 1, "connection", "no answer"),
        (40, 2, "server", "no answer"),
        (41, 1, "timeout", "no answer"),
        (119, 1, "malformed", "no answer"),
    ]


@pytest.mark.parametrize("state", ["pending", "running", "paused"])
def test_a_batch_that_has_not_ended_is_refused_with_what_to_do(client: Client, state: str) -> None:
    batch = client.submit(ONCOLOGY, abstracts(5))
    pause = Pause(kind=PauseKind.REQUESTED).model_dump_json() if state == "paused" else None
    sql(client, "ALTER TABLE batches DISABLE TRIGGER legal_transitions")
    sql(client, "UPDATE batches SET state = :state, pause = CAST(:pause AS json)", state=state, pause=pause)
    told = (
        f"`tamis resume {batch.id}` continues it" if state == "paused" else f"is still {state}: .*--watch` follows it"
    )
    with pytest.raises(IllegalTransition, match=told):
        batch.retry()
    assert batch.status().round == 1


def test_retrying_twice_is_refused_while_the_first_round_runs(client: Client, batch: Batch) -> None:
    batch.retry()
    with pytest.raises(IllegalTransition, match=r"is still running \(round 2\)"):
        batch.retry()


def test_a_batch_without_failures_of_a_kind_says_which_there_are(client: Client, batch: Batch) -> None:
    with pytest.raises(
        InvalidRequest, match=r"of kind refused; its failures are: timeout \(2\), connection \(1\), malf"
    ):
        batch.retry(["refused"])
    assert (batch.status().state, batch.status().round) == (BatchStatus.COMPLETED, 1)
    assert sql(client, "SELECT count(*) FROM past_failures")[0][0] == 0


def test_a_batch_without_failures_has_nothing_to_retry(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(5))
    ended(client, batch.id, {}, cancelled=(0, 1))
    with pytest.raises(InvalidRequest, match="no failed item: there is nothing to retry; 2 of its items are cancelled"):
        batch.retry()


@pytest.mark.parametrize("kinds", [["tiemout"], [], "timeout"])
def test_a_kind_that_there_is_not_is_refused_with_those_that_there_are(batch: Batch, kinds: Any) -> None:
    with pytest.raises(InvalidParameters, match="kind"):
        batch.retry(kinds)


def test_of_a_cancelled_batch_what_failed_is_retried_and_what_was_cancelled_only_on_request(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(20))
    ended(client, batch.id, {0: "timeout", 1: "timeout"}, cancelled=(5, 6, 7))
    sql(client, "ALTER TABLE batches DISABLE TRIGGER legal_transitions")
    sql(client, "UPDATE batches SET state = 'cancelled', finished_at = NULL")
    with pytest.raises(IllegalTransition, match="last calls or its summary are not finished"):
        batch.retry()
    sql(client, "UPDATE batches SET finished_at = now()")
    assert batch.retry(["timeout"]) == 2
    assert batch.status().counts.cancelled == 3
    ended(client, batch.id, {0: "server"})
    assert batch.retry(cancelled=True) == 4
    assert pending(client, batch) == [0, 5, 6, 7]


def test_a_batch_cancelled_before_its_first_dispatch_can_be_retried(client: Client, settings: ProducerSettings) -> None:
    with Client(settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})) as cut_off:
        batch_id = cut_off.submit(ONCOLOGY, abstracts(5)).id
    batch = client.batch(batch_id)
    sql(client, "UPDATE item_states SET state = 'cancelled'")
    sql(client, "UPDATE batches SET state = 'cancelled', finished_at = now(), lane = NULL")
    assert batch.retry(cancelled=True) == 5
    assert messages(settings) == 5


def test_a_batch_that_is_cancelled_in_a_later_round_counts_no_failure_of_the_first(
    client: Client, batch: Batch
) -> None:
    batch.retry()
    batch.cancel()
    row = list(batch.results())[3]
    assert (row.status, row.result, row.error_kind) == ("cancelled", None, None)
    assert batch.status().cost == Decimal("1.20")


def test_a_used_up_budget_needs_a_larger_one(client: Client, batch: Batch) -> None:
    with pytest.raises(InvalidParameters, match="without a budget"):
        batch.retry(max_cost=Decimal(3))
    sql(client, "UPDATE batches SET max_cost = 1.5")
    sql(client, "INSERT INTO spending (batch_id, spent, reserved) VALUES (:id, 1.3, 0.2)", id=batch.id)
    for too_little in (None, Decimal("1.5"), Decimal(1)):
        with pytest.raises(InvalidParameters, match=r"\$1\.50 of batch .* budget of \$1\.50 are spent or reserved"):
            batch.retry(max_cost=too_little)
        assert batch.status().round == 1
    assert batch.retry(max_cost=Decimal(3)) == 4
    budget = batch.status().budget
    assert budget is not None
    assert budget.max_cost == 3


def test_what_a_retry_lets_pass_begins_the_next_stage_where_that_has_not_begun(client: Client) -> None:
    review = submit_review(client, PLAN, abstracts(3), label="three.csv")
    (first,) = review.stages()
    ended(client, first.id, dict.fromkeys(range(3), "server"))
    sql(client, "UPDATE reviews SET finished_at = now()")  # nothing passed
    first.retry()
    assert not has_later_stage(first)
    assert review.status().state == "running"
    ended(client, first.id, {0: "server"})
    review.pause()  # whoever comes next begins the next stage
    _, second = review.stages()
    assert second.status().counts.n_items == 2


def test_a_stage_whose_successor_has_begun_can_be_retried_and_nothing_follows(client: Client) -> None:
    review = submit_review(client, PLAN, abstracts(3), label="three.csv")
    (first,) = review.stages()
    ended(client, first.id, {0: "server"})
    review.pause()
    assert has_later_stage(first)
    first.retry()
    ended(client, first.id, {})
    _, second = review.stages()
    assert second.status().counts.n_items == 2


def test_all_failed_batches_are_found_with_what_they_may_cost_and_retried_together(
    client: Client, batch: Batch
) -> None:
    client.submit(ONCOLOGY, abstracts(5))  # runs
    fine = client.submit(ONCOLOGY, abstracts(5, words=3))
    ended(client, fine.id, {})
    spent = client.submit(ONCOLOGY, abstracts(5, words=4))
    ended(client, spent.id, {0: "timeout"})
    sql(client, "UPDATE batches SET max_cost = 1 WHERE id = :id", id=spent.id)
    sql(client, "INSERT INTO spending (batch_id, spent) VALUES (:id, 1)", id=spent.id)
    called = client.submit(ONCOLOGY, abstracts(5, words=5), service="celery")  # its callers have had the error
    ended(client, called.id, {0: "timeout"})
    found = client.retryable()
    assert [(one.batch_id, one.items, one.likely_cost) for one in found] == [
        (UUID(batch.id), 4, Decimal("0.04")),
        (UUID(spent.id), 1, Decimal("0.01")),
    ]
    assert [one.items for one in client.retryable(["connection"])] == [1]
    done = client.retry_all_failed()
    assert [(one.batch.id, one.items) for one in done] == [(batch.id, 4), (spent.id, 0)]
    assert done[0].refused is None
    assert "--max-cost" in str(done[1].refused)
    assert [one.batch_id for one in client.retryable()] == [UUID(spent.id)]


def test_the_failures_of_each_round_are_read_as_they_were_although_their_items_are_decided_now(
    client: Client, batch: Batch
) -> None:
    batch.retry(["timeout", "connection"])
    ended(client, batch.id, {40: "server"})
    first, second = read_failures(batch).rounds
    assert (first.round, first.evaluated, first.failed) == (1, 120, 4)
    assert first.kinds == {ErrorKind.TIMEOUT: 2, ErrorKind.CONNECTION: 1, ErrorKind.MALFORMED: 1}
    assert (first.pass_rate.count, first.pass_rate.total) == (116, 116)
    assert (second.round, second.evaluated, second.failed) == (2, 3, 1)
    assert second.kinds == {ErrorKind.SERVER: 1}
    batch.retry()  # pending again: the rounds that are over stay as they were
    assert read_failures(batch).rounds == (first, second)


def test_traits_are_taken_from_what_a_model_is_shown(client: Client) -> None:
    records = [
        {"id": "a" * 99, "title": "ab", "_note": "not shown", "year": 1999},
        {"title": "abcd", "publication_date": "2003 Mar 12"},
        {"title": "abcdef", "authors": ["x"], "year": "n.d.", "publication_date": "12.5.2010"},
        {"title": "abcdefgh"},
    ]
    batch = client.submit(ONCOLOGY, records)
    ended(client, batch.id, {0: "timeout"})
    (one,) = read_failures(batch).rounds
    length, year = one.comparisons[:2]
    # 2 + 4 ("1999"); 4 + 11; 6 + 5 (["x"]) + 4 + 9; 8
    assert [group.label for group in length.groups] == [
        "6 characters",
        "8 characters",
        "15 characters",
        "24 characters",
    ]
    assert [group.label for group in year.groups] == ["1999", "2003", "2010", "no year"]
    assert [group.failed for group in year.groups] == [1, 0, 0, 0]


def test_neighbours_are_the_decided_records_before_and_after(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(7))
    ended(client, batch.id, {0: "timeout", 2: "timeout", 3: "timeout"})
    sql(client, "UPDATE results SET value = 'false' WHERE idx = 4")
    # yes at 1, 5 and 6, no at 4: 0 and 1 have none before, 6 none after; 2 and 3 lie between 1 and 4, 4 between 1 and
    # 5, 5 between 4 and 6.
    (one,) = read_failures(batch).rounds
    found = {group.label: (group.failed, group.n) for group in one.comparisons[-1].groups}
    assert found == {"both passed": (0, 1), "one of the two passed": (2, 3)}


def test_a_batch_without_failures_has_no_retry_bias(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3))
    with client.engine.connect() as connection:
        assert read_retry_bias(connection, UUID(batch.id)).rounds == ()


def test_the_command_line_retries_and_says_what_failed(
    client: Client, batch: Batch, environment: dict[str, str], tmp_path: Path
) -> None:
    def run(*arguments: str) -> Finished:
        return tamis(*arguments, env=environment, cwd=tmp_path)

    short = batch.id[:8]
    shown = run("status", short)
    assert f"tamis retry {batch.id} asks again" in shown.out
    told = run("failures", short)
    assert "round 1: 4 of 120 records failed: timeout 2, connection 1, malformed 1" in told.out
    assert "Too few records to test whether failure depends on a record's length." in told.out
    assert json.loads(run("failures", short, "--json").out)["rounds"][0]["failed"] == 4
    wrong = run("retry", short, "--kind", "tiemout")
    assert (wrong.code, "'tiemout' is not a kind of error; the kinds are: authentication" in wrong.err) == (2, True)
    none = run("retry", short, "--kind", "refused,empty")
    assert (none.code, "no failed item of kind empty or refused" in none.err) == (2, True)
    done = run("retry", short, "--kind", "timeout,connection")
    assert done.code == 0
    assert f"batch {batch.id}: round 2 asks about 3 items. tamis status {batch.id} --watch follows it." in done.out
    again = run("retry", short)
    assert (again.code, "is still running (round 2)" in again.err) == (2, True)
    ended(client, batch.id, {3: "timeout"})
    rest = run("retry", "--all-failed")
    assert (rest.code, f"batch {batch.id} retries 2 items" in rest.out) == (0, True)
    assert "no completed batch has failed items" in run("retry", "--all-failed").out
    assert run("retry").code == 2
    assert run("retry", short, "--all-failed").code == 2


def test_a_review_is_retried_by_its_stages_batches(client: Client, environment: dict[str, str], tmp_path: Path) -> None:
    review = submit_review(client, PLAN, abstracts(3), label="three.csv")
    (first,) = review.stages()
    refused = tamis("retry", review.id, env=environment, cwd=tmp_path)
    assert refused.code == 2
    assert f"which are {first.id[:8]} (filter)" in " ".join(refused.err.split())


def test_a_report_names_the_rounds_and_what_failed_in_them(client: Client, batch: Batch) -> None:
    batch.retry(["timeout", "connection"])
    ended(client, batch.id, {40: "server"})
    page, markdown, figures = (
        report(client, batch, form) for form in (ReportForm.HTML, ReportForm.MD, ReportForm.JSON)
    )
    told = "no answer in time (2), no connection to the endpoint (1), the answer is not JSON (1)."
    for text_ in (page, markdown.replace("\\", "")):
        assert "Rounds and failures" in text_
        assert "Round 1" in text_
        assert "Round 2" in text_
        assert f"4 of 120 records failed: {told}" in text_
        assert "1 of 3 records failed" in text_
        assert "Too few records to test whether failure depends on a record's length." in html.unescape(text_)
    first, second = json.loads(figures)["batches"][0]["failures"]["rounds"]
    assert (first["failed"], second["failed"]) == (4, 1)
    assert first["comparisons"][0]["groups"][0].keys() == {"label", "records", "n", "failed", "rate"}


def test_a_report_of_a_batch_in_which_nothing_failed_has_no_section_for_it(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3))
    ended(client, batch.id, {})
    assert "Rounds and failures" not in report(client, batch, ReportForm.HTML)
    assert "Rounds and failures" not in report(client, batch, ReportForm.MD)


def test_a_report_while_a_round_is_under_way_says_what_is_open(client: Client, batch: Batch) -> None:
    batch.retry()
    figures = json.loads(report(client, batch, ReportForm.JSON))
    assert not figures["finished"]
    assert figures["batches"][0]["errors"] == []
    assert figures["batches"][0]["outcomes"]["open"] == 4
    assert "4 records have no result yet" in report(client, batch, ReportForm.MD)


def report(client: Client, batch: Batch, form: ReportForm) -> str:
    stream = io.StringIO()
    write_report(client.engine, batch.id, form, stream)
    return stream.getvalue()


def test_a_round_that_is_begun_while_a_stage_is_advanced_comes_before_the_next_stage(client: Client) -> None:
    review = submit_review(client, PLAN, abstracts(3), label="three.csv")
    (first,) = review.stages()
    ended(client, first.id, {0: "server"})
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as threads, client.engine.begin() as retrying:
        retrying.execute(text("SELECT id FROM reviews FOR UPDATE"))
        retrying.execute(text("UPDATE batches SET state = 'running', round = 2, finished_at = NULL"))
        advanced = threads.submit(advance, client.engine, UUID(first.id))
        wait_until(lambda: sql(client, waiting)[0][0], within=10, what="the other one waits for the review")
        retrying.commit()
        assert advanced.result(timeout=10) is None
    assert len(review.stages()) == 1
