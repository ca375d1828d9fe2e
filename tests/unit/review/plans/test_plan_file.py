"""A plan as a reviewer writes it: what it comes to, and how a mistake is named."""

from pathlib import Path

import pytest

from tamis_review.intake.stated_source import StatedSource
from tamis_review.plans.plan_file import EXAMPLE, read_plan
from tamis_schemas import ExtractFields, Inclusion, InputError, Judge, Score, Steering, Tier

CRITERIA = "research_question: Does it help?\ninclusion_criteria: [adults]\n"
WHOLE = """\
title: Exercise at home
records: export.ris
criteria: criteria.yaml
keep_duplicates: true
stages:
  - initial_filter
  - inclusion:
      model: m-1
      passes: [include, uncertain]
      unclear: refer
  - score: {criteria: 'How good?', at_least: 0.5}
  - extract_fields:
      schema: fields.yaml
      instructions: Extract the numbers.
  - judge:
      guidelines_file: guidelines.txt
      noun: Abstract
"""


STEERED = """\
records: export.ris
steering:
  tier: flex
  reasoning_effort: low
  extra_headers: {X-Team: reviews}
stages:
  - filter: {criteria: 'Is it?'}
  - score:
      criteria: How good?
      steering: {tier: standard, extra_headers: {x-run: '7'}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "criteria.yaml").write_text(CRITERIA, "utf-8")
    (tmp_path / "fields.yaml").write_text("type: object\nproperties: {n: {type: integer}}\n", "utf-8")
    (tmp_path / "guidelines.txt").write_text("Only what it says.", "utf-8")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_plan_is_read_with_the_files_that_it_names(folder: Path) -> None:
    planned = read_plan(written(folder, WHOLE))
    assert planned.title == "Exercise at home"
    assert planned.sources == (StatedSource(files=(folder / "export.ris",)),)
    assert (planned.initial_filter, planned.keep_duplicates) == (True, True)
    inclusion, score, fields, judge = planned.plan.stages
    assert isinstance(inclusion.operation, Inclusion)
    assert inclusion.operation.criteria == planned.criteria
    assert (inclusion.model, inclusion.passes, inclusion.operation.unclear) == (
        "m-1",
        ("include", "uncertain"),
        "refer",
    )
    assert isinstance(score.operation, Score)
    assert score.at_least == 0.5
    assert isinstance(fields.operation, ExtractFields)
    assert isinstance(judge.operation, Judge)
    assert (judge.operation.guidelines, judge.operation.noun) == ("Only what it says.", "Abstract")


def test_an_inclusion_may_name_the_batch_that_its_examples_come_from(folder: Path) -> None:
    text = "records: a.csv\ncriteria: criteria.yaml\nstages:\n  - inclusion: {examples_from: 7c01}\n"
    planned = read_plan(written(folder, text))
    (stage,) = planned.plan.stages
    assert stage.operation == Inclusion(criteria=planned.criteria, examples_from="7c01")


def test_criteria_and_schema_may_stand_in_the_plan_itself(folder: Path) -> None:
    text = (
        "records: a.csv\ncriteria:\n  research_question: Does it?\n  exclusion_criteria: [animals]\n"
        "stages:\n  - inclusion\n  - extract_fields:\n      schema: {type: object, properties: {n: {type: integer}}}\n"
        "      instructions: Extract.\n"
    )
    planned = read_plan(written(folder, text))
    assert planned.criteria is not None
    assert planned.criteria.exclusion_criteria == ["animals"]
    assert planned.title == "a.csv"
    assert not planned.initial_filter
    assert not planned.keep_duplicates


def test_the_example_of_the_messages_is_a_plan(folder: Path) -> None:
    assert [stage.name for stage in read_plan(written(folder, EXAMPLE)).plan.stages] == ["inclusion"]


BEGINNING = "records: a.csv\ncriteria: criteria.yaml\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "plan.yaml: the file is empty"),
        ("- inclusion\n", "plan.yaml:1: this is a list, but a plan must have named fields"),
        ("criteria: criteria.yaml\nstages: [inclusion]\n", "plan.yaml:1: 'records' is missing"),
        (BEGINNING + "stage: [inclusion]\n", "plan.yaml:3: field 'stage': unknown field; did you mean 'stages'?"),
        (BEGINNING, "must be a list: one stage per line"),
        (
            BEGINNING + "stages:\n  - inclusions\n",
            "plan.yaml:4: field 'stages[1]': 'inclusions' is not a stage; the stages",
        ),
        (BEGINNING + "stages:\n  - incluson:\n      unclear: refer\n", "did you mean 'inclusion'?"),
        (
            BEGINNING + "stages:\n  - inclusion:\n      passed: [include]\n",
            "plan.yaml:5: field 'stages[1].inclusion.passed'",
        ),
        (
            BEGINNING + "stages:\n  - inclusion: yes\n",
            "plan.yaml:4: field 'stages[1].inclusion': needs its fields on the lines below it",
        ),
        (BEGINNING + "stages:\n  - inclusion:\n    score:\n", "has several stages: begin each"),
        (BEGINNING + "stages:\n  - 7\n", "plan.yaml:4: field 'stages[1]': is not a stage"),
        (
            BEGINNING + "stages:\n  - inclusion:\n      unclear: maybe\n",
            "plan.yaml:5: field 'stages[1].inclusion.unclear'",
        ),
        (BEGINNING + "stages: [inclusion, initial_filter]\n", "field 'stages[2]': must be the first stage"),
        (BEGINNING + "stages:\n  - initial_filter: {strict: true}\n", "cannot have fields"),
        (BEGINNING + "stages: [judge]\n", "'guidelines' is missing"),
        (BEGINNING + "stages: [{judge: {guidelines: g}}]\n", "a judge needs an earlier stage"),
        ("records: a.csv\nstages: [inclusion]\n", "needs the review's criteria"),
        ("records: a.csv\nstages: [initial_filter, {filter: {criteria: x}}]\n", "needs the review's criteria"),
        (BEGINNING + "stages: [initial_filter]\n", "field 'stages': "),
        ("records: a.csv\ncriteria: none.yaml\nstages: [inclusion]\n", "none.yaml: there is no such file"),
        ("records: a.csv\ncriteria: {research_question: x}\nstages: [inclusion]\n", "must name at least one criterion"),
        (
            BEGINNING + "keep_duplicates: 1\nstages: [inclusion]\n",
            "plan.yaml:3: field 'keep_duplicates': must be true or false",
        ),
        (BEGINNING + "stages:\n  - inclusion:\n      criteria: {}\n", "move `criteria` to the top of the plan"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_field(folder: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_plan(written(folder, text))
    assert said in str(raised.value)


def test_every_operation_that_needs_a_record_may_be_a_stage(folder: Path) -> None:
    with pytest.raises(InputError) as raised:
        read_plan(written(folder, BEGINNING + "stages: [answer]\n"))
    known = "initial_filter, inclusion, filter, score, extract, extract_fields, judge"
    assert str(raised.value).endswith(f"'answer' is not a stage; the stages are {known}")


def test_a_stage_is_steered_as_the_whole_plan_unless_it_says_otherwise(folder: Path) -> None:
    first, second = read_plan(written(folder, STEERED)).plan.stages
    whole = Steering(tier=Tier.FLEX, reasoning_effort="low", extra_headers={"X-Team": "reviews"})
    assert first.steering == whole
    assert second.steering == Steering(
        tier=Tier.STANDARD, reasoning_effort="low", extra_headers={"X-Team": "reviews", "x-run": "7"}
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("steering: flex", r"plan.yaml:2: field 'steering': needs its fields on the lines below it"),
        ("steering: {teir: flex}", "teir"),
        ("steering: {tier: cheap}", "standard"),
        ("steering: {extra_body: {model: x}}", "set the batch's model"),
        ("steering: {extra_headers: {Authorization: x}}", "TAMIS_LLM_API_KEY"),
    ],
)
def test_a_wrong_steering_is_named_with_its_place(folder: Path, given: str, complaint: str) -> None:
    plan = f"records: export.ris\n{given}\nstages:\n  - filter: {{criteria: 'Is it?'}}\n"
    with pytest.raises(InputError, match=complaint) as wrong:
        read_plan(written(folder, plan))
    assert "plan.yaml" in str(wrong.value)


def test_a_stage_asks_a_panel_and_what_makes_none_is_named_with_its_line(folder: Path) -> None:
    stage = "- inclusion:\n      panel: {models: [a, b, c], policy: any}"
    text = f"records: export.ris\ncriteria: criteria.yaml\nstages:\n  {stage}\n"
    (planned,) = read_plan(written(folder, text)).plan.stages
    assert planned.asked_of == "a, b, c"
    assert isinstance(planned.operation, Inclusion)
    assert planned.operation.panel is not None
    assert planned.operation.panel.policy == "any"
    for wrong, complaint in (("[a, a]", "'a' is named twice"), ("[a]", "a panel needs several models")):
        with pytest.raises(InputError, match=rf"plan\.yaml:5: .*{complaint}"):
            read_plan(written(folder, text.replace("[a, b, c]", wrong)))
    with pytest.raises(InputError, match="the stage has a panel"):
        read_plan(written(folder, text.replace("panel:", "model: d\n      panel:")))
