"""Embedded Postgres: real processes."""

import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from stage.clusters import make_cluster
from tamis_cli.embedded.postgres import Postgres
from tamis_schemas import ConfigurationError, OperationFailed


@pytest.fixture(autouse=True)
def _own_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cluster here is made, not copied."""
    monkeypatch.setattr(Postgres, "_make_cluster", make_cluster)


def ask(url: str, *statements: str) -> object:
    """The first value of the last statement's answer; all in one transaction."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        results = [connection.execute(sa.text(statement)) for statement in statements]
        return results[-1].scalar() if results[-1].returns_rows else None


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One cluster for the whole file: making one costs a second."""
    path = Path(tempfile.mkdtemp(prefix="tamis-test-"))
    yield path / "postgres"
    shutil.rmtree(path)


def test_it_serves_postgres_18_and_stays_durable(folder: Path) -> None:
    with Postgres(folder) as postgres:
        assert str(ask(postgres.url, "SHOW server_version")).startswith("18.")
        expected = {"fsync": "on", "synchronous_commit": "on", "max_connections": "200", "jit": "off"}
        for name, value in expected.items():
            assert ask(postgres.url, f"SHOW {name}") == value


def test_data_survive_a_stop_and_a_start(folder: Path) -> None:
    with Postgres(folder) as postgres:
        ask(postgres.url, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
    with Postgres(folder) as postgres:
        assert ask(postgres.url, "SELECT n FROM kept") == 7


def test_what_was_committed_survives_kill_and_the_url_stays(folder: Path) -> None:
    with Postgres(folder) as postgres:
        before = postgres.url
        ask(postgres.url, "CREATE TABLE IF NOT EXISTS killed (n int)", "INSERT INTO killed VALUES (1)")
        postgres.process.kill()
        assert not postgres.process.running
        postgres.start()
        assert postgres.url == before
        assert ask(postgres.url, "SELECT n FROM killed") == 1


def test_it_listens_on_a_socket_that_its_own_user_alone_can_reach(folder: Path) -> None:
    with Postgres(folder) as postgres:
        assert stat.S_IMODE(postgres.socket_folder.stat().st_mode) == 0o700
        tcp = psutil.Process(postgres.process.pid).net_connections("inet")
        assert tcp == []


def test_a_stop_leaves_no_process(folder: Path) -> None:
    with Postgres(folder) as postgres:
        family = [psutil.Process(postgres.process.pid)]
        family += family[0].children(recursive=True)
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []


def test_a_second_server_on_the_same_data_is_refused_naming_the_first(folder: Path) -> None:
    with (
        Postgres(folder) as first,
        pytest.raises(ConfigurationError, match=rf"process {first.process.pid}\) already uses"),
    ):
        # Its patience with processes that are about to end would be ten seconds.
        Postgres(folder, patience=0.1).start()


def test_the_environment_of_other_postgres_clients_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "7777")
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PGDATABASE", "other")
    with Postgres(folder) as postgres:
        assert ask(postgres.url, "SELECT current_database()") == "tamis"


def test_a_pid_file_whose_pid_is_now_another_process_is_no_obstacle(folder: Path) -> None:
    with Postgres(folder) as postgres:
        pid_file = postgres.data / "postmaster.pid"
        postgres.process.kill()
        lines = pid_file.read_text().splitlines()
        pid_file.write_text("\n".join([str(psutil.Process().pid), *lines[1:]]))
        postgres.start()
        assert ask(postgres.url, "SELECT 1") == 1


@pytest.mark.night
def test_a_path_too_long_for_a_socket_is_no_obstacle() -> None:
    path = Path(tempfile.mkdtemp(prefix="tamis-test-"))
    postgres = Postgres(path / ("long" * 30) / "with space")
    try:
        with postgres:
            assert not postgres.socket_folder.is_relative_to(path)
            assert ask(postgres.url, "SELECT 1") == 1
    finally:
        shutil.rmtree(path)
        shutil.rmtree(postgres.socket_folder)


@pytest.mark.night
def test_an_interrupted_first_start_leaves_no_half_cluster(folder: Path) -> None:
    draft = folder / "data.draft"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18")
    with Postgres(folder) as postgres:
        assert ask(postgres.url, "SELECT 1") == 1
    fresh = Postgres(folder.parent / "fresh")
    (fresh.folder / "data.draft").mkdir(parents=True)
    (fresh.folder / "data.draft" / "PG_VERSION").write_text("18")
    with fresh:
        assert ask(fresh.url, "SELECT 1") == 1


def test_a_server_that_cannot_start_is_an_error_quoting_its_log(folder: Path) -> None:
    with Postgres(folder) as postgres:
        configuration = postgres.data / "postgresql.conf"
    right = configuration.read_text()
    configuration.write_text("no_such_parameter = 1\n")
    try:
        with pytest.raises(OperationFailed, match=r"postgres\.log:\n(.|\n)*no_such_parameter"):
            Postgres(folder).start()
    finally:
        configuration.write_text(right)
