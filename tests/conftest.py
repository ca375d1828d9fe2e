"""Real servers for every test that asks for one: started once a session, a fresh ledger and an empty Redis a test."""

import gc
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import hypothesis
import pytest
import redis
from sqlalchemy import Engine

import compiled  # before the others, so that they are kept
from llm_double import Double
from nursery import one_for_all, shared
from stage import Faults, House, WorkerProcess
from stage.changed_files import changed
from stage.clusters import copied_clusters, prepare_cluster
from stage.ledgers import Ledgers
from stage.reckoning import PROPERTY, table
from stage.statements import share_compiled
from tamis_cli.embedded.postgres import Postgres
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_producer.config.settings import next_database
from tamis_producer.ledger import connect

# A shell lets what it starts in the background ignore Ctrl-C, and so would every command that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

TEMPORARY_ROOT = "PYTEST_DEBUG_TEMPROOT"  # in which pytest makes the folders of its runs
ROOT_OF_THE_RUN = pytest.StashKey[Path]()
# The first of the house's databases: its worker lives beside those of other tests, and must not take their messages.
HOUSE = 3

# A slow machine fails no test: examples are not timed. CI judges the same examples each time, so that a failure belongs
# to the change it is shown with; elsewhere each run looks further. `--hypothesis-profile night` looks furthest.
for profile, examples in (("short", 25), ("night", 100)):
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=bool(os.environ.get("CI")),
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("short")

share_compiled()


def pytest_configure(config: pytest.Config) -> None:
    """Give each run of root's a temporary folder of its own, and the processes of a run one nursery.

    The folder is kept where a test failed. As root Postgres runs as another user, which the stack lets pass through the
    folders above its data. pytest shuts the folder that all runs of a user share each time one begins, and with it the
    Postgres of any other run out.
    """
    if os.geteuid() == 0 and config.option.basetemp is None:
        folder = Path(tempfile.mkdtemp(prefix="tamis-tests-", dir=os.environ.get(TEMPORARY_ROOT)))
        os.environ[TEMPORARY_ROOT] = str(folder)
        config.stash[ROOT_OF_THE_RUN] = folder
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        exits = ExitStack()
        exits.enter_context(one_for_all())
        config.add_cleanup(exits.close)


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave a test of what is built from files to the night, unless one of these files changed.

    Files that mostly wait come among those that mostly compute, so that no processor is idle.
    """
    for item in items:
        built_from = item.get_closest_marker("built_from")
        if built_from is not None and not changed(built_from.args):
            item.add_marker(pytest.mark.night)
    items.sort(key=_places(items).__getitem__)


def _places(items: list[pytest.Item]) -> dict[pytest.Item, tuple[float, Path]]:
    """Return where each test stands: the files of each kind are spread over the run, and the last ones are short."""
    files: dict[str, dict[Path, None]] = {}  # by kind, in order
    for item in items:
        files.setdefault(item.nodeid.split("/")[1], {})[item.path] = None
    ends = {kind: 1.0 if kind == "unit" else 0.9 for kind in files}
    shares = {
        path: (number / len(paths) * ends[kind], path)
        for kind, paths in files.items()
        for number, path in enumerate(paths)
    }
    return {item: shares[item.path] for item in items}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Of all processes of a run, one compiles; none looks for garbage among what is collected, here or later."""
    gc.disable()
    with compiled.first_alone():
        items = yield
    gc.freeze()
    gc.enable()
    return items


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove the run's own folder, once everything in it has been stopped."""
    folder = session.config.stash.get(ROOT_OF_THE_RUN, None)
    if folder is not None and exitstatus == pytest.ExitCode.OK:
        session.config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture
def faults(record_property: Callable[[str, object], None]) -> Faults:
    """Keeps the figures of a fault test for the table at the end of the run."""
    return Faults(record_property)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The reliability table, of the fault tests that passed in this run."""
    kept = [
        figures
        for report in terminalreporter.getreports("passed")
        for name, figures in report.user_properties
        if name == PROPERTY
    ]
    if kept:
        terminalreporter.section("faults")
        for line in table(kept):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def _clean_environment() -> None:
    """What the developer's shell says of servers, models and keys does not reach a test."""
    for name in list(os.environ):
        if name.startswith(("TAMIS_", "OPENAI_")) and name != "TAMIS_MODEL_DIR":
            del os.environ[name]


@pytest.fixture(scope="session")
def folder_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the processes of a run share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "of-all"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _clusters(folder_of_all: Path) -> Iterator[None]:
    with copied_clusters(folder_of_all):
        yield


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, folder_of_all: Path) -> Iterator[Postgres]:
    server = Postgres(tmp_path_factory.mktemp("postgres"))
    prepare_cluster(server, folder_of_all / "with-ledger", lambda server: Ledgers(server).prepare())
    with server:
        yield server


@pytest.fixture(scope="session")
def ledgers(postgres: Postgres) -> Ledgers:
    """The databases of `postgres`, one for each test at a time."""
    return Ledgers(postgres)


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def database_url(ledgers: Ledgers) -> Iterator[str]:
    """A migrated ledger that nobody else uses at the time."""
    with ledgers.lend() as url:
        yield url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Connections to that ledger, as the producer's programs make them."""
    engine = connect(database_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def module_database_url(ledgers: Ledgers) -> Iterator[str]:
    """A migrated ledger for all the tests of a module."""
    with ledgers.lend() as url:
        yield url


@pytest.fixture(scope="session")
def _emptying(valkey: Valkey) -> Iterator[redis.Redis]:
    """One connection for all tests: to open one for each database takes thirty times the CPU of emptying it."""
    with redis.Redis.from_url(valkey.url) as connection:
        yield connection


@pytest.fixture
def broker_url(valkey: Valkey, _emptying: redis.Redis) -> str:
    """An empty broker, with empty databases for results and limiter after it."""
    _empty(_emptying, 0)
    return valkey.url


@pytest.fixture
def double() -> Iterator[Double]:
    with Double.start(nursery=shared()) as running:
        yield running


@pytest.fixture(scope="module")
def _double_of_the_module() -> Iterator[Double]:
    with Double.start(nursery=shared()) as running:
        yield running


@pytest.fixture
def kept_double(_double_of_the_module: Double) -> Double:
    """One process for all the tests of a module, for each as at its start: where many short tests ask it."""
    _double_of_the_module.reset()
    return _double_of_the_module


@pytest.fixture
def settings(database_url: str, broker_url: str) -> ProducerSettings:
    return ProducerSettings(broker_url=broker_url, database_url=database_url, shard_size=50, shard_window=2)


@pytest.fixture
def client(settings: ProducerSettings) -> Iterator[Client]:
    with Client(settings) as running:
        yield running


@pytest.fixture
def environment(settings: ProducerSettings, double: Double) -> dict[str, str]:
    """What a worker or a command needs to use this test's servers and the double."""
    return _environment(settings, double)


@pytest.fixture(scope="module")
def house(
    module_database_url: str, valkey: Valkey, _emptying: redis.Redis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    """One worker for all the tests of a module, three calls an item; each test submits batches of its own."""
    _empty(_emptying, HOUSE)  # the worker of another module was killed, and left messages unacknowledged
    with (
        Double.start(nursery=shared()) as double,
        Client(
            ProducerSettings(
                broker_url=next_database(valkey.url, HOUSE),
                database_url=module_database_url,
                shard_size=50,
                shard_window=2,
            )
        ) as client,
    ):
        environment = _environment(client.settings, double) | {"TAMIS_MAX_CALLS": "3"}
        worker = WorkerProcess(tmp_path_factory.mktemp("house"), "worker", environment)
        yield House(client, double, worker, environment)
        worker.kill()


@pytest.fixture
def start_worker(tmp_path: Path, environment: dict[str, str]) -> Iterator[Callable[..., WorkerProcess]]:
    """Starts workers; settings are given as keywords (`lease_seconds="2"`); all are stopped at the end."""
    started: list[WorkerProcess] = []

    def start(**changes: str) -> WorkerProcess:
        env = environment | {f"TAMIS_{name.upper()}": value for name, value in changes.items()}
        worker = WorkerProcess(tmp_path, f"worker-{len(started)}", env)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()  # how a worker stops is tested where it is the point; here it would take seconds a test


def _empty(server: redis.Redis, first: int) -> None:
    """Of three databases, for broker, results and limiter."""
    with server.pipeline(transaction=False) as commands:
        for number in range(first, first + HOUSE):
            commands.execute_command("SELECT", number)
            commands.execute_command("FLUSHDB")
        commands.execute()


def _environment(settings: ProducerSettings, double: Double) -> dict[str, str]:
    return {
        "TAMIS_BROKER_URL": settings.broker,
        "TAMIS_DATABASE_URL": settings.database,
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
        "TAMIS_MODEL": "double-1",
        "TAMIS_SHARD_SIZE": str(settings.shard_size),
    }
