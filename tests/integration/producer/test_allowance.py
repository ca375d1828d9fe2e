"""What a key allows its batches: models, and an amount of money a month, whoever submits, resumes or retries."""

import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, text, update

from stage import abstracts
from stage.screened import Ledgered, Place, write_batch, write_review
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Restrictions, Scope
from tamis_review import list_reviews, submit_review
from tamis_review.plans.stages import advance
from tamis_schemas import (
    AllowanceSpent,
    BatchStatus,
    Callback,
    Filter,
    InvalidParameters,
    NotAllowed,
    Panel,
    PauseKind,
    ReviewPlan,
    ReviewStage,
    Score,
    Steering,
)
from tamis_schemas.ledger import batches, results, webhooks

ONCOLOGY = Filter(criteria="Is this about oncology?")
LAST_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 second'"


@pytest.fixture
def client(settings: ProducerSettings, tmp_path: Path) -> Iterator[Client]:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  double-1: {input: 10, output: 20}\n", "utf-8")
    with Client(settings.model_copy(update={"prices": prices})) as client:
        yield client


def key_of(client: Client, **restrictions: object) -> str:
    """The id of a new key."""
    given = Restrictions.model_validate(restrictions)
    return api_keys.create(client.engine, "A pipeline", [Scope.SUBMIT], given).split("_")[1]


def submit(client: Client, key: str | None, max_cost: str | None = None) -> Batch:
    cost = None if max_cost is None else Decimal(max_cost)
    return client.submit(ONCOLOGY, abstracts(1), model="double-1", api_key_id=key, max_cost=cost)


def budget(batch: Batch) -> Decimal | None:
    found = batch.status().budget
    return None if found is None else found.max_cost


def ended(client: Client, batch: Batch, *, spent: str, reserved: str = "0") -> None:
    """As the workers leave a batch that they have finished."""
    with client.engine.begin() as connection:
        at = {"id": batch.id, "spent": spent, "reserved": reserved}
        connection.execute(text("UPDATE spending SET spent = :spent, reserved = :reserved WHERE batch_id = :id"), at)
        connection.execute(text("UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id"), at)
        connection.execute(text("UPDATE item_states SET state = 'failed' WHERE batch_id = :id"), at)
        connection.execute(
            text(
                "INSERT INTO results (batch_id, idx, fence, round, error_kind, error, prompt_tokens, completion_tokens,"
                " cost, calls) VALUES (:id, 0, 1, 1, 'timeout', 'x', 0, 0, :spent, 1)"
            ),
            at,
        )


def test_a_key_may_ask_its_models_alone(client: Client) -> None:
    key = key_of(client, models=("double-1", "double-2"))
    assert client.submit(ONCOLOGY, abstracts(1), model="double-2", api_key_id=key).status().model == "double-2"
    with pytest.raises(NotAllowed, match=r"the model 'other-1': name one of double-1, double-2"):
        client.submit(ONCOLOGY, abstracts(1), model="other-1", api_key_id=key)
    with pytest.raises(NotAllowed, match=r"submit a batch without a model: name one of double-1, double-2"):
        client.submit(ONCOLOGY, abstracts(1), api_key_id=key)
    with Client(client.settings.model_copy(update={"model": "double-1"})) as of_a_default:
        assert of_a_default.submit(ONCOLOGY, abstracts(1), api_key_id=key).status().model == "double-1"
    assert client.submit(ONCOLOGY, abstracts(1), model="other-1").status().submitted_by is None
    panel = Panel(models=("double-1", "double-2"))
    assert client.submit(ONCOLOGY, abstracts(1), panel=panel, api_key_id=key).status().model == "double-1, double-2"
    with pytest.raises(NotAllowed, match=r"the model 'other-1': name one of double-1, double-2"):
        client.submit(ONCOLOGY, abstracts(1), panel=Panel(models=("double-1", "other-1")), api_key_id=key)


@pytest.mark.parametrize("limit", [{"models": ("double-1",)}, {"monthly_cost": "20"}], ids=["models", "money"])
@pytest.mark.parametrize(
    ("steering", "named"),
    [
        ({"extra_body": {"top_p": 0.9, "models": ["other-1"]}}, "the field 'models' in the body"),
        ({"extra_body": {"fallbacks": ["other-1"]}}, "the field 'fallbacks' in the body"),
        ({"extra_body": {"route": "fallback"}}, "the field 'route' in the body"),
        ({"extra_body": {"provider": {"order": ["dear"]}}}, "the field 'provider' in the body"),
        ({"extra_headers": {"X-Model": "other-1"}}, "the header 'X-Model'"),
    ],
)
def test_a_key_with_limits_reaches_no_other_model_or_price_by_steering(
    client: Client, limit: dict[str, Any], steering: dict[str, Any], named: str
) -> None:
    key, free = key_of(client, **limit), key_of(client)
    there = Steering.model_validate(steering)
    with pytest.raises(NotAllowed, match=f"may not send {named}"):
        client.submit(ONCOLOGY, abstracts(1), model="double-1", steering=there, api_key_id=key)
    batch = client.submit(ONCOLOGY, abstracts(1), model="double-1", steering=there, api_key_id=free)
    ended(client, batch, spent="0")
    api_keys.change(client.engine, free, Restrictions.model_validate(limit))
    with pytest.raises(NotAllowed, match=f"may not send {named}"):
        batch.retry()


def test_a_key_with_limits_steers_by_harmless_fields(client: Client) -> None:
    key = key_of(client, models=("double-1",))
    there = Steering.model_validate({"reasoning_effort": "low", "extra_body": {"top_p": 0.9, "seed": 7}})
    batch = client.submit(ONCOLOGY, abstracts(1), model="double-1", steering=there, api_key_id=key)
    view = batch.status().steering
    assert view is not None
    assert view.extra_body == {"top_p": 0.9, "seed": 7}


def test_the_batches_of_a_month_never_cost_more_than_the_key_may_spend(client: Client) -> None:
    key, other = key_of(client, monthly_cost="20"), key_of(client, monthly_cost="20")
    first = submit(client, key, "12")
    assert budget(first) == 12
    second = submit(client, key, "50")
    assert budget(second) == 8  # 20 - 12 held
    with pytest.raises(AllowanceSpent) as refused:
        submit(client, key)
    assert "$0.00 of the key's $20.00 a month is spent, $20.00 is reserved" in str(refused.value)
    assert "the month ends at" in str(refused.value)
    ended(client, first, spent="3", reserved="0.5")
    assert budget(submit(client, key)) == Decimal("8.5")  # 20 - 3.5 - 8
    assert budget(submit(client, other)) == 20  # another key's money is not touched
    assert budget(submit(client, None)) is None


def test_two_submissions_at_once_do_not_both_take_what_is_left(client: Client) -> None:
    key = key_of(client, monthly_cost="20")
    together, got = threading.Barrier(4), list[Decimal]()

    def one() -> None:
        together.wait(10)
        try:
            got.append(budget(submit(client, key, "8")) or Decimal(-1))
        except AllowanceSpent:
            got.append(Decimal(0))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(got) == [0, 4, 8, 8]


def test_a_batch_counts_in_the_month_in_which_it_was_submitted(client: Client) -> None:
    key = key_of(client, monthly_cost="20")
    old = submit(client, key, "15")
    with client.engine.begin() as connection:
        connection.execute(text(f"UPDATE batches SET created_at = {LAST_MONTH}"))
    assert budget(submit(client, key)) == 20
    old.resume(Decimal(100))
    assert budget(old) == 20  # of its own month, of which nothing else is taken


def test_a_larger_budget_is_kept_within_what_the_key_has_left(client: Client) -> None:
    key = key_of(client, monthly_cost="20")
    batch, _ = submit(client, key, "5"), submit(client, key, "9")
    batch.resume(Decimal(100))
    assert budget(batch) == 11  # 20 - 9
    with pytest.raises(AllowanceSpent):
        batch.resume(Decimal(100))
    batch.resume(Decimal(4))  # less is taken as it is
    assert budget(batch) == 4


def test_a_further_round_is_kept_within_what_the_key_has_left(client: Client) -> None:
    key = key_of(client, monthly_cost="20")
    batch = submit(client, key, "18")
    ended(client, batch, spent="4")
    later = submit(client, key)  # takes the 16 that the first one did not use
    with pytest.raises(AllowanceSpent):
        batch.retry()
    ended(client, later, spent="10")
    batch.retry()
    assert budget(batch) == 10  # of 18: the other 10 are spent


def next_stage(client: Client, key: str, callback: Callback | None = None) -> Batch:
    """The second stage of a review whose first one cost 4, begun as a worker begins it."""
    rating = ReviewStage(operation=Score(criteria="How good?"), model="double-1")
    with client.engine.begin() as connection:
        review = write_review(connection, "r", ONCOLOGY, rating)
        passed = Ledgered(abstracts(1)[0], value=True, confidence=0.9)
        first = write_batch(connection, [passed], operation=ONCOLOGY, place=Place(review, 0))
        told = None if callback is None else callback.kept()
        whose = {"api_key_id": key, "callback": told, "finished_at": func.now()}
        connection.execute(update(batches).where(batches.c.id == first).values(whose))
        connection.execute(update(results).where(results.c.batch_id == first).values(cost=4))
    following = advance(client.engine, first)
    assert following is not None
    client.dispatch(following)
    return client.batch(str(following))


def test_a_further_stage_of_a_review_has_what_is_left_when_it_begins_and_where_that_is_nothing_it_waits(
    client: Client,
) -> None:
    key = key_of(client, monthly_cost="20", models=("double-1",))
    holding = next_stage(client, key)
    assert budget(holding) == 16
    assert holding.status().state is BatchStatus.RUNNING
    waiting = next_stage(client, key)
    pause = waiting.status().pause
    assert pause is not None
    assert pause.kind is PauseKind.BUDGET
    assert "$8.00 of the key's $20.00 a month is spent, $16.00 is reserved" in pause.reason
    assert budget(waiting) == 0
    with pytest.raises(InvalidParameters, match="resume it with a larger one"):
        waiting.resume()
    with pytest.raises(AllowanceSpent):
        waiting.resume(Decimal(5))
    ended(client, holding, spent="2")
    waiting.resume(Decimal(100))
    assert budget(waiting) == 10  # 20 - 4 - 4 - 2
    assert waiting.status().state is BatchStatus.RUNNING


def test_a_further_stage_whose_model_the_key_may_not_ask_by_then_waits_until_it_may_and_who_is_to_hear_of_it_does(
    client: Client,
) -> None:
    key = key_of(client, models=("double-2",))
    waiting = next_stage(client, key, Callback(url="https://pipeline.example/hook"))
    pause = waiting.status().pause
    assert pause is not None
    assert pause.kind is PauseKind.PERMISSION
    assert "may not use the model 'double-1': name one of double-2" in pause.reason
    with client.engine.connect() as connection:
        told = connection.execute(select(webhooks.c.type).where(webhooks.c.batch_id == UUID(waiting.id))).scalars()
        assert list(told) == ["batch.paused"]
    waiting.pause()  # asked for by hand, too: it changes nothing
    with pytest.raises(NotAllowed, match="the model 'double-1'"):
        waiting.resume()
    api_keys.change(client.engine, key, Restrictions(models=("double-1", "double-2")))
    waiting.resume()
    assert waiting.status().state is BatchStatus.RUNNING


def test_a_further_stage_that_may_not_be_asked_takes_no_money_and_has_none(client: Client) -> None:
    key = key_of(client, monthly_cost="20", models=("double-2",))
    waiting = next_stage(client, key)
    assert budget(waiting) == 0
    api_keys.change(client.engine, key, Restrictions(models=("double-1",)))
    assert budget(submit(client, key)) == 16
    waiting.resume()  # its worker pauses it before its first call
    with pytest.raises(AllowanceSpent):
        waiting.resume(Decimal(5))


def test_a_review_with_a_stage_that_its_key_does_not_allow_is_not_begun(client: Client) -> None:
    key = key_of(client, models=("double-1",))
    allowed = ReviewStage(operation=ONCOLOGY, model="double-1")
    for other in (allowed.model_copy(update={"model": "double-2"}), ReviewStage(operation=ONCOLOGY)):
        with pytest.raises(NotAllowed, match=f"stage 2, filter: the key {key} may not (submit|use)"):
            submit_review(client, ReviewPlan(stages=(allowed, other)), abstracts(1), label="r", api_key_id=key)
    assert (list_reviews(client), client.batches()) == ([], [])


def test_a_batch_without_a_budget_of_a_key_that_is_bounded_since_leaves_nothing(client: Client) -> None:
    key = key_of(client)
    batch = submit(client, key)
    api_keys.change(client.engine, key, Restrictions(monthly_cost=Decimal(20)))
    with pytest.raises(AllowanceSpent, match="was submitted without a budget"):
        submit(client, key)
    ended(client, batch, spent="4")
    assert budget(submit(client, key)) == 16  # what its items cost counts
    with pytest.raises(InvalidParameters, match="was submitted without a budget"):
        batch.retry()


def test_a_model_that_is_taken_from_a_key_is_not_asked_again(client: Client) -> None:
    key = key_of(client)
    batch = submit(client, key, "5")
    ended(client, batch, spent="1")
    api_keys.change(client.engine, key, Restrictions(models=("double-2",)))
    with pytest.raises(NotAllowed, match="double-2"):
        batch.retry()


def test_idempotency_keys_belong_to_the_key_that_used_them(client: Client) -> None:
    keys = key_of(client), key_of(client, monthly_cost="5"), None
    got = [
        client.submit(ONCOLOGY, abstracts(n), model="double-1", idempotency_key="monday", api_key_id=key)
        for n, key in enumerate(keys, 1)
        for _ in range(2)
    ]
    assert [batch.replayed for batch in got] == [False, True] * 3
    assert len({batch.id for batch in got}) == 3
    assert [batch.status().submitted_by for batch in got[::2]] == ["A pipeline", "A pipeline", None]


def test_restrictions_are_changed_one_by_one_and_read_back(client: Client) -> None:
    key = key_of(client, models=("a", "b", "a"), monthly_cost="2.5", callback={"url": "https://here.example/hook"})

    def now() -> tuple[object, object, object]:
        (found,) = [one for one in api_keys.read_all(client.engine) if one.id == key]
        return found.models, found.monthly_cost, found.callback and found.callback.url

    assert now() == (("a", "b"), Decimal("2.5"), "https://here.example/hook")
    api_keys.change(client.engine, key, Restrictions(models=None))
    assert now() == (None, Decimal("2.5"), "https://here.example/hook")
    api_keys.change(client.engine, key, Restrictions(monthly_cost=None, callback=None))
    assert now() == (None, None, None)
    for wrong in ({"models": ()}, {"models": (" ",)}, {"monthly_cost": Decimal(-1)}, {}):
        with pytest.raises(InvalidParameters):
            api_keys.change(client.engine, key, Restrictions(**wrong))
