"""Pause, resume and cancel in the ledger: what each makes of a batch and of a review, however often and whenever."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import redis
from sqlalchemy import text

from stage import Finished, abstracts, tamis
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.runs import control
from tamis_producer.transport.blocks import read_blocks
from tamis_review import submit_review
from tamis_review.plans.stages import advance
from tamis_schemas import (
    BatchPaused,
    BatchStatus,
    Extract,
    Filter,
    IllegalTransition,
    InvalidParameters,
    Pause,
    PauseKind,
    ReviewPlan,
    ReviewStage,
    WaitTimeout,
)
from tamis_schemas.batches import wire

ONCOLOGY = Filter(criteria="Is this about oncology?")
PLAN = ReviewPlan(stages=(ReviewStage(operation=ONCOLOGY), ReviewStage(operation=Extract(instruction="Which design?"))))
BAD_KEY = Pause(kind=PauseKind.AUTHENTICATION, message="401: no such key")


@pytest.fixture
def batch(client: Client) -> Batch:
    """120 items: shards of 50, 50 and 20, of which two are dispatched."""
    return client.submit(ONCOLOGY, abstracts(120))


def sql(client: Client, statement: str, **values: object) -> list[Any]:
    with client.engine.begin() as connection:
        done = connection.execute(text(statement), values)
        return list(done) if done.returns_rows else []


def messages(settings: ProducerSettings, *, drain: bool = False) -> int:
    """How many messages wait for items, in all queues."""
    with redis.Redis.from_url(settings.broker) as broker:
        waiting = [key for key in broker.scan_iter(f"{wire.KEY_PREFIX}*", _type="list") if b"control" not in key]
        n = sum(broker.llen(key) for key in waiting)
        if drain:
            for key in waiting:
                broker.delete(key)
        return int(n)


def paused_by_itself(client: Client, batch: Batch, pause: Pause) -> None:
    sql(
        client,
        "UPDATE batches SET state = 'paused', pause = CAST(:pause AS json) WHERE id = :id",
        id=batch.id,
        pause=pause.model_dump_json(),
    )


def test_a_paused_batch_says_so_and_pausing_again_changes_nothing(client: Client, batch: Batch) -> None:
    batch.pause()
    view = batch.status()
    assert (view.state, view.pause) == (BatchStatus.PAUSED, Pause(kind=PauseKind.REQUESTED))
    assert view.counts.pending == 120
    batch.pause()
    again = batch.status()
    assert again == view.model_copy(update={"elapsed_seconds": again.elapsed_seconds})


def test_the_reason_of_a_batch_that_paused_itself_outlives_a_pause_on_request(client: Client, batch: Batch) -> None:
    paused_by_itself(client, batch, BAD_KEY)
    batch.pause()
    assert batch.status().pause == BAD_KEY


def waiting_until(seconds: float) -> Pause:
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    return Pause(kind=PauseKind.RATE_LIMITED, message="slow down", until=until)


def test_a_batch_whose_pause_is_over_resumes_by_itself_and_no_other_does(client: Client, batch: Batch) -> None:
    later, people, asked = (client.submit(ONCOLOGY, abstracts(3)) for _ in range(3))
    paused_by_itself(client, batch, waiting_until(-1))
    paused_by_itself(client, later, waiting_until(3600))
    paused_by_itself(client, people, BAD_KEY)
    asked.pause()
    with client.engine.begin() as connection:
        assert control.resume_due(connection) == [batch.uuid]
        assert control.resume_due(connection) == []
    states = [one.status().state for one in (batch, later, people, asked)]
    assert states == [BatchStatus.RUNNING, BatchStatus.PAUSED, BatchStatus.PAUSED, BatchStatus.PAUSED]
    shards = sql(client, "SELECT state FROM shards WHERE batch_id = :id", id=batch.id)
    assert {row.state for row in shards} == {"waiting"}


def test_a_batch_that_resumes_by_itself_is_waited_for_and_stays_paused_if_people_pause_it(
    client: Client, batch: Batch
) -> None:
    paused_by_itself(client, batch, waiting_until(-1))
    with pytest.raises(WaitTimeout):
        batch.wait(timeout=0.1)
    batch.pause()
    assert batch.status().pause == Pause(kind=PauseKind.REQUESTED)
    with client.engine.begin() as connection:
        assert control.resume_due(connection) == []


def test_resuming_publishes_again_what_is_pending_in_the_shards_that_were_in_flight(
    client: Client, settings: ProducerSettings, batch: Batch
) -> None:
    assert messages(settings, drain=True) == 100
    sql(client, "UPDATE item_states SET state = 'running' WHERE idx < 10")  # calls in flight
    batch.pause()
    batch.resume()
    view = batch.status()
    assert (view.state, view.pause) == (BatchStatus.RUNNING, None)
    assert messages(settings) == 90
    batch.resume()
    assert messages(settings) == 90


def test_a_batch_paused_before_its_first_dispatch_begins_when_it_is_resumed(
    client: Client, settings: ProducerSettings
) -> None:
    away = settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    with Client(away) as cut_off:
        batch_id = cut_off.submit(ONCOLOGY, abstracts(5)).id
    batch = client.batch(batch_id)
    batch.pause()
    sql(client, "UPDATE batches SET started_at = NULL")
    batch.resume()
    assert batch.status().started_at is not None
    assert messages(settings) == 5


def test_cancelling_ends_what_is_pending_and_leaves_what_runs(client: Client, batch: Batch) -> None:
    sql(client, "UPDATE item_states SET state = 'running' WHERE idx < 3")
    batch.cancel()
    view = batch.status()
    assert view.state is BatchStatus.CANCELLED
    assert (view.counts.cancelled, view.counts.running) == (117, 3)
    assert view.counts.identity_holds
    assert not view.finished
    batch.cancel()
    with pytest.raises(WaitTimeout):
        batch.wait(timeout=0.1)  # three calls are in flight


def test_a_paused_batch_can_be_cancelled_and_is_paused_no_more(client: Client, batch: Batch) -> None:
    paused_by_itself(client, batch, BAD_KEY)
    batch.cancel()
    view = batch.status()
    assert (view.state, view.pause, view.finished) == (BatchStatus.CANCELLED, None, True)
    assert batch.wait(timeout=5).cancelled == 120


@pytest.mark.parametrize(
    ("state", "act", "told"),
    [
        ("completed", Batch.pause, "is completed: there is nothing to pause"),
        ("completed", Batch.resume, "is completed: there is nothing to resume"),
        ("completed", Batch.cancel, "is completed: there is nothing to cancel"),
        ("cancelled", Batch.pause, "is cancelled: there is nothing to pause"),
        ("cancelled", Batch.resume, "is cancelled: there is nothing to resume"),
    ],
)
def test_what_is_ended_cannot_be_controlled(client: Client, batch: Batch, state: str, act: Any, told: str) -> None:
    sql(client, f"UPDATE batches SET state = '{state}'")
    with pytest.raises(IllegalTransition, match=f"{batch.id} {told}"):
        act(batch)


def budgeted(client: Client, batch: Batch, max_cost: str) -> None:
    sql(client, f"UPDATE batches SET max_cost = {max_cost} WHERE id = :id", id=batch.id)
    sql(client, "INSERT INTO spending (batch_id) VALUES (:id) ON CONFLICT DO NOTHING", id=batch.id)


def test_a_used_up_budget_needs_a_larger_one(client: Client, batch: Batch) -> None:
    budgeted(client, batch, "1.5")
    paused_by_itself(client, batch, Pause(kind=PauseKind.BUDGET, message="$1.50 of $1.50 is spent"))
    for too_little in (None, Decimal("1.5"), Decimal(1)):
        with pytest.raises(InvalidParameters, match=r"used up its budget of \$1\.50"):
            batch.resume(max_cost=too_little)
        assert batch.status().state is BatchStatus.PAUSED
    batch.resume(max_cost=Decimal(3))
    view = batch.status()
    assert view.state is BatchStatus.RUNNING
    assert view.budget is not None
    assert view.budget.max_cost == 3


def test_a_batch_without_a_budget_cannot_get_one(client: Client, batch: Batch) -> None:
    batch.pause()
    with pytest.raises(InvalidParameters, match="without a budget"):
        batch.resume(max_cost=Decimal(3))
    assert batch.status().state is BatchStatus.PAUSED


@pytest.mark.parametrize("wrong", ["NaN", "Infinity", "-1"])
def test_what_is_no_amount_is_no_budget(client: Client, batch: Batch, wrong: str) -> None:
    budgeted(client, batch, "1")
    with pytest.raises(InvalidParameters, match="max_cost"):
        batch.resume(max_cost=Decimal(wrong))


def test_a_batch_that_paused_itself_is_not_waited_for_and_one_that_was_asked_to_is(
    client: Client, batch: Batch
) -> None:
    batch.pause()
    with pytest.raises(WaitTimeout):
        batch.wait(timeout=0.1)
    paused_by_itself(client, batch, BAD_KEY)
    with pytest.raises(BatchPaused) as paused:
        batch.wait(timeout=5)
    assert paused.value.pause == BAD_KEY
    assert str(paused.value).startswith(
        f"batch {batch.id} is paused: authentication: 401: no such key. Correct the cause"
    )
    assert f"`tamis resume {batch.id}`" in str(paused.value)


def test_a_batch_that_paused_itself_is_waited_for_while_calls_are_in_flight(client: Client, batch: Batch) -> None:
    sql(client, "UPDATE item_states SET state = 'running' WHERE idx = 0")
    paused_by_itself(client, batch, BAD_KEY)
    with pytest.raises(WaitTimeout):
        batch.wait(timeout=0.1)


def test_a_review_is_controlled_in_its_present_stage(client: Client) -> None:
    review = submit_review(client, PLAN, abstracts(5), label="five.csv")
    review.pause()
    assert review.status().state == "paused"
    review.resume()
    assert review.status().state == "running"
    review.cancel()
    assert review.status().state == "cancelled"
    assert review.status().finished


def test_a_cancelled_stage_is_followed_by_none(client: Client) -> None:
    review = submit_review(client, PLAN, abstracts(5), label="five.csv")
    (stage,) = review.stages()
    review.cancel()
    assert advance(client.engine, UUID(stage.id)) is None
    assert len(review.stages()) == 1
    with pytest.raises(IllegalTransition, match="is cancelled"):
        review.resume()


def test_a_review_between_two_stages_is_paused_in_the_next_one(client: Client) -> None:
    review = submit_review(client, PLAN, abstracts(5), label="five.csv")
    complete(client)
    review.pause()  # whoever completed the first stage has not come to begin the second
    first, second = review.stages()
    assert first.status().state is BatchStatus.COMPLETED
    assert second.status().state is BatchStatus.PAUSED


def test_a_finished_review_cannot_be_controlled(client: Client) -> None:
    review = submit_review(client, PLAN, abstracts(5), label="five.csv")
    sql(client, "UPDATE batches SET state = 'completed'")  # nothing passed
    with pytest.raises(IllegalTransition, match="is finished: there is nothing to cancel"):
        review.cancel()
    with pytest.raises(IllegalTransition, match="is finished: there is nothing to pause"):
        review.pause()


def complete(client: Client) -> None:
    """Decide every item with yes, and complete the batches."""
    sql(client, "UPDATE item_states SET state = 'running'")
    sql(client, "UPDATE item_states SET state = 'decided'")
    sql(
        client,
        "INSERT INTO results (batch_id, idx, fence, round, value, confidence, prompt_tokens, completion_tokens, calls)"
        " SELECT batch_id, idx, 1, 1, 'true', 0.9, 1, 1, 1 FROM items",
    )
    sql(client, "UPDATE batches SET state = 'completed'")


def test_the_command_line_controls_batches_and_reviews(
    client: Client, batch: Batch, environment: dict[str, str], tmp_path: Any
) -> None:
    def run(*arguments: str) -> Finished:
        return tamis(*arguments, env=environment, cwd=tmp_path)

    short = batch.id[:8]
    paused = run("pause", short)
    assert paused.code == 0
    assert f"tamis resume {batch.id} continues it" in paused.out
    shown = run("status", short)
    assert f"paused. `tamis resume {batch.id}` continues it" in " ".join(shown.out.split())
    assert "paused: requested" in run("batches").out
    assert run("resume", short).code == 0
    assert batch.status().state is BatchStatus.RUNNING
    refused = run("resume", short, "--max-cost", "3")
    assert refused.code == 2
    assert "without a budget" in refused.err
    cancelled = run("cancel", short)
    assert cancelled.code == 0
    assert "records are not asked about, 0 decided and 0 failed are kept, calls in flight finish" in cancelled.out
    assert run("cancel", short).code == 0
    again = run("resume", short)
    assert (again.code, f"batch {batch.id} is cancelled: there is nothing to resume" in again.err) == (2, True)


def test_resuming_a_batch_whose_endpoint_asked_to_wait_lifts_the_block_of_its_model_only(
    client: Client, environment: dict[str, str], tmp_path: Any
) -> None:
    until = datetime.now(UTC) + timedelta(hours=9)
    with redis.Redis.from_url(client.settings.limiter) as limiter:
        for model in ("m", "other"):
            key = f"{wire.limiter_key('https://llm.example/v1', model)}:rate"
            limiter.hset(key, "blocked", int(until.timestamp() * 1_000_000))
    batch = client.submit(ONCOLOGY, abstracts(5), model="m")
    batch.pause()
    batch.resume()
    assert [block.model for block in read_blocks(client.settings.limiter)] == ["m", "other"]
    paused_by_itself(client, batch, Pause(kind=PauseKind.RATE_LIMITED, message="429: slow down", until=until))
    assert (
        f"paused: rate_limited until {until:%Y-%m-%d %H:%M} UTC" in tamis("batches", env=environment, cwd=tmp_path).out
    )
    batch.resume()
    assert [block.model for block in read_blocks(client.settings.limiter)] == ["other"]
    paused_by_itself(client, batch, Pause(kind=PauseKind.RATE_LIMITED, until=until))
    away = client.settings.model_copy(update={"limiter_url": "redis://127.0.0.1:1/0"})
    with Client(away) as without_limiter:
        without_limiter.batch(batch.id).resume()
    assert batch.status().state is BatchStatus.RUNNING


def test_following_a_batch_that_paused_itself_ends_with_the_reason_and_the_next_command(
    client: Client, batch: Batch, environment: dict[str, str], tmp_path: Any
) -> None:
    paused_by_itself(client, batch, BAD_KEY)
    followed = tamis("status", batch.id, "--watch", env=environment, cwd=tmp_path)
    assert followed.code == 1
    assert "is paused: authentication: 401: no such key. Correct the cause" in followed.err
    assert f"`tamis resume {batch.id}`" in followed.err
