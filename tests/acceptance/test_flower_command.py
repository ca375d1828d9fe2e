"""`tamis flower`: Flower alone, for servers that are named, behind a password that comes as a file."""

import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from llm_double import Double
from stage import WorkerProcess, abstracts, tamis
from stage.browser import needs_chromium
from stage.flower_process import PASSWORD, FlowerProcess, flower, secret_files
from tamis_producer import Client, ProducerSettings
from tamis_schemas.operations import Filter

ITEMS = 6
ONCOLOGY = Filter(criteria="Is this about oncology?")


def status(running: FlowerProcess, path: str, *, password: str | None = None) -> int:
    try:
        with urllib.request.urlopen(running.request(path, password=password), timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def looked_at(browser: Browser, running: FlowerProcess, picture: Path | None = None) -> list[list[str]]:
    """The texts of the rows of Flower's page of tasks, once it shows all of them."""
    with running.page(browser) as page:
        page.goto(f"{running.url}/tasks")
        rows = page.locator("#tasks-table tbody tr")
        expect(rows).to_have_count(ITEMS, timeout=20_000)
        texts = [row.locator("td").all_inner_texts() for row in rows.all()]
        if picture is not None:
            page.screenshot(path=picture)
    return texts


@pytest.mark.night
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
    environment = secret_files(tmp_path, settings)
    with flower(tmp_path, environment) as running_flower:
        assert status(running_flower, "/tasks") == 401
        assert status(running_flower, "/tasks", password="another-password") == 401
        start_worker()
        batch = client.submit(ONCOLOGY, abstracts(ITEMS), model="double-1")
        double.wait(calls=ITEMS)
        running = looked_at(browser, running_flower, tmp_path / "flower.png")
    for number in range(ITEMS):
        (row,) = [row for row in running if f"item=rec-{number}" in row[1]]
        assert row[0] == "tamis.filter"
        assert f"batch={str(batch.id)[:8]} " in row[1]
        assert row[2] == "STARTED"
    with flower(tmp_path, environment) as running_flower:
        assert sorted(row[1] for row in looked_at(browser, running_flower)) == sorted(row[1] for row in running)
    assert PASSWORD not in (tmp_path / "log").read_text("utf-8", "replace")


def test_it_does_not_listen_for_other_machines_without_a_password(settings: ProducerSettings, tmp_path: Path) -> None:
    environment = secret_files(tmp_path, settings) | {"TAMIS_FLOWER_ADDRESS": "0.0.0.0"}  # noqa: S104 - refused
    del environment["TAMIS_FLOWER_PASSWORD_FILE"]
    done = tamis("flower", env=environment, cwd=tmp_path)
    assert done.code == 2
    assert "set TAMIS_FLOWER_PASSWORD too" in " ".join(done.err.split())


def test_without_servers_it_says_what_is_missing(tmp_path: Path) -> None:
    done = tamis("flower", env={"TAMIS_HOME": str(tmp_path)}, cwd=tmp_path)
    assert done.code == 2
    assert "tamis up" in done.err
