"""A task that is sent when a batch is complete: once, or more often under one id, without a webhook's secret, too."""

from typing import Any

import pytest
from celery import Celery

from tamis_cli.doctor.examination import read_backlog
from tamis_producer import Client, ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import Callback, InvalidParameters
from tamis_worker.webhooks.deliverer import Deliverer
from tamis_worker.webhooks.outbox import CLAIMED_FOR, claim
from tamis_worker.webhooks.schedule import WAITS
from tamis_worker.webhooks.sender import TaskSender

from .conftest import HOOK, Outbox

QUEUE = "theirs"


def signature(*args: Any, **options: Any) -> Any:
    app = Celery(set_as_current=False)
    return app.signature("theirs.finished", args=args, kwargs={"run": 7}, **options).set(queue=QUEUE)


def ended(outbox: Outbox, on_complete: Any) -> str:
    """The id of a batch of two items that is complete."""
    question, items = outbox.asked()
    batch = outbox.client.submit(question, items, on_complete=on_complete, label="spring").id
    outbox.sql("UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id", id=batch)
    return batch


async def look(outbox: Outbox, settings: ProducerSettings | None = None) -> None:
    """Deliver what is due, without a secret to sign webhooks with."""
    app = make_app(settings or outbox.client.settings, within=1)
    deliverer = Deliverer(outbox.engine, None, tasks=TaskSender(app), keep_days=30, jitter=lambda: 0.0)
    await deliverer.look()
    await deliverer.settled()
    app.close()


def sent(client: Client) -> list[tuple[str, str, Any, Any]]:
    """Name, id, positional and other arguments of each message in the service's queue."""
    found = []
    app = make_app(client.settings)
    with app.connection_for_read() as connection:
        queue = app.amqp.queues[QUEUE](connection.default_channel)
        while (message := queue.get(no_ack=True)) is not None:
            args, kwargs, _ = message.payload
            found.append((message.headers["task"], message.headers["id"], args, kwargs))
    app.close()
    return found


async def test_a_task_is_sent_with_what_came_of_the_batch_though_webhooks_wait_for_a_secret(outbox: Outbox) -> None:
    outbox.sql("INSERT INTO webhooks (type, url, data) VALUES ('webhook.test', :url, '{}')", url=HOOK)
    question, items = outbox.asked()
    outbox.client.submit(question, items, on_complete=signature())
    batch = ended(outbox, signature("more"))
    backlog = read_backlog(outbox.client.engine)
    assert (backlog.waiting, backlog.batches) == (1, 0), "what needs no secret is not said to wait for one"
    await look(outbox)
    await look(outbox)
    rows = {row.url: row for row in outbox.rows()}
    row = rows["celery://theirs/theirs.finished"]
    assert (row.state, row.tries, row.last_said) == ("delivered", 1, "sent to the queue theirs")
    assert (rows[HOOK].state, rows[HOOK].tries) == ("waiting", 0)
    ((name, task_id, (told, more), named),) = sent(outbox.client)
    assert (name, task_id, more, named) == ("theirs.finished", str(row.id), "more", {"run": 7})
    assert (told["batch_id"], told["state"], told["label"], told["counts"]["n_items"]) == (
        batch, "completed", "spring", 2
    )  # fmt: skip


async def test_a_worker_killed_between_sending_and_noting_it_leads_to_a_second_one_with_the_same_id(
    outbox: Outbox,
) -> None:
    ended(outbox, signature(immutable=True))
    (claimed,) = await claim(outbox.engine, 10)
    app = make_app(outbox.client.settings)
    assert (await TaskSender(app).send(claimed.id, claimed.url, claimed.body)).delivered
    app.close()
    await look(outbox)
    assert len(first := sent(outbox.client)) == 1
    outbox.pass_time(CLAIMED_FOR + 1)
    await look(outbox)
    assert sent(outbox.client) == first == [("theirs.finished", str(claimed.id), [], {"run": 7})]


async def test_a_broker_that_is_away_is_tried_again(outbox: Outbox) -> None:
    ended(outbox, signature())
    nobody = outbox.client.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    await look(outbox, nobody)
    (row,) = outbox.rows()
    assert (row.state, row.last_said) == ("waiting", "the broker at 127.0.0.1:1 does not answer")
    outbox.pass_time(WAITS[0] + 1)
    await look(outbox)
    assert len(sent(outbox.client)) == 1


def test_a_batch_has_a_callback_or_a_task_and_neither_is_larger_than_parameters_may_be(outbox: Outbox) -> None:
    question, items = outbox.asked()
    for wrong, said in (
        ({"callback": Callback(url=HOOK), "on_complete": signature()}, "a callback or on_complete, not both"),
        (
            {"on_complete": signature("x" * 100_000)},
            r"on_complete: it has 100,\d+ bytes as JSON; the maximum is 100,000",
        ),
        ({"on_complete": signature("\0")}, "^on_complete: "),
        ({"on_complete": signature({1, 2})}, "^on_complete: "),
    ):
        with pytest.raises(InvalidParameters, match=said):
            outbox.client.submit(question, items, **wrong)
    assert outbox.client.batches() == []
