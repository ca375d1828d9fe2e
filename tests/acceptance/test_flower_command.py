"""`tamis flower`: Flower alone, for servers that are named, behind a password that comes as a file."""

import base64
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect

from llm_double import Double
from stage import WorkerProcess, abstracts, tamis, wait_until
from stage.browser import needs_chromium
from tamis_producer import Client, ProducerSettings
from tamis_schemas.operations import Filter
from tamis_worker.embedded.http_check import answers
from tamis_worker.embedded.ports import free_port

PASSWORD = "a-password-of-the-test"
ITEMS = 6
ONCOLOGY = Filter(criteria="Is this about oncology?")
STARTED_WITHIN = 60.0  # s
STOPPED_WITHIN = 20.0  # s


def files(folder: Path, settings: ProducerSettings) -> dict[str, str]:
    """The environment that compose would give it."""
    texts = {"broker_url": settings.broker, "database_url": settings.database, "flower_password": PASSWORD}
    named = {}
    for name, text in texts.items():
        (folder / name).write_text(f"{text}\n", "utf-8")
        named[f"TAMIS_{name.upper()}_FILE"] = str(folder / name)
    return named | {"TAMIS_HOME": str(folder / "home")}


@contextmanager
def flower(folder: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """`tamis flower` and its port; a signal ends it, as an engine of containers does."""
    port = free_port(None)
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tamis_worker", "flower", "--port", str(port)],
            env={**os.environ, **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: answers(port, "/healthcheck"), within=STARTED_WITHIN, what="Flower answers")
        yield port
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPPED_WITHIN) == 0
    finally:
        process.kill()
        process.wait(STOPPED_WITHIN)


def status(port: int, path: str, *, password: str | None = None) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if password is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(f'tamis:{password}'.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def looked_at(browser: Browser, port: int, picture: Path | None = None) -> list[list[str]]:
    """The texts of the rows of Flower's page of tasks, once it shows all of them."""
    context = browser.new_context(
        http_credentials={"username": "tamis", "password": PASSWORD}, viewport={"width": 1400, "height": 700}
    )
    page = context.new_page()
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.goto(f"http://127.0.0.1:{port}/tasks")
    rows = page.locator("#tasks-table tbody tr")
    expect(rows).to_have_count(ITEMS, timeout=20_000)
    texts = [row.locator("td").all_inner_texts() for row in rows.all()]
    if picture is not None:
        page.screenshot(path=picture)
    context.close()
    assert failed == [], "it needs something from elsewhere"
    return texts


@needs_chromium
def test_a_running_batch_is_seen_in_a_browser_and_again_after_a_restart(
    browser: Browser,
    client: Client,
    settings: ProducerSettings,
    double: Double,
    start_worker: Callable[[], WorkerProcess],
    tmp_path: Path,
) -> None:
    double.script(latency=300.0)  # the batch runs for as long as it is looked at
    environment = files(tmp_path, settings)
    with flower(tmp_path, environment) as port:
        assert status(port, "/tasks") == 401
        assert status(port, "/tasks", password="another-password") == 401
        start_worker()
        batch = client.submit(ONCOLOGY, abstracts(ITEMS), model="double-1")
        double.wait(calls=ITEMS)
        running = looked_at(browser, port, tmp_path / "flower.png")
    for number in range(ITEMS):
        (row,) = [row for row in running if f"item=rec-{number}" in row[1]]
        assert row[0] == "tamis.filter"
        assert f"batch={str(batch.id)[:8]} " in row[1]
        assert row[2] == "STARTED"
    with flower(tmp_path, environment) as port:
        assert sorted(row[1] for row in looked_at(browser, port)) == sorted(row[1] for row in running)
    assert PASSWORD not in (tmp_path / "log").read_text("utf-8", "replace")


def test_it_does_not_listen_for_other_machines_without_a_password(settings: ProducerSettings, tmp_path: Path) -> None:
    environment = files(tmp_path, settings) | {"TAMIS_FLOWER_ADDRESS": "0.0.0.0"}  # noqa: S104 - refused
    del environment["TAMIS_FLOWER_PASSWORD_FILE"]
    done = tamis("flower", env=environment, cwd=tmp_path)
    assert done.code == 2
    assert "set TAMIS_FLOWER_PASSWORD too" in " ".join(done.err.split())


def test_without_servers_it_says_what_is_missing(tmp_path: Path) -> None:
    done = tamis("flower", env={"TAMIS_HOME": str(tmp_path)}, cwd=tmp_path)
    assert done.code == 2
    assert "tamis up" in done.err
