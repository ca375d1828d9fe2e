"""Results page by page, and as streams of which a key has so many."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2 as httpx
import pytest
from sqlalchemy import text

from stage import abstracts, wait_until
from stage.gateway import signed_in
from tamis_producer import Client
from tamis_producer.gateway import pages
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.streams import MOST_OF_A_KEY
from tamis_schemas import Filter

ITEMS = 57


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "A reader", Scope.READ) as http:
        yield http


@pytest.fixture
def results(client: Client) -> str:
    return f"/v1/batches/{client.submit(Filter(criteria='Is it?'), abstracts(ITEMS)).id}/results"


def followed(http: httpx.Client, path: str, **asked: object) -> Iterator[httpx.Response]:
    """The page at a path, and all that it leads to."""
    answer = http.get(path, params=asked)
    while True:
        assert answer.status_code == 200, answer.text
        yield answer
        found = re.fullmatch(r'<(.+)>; rel="next"', answer.headers.get("Link", ""))
        if found is None:
            return
        answer = http.get(found[1])


def test_pages_make_the_whole_in_every_form(http: httpx.Client, results: str) -> None:
    lines_only = {"form": "ndjson"}
    whole = http.get(results, params=lines_only).text
    assert [json.loads(line)["index"] for line in whole.splitlines()] == list(range(ITEMS))
    lines = [page.text for page in followed(http, results, limit=20, **lines_only)]
    assert [text.count("\n") for text in lines] == [20, 20, 17]
    assert "".join(lines) == whole
    objects = [page.json() for page in followed(http, results, limit=19)]
    assert [one["next"] for one in objects] == [18, 37, None]
    rows = [row for one in objects for row in one["items"]]
    assert rows == [json.loads(line) for line in whole.splitlines()]
    assert http.get(results).json() == {"items": rows, "next": None}
    table = http.get(results, params={"form": "csv"}).text
    tables = [page.text.split("\r\n", 1) for page in followed(http, results, limit=30, form="csv")]
    assert tables[0][0] + "\r\n" + "".join(rest for _, rest in tables) == table
    assert table.count("\r\n") == ITEMS + 1
    assert http.get(results, params={"after": 54, **lines_only}).text.count("\n") == 2
    assert http.get(results, params={"after": 56, "limit": 5}).json() == {"items": [], "next": None}
    for after in (2**31 - 2, 2**31 - 1):  # the largest that the ledger counts to
        assert http.get(results, params={"after": after, "limit": 1, **lines_only}).text == ""
        assert http.get(results, params={"after": after, **lines_only}).text == ""
    for wrong in ({"limit": 0}, {"limit": 1_001}, {"after": -1}, {"form": "xml"}):
        assert http.get(results, params=wrong).status_code == 422


def test_a_page_ends_where_it_is_large_and_leads_on(
    http: httpx.Client, results: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 1_000)
    sizes = [len(page.json()["items"]) for page in followed(http, results, limit=50)]
    assert sizes == [20, 20, 17]  # the first portion of each is large enough


def test_a_key_has_so_many_answers_open_and_another_one_when_one_ends(
    client: Client, http: httpx.Client, results: str
) -> None:
    events = results.replace("/results", "/events")
    with ExitStack() as open_streams:
        first, *_ = [
            open_streams.enter_context(http.stream("GET", events if n % 2 else "/v1/events"))
            for n in range(MOST_OF_A_KEY)
        ]
        refused = http.get(results)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
        assert refused.json()["type"] == "urn:tamis:problem:too-many-streams"
        assert http.get(results, params={"limit": 1}).status_code == 200  # a page is no stream
        first.close()
        wait_until(lambda: http.get(results).status_code == 200, within=10, what="a place came free")
    with client.engine.connect() as connection:
        idle = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state ~ 'in trans'")
        assert connection.execute(idle).scalar_one() == 0
