"""A real Flower in a process of its own, as `tamis flower` starts it."""

import base64
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page
from prometheus_client.parser import text_string_to_metric_families

from tamis_cli.embedded.part import answers
from tamis_cli.embedded.ports import free_port
from tamis_producer import ProducerSettings

from .waiting import wait_until

PASSWORD = "a-password-of-the-test"
STARTED_WITHIN = 60.0  # s
STOPPED_WITHIN = 20.0  # s
ANSWERS_WITHIN = 20.0  # s


def secret_files(folder: Path, settings: ProducerSettings) -> dict[str, str]:
    """The environment that compose would give it: files, under a folder."""
    texts = {"broker_url": settings.broker, "database_url": settings.database, "flower_password": PASSWORD}
    named = {}
    for name, text in texts.items():
        (folder / name).write_text(f"{text}\n", "utf-8")
        named[f"TAMIS_{name.upper()}_FILE"] = str(folder / name)
    return named | {"TAMIS_HOME": str(folder / "home")}


@dataclass(frozen=True)
class FlowerProcess:
    """A running Flower, asked as somebody who knows its password."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, path: str, *, password: str | None = PASSWORD) -> urllib.request.Request:
        request = urllib.request.Request(f"{self.url}{path}")
        if password is not None:
            request.add_header("Authorization", f"Basic {base64.b64encode(f'tamis:{password}'.encode()).decode()}")
        return request

    def text(self, path: str) -> str:
        """The text of a page."""
        with urllib.request.urlopen(self.request(path), timeout=ANSWERS_WITHIN) as response:
            return str(response.read().decode())

    def tasks(self, name: str, search: str = "") -> list[dict[str, Any]]:
        """The tasks of a name, as its API lists them; `search`: as in the field of its page."""
        asked = urlencode({"taskname": name, "search": search})
        listed: dict[str, dict[str, Any]] = json.loads(self.text(f"/api/tasks?{asked}"))
        return list(listed.values())

    def workers(self) -> list[dict[str, Any]]:
        """The rows of its first page: how often each event came, by worker."""
        rows: list[dict[str, Any]] = json.loads(self.text("/workers?json=1"))["data"]
        return rows

    def counted(self, event: str) -> int:
        """How often an event came, as its first page counts it."""
        return sum(row.get(event, 0) for row in self.workers())

    def measured(self, task: str) -> dict[str, int]:
        """How often each event of a task came, as Prometheus reads it."""
        counts: dict[str, int] = {}
        for family in text_string_to_metric_families(self.text("/metrics")):
            for sample in family.samples:
                if sample.name == "flower_events_total" and sample.labels["task"] == task:
                    event = sample.labels["type"]
                    counts[event] = counts.get(event, 0) + int(sample.value)
        return counts

    @contextmanager
    def page(self, browser: Browser) -> Iterator[Page]:
        """A page of a browser that knows the password; nothing that it needs may be missing."""
        context = browser.new_context(
            http_credentials={"username": "tamis", "password": PASSWORD}, viewport={"width": 1400, "height": 700}
        )
        page = context.new_page()
        failed: list[str] = []
        page.on("requestfailed", lambda request: failed.append(request.url))
        yield page
        context.close()
        assert failed == [], "it needs something from elsewhere"


@contextmanager
def flower(folder: Path, environment: Mapping[str, str]) -> Iterator[FlowerProcess]:
    """`tamis flower`; a signal ends it, as an engine of containers does."""
    port = free_port(None)
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tamis_cli", "flower", "--port", str(port)],
            env={**os.environ, **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: answers(port, "/healthcheck"), within=STARTED_WITHIN, what="Flower answers")
        yield FlowerProcess(port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPPED_WITHIN) == 0
    finally:
        process.kill()
        process.wait(STOPPED_WITHIN)
