"""The reading order over HTTP and on an event loop: worked out beside, and the same as elsewhere."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from uuid import UUID

import httpx2 as httpx
import pytest

from stage.gateway import gateway
from stage.plain_http import http_client
from stage.screened import Ledgered, decided, write_batch
from tamis_producer import AsyncClient, Client, ProducerSettings
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import next_records, override, reading
from tamis_review.order import order_refits
from tamis_review.order.order_store import OrderTerms
from tamis_schemas import InclusionDecision, NextRecords, Score

Asked = Callable[..., httpx.Response]


def record(n: int) -> Ledgered:
    said = {"status": "include" if n % 2 else "exclude", "confidence": 0.6 + n / 100, "rationale": "because"}
    subject = "walking after surgery" if n % 3 else "salmon in cold rivers"
    return decided({"id": f"r{n}", "title": f"Record on {subject}"}, InclusionDecision.model_validate(said))


@pytest.mark.night
def test_what_is_next_over_http_and_on_a_loop_is_what_it_is_here(
    client: Client, settings: ProducerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client.engine.begin() as connection:
        batch_id = str(write_batch(connection, [record(n) for n in range(20)]))
        scored = str(write_batch(connection, [Ledgered({"id": "r0"}, value=0.5)], operation=Score(criteria="x")))
    for index in range(6):
        override(client.batch(batch_id), index, "include" if index % 3 else "exclude", reviewer="Reviewer A")
    with Client(settings) as here:
        expected = next_records(here.batch(batch_id), 50, fresh=True, seed=3)
    key = api_keys.create(client.engine, "Reviewer B", [Scope.READ])
    with gateway(client) as base, http_client(base, key) as http:

        def asked(of: str = batch_id, **params: object) -> httpx.Response:
            return http.get(f"/v1/batches/{of}/next", params=params)

        told = asked(n=50, seed=3)
        assert told.status_code == 200
        assert NextRecords.model_validate(told.json()) == expected
        assert told.json()["records"][0].keys() >= {
            "index",
            "item_id",
            "title",
            "reason",
            "why",
            "score",
        }
        pairs = asked(reviewer="Reviewer B").json()
        assert [one["index"] for one in pairs["records"][:6]] == list(range(6))
        override(client.batch(batch_id), 6, "exclude", reviewer="Reviewer A")
        fresh = asked(n=50, seed=3, fresh=True).json()  # by the process beside
        assert (fresh["current"], fresh["made_after"], len(fresh["records"])) == (True, 7, 13)
        assert (asked(n=1_001).status_code, asked(explore=2).status_code, asked(reviewer="").status_code) == (422,) * 3
        refused = asked(scored)
        assert (refused.status_code, "includes and excludes nothing" in refused.json()["detail"]) == (422, True)
        assert asked("00000000").status_code == 404

        # Whoever cannot wait has the order that is kept, and is told so.
        monkeypatch.setattr(order_refits, "PATIENCE", 0.0)
        monkeypatch.setattr(reading.order_refits(client), "ask", _never)
        override(client.batch(batch_id), 7, "include", reviewer="Reviewer A")
        behind = asked(n=50, seed=3).json()
        assert (behind["current"], behind["made_after"], behind["decided"], behind["unread"]) == (False, 7, 8, 12)
        assert [one["index"] for one in behind["records"]] == [
            one["index"] for one in fresh["records"] if one["index"] != 7
        ]

    async def on_a_loop() -> NextRecords:
        async with AsyncClient(settings) as beside:
            return await (await beside.batch(batch_id)).run_on_thread(next_records, 50, seed=3, fresh=True)

    assert asyncio.run(on_a_loop()).made_after == 8


def _never(batch_id: UUID, terms: OrderTerms) -> "Future[None]":
    return Future()
