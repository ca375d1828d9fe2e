"""Keys that may ask certain models and spend a certain amount, over every route that submits or spends."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from sqlalchemy import text

from stage import abstracts
from stage.gateway import gateway
from stage.plain_http import http_client
from tamis_producer import Client, ProducerSettings
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Restrictions, Scope
from tamis_producer.ledger.allowance import read_key_id
from tamis_review import list_reviews
from tamis_schemas import Filter

FILTER = {"operation": "filter", "criteria": "Is this about oncology?"}
RIS = b"TY  - JOUR\nTI  - A trial of something\nER  - \n"


@pytest.fixture
def client(settings: ProducerSettings, tmp_path: Path) -> Iterator[Client]:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  double-1: {input: 10, output: 20}\n", "utf-8")
    with Client(settings.model_copy(update={"prices": prices})) as client:
        yield client


@pytest.fixture
def base(client: Client) -> Iterator[str]:
    with gateway(client) as base:
        yield base


def of_key(client: Client, base: str, label: str = "A pipeline", **restrictions: object) -> httpx.Client:
    """Whoever asks with a new key of all scopes."""
    given = Restrictions.model_validate(restrictions)
    key = api_keys.create(client.engine, label, list(Scope), given)
    return http_client(base, key, Prefer="respond-async")


def submissions(http: httpx.Client, model: str | None, **more: object) -> Iterator[httpx.Response]:
    """One over each route that submits and lets its caller name a model."""
    terms = {"operation": FILTER, "model": model, **more}
    yield http.post("/v1/batches", json={**terms, "items": abstracts(1)})
    yield http.post("/v1/files", data={"terms": json.dumps(terms)}, files={"file": ("one.ris", RIS)})
    asked = {"instruct": "x", "resp_format": "x", "eval_crit": "x", "model": model, **more}
    yield http.post("/api/lab/generate-answer", json=asked)


def services(http: httpx.Client, **more: object) -> Iterator[httpx.Response]:
    """One over each route that submits and asks the model of the settings."""
    yield http.post("/api/tablizer/filter", json={"items": abstracts(1), "criteria": "x", **more})
    yield http.post("/api/tablizer/extract", json={"items": abstracts(1), "prompt": "x", **more})


def test_a_model_that_a_key_may_not_ask_is_refused_over_every_route(client: Client, base: str) -> None:
    with of_key(client, base, models=["double-1"]) as http:
        assert [answer.status_code for answer in submissions(http, "double-1")] == [201, 201, 202]
        refused = [*submissions(http, "other-1"), *submissions(http, None), *services(http)]
    assert [answer.status_code for answer in refused] == [403] * 8
    assert {answer.json()["type"] for answer in refused} == {"urn:tamis:problem:not-allowed"}
    assert all("name one of double-1" in answer.json()["detail"] for answer in refused)


def test_a_review_of_a_restricted_key_is_bounded_as_its_batches_are(client: Client, base: str) -> None:
    def begin(http: httpx.Client, model: str, *others: str) -> httpx.Response:
        stages = [{"operation": FILTER, "model": other} for other in others]
        terms = {"operation": FILTER, "model": model, "review": "A review", "stages": stages}
        return http.post("/v1/files", data={"terms": json.dumps(terms)}, files={"file": ("one.ris", RIS)})

    with of_key(client, base, models=["double-1"]) as http:
        assert begin(http, "other-1").status_code == 403
        later = begin(http, "double-1", "double-1", "other-1")
        assert (later.status_code, "stage 3, filter: the key" in later.json()["detail"]) == (403, True)
        assert list_reviews(client) == []
    with of_key(client, base, monthly_cost="20") as http:
        unpriced = begin(http, "double-1", "of-no-price")
        assert (unpriced.status_code, "stage 2, filter: max_cost" in unpriced.json()["detail"]) == (422, True)
        begun = begin(http, "double-1", "double-1")
        again = begin(http, "double-1", "double-1")  # nothing is left for a new one
    assert begun.status_code == 201, begun.text
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.json()["batch"]["review_id"] == begun.json()["batch"]["review_id"]
    assert begun.json()["batch"]["budget"]["max_cost"] is not None
    with client.reading() as connection:
        assert read_key_id(connection, client.batch(begun.json()["batch"]["id"]).uuid) is not None


def test_every_batch_of_a_key_with_money_has_a_budget_and_none_goes_beyond_it(client: Client, base: str) -> None:
    with of_key(client, base, monthly_cost="20") as http:
        unknown = list(submissions(http, "of-no-price"))
        assert [answer.status_code for answer in unknown] == [422] * 3
        assert all("no price is known" in answer.json()["detail"] for answer in unknown)
        over = [*submissions(http, "double-1", max_cost=2), *services(http, max_cost=3)]
        assert [answer.status_code for answer in over] == [201, 201, 202, 202, 202]
        with client.engine.connect() as connection:
            budgets = connection.execute(text("SELECT max_cost FROM batches ORDER BY created_at")).scalars()
            assert [int(one) for one in budgets] == [2, 2, 2, 3, 3]  # 12 of 20
        rest = http.post(
            "/v1/batches",
            json={"operation": FILTER, "model": "double-1", "items": abstracts(1)},
            headers={"Idempotency-Key": "rest"},
        )
        assert rest.json()["batch"]["budget"]["max_cost"] == 8
        refused = [*submissions(http, "double-1"), *services(http)]
        assert [answer.status_code for answer in refused] == [402] * 5
        assert "the month ends at" in refused[0].json()["detail"]
        again = http.post(
            "/v1/batches",
            json={"operation": FILTER, "model": "double-1", "items": abstracts(1)},
            headers={"Idempotency-Key": "rest"},
        )  # is no new batch, and costs nothing
        assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
        assert again.json()["batch"]["id"] == rest.json()["batch"]["id"]
        raised = http.post(f"/v1/batches/{rest.json()['batch']['id']}/resume", json={"max_cost": 50})
        assert raised.status_code == 402


def test_a_restricted_key_spends_on_its_own_batches_alone(client: Client, base: str) -> None:
    other = client.submit(Filter(criteria="x"), abstracts(1), model="double-1", max_cost=None)
    with of_key(client, base, "Another pipeline") as http:
        terms = {"operation": FILTER, "items": abstracts(1), "model": "double-1"}
        of_another_key = http.post("/v1/batches", json=terms).json()["batch"]["id"]
    with of_key(client, base, models=["double-1"]) as http:
        for batch in (other.id, of_another_key):
            refused = [http.post(f"/v1/batches/{batch}/{verb}", json={"max_cost": 5}) for verb in ("resume", "retry")]
            assert [answer.status_code for answer in refused] == [403, 403]
        assert http.post(f"/v1/batches/{other.id}/pause").status_code == 200  # that costs nothing
        assert http.post(f"/v1/batches/{other.id}/resume").status_code == 200
    with of_key(client, base) as http:
        assert http.post(f"/v1/batches/{other.id}/retry").status_code == 409  # it runs: no word of the key


def test_two_keys_with_one_idempotency_key_have_two_batches_and_learn_nothing_of_each_other(
    client: Client, base: str
) -> None:
    told = []
    for label, n in (("Alpha", 1), ("Beta", 2)):  # with other content, too
        with of_key(client, base, label) as http:
            for _ in range(2):
                body = {"operation": FILTER, "items": abstracts(n)}
                told.append(http.post("/v1/batches", json=body, headers={"Idempotency-Key": "monday"}))
            file = {"data": {"terms": json.dumps({"operation": FILTER})}, "files": {"file": ("one.ris", RIS)}}
            for _ in range(2):
                told.append(http.post("/v1/files", headers={"Idempotency-Key": "tuesday"}, **file))  # type: ignore[arg-type]
    assert [answer.status_code for answer in told] == [201] * 8
    assert [answer.headers.get("Idempotency-Replayed") for answer in told] == [None, "true"] * 4
    assert [answer.json()["batch"]["submitted_by"] for answer in told[::2]] == ["Alpha", "Alpha", "Beta", "Beta"]
    assert len({answer.json()["batch"]["id"] for answer in told}) == 4


def test_the_callback_of_a_key_is_told_where_the_submission_names_none(client: Client, base: str) -> None:
    mine = {"url": "https://here.example/mine", "failed_share": 0.5}
    with of_key(client, base, callback={"url": "https://here.example/key"}) as http:
        for named in (None, mine):
            body = {"operation": FILTER, "items": abstracts(1), "callback": named}
            assert http.post("/v1/batches", json=body).status_code == 201
    with client.engine.connect() as connection:
        kept = connection.execute(text("SELECT callback FROM batches ORDER BY created_at")).scalars().all()
    assert [one["url"] for one in kept] == ["https://here.example/key", "https://here.example/mine"]
    assert kept[1]["failed_share"] == 0.5
