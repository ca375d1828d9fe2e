"""`tamis demo` on a terminal, with real servers, and with the small model."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from stage import wait_until
from stage.plain_http import http_client

UP_WITHIN, DOWN_WITHIN = 120.0, 60.0  # s
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal of 120 columns with a `tamis demo` in it, and what that said up to now."""

    def __init__(self, folder: Path, *options: str, **env: str) -> None:
        self._end, child = os.openpty()
        self._read = bytearray()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tamis_cli", "demo", *options],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder), "TERM": "xterm", "COLUMNS": "120", **env},
            stdin=child,
            stdout=child,
            stderr=child,
        )
        os.close(child)
        self._reader = threading.Thread(target=self._keep_reading)
        self._reader.start()

    @property
    def said(self) -> str:
        return STEERING.sub("", self._read.decode("utf-8", "replace")).replace("\r\n", "\n")

    def press_enter(self) -> None:
        os.write(self._end, b"\n")

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(DOWN_WITHIN)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            os.close(self._end)

    def _keep_reading(self) -> None:
        try:
            while part := os.read(self._end, 65536):
                self._read += part
        except OSError:
            pass  # the other end is closed: the process has ended


@contextmanager
def demo(folder: Path, *options: str, **env: str) -> Iterator[Terminal]:
    """A demonstration that has shown everything and stays up."""
    terminal = Terminal(folder, *options, **env)
    try:
        wait_until(
            lambda: "press Enter" in terminal.said or terminal.process.poll() is not None,
            within=UP_WITHIN,
            what="the demonstration waits for Enter",
        )
        yield terminal
    finally:
        terminal.close()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("d")


def test_a_newcomer_sees_every_kind_of_decision_a_retry_and_the_page_and_nothing_is_left(folder: Path) -> None:
    elsewhere = {"TAMIS_LLM_BASE_URL": "http://127.0.0.1:9/v1", "TAMIS_LIMIT_RPM": "none at all", "PATH": os.defpath}
    with demo(folder, "--report", "demo.html", **elsewhere) as terminal:
        said = terminal.said
        for part in (
            "The answers are recorded: written by hand, and no model is asked.",
            "starting Postgres",
            "24/24",
            "Failed: 1. A failed call is never a decision.",
            "truncated: the answer was cut off",
            "DEMO-05 is decided in round 2: include",
            "Included: 7",
            "Excluded by a criterion: 11",
            "\u201cPatients with hip replacement were not enrolled\u201d found in the abstract",
            "Excluded by the initial filter: 3",
            "Uncertain: 3, for a person to decide",
            "Flow of records (PRISMA 2020)",
            # 24 = 3 + 21, 21 = 11 + 3 + 7; Wilson's interval of 7 of 21
            "Pass rate: 7 of 21 (33.3%, 95% interval 17.2% to 54.6%)",
            f'export PATH="{Path(sys.executable).parent}:$PATH"',
            "tamis screen records.ris --criteria criteria.yaml",
            "Flower  http://tamis:",
        ):
            assert part in said, (part, said)
        for box, n in (("identified", 24), ("removed before screening", 3), ("excluded", 11), ("included by", 7)):
            assert re.search(rf"Records {box}.* {n}\n", said), (box, said)
        base, key = re.search(r"Page +(http://\S+/)#key=(\S+)", said).groups()  # type: ignore[union-attr] # it is there
        with http_client(base, key) as http:
            (row,) = http.get("v1/batches").raise_for_status().json()["items"]
            batch = row["batch"]
            assert (batch["label"], batch["counts"]["decided"]) == ("citations.ris", 21)
        children = psutil.Process(terminal.process.pid).children(recursive=True)
        terminal.press_enter()
        assert terminal.process.wait(DOWN_WITHIN) == 0
        assert "Everything is stopped, and the temporary folder is removed." in terminal.said
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert "recorded-answers" in (folder / "demo.html").read_text("utf-8")
    assert [path.name for path in folder.iterdir()] == ["demo.html"]
