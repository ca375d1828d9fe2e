"""Submitting: the ledger first, whole or not at all; then at most a window of shards in Redis."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
import redis
from sqlalchemy import make_url, text

from stage import abstracts
from tamis_producer import Client, ProducerSettings
from tamis_schemas import (
    BatchStatus,
    ConfigurationError,
    Filter,
    IdempotencyConflict,
    Inclusion,
    InvalidParameters,
    InvalidRequest,
    ItemStatus,
    LedgerUnavailable,
    SearchCriteria,
    UnknownBatch,
    WaitTimeout,
)
from tamis_schemas.batches import wire

ONCOLOGY = Filter(criteria="Is this about oncology?")


def messages_waiting(settings: ProducerSettings) -> list[dict[str, object]]:
    with redis.Redis.from_url(settings.broker) as broker:
        queues = [f"{wire.KEY_PREFIX}{name}" for name in wire.ITEM_QUEUES]
        return [json.loads(raw) for queue in queues for raw in broker.lrange(queue, 0, -1)]


def test_a_submitted_batch_is_in_the_ledger_item_for_item(client: Client) -> None:
    items = abstracts(7)
    batch = client.submit(ONCOLOGY, items, label="seven.csv", model="m-1")
    view = batch.status()
    assert view.counts.n_items == 7
    assert view.counts.pending == 7
    assert view.counts.identity_holds
    assert (view.label, view.model, view.operation) == ("seven.csv", "m-1", "filter")
    stored = list(batch.results())
    assert [list(row.item.items()) for row in stored] == [list(item.items()) for item in items]  # in their order
    assert [row.index for row in stored] == list(range(7))
    assert [row.item_id for row in stored] == [item["id"] for item in items]
    assert all(row.result is None and row.status == ItemStatus.PENDING for row in stored)


def test_fields_keep_the_order_in_which_they_were_given(client: Client) -> None:
    item = {"publication_date": "2024", "title": "T", "abstract": "A", "id": "1", "nested": {"zz": 1, "a": 2}}
    stored = next(client.submit(ONCOLOGY, [item]).results()).item
    assert list(stored) == list(item)
    assert list(stored["nested"]) == ["zz", "a"]


def test_at_most_a_window_of_shards_is_published(client: Client, settings: ProducerSettings) -> None:
    batch = client.submit(ONCOLOGY, abstracts(5 * settings.shard_size))
    assert len(messages_waiting(settings)) == settings.shard_window * settings.shard_size
    assert batch.status().state is BatchStatus.RUNNING


def test_messages_carry_ids_and_never_the_text_of_an_item(client: Client, settings: ProducerSettings) -> None:
    client.submit(ONCOLOGY, abstracts(3), label="secret-file-name.csv")
    waiting = messages_waiting(settings)
    assert len(waiting) == 3
    for message in waiting:
        headers = message["headers"]
        assert isinstance(headers, dict)
        assert headers["task"] == "tamis.filter"
        assert headers["ignore_result"] is True
        assert "item=rec-" in str(headers["argsrepr"])
    everything = json.dumps(waiting)
    for text_of_item in ("Title of record", "plausible", "oncology", "secret-file-name"):
        assert text_of_item not in everything


def test_the_same_idempotency_key_returns_the_first_batch(client: Client) -> None:
    first = client.submit(ONCOLOGY, abstracts(4), idempotency_key="night-run-1")
    second = client.submit(ONCOLOGY, abstracts(4), idempotency_key="night-run-1")
    assert second.id == first.id
    assert len(client.batches()) == 1


def test_the_same_key_submitted_by_many_at_once_makes_one_batch(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        submitted = [pool.submit(client.submit, ONCOLOGY, abstracts(4), idempotency_key="k") for _ in range(8)]
        assert len({future.result().id for future in submitted}) == 1


@pytest.mark.parametrize(
    ("operation", "items", "model"),
    [
        (ONCOLOGY, abstracts(5), None),
        (Filter(criteria="Is this about cardiology?"), abstracts(4), None),
        (ONCOLOGY, abstracts(4), "another-model"),
    ],
    ids=["other items", "other criteria", "other model"],
)
def test_a_key_reused_for_another_batch_is_refused(
    client: Client, operation: Filter, items: list[dict[str, Any]], model: str | None
) -> None:
    client.submit(ONCOLOGY, abstracts(4), idempotency_key="k")
    with pytest.raises(IdempotencyConflict, match="'k' belongs to batch"):
        client.submit(operation, items, model=model, idempotency_key="k")
    assert len(client.batches()) == 1


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"id": "x", "title": "a\x00b"}, r"No. 3 \(index 2\) .*'x'.*NUL"),
        ({"id": "x", "score": float("nan")}, r"No. 3 \(index 2\) .*'x'"),
        ({"id": "x", "title": "\ud800"}, r"No. 3 \(index 2\) .*'x'"),
        ({"id": "x", "when": object()}, r"No. 3 \(index 2\) .*'x'.*serializable"),
        (["not", "a", "dict"], r"No. 3 \(index 2\): a list, not a dict"),
    ],
    ids=["nul", "nan", "surrogate", "object", "list"],
)
def test_an_item_that_cannot_be_kept_is_named_and_nothing_is_written(client: Client, bad: object, named: str) -> None:
    with pytest.raises(InvalidParameters, match=named):
        client.submit(ONCOLOGY, [*abstracts(2), bad, *abstracts(1)])  # type: ignore[list-item] # the wrong use
    assert client.batches() == []


def test_the_six_characters_of_an_escape_are_no_nul(client: Client) -> None:
    batch = client.submit(ONCOLOGY, [{"id": "x", "title": r"a \u0000 b \\u0000"}])
    assert next(batch.results()).item["title"] == r"a \u0000 b \\u0000"


@pytest.mark.parametrize(
    ("name", "character"),
    [("criteria", "\x00"), *product(("model", "label", "idempotency_key"), ("\x00", "\ud800"))],
)
def test_a_text_that_the_ledger_cannot_hold_is_named_and_nothing_is_written(
    client: Client, name: str, character: str
) -> None:
    text = f"text {character}"
    criteria = text if name == "criteria" else "Is this about oncology?"
    terms = {} if name == "criteria" else {name: text}
    with pytest.raises(InvalidParameters, match=f"^{name}: "):
        client.submit(Filter(criteria=criteria), abstracts(1), **terms)
    assert client.batches() == []


def test_an_empty_batch_is_refused(client: Client) -> None:
    with pytest.raises(InvalidParameters, match="items: there are none"):
        client.submit(ONCOLOGY, [])


def test_a_batch_is_found_by_the_beginning_of_its_id(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(1))
    assert client.batch(batch.id[:6]).id == batch.id
    with pytest.raises(UnknownBatch, match="no batch 'ffffffffffff'"):
        client.batch("ffffffffffff")
    with pytest.raises(UnknownBatch, match="'%' is no batch id"):
        client.batch("%")


def test_an_ambiguous_beginning_is_refused(client: Client) -> None:
    ids = [client.submit(ONCOLOGY, abstracts(1)).id for _ in range(17)]  # 17 ids, 16 first digits
    shared = next(i[0] for n, i in enumerate(ids) if i[0] in {j[0] for j in ids[:n]})
    with pytest.raises(InvalidRequest, match="several batches begin with"):
        client.batch(shared)


def test_waiting_ends_with_the_time_given(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(2))
    with pytest.raises(WaitTimeout, match="0 of 2 items done"):
        batch.wait(timeout=0.1)


def test_a_batch_submitted_while_the_broker_is_away_is_in_the_ledger(database_url: str) -> None:
    settings = ProducerSettings(broker_url="redis://127.0.0.1:1/0", database_url=database_url)
    with Client(settings) as client:
        batch = client.submit(ONCOLOGY, abstracts(3))
        view = batch.status()
    assert view.counts.pending == 3
    with Client(settings) as client, client.engine.connect() as connection:
        assert connection.execute(text("SELECT state FROM shards")).scalars().all() == ["waiting"]


def test_a_ledger_that_is_away_is_an_error_without_the_password() -> None:
    url = "postgresql+psycopg://tamis:hunter2@127.0.0.1:1/tamis"
    with (
        Client(ProducerSettings(broker_url="redis://127.0.0.1:1/0", database_url=url)) as client,
        pytest.raises(LedgerUnavailable, match="does not answer") as caught,
    ):
        client.submit(ONCOLOGY, abstracts(1))
    assert "hunter2" not in str(caught.value)


def test_a_ledger_without_tables_says_what_to_do(database_url: str, broker_url: str) -> None:
    empty = make_url(database_url).set(database="postgres").render_as_string(hide_password=False)
    settings = ProducerSettings(broker_url=broker_url, database_url=empty)
    with Client(settings) as client, pytest.raises(ConfigurationError, match="tamis migrate"):
        client.batches()


def test_an_inclusion_keeps_its_criteria(client: Client) -> None:
    criteria = SearchCriteria(research_question="Does it work?", inclusion_criteria=["humans"], date_range=(2000, 2020))
    batch = client.submit(Inclusion(criteria=criteria), abstracts(1))
    with client.engine.connect() as connection:
        stored = connection.execute(text("SELECT params FROM batches WHERE id = :id"), {"id": batch.id}).scalar_one()
    assert Inclusion.model_validate(stored).criteria == criteria
