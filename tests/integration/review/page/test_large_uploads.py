"""Large uploads: a process of its own answers as the gateway's thread does, and never outlives its request."""

import asyncio
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import httpx2 as httpx
import psutil
import pytest
from fastapi import HTTPException, Request
from starlette.types import Message

from stage import abstracts, wait_until
from stage.gateway import signed_in
from stage.uploads import endless, greedy, limits, submits_and_dies
from tamis_producer import Client
from tamis_producer.gateway import reading_process
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.frame import LARGE, LargeBodies
from tamis_producer.gateway.reading_process import Job, answered, most_memory, perform
from tamis_producer.gateway.submission_terms import REPLAYED
from tamis_review.decisions.visibility import PersonalSight
from tamis_schemas import Filter, Unavailable

TABLE = b"id,title,include\n1,Sieves,1\n2,Screens,0\n1,Sieves,1\n"
DECISIONS = b"id,decision\n1,include\n2,exclude\n9,include\n"
TERMS = {"operation": {"operation": "filter", "criteria": "Is it?"}}
BATCH = "/v1/batches/{}"
CASES: list[tuple[str, dict[str, Any], bytes]] = [
    ("/v1/duplicates", {}, TABLE),
    ("/v1/duplicates", {}, b"%PDF-1.7 ..."),
    ("/v1/duplicates?form=csv", {}, TABLE),
    ("/v1/dry-run", TERMS, TABLE),
    ("/v1/dry-run", {**TERMS, "updates": "00000000"}, TABLE),
    ("/v1/files", TERMS, TABLE),
    ("/v1/files", {**TERMS, "strict": True}, b'{"id": "1"}\n{"id": '),
    ("/v1/files", {**TERMS, "label": "other"}, TABLE),  # another content for the same key
    (f"{BATCH}/decisions", {"reviewer": "Anna", "dry_run": True}, DECISIONS),
    (f"{BATCH}/decisions", {"reviewer": "Anna", "id_column": "no"}, DECISIONS),
    ("/v1/batches/00000000/decisions", {"reviewer": "Anna"}, DECISIONS),
    (f"{BATCH}/evaluation", {}, TABLE),
    (f"{BATCH}/evaluation?form=html", {}, TABLE),
    (f"{BATCH}/evaluation", {"column": "none"}, TABLE),
    (f"{BATCH}/calibration?form=csv", {}, TABLE),
]


@pytest.fixture(autouse=True)
def _calls_to_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process imports the calls of `stage.uploads` from this folder."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", *Scope) as http:
        http.headers["Idempotency-Key"] = "attempt-1"
        yield http


async def performed(_: Request, job: bytes, answer: IO[bytes]) -> None:
    """The process's work, in this process."""
    await asyncio.to_thread(perform, pickle.loads(job), answer)  # noqa: S301


def test_a_file_has_the_same_answer_and_the_same_problem_from_the_process_and_from_the_thread(
    http: httpx.Client, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(3)).id
    for path, terms, content in CASES:

        def send(
            path: str = path.format(batch), terms: dict[str, Any] = terms, content: bytes = content
        ) -> httpx.Response:
            return http.post(path, data={"terms": json.dumps(terms)}, files={"file": ("a.csv", content)})

        of_thread = send()
        with monkeypatch.context() as patched:
            patched.setattr(reading_process, "LARGE", 0)
            patched.setattr(reading_process, "_run", performed)
            of_process = send()
        first = of_thread.status_code == 201 and path == "/v1/files"
        assert of_process.status_code == of_thread.status_code, path
        assert said(of_process) == said(of_thread), path
        assert kept(of_process) == kept(of_thread) | ({REPLAYED.lower(): "true"} if first else {}), path


def said(answer: httpx.Response) -> str:
    """What it says, but for the moment at which it says it."""
    return re.sub(r'"[a-z_]*seconds":[0-9.]+|<time.*?</time>', "", answer.text)


def kept(answer: httpx.Response) -> dict[str, str]:
    names = ("content-type", "location", "content-security-policy", REPLAYED.lower())
    return {name: answer.headers[name] for name in names if name in answer.headers}


def test_a_large_file_becomes_a_batch_that_no_process_outlives(http: httpx.Client, client: Client) -> None:
    content = b"id,title\n" + b"".join(b"%d,%s\n" % (n, b"A title " * 20) for n in range(2_000))
    assert len(content) > LARGE
    files, before = {"file": ("a.csv", content)}, psutil.Process().children()
    answer = http.post("/v1/files", data={"terms": json.dumps(TERMS)}, files=files)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"/v1/batches/{answer.json()['batch']['id']}"
    assert client.batch(answer.json()["batch"]["id"]).status().counts.n_items == 2_000
    assert psutil.Process().children() == before


@pytest.mark.parametrize(("content", "apart"), [(TABLE, False), (b"PK\x03\x04" + TABLE, True)])
def test_a_small_archive_is_read_apart_for_what_may_be_in_it(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch, content: bytes, apart: bool
) -> None:
    begun = list[bytes]()

    async def run(request: Request, job: bytes, answer: IO[bytes]) -> None:
        begun.append(job)
        await performed(request, job, answer)

    monkeypatch.setattr(reading_process, "_run", run)
    answer = http.post("/v1/duplicates", data={"terms": "{}"}, files={"file": ("a.csv", content)})
    assert answer.status_code == (422 if apart else 200)
    assert len(begun) == apart


async def read(client: Client, call: Callable[[], object], gone: asyncio.Event | None = None) -> Any:
    """The answer to a large upload, whose caller leaves when `gone` is set."""
    state = SimpleNamespace(client=client, large_bodies=LargeBodies())
    route = SimpleNamespace(status_code=None, response_model=None)

    async def receive() -> Message:
        await (gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "app": SimpleNamespace(state=state), "route": route}, receive)
    response: Any = await answered(request, LARGE + 1, call)
    body = b"".join([piece async for piece in response.body_iterator])
    return response.status_code, json.loads(body)


def test_a_client_is_the_same_person_s_in_the_process_and_has_connections_of_its_own(client: Client) -> None:
    seen = client.seen_by(PersonalSight("Anna"))
    job = pickle.loads(reading_process.pickled(Job(partial(repr, seen), client.settings, None, None, None)))  # noqa: S301
    with job.call.args[0] as opened:
        assert opened.sight == PersonalSight("Anna")
        assert opened.settings == client.settings
        assert opened.engine is not client.engine


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
async def test_the_process_lets_the_gateway_go_first(client: Client) -> None:
    assert await read(client, limits) == (200, [min(19, os.nice(0) + reading_process.NICER), most_memory()])


async def test_a_file_that_takes_more_memory_than_there_is_is_too_large(client: Client) -> None:
    status, problem = await read(client, greedy)
    assert (status, problem["type"]) == (413, "urn:tamis:problem:request-entity-too-large")
    assert "split the search" in problem["detail"]


async def test_a_batch_whose_process_was_killed_after_its_commit_is_found_by_its_key(
    client: Client, http: httpx.Client
) -> None:
    with pytest.raises(Unavailable, match="Idempotency-Key"):
        await read(client, partial(submits_and_dies, client))
    again = client.submit(Filter(criteria="Is it?"), abstracts(3), idempotency_key="attempt-1")
    assert again.replayed
    assert len(client.batches()) == 1


async def test_the_process_is_killed_when_its_caller_disconnects(client: Client, tmp_path: Path) -> None:
    pid, gone = tmp_path / "pid", asyncio.Event()
    reading = asyncio.create_task(read(client, partial(endless, pid), gone))
    process = await begun(pid)
    gone.set()
    with pytest.raises(HTTPException, match="gone"):
        await reading
    assert not process.is_running()


async def test_the_process_is_killed_when_the_gateway_stops(client: Client, tmp_path: Path) -> None:
    reading = asyncio.create_task(read(client, partial(endless, tmp_path / "pid")))
    process = await begun(tmp_path / "pid")
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not process.is_running()


async def begun(pid: Path) -> psutil.Process:
    def there() -> bool:
        return pid.exists() and bool(pid.read_text())

    await asyncio.to_thread(wait_until, there, within=60, what="the process has begun")
    return psutil.Process(int(pid.read_text()))  # noqa: ASYNC240


def test_the_process_ends_with_a_gateway_that_is_killed(client: Client, tmp_path: Path) -> None:
    job = reading_process.pickled(Job(partial(endless, tmp_path / "pid"), client.settings, None, None, None))
    with subprocess.Popen(reading_process.PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(job)
        process.stdin.flush()
        asyncio.run(begun(tmp_path / "pid"))
        process.stdin.close()  # as the kernel closes it
        assert process.wait(30) == 1
