"""A published review, replayed: from its exports to its PRISMA figure, with the decisions of its own people."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from llm_double import Double
from stage import WorkerProcess, tamis
from stage.shared_data import needs_real_records
from tamis_producer import Client

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the benchmarks lie beside the packages, not among them

from benchmarks.labelled_sets import hearing_review  # noqa: E402
from benchmarks.replay import FORMS, Replayed, replay  # noqa: E402
from benchmarks.replay_searches import third_reader  # noqa: E402

pytestmark = needs_real_records

DOCUMENTED = (ROOT / "docs" / "replay.md").read_text("utf-8")
RECORDED = Path(__file__).with_name("recorded_replay.txt").read_text("utf-8").splitlines()
StartWorker = Callable[..., WorkerProcess]


def words(figure: Path) -> str:
    """What stands in a drawing."""
    return " ".join(" ".join(ElementTree.parse(figure).getroot().itertext()).split())  # noqa: S314 - ours


@pytest.fixture
def replayed(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, double: Double, client: Client
) -> Callable[..., Replayed]:
    """Replays the review in the test's folder."""

    def run(*, short: bool) -> Replayed:
        double.script(answers=third_reader(hearing_review().criteria), remember=False)
        start_worker()

        def run_plan(plan: Path) -> None:
            done = tamis("review", "run", str(plan), env=environment, cwd=tmp_path, within=600)
            assert done.code == 0, done.err

        return replay(client, run_plan, tmp_path, short=short)

    return run


@pytest.mark.night
def test_a_part_of_a_published_review_comes_to_its_figure(replayed: Callable[..., Replayed], tmp_path: Path) -> None:
    found = replayed(short=True)
    assert [one for one in found.lines if not one.agrees] == []
    numbers = {one.what: one.tamis for one in found.lines}
    assert (numbers["included by LB"], numbers["included by LD"], numbers["conflicts"]) == ("17", "17", "6")
    assert (numbers["reports sought"], numbers["reports assessed"], numbers["included"]) == ("19", "18", "7")
    assert [table.left for table in found.tables] == [()] * len(found.tables)
    assert {path.name for path in tmp_path.iterdir()} >= {*FORMS, "table.md"}

    assert found.flow.reports is not None
    assert (found.flow.reports.awaited, found.flow.reports.conflicts) == (1, 0)
    assert all(arrow.adds_up for arrow in found.flow.arrows)
    assert "Reports assessed for eligibility" in words(tmp_path / "figure.svg")
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["flow"]["reports"]["included"] == 7


@pytest.mark.night
def test_the_published_review_comes_to_the_documented_figures(
    replayed: Callable[..., Replayed], tmp_path: Path
) -> None:
    found = replayed(short=False)
    assert [one for one in found.lines if not one.agrees] == []
    rows = [line for line in (tmp_path / "table.md").read_text("utf-8").splitlines() if re.match(r"\| \w", line)]
    assert rows == RECORDED
    different = [f"| {one.what} | {one.published} | {one.tamis} |" for one in found.lines if one.published != one.tamis]
    assert len(different) == 2
    assert "\n".join(different) in DOCUMENTED
    assert f"{len(found.lines)} numbers of the review" in DOCUMENTED
    for table in found.tables[:2]:  # of the two people
        assert f"{table.rows:,} rows" in DOCUMENTED
        assert f"the records of {table.by_title:,} rows" in DOCUMENTED
    assert words(tmp_path / "figure.svg") == words(ROOT / "docs" / "images" / "replay.svg")
