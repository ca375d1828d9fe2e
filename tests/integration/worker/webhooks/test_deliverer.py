"""Every event arrives, at least once, with the same id and body: whatever becomes of receiver or worker."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pydantic import SecretStr

from stage import WorkerProcess, wait_until
from stage.webhook_receiver import SECRET, WebhookReceiver, receiving_webhooks
from tamis_cli.embedded.ports import free_port
from tamis_producer.transport.broker import make_app
from tamis_schemas import Callback
from tamis_worker.webhooks.deliverer import UNSIGNED, Deliverer
from tamis_worker.webhooks.outbox import CLAIMED_FOR, OF_ONE_RECEIVER, claim
from tamis_worker.webhooks.schedule import WAITS
from tamis_worker.webhooks.sender import Sender, TaskSender

from .conftest import HOOK, Outbox

HOUR = 3600.0


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with receiving_webhooks() as running:
        yield running


def deliverer(outbox: Outbox, *, secret: str | None = SECRET) -> Deliverer:
    sender = None if secret is None else Sender(SecretStr(secret), private=True)
    tasks = TaskSender(make_app(outbox.client.settings, within=2))
    return Deliverer(outbox.engine, sender, tasks=tasks, keep_days=30, jitter=lambda: 0.0)


async def deliver(outbox: Outbox, *, looks: int = 1) -> None:
    one = deliverer(outbox)
    for _ in range(looks):
        await one.look()
        await one.settled()
    await one.close()


def write(outbox: Outbox, *urls: str) -> None:
    for url in urls:
        outbox.sql("INSERT INTO webhooks (type, url, data) VALUES ('webhook.test', :url, '{}')", url=url)


async def test_a_receiver_that_was_down_for_an_hour_gets_every_event(outbox: Outbox) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/hook"
    batch = outbox.batch(callback=Callback(url=url))
    outbox.sql("UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id", id=batch)
    passed, waits = 0.0, []
    with ExitStack() as stack:
        receiver = None
        while outbox.rows()[0].state == "waiting":
            if receiver is None and passed >= HOUR:
                receiver = stack.enter_context(receiving_webhooks(port=port))
            await deliver(outbox)
            (row,) = outbox.rows()
            if row.state == "waiting":
                waits.append(outbox.wait_of(row.id))
                outbox.pass_time(waits[-1] + 1)
                passed += waits[-1]
        assert receiver is not None
        assert receiver.ids == [str(row.id)]
        assert receiver.received[0].verified()["data"]["batch_id"] == batch
    assert waits == pytest.approx(WAITS[:4], abs=5)  # 5 s, 5 min and 30 min; the fourth try is the one after the hour
    assert (row.state, row.tries, row.last_status, row.last_said) == ("delivered", 5, 204, "answered 204")
    await deliver(outbox)
    assert len(receiver.received) == 1, "what is delivered is not sent again"


async def test_a_receiver_that_fails_for_a_day_is_given_up_and_one_that_is_gone_at_once(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    write(outbox, receiver.url)
    receiver.status = 500
    for _ in range(len(WAITS)):
        await deliver(outbox)
        outbox.pass_time(12 * HOUR)
    assert [row.state for row in outbox.rows()] == ["waiting"]
    await deliver(outbox)
    (row,) = outbox.rows()
    assert (row.state, row.last_status) == ("given_up", 500)
    assert row.last_said == "answered 500; given up after 8 tries in a day"
    assert len(set(receiver.ids)) == 1
    assert len({one.body for one in receiver.received}) == 1
    assert len(receiver.received) == 1 + len(WAITS)
    write(outbox, receiver.url)
    receiver.status = 410
    await deliver(outbox)
    row = outbox.rows()[1]
    assert (row.state, row.tries, row.last_status) == ("given_up", 1, 410)
    assert row.ended_at is not None


async def test_a_worker_that_dies_between_completion_and_call_leaves_it_to_another(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    write(outbox, receiver.url)
    (claimed,) = await claim(outbox.engine, 10)  # and no more is heard of whoever claimed it
    await deliver(outbox)
    assert receiver.received == [], "it may still be sending"
    outbox.pass_time(CLAIMED_FOR + 1)
    await deliver(outbox)
    assert receiver.ids == [str(claimed.id)]
    assert receiver.received[0].body.decode() == claimed.body


async def test_workers_that_look_at_once_send_each_event_once(outbox: Outbox, receiver: WebhookReceiver) -> None:
    write(outbox, *[f"{receiver.url}/{n}" for n in range(4)], receiver.url.replace("127.0.0.1", "localhost"))
    several = [deliverer(outbox) for _ in range(4)]
    for _ in range(4):
        await asyncio.gather(*(one.look() for one in several))
        await asyncio.gather(*(one.settled() for one in several))
    for one in several:
        await one.close()
    assert len(receiver.ids) == len(set(receiver.ids)) == 5
    assert {row.state for row in outbox.rows()} == {"delivered"}
    assert {row.tries for row in outbox.rows()} == {1}


async def test_an_answer_that_is_lost_brings_the_event_again_under_the_same_id(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    """Delivered, and the ledger did not learn of it: the receiver tells the second one by its id."""
    write(outbox, receiver.url)
    (claimed,) = await claim(outbox.engine, 1)
    sender = Sender(SecretStr(SECRET), private=True)
    assert (await sender.send(claimed.id, claimed.url, claimed.body)).delivered
    await sender.close()
    outbox.pass_time(CLAIMED_FOR + 1)
    await deliver(outbox)
    first, second = receiver.received
    assert first.id == second.id
    assert first.body == second.body
    assert first.verified() == second.verified()


async def test_a_slow_receiver_holds_nobody_up(outbox: Outbox, receiver: WebhookReceiver) -> None:
    receiver.silent = threading.Event()
    with receiving_webhooks() as other:
        write(outbox, *[f"{receiver.url}/{n}" for n in range(30)], other.url)
        one, second = deliverer(outbox), deliverer(outbox)
        await one.look()
        await second.look()
        wait = asyncio.to_thread(wait_until, lambda: other.received, within=10, what="the other one is told")
        await wait
        assert len(other.received) == 1
        busy = outbox.sql("SELECT count(*) AS n FROM webhooks WHERE claimed_until > now() AND url LIKE :u",
                          u=receiver.url + "%")  # fmt: skip
        assert busy[0].n == OF_ONE_RECEIVER, "of all workers together"
        receiver.silent.set()
        for each in (one, second):
            await each.settled()
            await each.close()


async def test_without_a_secret_nothing_is_sent_and_the_event_says_so(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    write(outbox, receiver.url)
    unsigned = deliverer(outbox, secret=None)
    await unsigned.look()
    await unsigned.settled()
    (row,) = outbox.rows()
    assert (row.state, row.tries, row.last_said) == ("waiting", 0, UNSIGNED)
    assert receiver.received == []
    await deliver(outbox)
    assert receiver.ids == [str(row.id)]


def test_a_worker_killed_in_the_middle_of_a_call_leaves_the_event_to_the_next(
    outbox: Outbox, receiver: WebhookReceiver, start_worker: Callable[..., WorkerProcess]
) -> None:
    settings = {"webhook_secret": SECRET, "webhook_private": "true"}
    receiver.silent = threading.Event()
    batch = outbox.client.submit(*outbox.asked(), callback=Callback(url=receiver.url))
    first = start_worker(**settings)
    wait_until(lambda: receiver.received, within=30, what="the call has begun")
    first.kill()
    receiver.silent.set()
    receiver.silent = None
    outbox.pass_time(CLAIMED_FOR + 1)
    second = start_worker(**settings)
    wait_until(lambda: outbox.rows()[0].state == "delivered", within=30, what="it is delivered")
    before, after = receiver.received
    assert before.id == after.id == str(outbox.rows()[0].id)
    assert before.verified() == after.verified()
    told = after.verified()["data"]
    assert (told["batch_id"], told["state"], told["counts"]["decided"]) == (batch.id, "completed", 2)
    for worker in (first, second):
        assert SECRET not in worker.text()
        assert SECRET[6:] not in worker.text()
        assert HOOK not in worker.text()
