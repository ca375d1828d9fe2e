"""A worker's alive file: what probes make of it."""

from pathlib import Path

import pytest

from tamis_worker.liveness.watchdog import AliveFile, health_of

WORKING = AliveFile(pid=7, at=1000.0, state="working")
HOLDING_BACK = AliveFile(7, 1000.0, "holding back", "Postgres is full")
STALLED = AliveFile(7, 1000.0, "working", None, "took no message for 60 s")


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = AliveFile(7, 12.5, "holding back", "Postgres is full")
    written.write(tmp_path / "alive")
    assert AliveFile.read(tmp_path / "alive") == written
    assert [path.name for path in tmp_path.iterdir()] == ["alive"]  # no draft is left


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": 1, "colour": "red"}', "null"])
def test_what_is_no_alive_file_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "alive").write_text(text)
    assert AliveFile.read(tmp_path / "alive") is None
    assert AliveFile.read(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("found", "now", "well", "line"),
    [
        (WORKING, 1030.0, True, "worker 7 is working"),
        (WORKING, 1030.1, False, "worker 7 was last seen working 30 s ago"),
        # the machine was started anew: its clock began at 0 again
        (WORKING, 10.0, False, "worker 7 was last seen working before this machine started"),
        (None, 0.0, False, "no worker writes this file: start one with `tamis worker --alive-file FILE`"),
        # to start a worker anew does not mend a full disk
        (HOLDING_BACK, 1001.0, True, "worker 7 is holding back: Postgres is full"),
        (STALLED, 1001.0, False, "worker 7 took no message for 60 s"),
    ],
)  # fmt: skip
def test_health_is_fresh_progress(found: AliveFile | None, now: float, well: bool, line: str) -> None:
    health = health_of(found, now, within=30)
    assert (health.well, health.line) == (well, line)
