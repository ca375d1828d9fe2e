"""The parts of `openai` that are not public and are used: each does what it must, or calls take the public path."""

import logging
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from internals import (
    imported,
    on_the_page,
    own_private_names,
    private_attributes,
    private_names_of_bases,
    read,
    sources,
)
from tamis_worker.llm.lean_client import CONDITIONS, LeanClient, broken_conditions, warn_of

OPTIONS = "openai._models.FinalRequestOptions"
BUILD = "openai.AsyncOpenAI._build_request"
ERROR = "openai.AsyncOpenAI._make_status_error_from_response"

build_request = openai.AsyncOpenAI._build_request
make_error = openai.AsyncOpenAI._make_status_error_from_response


@pytest.fixture(autouse=True)
def nothing_said_yet() -> Iterator[None]:
    warn_of.cache_clear()
    yield
    warn_of.cache_clear()


def new_client() -> LeanClient:
    return LeanClient(
        base_url="http://llm.test/v1/",
        api_key="key-of-the-test",
        timeout=httpx2.Timeout(7.0, connect=3.0),
        http=httpx2.AsyncClient(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, json={}))),
        max_bytes=1_000,
    )


@pytest.mark.parametrize("name", CONDITIONS)
async def test_the_package_has(name: str) -> None:
    client = new_client()
    assert CONDITIONS[name](client), f"{name} of openai {openai.__version__} is not what the lean client stands on"
    await client.close()


def asks_for_more(client: Any, options: Any, *, retries_taken: int) -> httpx2.Request:
    return build_request(client, options, retries_taken=retries_taken)


def leaves_the_key_out(client: Any, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
    request = build_request(client, options, retries_taken=retries_taken)
    del request.headers["authorization"]
    return request


def has_no_timeout(client: Any, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
    request = build_request(client, options, retries_taken=retries_taken)
    request.extensions = {}
    return request


def goes_elsewhere(client: Any, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
    request = build_request(client, options, retries_taken=retries_taken)
    request.url = request.url.join("/v2/chat/completions")
    return request


def knows_no_kinds(client: Any, response: httpx2.Response) -> openai.APIStatusError:
    return openai.APIStatusError("an error", response=response, body=None)


def keeps_the_whole_body(client: Any, response: httpx2.Response) -> openai.APIStatusError:
    error = make_error(client, response)
    error.body = response.json()
    return error


CHANGES: list[tuple[str, Any]] = [
    (BUILD, asks_for_more),
    (BUILD, leaves_the_key_out),
    (BUILD, has_no_timeout),
    (BUILD, goes_elsewhere),
    (ERROR, knows_no_kinds),
    (ERROR, keeps_the_whole_body),
]


@pytest.mark.parametrize(("name", "changed"), CHANGES, ids=[changed.__name__ for _, changed in CHANGES])
async def test_a_part_that_changed_is_named_and_not_used(
    monkeypatch: pytest.MonkeyPatch, name: str, changed: Any
) -> None:
    monkeypatch.setattr(name, changed)
    client = new_client()
    assert broken_conditions(client) == (name,)
    assert client._template is None
    await client.close()


async def test_a_part_that_is_gone_is_said_once_whatever_the_number_of_clients(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(OPTIONS)
    for _ in range(3):
        await new_client().close()
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert OPTIONS in warning.getMessage()
    assert openai.__version__ in warning.getMessage()


async def test_where_every_part_is_there_the_cheap_path_is_taken_and_nothing_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = new_client()
    assert client._template is not None
    assert caplog.records == []
    await client.close()


HOME = "worker/tamis_worker/llm/lean_client.py"
CLIENT = "worker/tamis_worker/llm/lean_client.py"


def test_the_page_names_exactly_these_and_they_are_used_in_one_file() -> None:
    assert on_the_page("openai") == {name: {HOME} for name in CONDITIONS}
    for name in CONDITIONS:
        assert name.split(".")[-1] in read(HOME)


def test_nothing_else_that_is_not_public_is_used() -> None:
    assert {(file, name) for file, name in imported("openai") if "._" in name} == {(HOME, OPTIONS)}
    touched = {name for _, text in sources(HOME, CLIENT) for name in private_attributes(text)}
    assert touched == {name.split(".")[-1] for name in (BUILD, ERROR)}


def test_no_private_name_of_the_lean_client_is_one_of_the_package() -> None:
    assert own_private_names(LeanClient) & private_names_of_bases(LeanClient) == set()
