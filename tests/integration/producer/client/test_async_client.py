"""The asynchronous client: the same answers as the synchronous one, and nothing is left behind."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Connection, text

from stage.screened import CRITERIA
from tamis_producer import AsyncBatch, AsyncClient, Client, ProducerSettings, ReviewView
from tamis_review import (
    explain,
    find_review,
    list_overrides,
    list_reviews,
    override,
    results_frame,
    submit_review,
)
from tamis_schemas import (
    Filter,
    IdempotencyConflict,
    IllegalTransition,
    Inclusion,
    InvalidParameters,
    ReviewPlan,
    UnknownBatch,
    WaitTimeout,
)
from tamis_schemas.batches.review_plan import ReviewStage

IS_IT = Filter(criteria="Is this about oncology?")
ITEMS = [{"id": f"r{number}", "title": f"Title {number}"} for number in range(120)]


@pytest.fixture
async def asynchronous(settings: ProducerSettings) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(settings) as running:
        yield running


def checked_out(client: AsyncClient) -> int:
    return client.engine.pool.checkedout()  # type: ignore[attr-defined, no-any-return]


async def test_what_is_submitted_and_changed_asynchronously_is_what_the_synchronous_client_reads(
    asynchronous: AsyncClient, client: Client
) -> None:
    batch = await asynchronous.submit(IS_IT, ITEMS, idempotency_key="once", label="a file")
    same = client.batch(batch.id)
    assert (await batch.status()).counts == same.status().counts
    assert (await batch.status()).state == "running"  # its window is dispatched
    assert [row async for row in batch.results()] == list(same.results())
    assert [row.index async for row in batch.results([7, 3])] == [3, 7]
    assert (await batch.run_on_thread(results_frame, "polars")).to_dicts() == results_frame(same, "polars").to_dicts()
    assert await batch.operation() == IS_IT
    assert await batch.item_ids() == [item["id"] for item in ITEMS]
    assert await batch.summary() is None
    assert (await asynchronous.submit(IS_IT, ITEMS, idempotency_key="once")).id == batch.id
    with pytest.raises(IdempotencyConflict):
        await asynchronous.submit(IS_IT, ITEMS[1:], idempotency_key="once")
    await batch.pause()
    assert same.status().state == "paused"
    await batch.set_priority("high")
    await batch.resume()
    assert (same.status().state, same.status().priority) == ("running", "high")
    await batch.cancel()
    with pytest.raises(IllegalTransition):
        await batch.resume()
    said = await batch.run_sync(override, 1, True, reviewer="Reviewer A")
    assert await batch.run_sync(list_overrides) == list_overrides(same) == [said]
    assert (await batch.run_sync(explain, 1)).record == explain(same, 1).record
    assert [view.id for view in await asynchronous.batches()] == [batch.id]
    assert isinstance(await asynchronous.batch(batch.id[:8]), AsyncBatch)
    assert await asynchronous.workers() == []
    async with asynchronous.snapshot() as connection:
        assert await connection.run_sync(_isolation) == "repeatable read"
    assert checked_out(asynchronous) == 0


def review_status(client: Client, review_id: str) -> ReviewView:
    return find_review(client, review_id).status()


async def test_a_review_is_submitted_and_controlled(asynchronous: AsyncClient, client: Client) -> None:
    plan = ReviewPlan(stages=[ReviewStage(operation=Inclusion(criteria=CRITERIA)), ReviewStage(operation=IS_IT)])
    review_id = (await asynchronous.run_sync(submit_review, plan, ITEMS[:5], label="five.csv")).id
    review = find_review(client, review_id)
    assert (await asynchronous.run_sync(review_status, review_id)).planned == ("inclusion", "filter")
    await asynchronous.run_sync(lambda client: find_review(client, review_id).pause())
    assert review.stages()[0].status().state == "paused"
    await asynchronous.run_sync(lambda client: find_review(client, review_id).resume())
    await asynchronous.run_sync(lambda client: find_review(client, review_id).cancel())
    assert review.stages()[0].status().state == "cancelled"
    assert [view.id for view in await asynchronous.run_sync(list_reviews)] == [review_id]


async def test_what_is_wrong_is_told_as_by_the_synchronous_client(asynchronous: AsyncClient) -> None:
    with pytest.raises(UnknownBatch):
        await asynchronous.batch("abcdef")
    with pytest.raises(InvalidParameters, match=r"No. 2 \(index 1\)"):
        await asynchronous.submit(IS_IT, [{"id": "a"}, {"id": "b", "n": float("nan")}])
    with pytest.raises(InvalidParameters, match="there are none"):
        await asynchronous.submit(IS_IT, [])
    assert await asynchronous.batches() == []
    batch = await asynchronous.submit(IS_IT, ITEMS[:2])
    with pytest.raises(WaitTimeout, match="0 of 2 items"):
        await batch.wait(timeout=0.01)


async def test_an_item_that_its_iterator_does_not_give_leaves_nothing_behind(asynchronous: AsyncClient) -> None:
    def breaking_off() -> object:
        yield ITEMS[0]
        raise OSError("the file is gone")

    with pytest.raises(OSError, match="the file is gone"):
        await asynchronous.submit(IS_IT, breaking_off())  # type: ignore[arg-type]
    assert await asynchronous.batches() == []
    assert checked_out(asynchronous) == 0


async def test_a_cancelled_call_leaves_no_connection_checked_out_and_a_batch_whole_or_not_at_all(
    asynchronous: AsyncClient,
) -> None:
    batch = await asynchronous.submit(IS_IT, ITEMS)
    for turns in range(24):  # of the loop, before the call is cancelled: at the connection, a statement, the COPY
        calls = [
            asyncio.ensure_future(asynchronous.submit(IS_IT, ITEMS)),
            asyncio.ensure_future(batch.status()),
            asyncio.ensure_future(anext(batch.results())),
        ]
        for _ in range(turns):
            await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert checked_out(asynchronous) == 0
    for view in await asynchronous.batches(limit=100):
        assert view.counts.n_items == len(ITEMS)


async def test_who_stops_watching_or_reading_holds_no_connection(asynchronous: AsyncClient) -> None:
    batch = await asynchronous.submit(IS_IT, ITEMS)
    async for _ in batch.results():
        break
    views = batch.watch()
    await anext(views)
    watching = asyncio.ensure_future(anext(views))
    await asyncio.sleep(0)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    with pytest.raises(StopAsyncIteration):
        await anext(views)
    assert checked_out(asynchronous) == 0


def test_a_client_works_in_one_event_loop_after_the_other_and_gives_their_connections_up(
    settings: ProducerSettings, database_url: str
) -> None:
    client = AsyncClient(settings)
    batch = asyncio.run(client.submit(IS_IT, ITEMS[:3]))
    assert asyncio.run(batch.status()).counts.n_items == 3

    async def last() -> int:
        async with client:
            return (await batch.status()).counts.pending

    assert asyncio.run(last()) == 3


def test_a_client_that_is_closed_in_another_event_loop_leaves_no_connection_of_the_first_open(
    settings: ProducerSettings,
) -> None:
    client = AsyncClient(settings)
    asyncio.run(client.submit(IS_IT, ITEMS[:1]))
    asyncio.run(client.close())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del client
        gc.collect()
    assert [str(one.message) for one in said if "AsyncConnection" in str(one.message)] == []


def _isolation(connection: Connection) -> str:
    return str(connection.execute(text("SHOW transaction_isolation")).scalar_one())
