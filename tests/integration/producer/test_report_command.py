"""`tamis report`: which form is written, where to, and what a user is told."""

import json
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from stage import Finished, tamis
from stage.screened import Ledgered, decided, write_batch
from tamis_schemas import InclusionDecision, ItemStatus


@pytest.fixture
def batch(database_url: str) -> str:
    """A batch of two records, one of them decided."""
    decision = InclusionDecision(status="include", confidence=0.9, rationale="because")
    rows = [decided({"id": "a", "title": "A"}, decision), Ledgered({"id": "b", "title": "B"}, ItemStatus.PENDING)]
    engine = create_engine(database_url)
    with engine.begin() as connection:
        batch_id = write_batch(connection, rows, state="running")
    engine.dispose()
    return str(batch_id)


def report(environment: dict[str, str], folder: Path, *arguments: str) -> Finished:
    return tamis("report", *arguments, env=environment, cwd=folder)


def test_without_a_name_the_page_is_named_after_the_batch(
    environment: dict[str, str], tmp_path: Path, batch: str
) -> None:
    done = report(environment, tmp_path, batch[:10])
    assert done.code == 0, done.err
    path = tmp_path / f"report-{batch[:8]}.html"
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert f"report of batch {batch} (not finished: numbers will change) written to {path.name}" in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("flow.svg", '<?xml version="1.0"'),
        ("REPORT.MD", "# citations.ris"),
        ("figures.json", "{"),
        ("page.htm", "<!doctype"),
        ("report", "<!doctype"),
    ],
)
def test_the_form_follows_the_name(
    environment: dict[str, str], tmp_path: Path, batch: str, name: str, begins: str
) -> None:
    assert report(environment, tmp_path, batch, "-o", name).code == 0
    assert (tmp_path / name).read_text("utf-8").startswith(begins)


def test_the_figure_alone_is_a_picture_too(environment: dict[str, str], tmp_path: Path, batch: str) -> None:
    assert report(environment, tmp_path, batch, "-o", "prisma.png").code == 0
    assert (tmp_path / "prisma.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_form_that_is_asked_for_wins_and_goes_to_the_terminal(
    environment: dict[str, str], tmp_path: Path, batch: str
) -> None:
    done = report(environment, tmp_path, batch, "--format", "json")
    assert json.loads(done.out)["flow"]["identified"] == [{"name": "citations.ris", "n": 2}]
    assert report(environment, tmp_path, batch, "--format", "svg").out.startswith("<?xml")
    assert report(environment, tmp_path, batch, "--format", "md", "-o", "flow.txt").code == 0
    assert "| Identification |" in (tmp_path / "flow.txt").read_text("utf-8")
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["BATCH", "-o", "report.pdf"], "report.pdf: reports end in .htm, .html, .json, .markdown, .md, .png, .svg"),
        (["00000000"], "no batch or review '00000000'"),
        (["BATCH", "-o", "missing/report.html"], "missing/report.html: cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_nothing_is_written(
    environment: dict[str, str], tmp_path: Path, batch: str, arguments: list[str], said: str
) -> None:
    before = set(tmp_path.iterdir())
    done = report(environment, tmp_path, *(batch if word == "BATCH" else word for word in arguments))
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


def test_numbers_that_do_not_add_up_leave_the_last_report_as_it_was(
    environment: dict[str, str], tmp_path: Path, batch: str, database_url: str
) -> None:
    (tmp_path / "report.html").write_text("the last one", "utf-8")
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE batches SET n_items = 3"))
    engine.dispose()
    done = report(environment, tmp_path, batch, "-o", "report.html")
    assert done.code == 2
    assert "do not add up: inclusion: 3 records arrive" in done.err
    assert (tmp_path / "report.html").read_text("utf-8") == "the last one"
