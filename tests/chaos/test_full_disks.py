"""Disks that are full: Postgres's and Redis's (fault 10 and backpressure). Each has a small disk of its own."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from stage import Faults, reckon
from stage.fault_house import FaultHouse, fault_house
from tamis_cli.embedded.postgres import Postgres, server_account

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk that is small enough to be filled"),
]

NO_RESULTS = "no item or call begins until results can be written"
NO_BROKER = "no item begins until the broker works again"
MB = 1_000_000
ITEMS = 160  # of which a quarter is decided when the disk is filled, and 32 are in flight


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[Path]:
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(place)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Every byte is taken, and given back at the end."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream:
        try:
            while stream.write(b"\0" * MB):
                pass
        except OSError:
            pass
    try:
        yield
    finally:
        filler.unlink()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_disk(tmp_path_factory.mktemp("full-postgres") / "disk", 60 * MB) as place:
        yield place


@pytest.fixture(scope="module")
def full_postgres(disk: Path) -> Iterator[FaultHouse]:
    """The ledger's tables are on the small disk; what Postgres needs to go on at all is not."""

    def on_disk(server: Postgres) -> str:
        space = disk / "space"
        space.mkdir()
        if (account := server_account()) is not None:
            os.chown(space, account.pw_uid, account.pw_gid)
        with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
            connection.execute("CREATE DATABASE cramped TABLESPACE small")
        return server.url.replace("/tamis?", "/cramped?")

    with fault_house(disk.parent / "house", database=on_disk) as house:
        yield house


@pytest.fixture(scope="module")
def full_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    folder = tmp_path_factory.mktemp("full-redis")
    with small_disk(folder / "valkey" / "data", 20 * MB), fault_house(folder) as house:
        yield house


def live_through(house: FaultHouse, faults: Faults, disk: Path, *, held_back: str, row: int, note: str) -> None:
    batch = house.begin(ITEMS)
    before = house.said(held_back)
    with filled(disk):
        house.wait_until_all_say(held_back, before)
        house.double.wait(in_flight=0, bound=20)
        threading.Event().wait(3)
        assert batch.status().counts.failed == 0
    recovery = house.wait_until_calls_begin()
    counts = batch.wait(timeout=120)
    assert (counts.decided, counts.failed) == (ITEMS, 0)
    house.check_workers()
    reckoning = reckon(house.client, batch, house.double)
    assert reckoning.extra_calls == 0
    faults.record(row=row, reckoning=reckoning, faults=1, note=f"{note}, calls again after {recovery:.1f} s")


def test_answers_are_kept_while_postgres_has_no_room_left(
    full_postgres: FaultHouse, disk: Path, faults: Faults
) -> None:
    live_through(full_postgres, faults, disk, held_back=NO_RESULTS, row=10, note="disk of Postgres full")
    assert any("has no disk space left" in worker.text() for worker in full_postgres.workers)


@pytest.mark.night
def test_items_wait_while_redis_cannot_write_its_append_only_file(full_redis: FaultHouse, faults: Faults) -> None:
    disk = full_redis.valkey.folder / "data"
    live_through(full_redis, faults, disk, held_back=NO_BROKER, row=9, note="disk of Redis full")
    assert any("cannot save to its disk" in worker.text() for worker in full_redis.workers)
