"""`docs/how-to/add-an-operation.md`, followed to the letter in a copy of the source, whose worker and client run."""

import json
from pathlib import Path

import pytest

from llm_double import Double, Scripted
from stage import WorkerProcess
from stage.followed_page import FollowedPage

MOST_FILES = 4


@pytest.mark.night
@pytest.mark.built_from(
    "docs/how-to/add-an-operation.md", "schemas/tamis_schemas/operations", "worker/tamis_worker/operations"
)
def test_an_operation_is_added_in_four_files_and_then_submitted_asked_counted_and_overruled(
    tmp_path: Path, double: Double, environment: dict[str, str]
) -> None:
    page = FollowedPage("add-an-operation.md", tmp_path)
    assert len(page.files) <= MOST_FILES
    double.script(
        answers=[
            Scripted("Walking", {"value": "keep", "confidence": 0.9}),
            Scripted("wheat", {"value": "drop", "confidence": 0.8}),
            Scripted("Stairs", {"value": "uncertain", "confidence": 0.4}),
        ]
    )
    env = environment | {"PYTHONPATH": page.path}
    worker = WorkerProcess(tmp_path, "worker", env)
    try:
        page.script.write_text(page.script.read_text() + AFTER)
        *told, after = page.run(env)
        assert told == ["1 keep", "2 drop", "3 uncertain", "1 of 3 passed"]
        assert any("## Topic\nexercise after surgery" in call.prompt for call in double.calls())
        assert json.loads(after) == {
            "values": {"drop": 1, "keep": 1, "uncertain": 1},
            "outcomes": {"passed": 1, "excluded": 1, "uncertain": 1},
            "final": {"passed": 2, "excluded": 1},
            "reasons": ["not worth reading for the topic"],
            "goes_on": ["1", "3"],
            "stands": ["include", "exclude", "referred"],
            "audited": ["2"],
            "file": str(page.source / "schemas/tamis_schemas/operations/triage.py"),
        }
    finally:
        worker.kill()


# What works without further code, as the page says: a summary's values, a report's counts, an override, a stage.
AFTER = """
import json
from pathlib import Path
from tamis_review import draw_audit
from tamis_review.plans.plan_file import read_plan
from tamis_review.quality.judged import judged
from tamis_review.report.reading import read_figures, snapshot
from tamis_review.report.reading import find_subject
from tamis_schemas.operations import triage

Path("plan.yaml").write_text("records: a.ris\\nstages:\\n  - triage: {topic: any}\\n")
(stage,) = read_plan("plan.yaml").plan.stages
with Client() as client:
    batch = client.batch(batch.id)
    with snapshot(client.engine) as connection:
        figures = read_figures(connection, find_subject(connection, batch.id)).batches[0]
    print(json.dumps({
        "values": batch.summary().values,
        "outcomes": figures.outcomes,
        "final": figures.final_outcomes,
        "reasons": [one.name for one in figures.reasons],
        "goes_on": [row.item_id for row in batch.results() if stage.lets_pass(row)],
        "stands": [judged(row).stand for row in batch.results()],
        "audited": [item.item_id for item in draw_audit(batch, 5, seed=1).items],
        "file": triage.__file__,
    }))
"""
