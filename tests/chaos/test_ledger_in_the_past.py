"""Failovers and restores of the ledger's server, some of which take the ledger back in time.

Redis and the workers are newer than such a ledger. What the ledger still knows is not paid again.
"""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from stage import Faults, reckon, wait_until
from stage.fault_house import FaultHouse, fault_house
from stage.storm import attempts
from tamis_cli.embedded.postgres import DATABASE, PORT, SUPERUSER, Postgres, server_account
from tamis_producer import Batch

pytestmark = pytest.mark.chaos

PROGRESS_WITHIN = 30.0  # s after the ledger is back
LAG = 1.5  # s
LENGTHS = [
    pytest.param(300, id="short"),
    pytest.param(1_500, id="whole", marks=[pytest.mark.night, pytest.mark.timeout(300)]),
]


def run_tool(postgres: Postgres, tool: str, *arguments: str) -> None:
    """Run a program of Postgres as the server's user."""
    account = server_account()
    program = str(postgres.program.path.with_name(tool))
    rights = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    subprocess.run([program, *arguments], check=True, cwd="/", **rights)  # type: ignore[call-overload] # by keywords


def place_of(postgres: Postgres) -> list[str]:
    return ["-h", str(postgres.socket_folder), "-p", str(PORT), "-U", SUPERUSER]


def titled(process: psutil.Process) -> str:
    """What the process says of itself; nothing once it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())
    return ""


def administer(postgres: Postgres, *statements: str) -> None:
    with psycopg.connect(
        host=str(postgres.socket_folder), port=PORT, user=SUPERUSER, dbname=SUPERUSER, autocommit=True
    ) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def goes_on_and_ends(house: FaultHouse, faults: Faults, batch: Batch, calls: int, *, note: str) -> None:
    """The batch makes progress within half a minute, and each item has one result in the end."""
    back = time.monotonic()
    known = batch.status().counts.decided
    wait_until(lambda: batch.status().counts.decided > known, within=PROGRESS_WITHIN, what="further items are decided")
    progress = time.monotonic() - back
    counts = batch.wait(timeout=120)
    assert counts.decided == counts.n_items
    reckoning = reckon(house.client, batch, house.double)
    assert reckoning.extra_calls <= calls - known  # only what the ledger forgot, and calls in flight, is paid again
    faults.record(row=23, reckoning=reckoning, faults=1, note=f"{note}, goes on after {progress:.1f} s")


@pytest.mark.parametrize("items", LENGTHS)
def test_a_dump_from_the_middle_of_a_batch_is_restored_under_living_workers(
    items: int, tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    folder = tmp_path_factory.mktemp("restored")
    with fault_house(folder, lease_seconds="3") as house:
        batch = house.begin(items)
        dump = house.postgres.folder / "run" / "middle.dump"  # the server's user may write there
        run_tool(house.postgres, "pg_dump", *place_of(house.postgres), "-Fc", "-f", str(dump), DATABASE)
        known = batch.status().counts.decided
        wait_until(lambda: batch.status().counts.decided >= known + items // 4, within=60, what="a quarter more")
        house.client.engine.dispose()
        administer(
            house.postgres,
            f"ALTER DATABASE {DATABASE} ALLOW_CONNECTIONS false",
            f"DROP DATABASE {DATABASE} WITH (FORCE)",
            f"CREATE DATABASE {DATABASE} TEMPLATE template0",
        )
        run_tool(house.postgres, "pg_restore", *place_of(house.postgres), "-d", DATABASE, str(dump))
        calls = house.double.count(200) + house.double.in_flight()
        goes_on_and_ends(house, faults, batch, calls, note="restored from a dump")
        house.check_workers()


@contextlib.contextmanager
def with_standby(folder: Path, *, hosts: bool) -> Iterator[tuple[FaultHouse, Postgres, Callable[[], None]]]:
    """A house whose primary has a standby; the last value moves the address to it, unless the URL names both."""
    standby = Postgres(folder / "standby")
    place = Path(tempfile.mkdtemp(prefix="tamis-", dir="/tmp")) / "address"  # a socket's path must be short

    def move(server: Postgres = standby) -> None:
        moved = place.with_suffix(".moved")
        moved.symlink_to(server.socket_folder)
        moved.replace(place)

    def both(primary: Postgres) -> str:
        standby.folder.mkdir(parents=True)
        primary._give(standby.folder)
        run_tool(
            primary, "pg_basebackup", *place_of(primary), "-D", str(standby.data), "-R", "-X", "stream", "-c", "fast"
        )
        standby.start()
        move(primary)
        ports = f"{PORT},{PORT}" if hosts else f"{PORT}"
        folders = f"{primary.socket_folder},{standby.socket_folder}" if hosts else f"{place}"
        return f"postgresql+psycopg://{SUPERUSER}@/{DATABASE}?host={folders}&port={ports}"

    try:
        with fault_house(folder, lease_seconds="3", database=both) as house:
            yield house, standby, move
    finally:
        standby.stop()
        shutil.rmtree(standby.folder, ignore_errors=True)
        shutil.rmtree(place.parent)


def calls_until_now(house: FaultHouse) -> int:
    return house.double.count(200) + house.double.in_flight()


ADDRESSES = pytest.mark.parametrize(
    ("hosts", "items"),
    [
        pytest.param(True, 300, id="hosts-short", marks=pytest.mark.night),
        pytest.param(False, 300, id="address-short", marks=pytest.mark.night),
        pytest.param(True, 1_500, id="hosts-whole", marks=[pytest.mark.night, pytest.mark.timeout(300)]),
        pytest.param(False, 1_500, id="address-whole", marks=[pytest.mark.night, pytest.mark.timeout(300)]),
    ],
)


@ADDRESSES
def test_a_standby_that_lags_behind_is_promoted_after_a_crash(
    hosts: bool, items: int, tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    with with_standby(tmp_path_factory.mktemp("promoted"), hosts=hosts) as (house, standby, move):
        batch = house.begin(items)
        server = psutil.Process(house.postgres.process.pid)
        (sender,) = [process for process in server.children() if "walsender" in titled(process)]
        sender.suspend()
        known = batch.status().counts.decided
        wait_until(lambda: batch.status().counts.decided >= known + items // 8, within=60, what="an eighth is lost")
        house.postgres.process.kill()
        house.client.engine.dispose()
        administer(standby, "SELECT pg_promote()")
        move()
        goes_on_and_ends(house, faults, batch, calls_until_now(house), note="a lagging standby promoted")
        assert attempts(house, batch) <= {1, 2, 3}
        house.check_workers()


@pytest.mark.parametrize(
    ("hosts", "items"),
    [
        pytest.param(False, 300, id="address-short", marks=pytest.mark.night),
        pytest.param(True, 300, id="hosts-short", marks=pytest.mark.night),
        pytest.param(False, 1_500, id="address-whole", marks=[pytest.mark.night, pytest.mark.timeout(300)]),
        pytest.param(True, 1_500, id="hosts-whole", marks=[pytest.mark.night, pytest.mark.timeout(300)]),
    ],
)
def test_the_primary_becomes_a_standby_in_a_planned_switchover(
    hosts: bool, items: int, tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    """The demoted server goes on to answer what only reads, so that a connection to it looks sound."""
    with with_standby(tmp_path_factory.mktemp("switched"), hosts=hosts) as (house, standby, move):
        batch = house.begin(items)
        primary = house.postgres
        primary.stop()
        (primary.data / "standby.signal").touch()
        primary.start()
        demoted = psutil.Process(primary.process.pid)
        if not hosts:  # of several hosts, none is used that cannot write
            wait_until(
                lambda: len([True for process in demoted.children() if f" {DATABASE} " in titled(process)]) >= 2,
                within=PROGRESS_WITHIN,
                what="both workers connect to the demoted server",
            )
        administer(standby, "SELECT pg_promote()")
        move()
        goes_on_and_ends(house, faults, batch, calls_until_now(house), note="the primary was demoted")
        assert demoted.is_running()
        house.check_workers()
