"""Dead letters in the ledger, and `tamis dead-letters`, without workers."""

import json
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from sqlalchemy import insert, text
from typer.testing import CliRunner

from stage import Finished
from tamis_cli.commands.app import app, load_commands, out
from tamis_cli.doctor.dead_letter_count import read_dead_letter_count
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import AsyncClient, Client
from tamis_producer.config.redaction import Redaction
from tamis_producer.ledger.dead_letters import DeadLetter, count_dead_letters
from tamis_producer.retention.letters import prune_dead_letters
from tamis_producer.transport.broker import make_app
from tamis_schemas import BrokerUnavailable, InvalidRequest
from tamis_schemas.ledger import dead_letters
from tamis_worker.celery_adapter.foreign_message import dead_letter
from tamis_worker.ledger.connection import LedgerEngines
from tamis_worker.ledger.dead_letters import DeadLetterTable, Gathered

QUEUE = "items.normal.0"
MOST_KEPT = 2_000  # by a trigger
STEERS = "\x1b]0;owned\x07\x1b[2J\u202e[bold]"  # what would set a terminal's title, clear it, turn its direction

Run = Callable[..., Finished]

load_commands()


@pytest.fixture
def broker_url(valkey: Valkey) -> str:
    """A broker of its own beside the others': no worker that lives longer than its test takes anything from it."""
    url = valkey.url.rpartition("/")[0] + "/12"
    with redis.Redis.from_url(url) as server:
        server.flushdb()
    return url


@pytest.fixture
def run(client: Client, monkeypatch: pytest.MonkeyPatch) -> Run:
    environment = {"TAMIS_DATABASE_URL": client.settings.database, "TAMIS_BROKER_URL": client.settings.broker}

    monkeypatch.setattr(out, "_width", 200)  # whoever made the console, and whenever

    def called(*arguments: str) -> Finished:
        done = CliRunner().invoke(app, ["dead-letters", *arguments], env=environment)
        return Finished(done.exit_code, done.stdout, done.stderr + (str(done.exception or "")))

    return called


def foreign(body: bytes = b"[[], {}, {}]", **headers: object) -> Any:
    """A message of kombu's."""
    return SimpleNamespace(
        headers={"task": "of.nobody", "id": "an id"} | headers,
        properties={"correlation_id": "an id", "delivery_tag": "7"},
        delivery_info={"exchange": QUEUE, "routing_key": QUEUE},
        content_type="application/json",
        content_encoding="utf-8",
        body=body,
    )


async def keep(client: Client, *messages: Any, more: int = 0, why: str = "it is foreign") -> None:
    """Have a worker's statements write letters of messages."""
    engines = LedgerEngines.of(client.settings.database)
    try:
        table = DeadLetterTable(engines.transactions, worker="7@a-host")
        redact = Redaction(["a-secret-of-ours"])
        letters = tuple(dead_letter(message, why, redact) for message in messages)
        await table.record([Gathered(letters, more=0)])
        await table.record([Gathered((), more=more), Gathered((), more=more)])
    finally:
        await engines.dispose()


def total(client: Client) -> int:
    with client.engine.connect() as connection:
        return count_dead_letters(connection)


async def test_the_latest_come_first_with_everything_that_was_kept_and_what_was_counted(client: Client) -> None:
    await keep(client, foreign(b"\x80\x04"), foreign(n=[1, "\x07"]), more=450)
    second, first = client.dead_letters()
    assert (first.more, second.more, total(client)) == (0, 900, 902)
    assert (first.body, first.in_base64, first.raw) == ("gAQ=", True, b"\x80\x04")
    assert second == DeadLetter(
        id=first.id + 1,
        created_at=first.created_at,
        worker="7@a-host",
        queue=QUEUE,
        task="of.nobody",
        task_id="an id",
        why="it is foreign",
        content_type="application/json",
        content_encoding="utf-8",
        headers={"task": "of.nobody", "id": "an id", "n": [1, "\x07"]},
        properties={"correlation_id": "an id"},
        body="[[], {}, {}]",
        in_base64=False,
        body_bytes=12,
        whole=True,
        more=900,
    )
    assert client.dead_letters(1) == [second]
    async with AsyncClient(client.settings) as on_loop:
        assert await on_loop.dead_letters() == [second, first]
    found = read_dead_letter_count(client.engine)
    assert (found.kept, found.counted, found.latest, found.today) == (2, 900, first.created_at, True)


def test_the_ledger_keeps_the_newest_and_retention_deletes_what_is_old(client: Client) -> None:
    row = {"worker": "w", "why": "no", "headers": {}, "properties": {}, "body": "", "body_bytes": 0, "whole": True}
    with client.engine.begin() as connection:
        for n in (MOST_KEPT, 3):
            connection.execute(insert(dead_letters), [row | {"task": str(number)} for number in range(n)])
        assert connection.execute(text("SELECT count(*) FROM dead_letters")).scalar_one() == MOST_KEPT
        connection.execute(text("UPDATE dead_letters SET created_at = now() - interval '9 days' WHERE task = '2'"))
        assert prune_dead_letters(connection, timedelta(days=10)) == 0
        assert prune_dead_letters(connection, timedelta(days=8)) == 1  # the other one of this name was the oldest
    assert [letter.task for letter in client.dead_letters(3)] == ["1", "0", str(MOST_KEPT - 1)]


async def test_people_list_show_and_purge_them_and_a_terminal_is_not_steered(client: Client, run: Run) -> None:
    assert "there are no dead letters" in run().out
    assert json.loads(run("--json").out) == []
    await keep(
        client,
        foreign(f'["{STEERS}", ":smile:"]'.encode(), task=f"of{STEERS}", note="[red]"),
        foreign(("x" * 20_000).encode()),
        more=3,
        why=f"it has no {STEERS}",
    )
    cut, whole = client.dead_letters()
    for done in (run(), run("list"), run("--limit", "5"), run("show", str(whole.id))):
        assert (done.code, done.err) == (0, "")
        assert not {"\x1b", "\x07", "\u202e"} & set(done.out)
        assert "[bold]" in done.out  # as text, not as markup
        assert "it has no" in done.out
    assert "6 more that were counted alone" in run().out
    assert "8 messages in all" in run("--limit", "1").out
    shown = run("show", str(whole.id)).out
    assert ":smile:" in shown
    assert '"note": "[red]"' in shown
    assert "20,000 bytes" in run("show", str(cut.id)).out
    assert "cannot be sent again" in run("show", str(cut.id)).out
    assert [one["id"] for one in json.loads(run("list", "--json").out)] == [cut.id, whole.id]
    assert json.loads(run("show", str(whole.id), "--json").out)["headers"]["task"] == f"of{STEERS}"
    assert "there is no dead letter 0" in run("show", "0").err
    assert "say --yes" in run("purge").err
    assert total(client) == 8
    assert json.loads(run("purge", "--yes", "--json").out) == {"purged": 2}
    assert "deleted 0 dead letters" in run("purge", "--yes").out


async def test_one_that_is_whole_is_sent_again_as_it_came_and_leaves_the_list(client: Client, run: Run) -> None:
    sent = foreign(b"\x80\x04", argsrepr="ü", compression="application/x-gzip")
    await keep(client, sent, foreign(), foreign(b"x" * 20_000), foreign(url="a-secret-of-ours"))
    secret, long, second, first = client.dead_letters()
    for letter in (secret, long):
        with pytest.raises(InvalidRequest, match="is not kept whole"):
            client.resend_dead_letter(letter.id)
    told = json.loads(run("resend", str(first.id), "--json").out)
    assert told == {"id": first.id, "queue": QUEUE, "task": "of.nobody", "task_id": "an id"}
    assert f"sent again to {QUEUE}" in run("resend", str(second.id)).out
    celery = make_app(client.settings)
    with celery.connection_for_read() as connection:
        take = celery.amqp.queues[QUEUE](connection.default_channel).get
        came, also = take(no_ack=True), take(no_ack=True)
        assert take(no_ack=True) is None
    assert (came.body, came.content_type, came.content_encoding) == (sent.body, "application/json", "utf-8")
    # The body was kept as it was before its compression.
    assert came.headers == {"task": "of.nobody", "id": "an id", "argsrepr": "ü"}
    assert came.properties["correlation_id"] == "an id"
    assert also.payload == [[], {}, {}]
    assert [letter.id for letter in client.dead_letters()] == [secret.id, long.id]


async def test_one_that_cannot_be_sent_stays_in_the_list(client: Client) -> None:
    elsewhere = foreign()
    elsewhere.delivery_info = {"routing_key": "another.service"}
    await keep(client, elsewhere, foreign())
    ours, theirs = client.dead_letters()
    with pytest.raises(InvalidRequest, match="no queue of the workers'"):
        client.resend_dead_letter(theirs.id)
    away = client.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    with Client(away) as without_broker, pytest.raises(BrokerUnavailable):
        without_broker.resend_dead_letter(ours.id)
    assert client.dead_letters() == [ours, theirs]
