"""`tamis webhooks`, and every way in which a batch learns whom to tell, over a ledger without workers."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from stage import Finished, abstracts
from stage.screened import Place, decided, write_batch, write_review
from tamis_cli.commands.app import app, load_commands
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.app import create_app
from tamis_review import submit_review
from tamis_review.page.application import Screening
from tamis_review.plans.stages import advance
from tamis_schemas import (
    Callback,
    Filter,
    Inclusion,
    InclusionDecision,
    Judge,
    ReviewPlan,
    ReviewStage,
    SearchCriteria,
)

HOOK = "https://hooks.example/tamis"
QUESTION = Filter(criteria="Is it a trial?")

Run = Callable[..., Finished]

load_commands()


@pytest.fixture
def run(client: Client) -> Run:
    environment = {"TAMIS_BROKER_URL": client.settings.broker, "TAMIS_DATABASE_URL": client.settings.database}

    def called(*arguments: str) -> Finished:
        done = CliRunner().invoke(app, [*arguments], env=environment | {"COLUMNS": "300"})
        return Finished(done.exit_code, done.stdout, done.stderr or str(done.exception))

    return called


def sql(client: Client, statement: str, **given: object) -> list[Any]:
    with client.engine.begin() as connection:
        done = connection.execute(text(statement), given)
        return list(done.all()) if done.returns_rows else []


def complete(client: Client, batch_id: str) -> None:
    sql(client, "UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id", id=batch_id)


def test_events_are_listed_with_what_became_of_them_and_sent_again(client: Client, run: Run) -> None:
    assert "no webhooks yet" in run("webhooks", "list").out
    batch = client.submit(QUESTION, abstracts(2), callback=Callback(url=HOOK)).id
    complete(client, batch)
    listed = run("webhooks", "list").out  # as wide as the terminal was for whoever asked first
    assert all(word in listed for word in (batch[:8], "batch.completed"))
    (first,) = json.loads(run("webhooks", "list", "--json").out)
    assert (first["batch_id"], first["url"], first["state"], first["tries"]) == (batch, HOOK, "waiting", 0)
    sql(
        client,
        "UPDATE webhooks SET state = 'given_up', ended_at = now(), tries = 8, last_at = now(), last_status = 500, "
        "last_said = 'answered 500; given up', body = 'kept'",
    )
    (one,) = json.loads(run("webhooks", "list", "--state", "given_up", "--json").out)
    assert (one["batch_id"], one["state"], one["tries"], one["next_at"]) == (batch, "given_up", 8, None)
    assert (one["last_status"], one["last_said"]) == (500, "answered 500; given up")
    assert json.loads(run("webhooks", "list", "--state", "waiting", "--json").out) == []
    for which in (one["id"], one["id"][:8], batch, batch[:8].upper()):
        sql(client, "UPDATE webhooks SET state = 'delivered', ended_at = now()")
        (again,) = json.loads(run("webhooks", "replay", which, "--json").out)
        assert (again["id"], again["state"], again["tries"]) == (one["id"], "waiting", 0)
    (kept,) = sql(client, "SELECT body, ended_at, next_at <= now() AS due FROM webhooks")
    assert (kept.body, kept.ended_at, kept.due) == ("kept", None, True)
    for unknown in ("ffffffff", "", "no id", "%"):
        done = run("webhooks", "replay", unknown)
        assert done.code != 0
        assert "begins with" in done.err
    assert "1 webhook will be sent again" in run("webhooks", "replay", batch).out


def test_of_a_batch_all_events_are_sent_again_and_of_two_that_begin_alike_none(client: Client, run: Run) -> None:
    batch = client.submit(QUESTION, abstracts(2), callback=Callback(url=HOOK))
    for n in range(3):
        sql(
            client,
            "INSERT INTO webhooks (id, batch_id, type, url, data) VALUES (CAST(:w AS uuid), :b, 't', 'u', '{}')",
            w=f"aaaaaaaa-0000-4000-8000-00000000000{n}",
            b=batch.id,
        )
    assert len(json.loads(run("webhooks", "replay", batch.id, "--json").out)) == 3
    assert "several webhooks begin with 'aaaaaaaa'" in run("webhooks", "replay", "aaaaaaaa").err


def test_a_test_event_is_written_and_told_apart_from_one_that_was_sent(client: Client, run: Run) -> None:
    done = run("webhooks", "test", HOOK, "--wait", "0")
    assert done.code == 1
    assert "no worker has sent it within 0 s" in done.out
    (row,) = sql(client, "SELECT type, url, batch_id, state FROM webhooks")
    assert (row.type, row.url, row.batch_id, row.state) == ("webhook.test", HOOK, None, "waiting")
    assert "has no user" not in run("webhooks", "test", "nowhere").out
    assert sql(client, "SELECT count(*) AS n FROM webhooks")[0].n == 1


def test_a_key_says_who_is_told_of_its_batches(client: Client, run: Run) -> None:
    key = api_keys.create(client.engine, "Reviewer A", [Scope.SUBMIT]).split("_")[1]
    assert json.loads(run("webhooks", "key", key, "--callback-url", HOOK, "--json").out)["callback"]["url"] == HOOK
    told = client.submit(QUESTION, abstracts(2), api_key_id=key)
    assert f"receiver for batches of key {key}: none" in run("webhooks", "key", key).out
    silent = client.submit(QUESTION, abstracts(3), api_key_id=key)
    for batch in (told, silent):
        complete(client, batch.id)
    assert [str(row.batch_id) for row in sql(client, "SELECT batch_id FROM webhooks")] == [told.id]
    assert "no valid key" in run("webhooks", "key", "ffff", "--callback-url", HOOK).err


def test_the_next_stage_of_a_review_tells_whom_the_first_one_told(client: Client) -> None:
    inclusion = Inclusion(criteria=SearchCriteria(research_question="Does it?", inclusion_criteria=["It does"]))
    said = InclusionDecision.model_validate({"status": "include", "confidence": 0.8, "rationale": "because"})
    with client.engine.begin() as connection:
        review = write_review(connection, "r", inclusion, QUESTION)
        rows = [decided({"id": "r0", "title": "Title"}, said)]
        first = write_batch(connection, rows, operation=inclusion, place=Place(review, 0))
    callback = Callback(url=HOOK).model_dump_json()
    sql(client, "UPDATE batches SET callback = CAST(:c AS json), api_key_id = 'of-a-key'", c=callback)
    following = advance(client.engine, first)
    (row,) = sql(client, "SELECT callback, api_key_id FROM batches WHERE id = :id", id=following)
    assert (row.callback["url"], row.api_key_id) == (HOOK, "of-a-key")


def test_command_line_http_and_reviews_name_whom_to_tell(client: Client, run: Run, tmp_path: Any) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text("\n".join(json.dumps(item) for item in abstracts(2)), "utf-8")
    submit = ("filter", str(records), "--criteria", "Is it?", "--detach")
    ids = [run(*submit, "--callback-url", HOOK).out.strip()]
    assert "callback" in run(*submit, "--callback-url", "https://user:password@hooks.example/").err
    key = api_keys.create(client.engine, "Reviewer A", [Scope.SUBMIT])
    with TestClient(create_app(client, application=Screening())) as http:
        body = {"operation": {"operation": "filter", "criteria": "Is it?"}, "items": [{"id": "1"}]}
        asked = {"headers": {"Authorization": f"Bearer {key}"}}
        given = http.post("/v1/batches", json=body | {"callback": {"url": HOOK, "failed_share": 0.5}}, **asked)
        refused = http.post("/v1/batches", json=body | {"callback": {"url": "https://a@b.example/"}}, **asked)
    assert given.status_code == 201, given.text
    ids.append(given.json()["batch"]["id"])
    assert refused.status_code == 422
    assert "not contain user or password" in refused.text
    stages = [ReviewStage(operation=QUESTION), ReviewStage(operation=Judge(guidelines="What it says."))]
    review = submit_review(client, ReviewPlan(stages=stages), abstracts(2), label="r", callback=Callback(url=HOOK))
    ids.append(review.status().stages[0].id)
    for one in ids:
        (row,) = sql(client, "SELECT callback FROM batches WHERE id = :id", id=one)
        assert row.callback["url"] == HOOK
