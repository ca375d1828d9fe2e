"""`tamis up` with the real small model: screened end to end, seen in Flower, and stopped without a trace."""

import base64
import csv
import getpass
import io
import json
import shutil
import signal
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.sync_api import Browser, expect

from stage import tamis, wait_until
from stage.browser import needs_chromium
from stage.running_stack import DOWN_WITHIN, RunningStack, on_one_core, running_stack
from stage.shared_data import DATA, needs_real_records
from tamis_producer.config.redaction import shown_url
from tamis_producer.config.stack_file import StackFile

# With the real small model. The stack without it: test_demo.py and tests/integration/cli/embedded/test_stack.py.
pytestmark = pytest.mark.night

CRITERIA = """\
research_question: What are the pharmacokinetics of emicizumab in humans?
inclusion_criteria:
  - Emicizumab
  - Data on humans
"""


@pytest.fixture(scope="module")
def up() -> Iterator[RunningStack]:
    folder = Path(tempfile.mkdtemp(prefix="tamis-up-"))  # short: a Unix socket lies in it
    try:
        with ExitStack() as exits:
            with on_one_core():
                up = exits.enter_context(running_stack(folder, "--workers", "1"))
            yield up
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write(folder: Path, records: list[dict[str, str]]) -> None:
    (folder / "criteria.yaml").write_text(CRITERIA, "utf-8")
    with (folder / "records.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ["id", "title", "abstract"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(records)


def screened(up: RunningStack, *, within: float) -> list[dict[str, str]]:
    """Every row of `records.csv`, decided by the small model."""
    every_record = ("--no-initial-filter", "--keep-duplicates")
    return asked(up, "screen", "records.csv", "--criteria", "criteria.yaml", *every_record, within=within)


def asked(up: RunningStack, *command: str, within: float) -> list[dict[str, str]]:
    """Every row of the batch that a command submits."""
    done = tamis(*command, env={}, cwd=up.folder, within=within)
    assert done.code == 0, done.out + done.err
    batch = done.out.split("batch ")[1].split(":")[0]
    return list(csv.DictReader(io.StringIO(tamis("results", batch, env={}, cwd=up.folder).out)))


def flower(up: RunningStack, path: str, *, authenticated: bool = True) -> str:
    assert up.stack.flower_url is not None
    parts = urlsplit(up.stack.flower_url)
    request = urllib.request.Request(f"http://{parts.hostname}:{parts.port}{path}")
    if authenticated:
        token = base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    with urllib.request.urlopen(request, timeout=20) as response:
        return str(response.read().decode())


@pytest.mark.timeout(700)
def test_records_are_filtered_by_the_real_small_model(up: RunningStack) -> None:
    """Screening is asked of it in the long form below: its prompts are ten times as long, and it reads them slowly."""
    write(
        up.folder,
        [
            {"id": "a", "title": "Emicizumab in adults", "abstract": "Pharmacokinetics of emicizumab in 18 adults."},
            {"id": "b", "title": "A factor in mice", "abstract": "Clotting in mice without any drug."},
        ],
    )
    rows = asked(up, "filter", "records.csv", "--criteria", "Is it about humans?", "--reasoning", within=600)
    assert [row["item_id"] for row in rows] == ["a", "b"]
    for row in rows:
        assert row["value"] in {"true", "false"}
        assert 0 <= float(row["confidence"]) <= 1
        assert row["reasoning"]
        assert row["model"] == "SmolLM2-135M-Instruct"
        assert int(row["completion_tokens"]) > 0


def test_the_small_model_refuses_a_prompt_that_is_too_long(up: RunningStack) -> None:
    question = {"messages": [{"role": "user", "content": "word " * 6_000}], "max_tokens": 8}
    request = urllib.request.Request(
        f"{up.stack.llm_base_url}/chat/completions", json.dumps(question).encode(), {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request, timeout=120)


def test_flower_shows_tasks_by_name_and_item_and_nothing_of_their_text(up: RunningStack) -> None:
    tasks: dict[str, Any] = {}

    def the_last_is_shown() -> bool:  # events come to Flower a moment after the ledger has what they tell
        tasks.update(json.loads(flower(up, "/api/tasks")))
        return any(task["name"] == "tamis.aggregate" for task in tasks.values())

    wait_until(the_last_is_shown, within=20, what="Flower shows the aggregate")
    named = [task for task in tasks.values() if task["name"] == "tamis.filter"]
    assert len(named) == 2
    assert {task["args"].split("item=")[1].rstrip("'\"") for task in named} == {"a", "b"}
    assert [task["name"] for task in tasks.values()].count("tamis.aggregate") == 1
    everything = json.dumps(tasks) + flower(up, "/tasks")
    for text in ("Emicizumab", "mice", "Clotting", "pharmacokinetics"):
        assert text not in everything


def test_flower_asks_for_its_password(up: RunningStack) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        flower(up, "/api/tasks", authenticated=False)


@needs_chromium
def test_the_page_that_it_names_shows_the_batch_to_who_has_its_key(up: RunningStack, browser: Browser) -> None:
    key_file = up.folder / ".tamis" / "page.key"
    assert f"\nPage      {up.stack.page_url} (key in {key_file})\n" in up.log.read_text("utf-8")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{up.stack.page_url}#key={key_file.read_text('utf-8')}")
        expect(page.get_by_text(f"Signed in as {getpass.getuser()}")).to_be_visible()
        assert page.url == up.stack.page_url  # without the key
        expect(page.get_by_role("link", name="records.csv")).to_be_visible()
        flower_link = page.get_by_role("link", name="Flower").get_attribute("href")
    assert up.stack.flower_url is not None
    assert flower_link == shown_url(up.stack.flower_url)


def test_a_second_stack_in_the_same_folder_is_refused(up: RunningStack) -> None:
    done = tamis("up", env={}, cwd=up.folder, within=60)
    assert done.code == 2
    assert str(up.process.pid) in done.err


def test_a_killed_worker_of_the_stack_is_replaced(up: RunningStack) -> None:
    def workers() -> list[psutil.Process]:
        found = []
        for child in up.children():
            with suppress(psutil.NoSuchProcess):  # it ended while we looked
                if child.status() != psutil.STATUS_ZOMBIE and "--ready-file" in child.cmdline():
                    found.append(child)
        return found

    (before,) = workers()
    before.kill()
    wait_until(
        lambda: [child.pid for child in workers()] not in ([], [before.pid]), within=30, what="another worker runs"
    )


@pytest.mark.timeout(2000)
@needs_real_records
def test_50_real_records_are_screened_by_the_real_small_model(up: RunningStack) -> None:
    with (DATA / "screening" / "synergy_Donners_2021" / "records.csv").open(encoding="utf-8", newline="") as stream:
        records = [row for row, _ in zip(csv.DictReader(stream), range(50), strict=False)]
    write(up.folder, records)
    rows = screened(up, within=1800)
    assert [row["item_id"] for row in rows] == [record["id"] for record in records]
    assert {row["value"] for row in rows} <= {"include", "exclude", "uncertain"}


def test_sigterm_stops_everything(up: RunningStack) -> None:
    children = up.children()
    assert len(children) >= 5
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(DOWN_WITHIN) == 0
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert StackFile.read(up.folder / ".tamis") is None


# Here, after the stack is gone, so that no two small models share the cores.
@pytest.mark.timeout(2000)
def test_the_small_model_runs_the_demonstration_and_says_what_its_decisions_are_worth(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("d")  # short: Unix sockets lie in it
    done = tamis("demo", "--model", "small", env={"TMPDIR": str(folder)}, cwd=folder, within=1800)
    assert done.code == 0, done.out + done.err
    assert "ignore its decisions" in done.out
    assert "24/24" in done.out
    assert "Flow of records (PRISMA 2020)" in done.out
    assert list(folder.iterdir()) == []
