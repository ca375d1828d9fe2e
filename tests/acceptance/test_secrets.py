"""No secret is said: not by a run in which everything fails, and not by anything that it leaves behind."""

import base64
import csv
import io
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

import psycopg
import pytest
import redis

from llm_double import Double, Fault, Kind
from nursery import shared
from stage import WorkerProcess, tamis, wait_until
from tamis_cli.embedded.postgres import Postgres
from tamis_cli.embedded.programs import Flower
from tamis_cli.embedded.valkey import Valkey
from tamis_producer.config.settings import next_database

# As nobody would write them by chance; with characters that are written otherwise in URLs, in JSON and in base64.
BROKER_PASSWORD = 'brk/Zq7@pw:Vx3"+ä9'
LEDGER_PASSWORD = "led&Kt4#pw=Wm8%Qd2"
API_KEY = "llm+key/Hn5RzT8wYp0="
FLOWER_PASSWORD = "flw-Jc6.pw_Bs1~Xe9"
WRONG_PASSWORD = "wrg*Fd2@pw/Ny6!Lo3"
WEBHOOK_KEY = "d2hrK1J0L0x5OT1Qejg2dkJuNFhxMlRqN01jNQ=="  # what stands behind the prefix is the secret
SECRETS = (BROKER_PASSWORD, LEDGER_PASSWORD, API_KEY, FLOWER_PASSWORD, WRONG_PASSWORD, WEBHOOK_KEY)
ITEMS = [{"id": f"r{n}", "title": f"Record {n}", "abstract": f"case-{n % 6} of the trial"} for n in range(12)]


def forms(secret: str) -> set[str]:
    """As a text, in a URL, in JSON, in Python, in base64 alone and behind a user's name."""
    found = {
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
    }
    for before in ("", "tamis:", "tamis-app:", "Bearer "):
        found.add(base64.b64encode((before + secret).encode()).decode().rstrip("=")[:-1])
    return found


@dataclass
class Said:
    """Everything that was said anywhere, by where."""

    texts: dict[str, str] = field(default_factory=dict)

    def add(self, where: str, text: str) -> None:
        self.texts[f"{len(self.texts)} {where}"] = text

    def leaks(self) -> list[str]:
        return [
            f"{where}: ...{text[max(0, text.find(form) - 80) : text.find(form) + 30]!r}"
            for where, text in self.texts.items()
            for secret in SECRETS
            for form in forms(secret)
            if form in text
        ]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """A Valkey whose user has a password; the URL with both."""
    with Valkey(tmp_path / "valkey") as server:
        with redis.Redis.from_url(server.url) as client:
            client.acl_setuser(
                "tamis-app",
                enabled=True,
                passwords=[f"+{BROKER_PASSWORD}"],
                keys=["*"],
                channels=["*"],
                commands=["+@all"],
            )
        yield f"redis://tamis-app:{quote(BROKER_PASSWORD, safe='')}@127.0.0.1:{server.port}/0"


@pytest.fixture
def environment(broker: str, database_url: str, double: Double) -> dict[str, str]:
    with_password = database_url.replace("://postgres@", f"://postgres:{quote(LEDGER_PASSWORD, safe='')}@")
    assert LEDGER_PASSWORD in unquote(with_password)
    return {
        "TAMIS_BROKER_URL": broker,
        "TAMIS_DATABASE_URL": with_password,
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": API_KEY,
        "TAMIS_WEBHOOK_SECRET": f"whsec_{WEBHOOK_KEY}",
        "TAMIS_MODEL": "double-1",
        "TAMIS_MAX_CALLS": "1",
        "TAMIS_FLOWER_PASSWORD": FLOWER_PASSWORD,
    }


def asked(flower: Flower, path: str, *, authenticated: bool = True) -> str:
    request = urllib.request.Request(f"http://{flower.place}{path}")
    if authenticated:
        token = base64.b64encode(f"tamis:{FLOWER_PASSWORD}".encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(response.read().decode("utf-8", "replace"))


def ledger_texts(url: str) -> Iterator[str]:
    """All of all tables."""
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://")) as connection:
        named = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert len(named) >= 10
        for (name,) in named:
            for (row,) in connection.execute(
                psycopg.sql.SQL("SELECT t::text FROM {} t").format(psycopg.sql.Identifier(name))
            ):
                yield f"{name}: {row}"


def redis_texts(url: str) -> Iterator[str]:
    """All keys of all databases, and what they hold."""
    for offset in range(3):
        with redis.Redis.from_url(next_database(url, offset)) as client:
            for key in client.scan_iter():
                yield repr(key)
                match client.type(key):
                    case b"string":
                        yield repr(client.get(key))
                    case b"list":
                        yield repr(client.lrange(key, 0, -1))
                    case b"set":
                        yield repr(client.smembers(key))
                    case b"hash":
                        yield repr(client.hgetall(key))
                    case b"zset":
                        yield repr(client.zrange(key, 0, -1))


def process_lists() -> str:
    """The command lines of all processes."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue  # it ended meanwhile
    return "\n".join(lines)


SAID_ENOUGH = (b"Trying again in", b" ready.")  # of a worker, which would go on for ever
ECHO = "Refused. You sent {authorization}, that is KEY64 or KEYQ"


def faults() -> tuple[Fault, ...]:
    """An endpoint that says back what it was sent, in every way that an error is told."""
    said = ECHO.replace("KEY64", base64.b64encode(API_KEY.encode()).decode()).replace("KEYQ", quote(API_KEY, safe=""))
    kinds = (Kind.SERVER_ERROR, Kind.BAD_REQUEST, Kind.ERROR_IN_200, Kind.REFUSAL, Kind.CONTEXT_LENGTH)
    return tuple(Fault(kind, contains=f"case-{n} ", message=said) for n, kind in enumerate(kinds))


@pytest.mark.timeout(240)
def test_a_failing_run_says_no_secret_anywhere(
    environment: dict[str, str], double: Double, tmp_path: Path, postgres: Postgres
) -> None:
    said = Said()
    double.script(faults=faults())
    with (tmp_path / "records.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["id", "title", "abstract"])
        writer.writeheader()
        writer.writerows(ITEMS)

    def run(*arguments: str, code: int | None = None, **changes: str) -> str:
        done = tamis(*arguments, env=environment | changes, cwd=tmp_path)
        said.add(f"tamis {' '.join(arguments)}: output", done.out)
        said.add(f"tamis {' '.join(arguments)}: errors", done.err)
        assert code is None or done.code == code, done.out + done.err
        return done.out

    worker = WorkerProcess(tmp_path, "worker", environment)
    flower = Flower(tmp_path, {**os.environ, **environment}, usual_port=None, password=FLOWER_PASSWORD)
    (tmp_path / "log").mkdir()
    flower.start()
    try:
        question = ("--criteria", "Is it a trial?", "--no-cache", "--callback-url", "https://127.0.0.1:9/hook")
        out = run("filter", "records.csv", *question)
        batch = out.split("batch ")[1].split(":")[0]
        rows = list(csv.DictReader(io.StringIO(run("results", batch, code=0))))
        failed = [row for row in rows if row["error_kind"]]
        assert {row["error_kind"] for row in failed} >= {"server", "invalid_request", "refused"}
        assert any("[key]" in row["error"] for row in failed)
        double.script(faults=[Fault(Kind.UNAUTHORIZED, message=faults()[0].message)])
        run("filter", "records.csv", *question)  # paused: the endpoint refuses the key, and says it back
        paused = re.search(r"^([0-9a-f]{8}) .*paused", run("batches", code=0), re.MULTILINE)
        assert paused is not None
        run("status", paused[1], code=0)
        run("status", paused[1], "--json", code=0)
        run("results", batch, "--format", "jsonl", code=0)
        for form in ("html", "md", "json"):
            run("report", batch, "-o", f"report.{form}", code=0)
            said.add(f"report.{form}", (tmp_path / f"report.{form}").read_text("utf-8"))
        run("doctor")
        assert "is not a public address" in run("webhooks", "test", "https://127.0.0.1:9/hook", code=1)
        run("webhooks", "list", code=0)
        said.add("process list", process_lists())
        wait_until(lambda: "tamis.filter" in asked(flower, "/api/tasks"), within=30, what="Flower has seen the tasks")
        workers = asked(flower, "/api/workers?refresh=1")
        names = list(json.loads(workers))
        assert names
        said.add("flower: workers", workers)
        for path in ("/api/tasks", "/api/queues/length", "/workers", "/tasks", "/broker", f"/worker/{names[0]}"):
            said.add(f"flower: {path}", asked(flower, path))
        for path in ("/metrics", "/healthcheck"):
            open_to_all = asked(flower, path, authenticated=False)
            said.add(f"flower, open: {path}", open_to_all)
            assert "case-" not in open_to_all
            assert "Record" not in open_to_all
        for path in ("/api/workers", "/workers", "/tasks"):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                asked(flower, path, authenticated=False)
    finally:
        worker.stop()
        flower.stop()
    _fail(said, environment, tmp_path)
    for where, texts in (
        ("ledger", ledger_texts(environment["TAMIS_DATABASE_URL"])),
        ("redis", redis_texts(environment["TAMIS_BROKER_URL"])),
    ):
        said.add(where, "\n".join(texts))
    for log in (*tmp_path.glob("*.log"), *(tmp_path / "log").glob("*"), tmp_path / "flower.db"):
        if log.exists():
            said.add(log.name, log.read_bytes().decode("utf-8", "replace"))
    assert said.leaks() == []
    assert sum(name.endswith("']") for name in said.texts) >= 22  # each of the failing commands said something
    assert sum(len(text) for text in said.texts.values()) > 100_000


def _fail(said: Said, environment: Mapping[str, str], folder: Path) -> None:
    """Every URL wrong in every way, each with a password in it; whatever is said of it is kept."""
    wrong = quote(WRONG_PASSWORD, safe="")
    nobody = "127.0.0.1:9"  # where nobody listens
    broker, ledger = environment["TAMIS_BROKER_URL"], environment["TAMIS_DATABASE_URL"]
    as_broker = ("batches", "worker", "doctor")
    as_ledger = ("batches", "worker", "migrate")
    broken = [
        (as_broker, {"TAMIS_BROKER_URL": f"redis://tamis-app:{wrong}@{nobody}/0"}),
        (as_broker, {"TAMIS_BROKER_URL": broker.replace(quote(BROKER_PASSWORD, safe=""), wrong)}),
        (as_broker, {"TAMIS_BROKER_URL": f"rediss://tamis-app:{wrong}@{nobody}/0?ssl_cert_reqs=required"}),
        (("worker",), {"TAMIS_BROKER_URL": f"redis://tamis-app:{WRONG_PASSWORD}@{nobody}/0"}),  # not quoted
        (("worker",), {"TAMIS_BROKER_URL": f"redis://tamis-app:{wrong}@{nobody}/{WRONG_PASSWORD}"}),
        (("worker",), {"TAMIS_BROKER_URL": f"ftp://tamis-app:{wrong}@{nobody}/0"}),
        (as_ledger, {"TAMIS_DATABASE_URL": f"postgresql+psycopg://postgres:{wrong}@{nobody}/tamis"}),
        (as_ledger, {"TAMIS_DATABASE_URL": ledger.replace("/test_", "/no_such_database_")}),
        (("migrate",), {"TAMIS_DATABASE_URL": f"postgresql+psycopg://postgres:{WRONG_PASSWORD}@{nobody}/tamis"}),
        (("migrate",), {"TAMIS_DATABASE_URL": f"postgresql+psycopg://u@{nobody}/t?password={wrong}&nonsense=1"}),
        (("batches",), {"TAMIS_DATABASE_URL": f"nonsense://postgres:{wrong}@{nobody}/tamis"}),
        (("batches",), {"TAMIS_DATABASE_URL": f"postgresql+psycopg://postgres:{wrong}@{nobody}:port/tamis"}),
        (("worker", "doctor"), {"TAMIS_LLM_BASE_URL": f"http://tamis-app:{wrong}@{nobody}/v1"}),
        (("worker",), {"TAMIS_FLOWER_PASSWORD": WRONG_PASSWORD[:11]}),
    ]
    with ThreadPoolExecutor(3) as pool:  # most of the time they wait for somebody who is not there
        for number, (commands, changes) in enumerate(broken):
            for command in commands:
                env = {**os.environ, **environment, **changes}
                pool.submit(_say, said, command, env, folder, f"{number} {command} {sorted(changes)}")


def _say(said: Said, command: str, env: Mapping[str, str], folder: Path, name: str) -> None:
    """What a command says until it ends, or has said some lines: a worker waits for its broker, or for items."""
    options = ["--log-level", "DEBUG"] if command == "worker" else []
    log = folder / f"{name}.said"
    with log.open("wb") as stream:
        process = shared().start("tamis_cli", [command, *options], env=env, cwd=folder, stdout=stream, stderr=stream)
    try:
        wait_until(
            lambda: process.poll() is not None or any(line in log.read_bytes() for line in SAID_ENOUGH),
            within=40,
            what=f"end: {name}",
        )
    finally:
        process.kill()
        process.wait(20)
    said.add(name, log.read_text("utf-8", "replace"))
