"""Every connection of ours speaks TLS, and none to a server that cannot show who it is."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import redis

from llm_double import Double
from stage import WorkerProcess, abstracts
from stage.tls import Authority, tls_front
from tamis_cli.embedded.postgres import PORT, Postgres
from tamis_cli.embedded.programs import Flower
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_producer.transport.broker import make_app, queue_depths
from tamis_schemas import BrokerUnavailable, Filter, LedgerUnavailable
from tamis_worker.config.settings import WorkerSettings

QUESTION = Filter(criteria="Is it a trial?")


@dataclass
class Secured:
    """Both servers behind TLS."""

    settings: ProducerSettings
    environment: dict[str, str]


Secure = Callable[..., Secured]


@pytest.fixture
def secure(
    postgres: Postgres, valkey: Valkey, database_url: str, broker_url: str, double: Double, tmp_path: Path
) -> Iterator[Secure]:
    """Puts TLS before both servers: with a good certificate, or as the arguments say."""
    ours, theirs = Authority.new(tmp_path, "ours"), Authority.new(tmp_path, "theirs")
    database = re.search(r"/(test_\w+)\?", database_url)
    assert database is not None
    with ExitStack() as stack:

        def build(*, name: str = "localhost", expired: bool = False, wrong_ca: bool = False) -> Secured:
            context = (theirs if wrong_ca else ours).server(name, expired=expired)
            socket = f"{postgres.socket_folder}/.s.PGSQL.{PORT}"
            redis_port = stack.enter_context(tls_front(context, port=valkey.port))
            postgres_port = stack.enter_context(tls_front(context, socket_file=socket, postgres=True))
            ca = quote(str(ours.file), safe="/")
            broker = f"rediss://:{valkey.password}@localhost:{redis_port}/0?ssl_cert_reqs=required&ssl_ca_certs={ca}"
            ledger = (
                f"postgresql+psycopg://postgres@localhost:{postgres_port}/{database[1]}"
                f"?sslmode=verify-full&sslrootcert={ca}"
            )
            settings = ProducerSettings(broker_url=broker, database_url=ledger, shard_size=5, shard_window=2)
            return Secured(
                settings,
                {
                    "TAMIS_BROKER_URL": broker,
                    "TAMIS_DATABASE_URL": ledger,
                    "TAMIS_LLM_BASE_URL": double.base_url,
                    "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
                    "TAMIS_MODEL": "double-1",
                },
            )

        yield build


def test_the_other_databases_keep_what_the_url_says_of_tls(secure: Secure) -> None:
    settings = secure().settings
    for url, number in ((settings.broker, 0), (settings.result_backend, 1)):
        assert re.search(rf"/{number}\?ssl_cert_reqs=required&ssl_ca_certs=/", url)


def test_a_batch_is_submitted_evaluated_aggregated_and_read_back_over_tls(secure: Secure, tmp_path: Path) -> None:
    secured = secure()
    worker = WorkerProcess(tmp_path, "worker", secured.environment)
    try:
        with Client(secured.settings) as client:
            batch = client.submit(QUESTION, abstracts(12))
            assert batch.wait(60).decided == 12
            assert batch.summary() is not None
            assert sum(queue_depths(make_app(secured.settings)).values()) == 0
    finally:
        worker.kill()
    assert '"level": "error"' not in worker.text()


@pytest.mark.night
def test_flower_reads_a_broker_over_tls(secure: Secure, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    flower = Flower(tmp_path, secure().environment, usual_port=None)
    try:
        flower.start()
    finally:
        flower.stop()
    log = (tmp_path / "log" / "flower.log").read_text()
    assert "Connected to rediss://" in log, log


# What is wrong, what libpq says of it, and what OpenSSL does.
UNTRUSTED = {
    "another authority": (
        {"wrong_ca": True},
        "certificate verify failed",
        "certificate in certificate chain|local issuer",
    ),
    "expired": ({"expired": True}, "certificate verify failed", "certificate has expired"),
    "another host": ({"name": "elsewhere.example"}, "does not match host name", "ostname mismatch"),
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case == "another host" else pytest.mark.night) for case in UNTRUSTED]
)
def test_a_server_that_cannot_show_who_it_is_gets_nothing(secure: Secure, case: str) -> None:
    arguments, of_ledger, of_broker = UNTRUSTED[case]
    settings = secure(**arguments).settings
    with Client(settings) as client, pytest.raises(LedgerUnavailable, match=of_ledger):
        client.submit(QUESTION, abstracts(1))
    with pytest.raises(BrokerUnavailable, match=f"a certificate that is not accepted: .*({of_broker})"):
        queue_depths(make_app(settings))
    with (
        redis.Redis.from_url(settings.result_backend) as backend,
        pytest.raises(redis.ConnectionError, match=of_broker),
    ):
        backend.ping()


@pytest.mark.night
def test_a_url_that_says_nothing_of_certificates_asks_for_one(secure: Secure) -> None:
    settings = secure().settings
    bare = settings.broker.partition("?")[0]
    settings = ProducerSettings(broker_url=bare, database_url=settings.database)
    with pytest.raises(BrokerUnavailable, match="a certificate that is not accepted"):
        queue_depths(make_app(settings))
    limiter = WorkerSettings(broker_url=bare, database_url=settings.database).limiter
    for url in (settings.result_backend, limiter):
        with redis.Redis.from_url(url) as client, pytest.raises(redis.ConnectionError, match="certificate"):
            client.ping()
