"""A whole database search, duplicates included, through screening to a flow whose numbers add up at each arrow."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_double import Double, Fault, Kind, Quotes
from stage import WorkerProcess, tamis
from stage.shared_data import DATA, needs_real_records

PTSD = DATA / "screening" / "ptsd_van_de_schoot_2017" / "records.csv"
CRITERIA = """\
research_question: Which trajectories of posttraumatic stress symptoms do longitudinal studies find?
inclusion_criteria:
  - Longitudinal studies with at least three measurement waves measuring PTSD
  - PTSD measured on a continuous scale via an interview or questionnaire
  - A clustering method is used
"""


@pytest.mark.night
@needs_real_records
@pytest.mark.parametrize(
    ("records", "duplicates"),
    [pytest.param(400, 10, id="short"), pytest.param(6189, 300, id="all", marks=pytest.mark.night)],
)
def test_the_flow_of_a_whole_search_adds_up_at_each_arrow(
    records: int,
    duplicates: int,
    tmp_path: Path,
    environment: dict[str, str],
    start_worker: Callable[..., WorkerProcess],
    double: Double,
) -> None:
    double.script(remember=False, quotes=Quotes.VERBATIM, faults=[Fault(Kind.REFUSAL, probability=0.02, seed=7)])
    for _ in range(2):
        start_worker(shard_size="500")
    (tmp_path / "criteria.yaml").write_text(CRITERIA, "utf-8")
    with PTSD.open(encoding="utf-8", newline="") as stream:
        names, *rows = csv.reader(stream)
    with (tmp_path / "records.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([names, *rows[:records]])
    done = tamis("screen", "records.csv", "--criteria", "criteria.yaml", env=environment, cwd=tmp_path, within=280)
    assert done.code == 1, done.out + done.err  # some refusals: they are failures, and no decisions
    batch = done.out.split("batch ")[1].split(":")[0]
    flow = json.loads(tamis("report", batch, "--format", "json", env=environment, cwd=tmp_path).out)["flow"]

    assert records == sum(source["n"] for source in flow["identified"])
    removed = flow["duplicates"] + sum(rule["n"] for rule in flow["ineligible"]) + flow["removed_otherwise"]
    assert flow["duplicates"] > duplicates
    (screened,) = flow["stages"]
    assert screened["entered"] == records - removed == double.count()

    with_decisions = tamis("export", batch, "-o", "back.csv", env=environment, cwd=tmp_path)
    assert with_decisions.code == 0, with_decisions.err
    with (tmp_path / "back.csv").open(encoding="utf-8", newline="") as stream:
        told = list(csv.DictReader(stream))
    decisions = [row["tamis_decision"] for row in told]
    reasons = [row["tamis_exclusion_reason"] for row in told if row["tamis_decision"] == "exclude"]
    assert len(told) == records
    assert decisions.count("duplicate") == flow["duplicates"]
    assert decisions.count("include") == screened["passed"]
    assert decisions.count("exclude") == sum(one["n"] for one in screened["excluded"]) + sum(
        rule["n"] for rule in flow["ineligible"]
    )
    assert all(reasons)
    parts = screened["passed"] + sum(one["n"] for one in screened["excluded"]) + screened["uncertain"]
    assert screened["entered"] == parts + sum(one["n"] for one in screened["failed"])
    assert decisions.count("uncertain") == screened["uncertain"]
    assert decisions.count("not decided") == sum(one["n"] for one in screened["failed"]) > records / 300
