"""Examples out of an earlier batch's human decisions: chosen when something is submitted, and kept from then on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from stage import Finished, abstracts
from stage.screened import CRITERIA, SCREENING, decided, written_batch
from tamis_producer import Batch, Client
from tamis_review import find_review, override, submit_review
from tamis_schemas import (
    Filter,
    IdempotencyConflict,
    Inclusion,
    InclusionDecision,
    InvalidParameters,
    Operation,
    ReviewPlan,
    UnknownBatch,
)
from tamis_schemas.batches.review_plan import ReviewStage

Run = Callable[..., Finished]

ITEMS = abstracts(2)


def titles(operation: Operation) -> set[str]:
    assert isinstance(operation, Inclusion)
    return {example.title for example in operation.criteria.examples}


@pytest.fixture
def earlier(client: Client) -> Batch:
    """Six records with a model's decision; people included the first and excluded the second."""
    said = InclusionDecision(status="include", confidence=0.8, rationale="because")
    rows = [decided({"id": f"r{n}", "title": f"Title {n}", "abstract": f"Abstract {n}"}, said) for n in range(6)]
    batch = written_batch(client, rows)
    override(batch, 0, "include", reviewer="ann")
    override(batch, 1, "exclude", reviewer="ann", note="no trial")
    return batch


def decide_more(batch: Batch) -> None:
    override(batch, 2, "include", reviewer="bob")
    override(batch, 3, "exclude", reviewer="bob")


def asking(batch: Batch) -> Inclusion:
    return Inclusion(criteria=CRITERIA, examples_from=batch.id[:8])


def test_a_submitted_batch_holds_the_decisions_as_they_were_and_says_whose(client: Client, earlier: Batch) -> None:
    batch = client.submit(asking(earlier), ITEMS)
    before = batch.operation()
    decide_more(earlier)
    assert titles(before) == {"Title 0", "Title 1"}
    assert batch.operation() == before
    assert isinstance(before, Inclusion)
    assert before.examples_from == earlier.id
    assert {one.reason for one in before.criteria.examples} == {None, "no trial"}


def test_submitted_anew_it_has_what_was_decided_since_and_under_the_same_key_it_is_the_first_one(
    client: Client, earlier: Batch
) -> None:
    first = client.submit(asking(earlier), ITEMS, idempotency_key="k")
    decide_more(earlier)
    assert titles(client.submit(asking(earlier), ITEMS).operation()) == {f"Title {n}" for n in range(4)}
    assert client.submit(asking(earlier), ITEMS, idempotency_key="k").id == first.id
    with pytest.raises(IdempotencyConflict):
        client.submit(SCREENING, ITEMS, idempotency_key="k")


def test_a_review_goes_on_with_the_examples_that_it_began_with(client: Client, earlier: Batch) -> None:
    later = Inclusion(criteria=CRITERIA, examples_from=earlier.id)
    plan = ReviewPlan(stages=(ReviewStage(operation=Filter(criteria="Is it?")), ReviewStage(operation=later)))
    first = submit_review(client, plan, ITEMS, label="a review")
    decide_more(earlier)
    assert submit_review(client, plan, ITEMS, label="a review").id == first.id


@pytest.mark.parametrize("other", [Filter(criteria="Is it?"), SCREENING])
def test_a_batch_that_has_no_examples_for_this_review_is_refused(client: Client, other: Operation) -> None:
    batch_id = written_batch(client, [], operation=other).id
    with pytest.raises(InvalidParameters, match="examples_from"):
        client.submit(Inclusion(criteria=CRITERIA, examples_from=batch_id), ITEMS)
    with pytest.raises(UnknownBatch):
        client.submit(Inclusion(criteria=CRITERIA, examples_from="ffffffff"), ITEMS)


def test_the_command_line_shows_them_and_submits_with_them(
    run: Run, client: Client, earlier: Batch, tmp_path: Path
) -> None:
    (tmp_path / "records.jsonl").write_text("\n".join(json.dumps(item) for item in ITEMS), "utf-8")
    (tmp_path / "criteria.json").write_text(CRITERIA.model_dump_json(), "utf-8")
    command = ("screen", "records.jsonl", "--criteria", "criteria.json", "--examples-from", earlier.id[:8])
    rehearsed = run(*command, "--dry-run", "--json", TAMIS_MODEL="m")
    assert rehearsed.code == 0, rehearsed.err
    found = json.loads(rehearsed.out)
    system, _ = found["samples"][0]["messages"]
    assert "title: Title 1\nabstract: Abstract 1\ndecision: exclude\nreason: no trial" in system["content"]
    assert found["beginning"]["tokens"] > len(system["content"]) // 4
    submitted = run(*command, "--detach")
    assert submitted.code == 0, submitted.err
    assert titles(client.batch(submitted.out.strip()).operation()) == {"Title 0", "Title 1"}


def test_a_plan_may_name_the_batch_and_its_dry_run_shows_the_examples(
    run: Run, client: Client, earlier: Batch, tmp_path: Path
) -> None:
    (tmp_path / "records.jsonl").write_text("\n".join(json.dumps(item) for item in ITEMS), "utf-8")
    (tmp_path / "criteria.json").write_text(CRITERIA.model_dump_json(), "utf-8")
    stage = f"  - inclusion: {{examples_from: {earlier.id}}}\n"
    (tmp_path / "plan.yaml").write_text(f"records: records.jsonl\ncriteria: criteria.json\nstages:\n{stage}", "utf-8")
    rehearsed = run("review", "run", "plan.yaml", "--dry-run", "--json", TAMIS_MODEL="m")
    assert rehearsed.code == 0, rehearsed.err
    (told,) = json.loads(rehearsed.out)["stages"]
    assert "decision: exclude\nreason: no trial" in told["rehearsal"]["samples"][0]["messages"][0]["content"]
    submitted = run("review", "run", "plan.yaml", "--detach")
    assert submitted.code == 0, submitted.err
    (first,) = find_review(client, submitted.out.strip()).stages()
    assert titles(first.operation()) == {"Title 0", "Title 1"}
