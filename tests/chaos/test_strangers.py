"""The gateway among callers who stall, hang up and trickle, over real sockets: others are answered all the while.

The ordinary form has a part of the callers, and grants others two seconds, for it shares its machine; the long one has
all of them, and prints what it measured.
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import httpx2 as httpx
import psutil
import pytest
from sqlalchemy import text

from stage import abstracts, wait_until
from stage.gateway_process import serving
from stage.strangers import Strangers, Waits, first_bytes, somebody_else, status_of, strangers
from tamis_producer import Client, ProducerSettings
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Restrictions, Scope
from tamis_schemas import Filter

ONCOLOGY = Filter(criteria="Is this about oncology?")
READERS_OF_A_KEY = 10  # at once; the gateway allows 16
OTHERS_WAIT = 2.0  # s at the most, on a machine that does something else as well
MOST_CONNECTIONS = 3  # of the gateway to the ledger, once the strangers are gone
GONE_WITHIN = 20.0  # s
MOST_MEMORY = 150 * 2**20  # bytes; 116 million of them are there before any request
MOST_MEMORY_OF_ALL = 300 * 2**20  # bytes, whatever comes at once
HEALTHY_WITHIN = 0.2  # s
MB = 1_000_000
RECORD = 2_000  # bytes
RECORD_TEXT = b'{"id": "%08d", "title": "A trial", "abstract": "' + b"plausible " * 194 + b'"}'
TERMS = b'{"operation": {"operation": "filter", "criteria": "Is it?"}}'

MEASURED = [pytest.mark.night, pytest.mark.alone]
CALLERS = [
    pytest.param({"stalled": 20, "hang_ups": 20, "slow_headers": 30}, id="short"),
    pytest.param({"stalled": 200, "hang_ups": 200, "slow_headers": 300}, id="long", marks=pytest.mark.night),
]


@dataclass(frozen=True)
class Scene:
    """A gateway in a process of its own, with a batch whose results no socket takes at once."""

    url: str
    pid: int
    client: Client
    batch_id: str
    keys: list[str]

    def key(self, caller: int) -> str:
        return self.keys[caller // READERS_OF_A_KEY]

    def connections(self) -> int:
        """Of the gateway to the ledger, whatever they do."""
        counting = text("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tamis gateway'")
        with self.client.engine.connect() as connection:
            return int(connection.execute(counting).scalar_one())

    def check_connections(self) -> None:
        wait_until(
            lambda: self.connections() <= MOST_CONNECTIONS,
            within=GONE_WITHIN,
            what=f"the gateway holds {MOST_CONNECTIONS} connections at the most; it holds {self.connections()}",
        )


@pytest.fixture
def scene(settings: ProducerSettings, client: Client, tmp_path: Path) -> Iterator[Scene]:
    environment = {
        "TAMIS_BROKER_URL": settings.broker,
        "TAMIS_DATABASE_URL": settings.database,
        "TAMIS_MAX_ITEMS": "1000000",
        "TAMIS_MAX_FILE_BYTES": "1000000000",
    }
    batch = client.submit(ONCOLOGY, abstracts(3_000, words=300))
    scopes = [Scope.READ, Scope.SUBMIT, Scope.DECIDE]
    keys = [api_keys.create(client.engine, f"Stranger {n}", scopes) for n in range(21)]
    with serving(environment, tmp_path, alone=True) as gateway:
        yield Scene(gateway.url, gateway.process.pid, client, batch.id, keys)


def check_others(waits: Waits, limit: float = OTHERS_WAIT) -> None:
    print(f"somebody else: {waits}")  # noqa: T201 - the long form is run for its figures
    assert waits.failures == []
    assert waits.longest <= limit


@pytest.mark.night
@pytest.mark.chaos
@pytest.mark.parametrize("callers", CALLERS)
def test_who_stalls_hangs_up_or_never_says_what_it_wants_keeps_nobody_waiting(
    scene: Scene, callers: dict[str, int]
) -> None:
    results = f"/v1/batches/{scene.batch_id}/results"
    with somebody_else_of(scene) as alone:
        wait_until(lambda: len(alone.seconds) >= 30, within=60, what="somebody else is answered")
    print(f"nobody but: {alone}")  # noqa: T201
    with strangers(scene.url) as them, somebody_else_of(scene) as waits:
        stalled = [them.ask(results, scene.key(n)) for n in range(callers["stalled"])]
        assert {status_of(first_bytes(one)) for one in stalled} == {200}
        for n in range(callers["slow_headers"]):
            them.connect(f"GET /v1/batches HTTP/1.1\r\nX-{n}: ".encode())
        hang_up(them, scene, results, callers["hang_ups"])
        streams = [them.ask(f"/v1/batches/{scene.batch_id}/events", scene.keys[20]) for _ in range(15)]
        assert {status_of(first_bytes(one)) for one in streams} == {200}
        # Whoever stalls holds no connection of the ledger, nor does whoever follows.
        scene.check_connections()
    scene.check_connections()
    check_others(waits)


def hang_up(them: Strangers, scene: Scene, path: str, count: int) -> None:
    """As many callers as there are read the beginning, and are gone."""
    for n in range(count):
        caller = them.ask(path, scene.keys[n % 20])
        assert status_of(first_bytes(caller)) in {200, 429}
        caller.close()


def somebody_else_of(scene: Scene):
    return somebody_else(scene.url, ["/healthz", f"/v1/batches/{scene.batch_id}", "/readyz"], scene.keys[-1])


BODIES = [
    pytest.param(60_000_000, OTHERS_WAIT, id="short"),
    pytest.param(500_000_000, OTHERS_WAIT, id="long"),
]


@pytest.mark.chaos
@pytest.mark.night
@pytest.mark.parametrize(("size", "limit"), BODIES)
@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_a_large_body_is_read_in_little_memory_and_others_are_answered_meanwhile(
    scene: Scene, size: int, limit: float, kind: str
) -> None:
    before = psutil.Process(scene.pid).memory_info().rss
    most, began = Peak(scene.pid), time.monotonic()
    headers = {"Authorization": f"Bearer {scene.keys[0]}", "Content-Type": kind}
    with somebody_else_of(scene) as waits, most:
        answer = httpx.post(f"{scene.url}/v1/batches", content=body_of(size, kind), headers=headers, timeout=280)
    assert answer.status_code == 201, answer.text
    print(  # noqa: T201 - the long form is run for its figures
        f"{kind}, {size / 1e6:.0f} MB: {time.monotonic() - began:.1f} s; "
        f"RSS {before / 1e6:.0f} MB before, at most {most.rss / 1e6:.0f}"
    )
    assert answer.json()["batch"]["counts"]["n_items"] == size // RECORD
    scene.check_connections()
    check_others(waits, limit)
    assert most.rss <= MOST_MEMORY


@pytest.mark.chaos
def test_who_trickles_a_body_keeps_nobody_waiting_and_writes_nothing(scene: Scene) -> None:
    with strangers(scene.url) as them, somebody_else_of(scene) as waits:
        slow = [them.post("/v1/batches", scene.key(n), length=10_000_000) for n in range(60)]
        for one in slow:
            one.sendall(TERMS[:20])
        wait_until(lambda: len(waits.seconds) > 30, within=60, what="somebody else is answered")
        scene.check_connections()
    check_others(waits)
    assert len(scene.client.batches()) == 1


SIZES = [
    # MB of records of 27 bytes, of the inflated project, and of JSON; callers who misbehave meanwhile
    pytest.param(8, 20, 5, {}, id="short"),
    pytest.param(94, 1_500, 450, CALLERS[1].values[0], id="long", marks=MEASURED),
]


@pytest.mark.chaos
@pytest.mark.parametrize(("records", "inflated", "items", "callers"), SIZES)
def test_bodies_that_cost_more_than_their_bytes_are_refused_in_little_memory_all_at_once(
    scene: Scene, tmp_path: Path, records: int, inflated: int, items: int, callers: dict[str, int]
) -> None:
    key, project, short_records = scene.keys[18], tmp_path / "p.asreview", tmp_path / "a.ris"
    with ZipFile(project, "w", ZIP_DEFLATED) as archive, archive.open("project.json", "w", force_zip64=True) as part:
        part.writelines(b"A" * MB for _ in range(inflated))
    with short_records.open("wb") as file:
        file.writelines(b"TY  - JOUR\nTI  - x\nER  - \n" * 37_000 for _ in range(records))
    decisions, terms = f"/v1/batches/{scene.batch_id}/decisions", TERMS.decode()

    def send(path: str, key: str = key, **body: Any) -> int:
        headers = {"Authorization": f"Bearer {key}", **body.pop("headers", {})}
        return httpx.post(scene.url + path, headers=headers, timeout=900, **body).status_code

    def send_file(path: str, file: Path, terms: str) -> int:
        with file.open("rb") as content:
            return send(path, data={"terms": terms}, files={"file": (file.name, content)})

    with Peak(scene.pid) as most, elsewhere(8) as pool, strangers(scene.url) as them, healthy(scene) as waits:
        sent = [
            pool.submit(send_file, decisions, project, '{"reviewer": "Anna"}'),
            *(pool.submit(send_file, path, short_records, terms) for path in ("/v1/files", "/v1/dry-run", "/v1/files")),
            pool.submit(send_file, decisions, short_records, '{"reviewer": "Anna"}'),
            pool.submit(send, "/api/tablizer/filter", content=b'{"items":[' + b"{}," * 5_300_000, headers=OF_JSON),
            pool.submit(send, "/v1/batches", content=body_of(items * MB, "application/json"), headers=OF_JSON),
        ]
        results = f"/v1/batches/{scene.batch_id}/results"
        _ = [them.ask(results, scene.key(n)) for n in range(callers.get("stalled", 0))]
        for n in range(callers.get("slow_headers", 0)):
            them.connect(f"GET /v1/batches HTTP/1.1\r\nX-{n}: ".encode())
        hang_up(them, scene, results, callers.get("hang_ups", 0))
        statuses = [one.result() for one in sent]
    print(f"/healthz: {waits}; RSS at most {most.rss / 2**20:.0f} MB")  # noqa: T201
    assert statuses == [413, 413, 413, 413, 413, 413, 201]
    scene.check_connections()
    assert most.rss <= MOST_MEMORY_OF_ALL
    if callers:
        assert waits.longest <= HEALTHY_WITHIN


UNDER = [
    # records of each file, fields of the widest, items of the service, and whether every file is sent
    pytest.param(9_000, 30_000, 500, False, id="short"),
    pytest.param(249_000, 2_000_000, 49_000, True, id="long", marks=MEASURED),
]
PRICED = "gpt-5-mini"
KINDS: dict[str, tuple[list[Scope], Restrictions | None]] = {
    "reader": ([Scope.READ], None),
    "submitter": ([Scope.SUBMIT], None),
    "operator": ([Scope.CONTROL], None),
    "reviewer": ([Scope.DECIDE], None),
    "of a model": ([Scope.SUBMIT], Restrictions(models=(PRICED,))),
    "of a budget": ([Scope.SUBMIT], Restrictions(monthly_cost=Decimal(100_000))),
}
SUBMITTERS = ("submitter", "of a model", "of a budget")


@pytest.mark.chaos
@pytest.mark.parametrize(("records", "fields", "items", "all_files"), UNDER)
def test_bodies_just_under_the_bounds_are_read_in_little_memory_from_all_kinds_of_keys_all_at_once(
    scene: Scene, tmp_path: Path, records: int, fields: int, items: int, all_files: bool
) -> None:
    keys = {kind: api_keys.create(scene.client.engine, kind, *rights) for kind, rights in KINDS.items()}
    keys |= {"revoked": api_keys.create(scene.client.engine, "revoked", list(Scope)), "wrong": "tamis_00_x"}
    api_keys.revoke(scene.client.engine, keys["revoked"].split("_")[1])
    terms = json.dumps({"operation": json.loads(TERMS)["operation"], "model": PRICED, "max_cost": 1_000})
    files = files_under_the_bounds(tmp_path, records, fields)
    decisions = f"/v1/batches/{scene.batch_id}/decisions"

    def send(kind: str, path: str, **body: Any) -> int:
        headers = {"Authorization": f"Bearer {keys[kind]}", "Prefer": "respond-async", **body.pop("headers", {})}
        try:
            return httpx.post(scene.url + path, headers=headers, timeout=1_800, **body).status_code
        except httpx.TransportError:  # the refused body was not read to its end
            return 0

    def send_file(kind: str, path: str, file: Path, terms: str) -> int:
        with file.open("rb") as content:
            return send(kind, path, data={"terms": terms}, files={"file": (file.name, content)})

    def service(kind: str) -> int:
        return send(kind, "/api/tablizer/filter", content=service_items(items), headers=OF_JSON)

    def submission(kind: str) -> int:
        body = (
            TERMS[:-1]
            + b', "max_cost": 1000, "model": "%s", "items": [' % PRICED.encode()
            + b"{}," * (records - 1)
            + b"{}]}"
        )
        return send(kind, "/v1/batches", content=body, headers=OF_JSON)

    senders: dict[str, Callable[[str], int]] = {
        "project": lambda kind: send_file(kind, decisions, files["project"], "{}"),
        "ris": lambda kind: send_file(kind, "/v1/files", files["ris"], terms),
        "service": service,
        "submission": submission,
    }
    for name in files.keys() - senders.keys() if all_files else ["fields"]:
        senders[name] = partial(send_file, path="/v1/duplicates?limit=1", file=files[name], terms="{}")
    with Peak(scene.pid) as most, elsewhere(24) as pool, healthy(scene) as waits:
        sent, others, submitters = {}, sorted(keys.keys() - SUBMITTERS), cycle(SUBMITTERS)
        for name, send_body in senders.items():
            for kind in (next(submitters), *others):
                sent[kind, name] = pool.submit(send_body, kind)
        statuses = {sending: answer.result() for sending, answer in sent.items()}
    print(f"/healthz: {waits}; RSS at most {most.rss / 2**20:.0f} MB")  # noqa: T201
    assert {sending: status for sending, status in statuses.items() if status not in expected(*sending)} == {}
    scene.check_connections()
    assert psutil.Process(scene.pid).children() == []
    assert most.rss <= MOST_MEMORY_OF_ALL
    if all_files:
        assert waits.longest <= HEALTHY_WITHIN


def elsewhere(callers: int) -> ThreadPoolExecutor:
    """Threads of callers, whose work is of other machines: the gateway's comes first."""
    return ThreadPoolExecutor(
        callers, initializer=lambda: os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
    )


OF_JSON = {"Content-Type": "application/json"}


def expected(kind: str, name: str) -> set[int]:
    """The statuses of an answer to this kind of key."""
    busy = {503} if name == "service" else set[int]()  # large bodies in memory are read before the key, and few at once
    if kind in ("wrong", "revoked"):
        return {0, 401} | busy
    if kind != "reviewer" if name == "project" else kind not in SUBMITTERS:
        return {0, 403} | busy
    # No record of the batch has the project's ids; a service asks no model that the key names.
    return {"ris": {201}, "project": {422}, "submission": {201}, "service": {202, 403} | busy}.get(name, {200})


def service_items(n: int) -> bytes:
    """Items of which 49,000 fill what a request may have, in bytes and in values."""
    item = b'{"t":"%s"},' % (b"x" * 310)
    return b'{"criteria": "Is it?", "max_cost": 1, "items": [' + item * n + b'{"title": "x"}]}'


def files_under_the_bounds(folder: Path, records: int, fields: int) -> dict[str, Path]:
    """Short records in each format, and one file of many fields."""
    parts = {
        "ris": (b"", b"TY  - JOUR\nTI  - x\nER  - \n", b""),
        "xml": (b"<xml><records>", b"<record><titles><title>x</title></titles></record>", b"</records></xml>"),
        "csv": (b"id,title\n", b"1,x\n", b""),
        "json": (b"[", b'{"title":"x"},', b'{"title":"x"}]'),
        "jsonl": (b"", b'{"title":"x"}\n', b""),
        "fields": (b"TY  - JOUR\nTI  - x\n", b"KW  - x\n" * (fields // records), b"ER  - \n"),
    }
    for name, (begin, record, end) in parts.items():
        with (folder / name).open("wb") as file:
            file.write(begin)
            file.writelines(record for _ in range(records - 1))
            file.write(end)
    results = folder / "results.db"
    with closing(sqlite3.connect(results)) as database, database:
        database.execute("CREATE TABLE record (record_id INTEGER PRIMARY KEY, title TEXT, doi TEXT)")
        database.execute("CREATE TABLE results (record_id INTEGER UNIQUE, label INTEGER, note TEXT, user_id INTEGER)")
        places = [(place,) for place in range(records)]
        database.executemany("INSERT INTO record VALUES (?, 'x', NULL)", places)
        database.executemany("INSERT INTO results VALUES (?, 1, NULL, NULL)", places)
    with ZipFile(folder / "project", "w", ZIP_DEFLATED) as archive:
        archive.writestr("project.json", '{"project_file_version": 3, "reviews": [{"id": "ab12"}]}')
        archive.write(results, "results.db")
    return {name: folder / name for name in (*parts, "project")}


PROBE = """
import select, sys, time, urllib.request

seconds = []
while not select.select([sys.stdin], [], [], 0.02)[0]:
    began = time.monotonic()
    urllib.request.urlopen(sys.argv[1], timeout=60).read()
    seconds.append(time.monotonic() - began)
print(*seconds)
"""


@contextmanager
def healthy(scene: Scene) -> Iterator[Waits]:
    """`/healthz` asked by a process of its own, which does not wait for the senders of this one."""
    waits, command = Waits(), [sys.executable, "-c", PROBE, f"{scene.url}/healthz"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        yield waits
        seconds, _ = probe.communicate("")
    assert probe.returncode == 0
    waits.seconds += map(float, seconds.split())


def body_of(size: int, kind: str) -> Iterator[bytes]:
    """So many bytes of items of 2,000 bytes, and a little more, made as they are sent."""
    records = (RECORD_TEXT % n for n in range(size // RECORD))
    if kind == "application/json":
        yield b'{"items": [\n' + next(records)
        yield from in_pieces(b",\n" + one for one in records)
        yield b"], " + TERMS[1:]
    else:
        yield TERMS + b"\n"
        yield from in_pieces(one + b"\n" for one in records)


def in_pieces(parts: Iterator[bytes]) -> Iterator[bytes]:
    while piece := b"".join(islice(parts, 100)):
        yield piece


class Peak:
    """The most memory that a process had while `with` lasted, looked at often."""

    def __init__(self, pid: int) -> None:
        self.rss = 0
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak")

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.rss = max(self.rss, self._process.memory_info().rss)

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
