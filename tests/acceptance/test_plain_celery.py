"""The example of a service with Celery alone: a second project, in whose environment there is nothing of Tamis."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_double import Double, Fault, Kind
from nursery import shared
from stage import Crew, wait_until
from stage.fresh_project import ROOT, FreshProject
from stage.ledgers import Ledgers
from stage.rabbitmq import RabbitMq, needs_rabbitmq
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_producer.config.settings import next_database
from tamis_producer.transport.broker import make_app

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.built_from(
        "examples/plain_celery", "producer/tamis_producer/transport", "worker/tamis_worker/celery_adapter"
    ),
]

EXAMPLE = ROOT / "examples" / "plain_celery"
BROKER = 6  # the first of three databases of the Redis that other tests use, too
AT_ONCE = 4  # items in one worker: fewer than there are asked about at once
MANY = 12


@dataclass(frozen=True)
class Service:
    """The service beside a broker, Tamis's workers and a model's double."""

    project: FreshProject
    environment: dict[str, str]
    client: Client
    double: Double
    crew: Crew

    def asks(self, *command: str) -> Any:
        return self.project.told("main.py", *command, env=self.environment)

    def calls_back(self) -> list[Any]:
        """What its own task was called with, in the order in which it was; nothing before its first call."""
        journal = Path(self.environment["JOURNAL"])
        return [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshProject]:
    folder = tmp_path_factory.mktemp("service")
    yield FreshProject.without_tamis(
        Path(shutil.copytree(EXAMPLE, folder / "plain_celery")), folder / "environment", "celery[redis]"
    )
    shutil.rmtree(folder / "environment")


# The short form over RabbitMQ is in tests/integration/worker/test_rabbitmq.py.
@pytest.fixture(scope="module", params=["redis", pytest.param("rabbitmq", marks=[needs_rabbitmq, pytest.mark.night])])
def service(
    request: pytest.FixtureRequest,
    project: FreshProject,
    valkey: Valkey,
    ledgers: Ledgers,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp(request.param)
    rabbitmq = RabbitMq(folder / "server") if request.param == "rabbitmq" else None
    try:
        with rabbitmq or nullcontext(), ledgers.lend() as database:
            yield from _beside(rabbitmq, database, valkey, project, folder)
    finally:
        if rabbitmq is not None:
            rabbitmq.end_names()


def _beside(
    rabbitmq: RabbitMq | None, database: str, valkey: Valkey, project: FreshProject, folder: Path
) -> Iterator[Service]:
    settings = ProducerSettings(
        broker_url=next_database(valkey.url, BROKER) if rabbitmq is None else rabbitmq.url,
        result_backend_url=next_database(valkey.url, BROKER + 1),
        database_url=database,
    )
    with Double.start(nursery=shared()) as double, Client(settings) as client:
        crew = Crew(folder, _of_workers(settings, double, next_database(valkey.url, BROKER + 2)), 2)
        environment = {
            "BROKER_URL": settings.broker,
            "RESULTS_URL": settings.result_backend,
            "JOURNAL": str(folder / "journal"),
        }
        work = ("-m", "celery", "-A", "service", "worker", "-P", "solo", "-Q", "pipeline")
        own = project.start("python", *work, env=environment, log=folder / "own")
        try:
            yield Service(project, environment, client, double, crew)
        finally:
            own.terminate()
            own.wait(30)
            crew.end()


def _of_workers(settings: ProducerSettings, double: Double, limiter: str) -> dict[str, str]:
    return {
        "TAMIS_BROKER_URL": settings.broker,
        "TAMIS_RESULT_BACKEND_URL": settings.result_backend,
        "TAMIS_LIMITER_URL": limiter,
        "TAMIS_DATABASE_URL": settings.database,
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
        "TAMIS_MODEL": "double-1",
        "TAMIS_CONCURRENCY": str(AT_ONCE),
        "TAMIS_LEASE_SECONDS": "2",
        "TAMIS_SWEEP_INTERVAL": "1",
        "TAMIS_VISIBILITY_TIMEOUT": "5",  # what a killed worker held on Redis is delivered again after so long
    }


@pytest.mark.night
def test_a_service_without_tamis_has_results_in_order_and_each_callback_once_though_a_worker_is_killed(
    service: Service,
) -> None:
    assert not [name for name in service.project.packages() if "tamis" in name]
    service.double.script(latency=0.4)
    names = [f"s{number}" for number in range(MANY)]
    with ThreadPoolExecutor() as threads:
        grouped = threads.submit(service.asks, "group", str(MANY))
        chord = threads.submit(service.asks, "chord", str(MANY))
        chained = threads.submit(service.asks, "chain")
        wait_until(lambda: service.double.count() >= AT_ONCE, within=60, what="a worker is in the middle of it")
        service.crew.kill_oldest()
        assert [result["item_id"] for result in grouped.result()] == names
        assert chord.result() == names
        assert chained.result() == ["s1"]
    assert Counter(run for run, _ in service.calls_back()) == {"chord": 1, "chain": 1}


def test_a_batch_that_is_submitted_by_name_is_one_as_any_other_and_its_end_is_told_once(service: Service) -> None:
    service.double.script(latency=0.4)
    batch = service.client.batch(service.asks("batch", "17"))  # some that the cache knows, and more
    assert batch.wait(timeout=60).decided == 17
    assert [row.item_id for row in batch.results()] == [f"s{number}" for number in range(17)]
    wait_until(lambda: "batch" in dict(service.calls_back()), within=30, what="the service hears of its end")
    ((_, told),) = [call for call in service.calls_back() if call[0] == "batch"]
    assert (told["batch_id"], told["state"], told["label"]) == (batch.id, "completed", "sleep")
    assert (told["counts"]["decided"], told["counts"]["failed"]) == (17, 0)


@contextmanager
def events_of_tasks(settings: ProducerSettings) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Hears Celery's events as Flower does; gives those of tasks that have come so far, when it is asked."""
    told: list[dict[str, Any]] = []
    app = make_app(settings)
    with app.connection() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": told.append})
        with receiver.consumer_context() as (listening, _, _):

            def so_far() -> list[dict[str, Any]]:
                with suppress(TimeoutError):
                    listening.drain_events(timeout=0.1)
                return [one for one in told if one["type"].startswith("task-")]

            so_far()  # the subscription is made by the first look
            yield so_far
    app.close()


def test_what_goes_wrong_is_an_exception_that_says_what_and_workers_events_tell_its_kind_alone(
    service: Service,
) -> None:
    with events_of_tasks(service.client.settings) as told:
        assert service.asks("wrong") == {
            "error": "InvalidParameters",
            "message": "'criteria': not an argument of tamis.evaluate, which takes item, operation, params, model, "
            "fresh; put the operation's into `params`",
        }
        given = service.asks("one", "98")
        service.double.script(faults=[Fault(Kind.REFUSAL)])
        failed = service.project.call("python", "main.py", "one", "99", env=service.environment)
        assert failed.code == 1
        assert "OperationFailed: refused: " in failed.err
        ends = {"task-succeeded": "result", "task-failed": "exception"}

        def shown() -> list[tuple[str, str]]:
            """Of each `tamis.evaluate`: what it asks about, and what it came to."""
            ended = {one["uuid"]: one[ends[one["type"]]] for one in told() if one["type"] in ends}
            names = {one["uuid"]: one["args"] for one in told() if one.get("name") == "tamis.evaluate"}
            return [(args, ended[uuid]) for uuid, args in names.items() if uuid in ended]

        wait_until(lambda: len(shown()) == 3, within=20, what="all three are told of")
        assert shown() == [
            ("operation=filter item=s0 service=celery", "InvalidParameters"),
            ("operation=filter item=s98 service=celery", f"{str(given['value']).lower()} {given['confidence']:.2f}"),
            ("operation=filter item=s99 service=celery", "refused"),
        ]
        everything = json.dumps(told())
    for content in ("Sleep and work", "about sleep", given["reasoning"], "Traceback", "OperationFailed"):
        assert content not in everything
