"""`tamis criteria`: a file to begin with, and what is understood of one."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tamis_cli.commands.criteria import criteria_app
from tamis_producer.runs.dry_run import Beginning, Planned, Rehearsal
from tamis_review.plans.criteria_file import TEMPLATE, read_criteria
from tamis_schemas import Inclusion, InputError, Operation, SearchCriteria


def run(*arguments: str) -> Result:
    return CliRunner().invoke(criteria_app, arguments)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.spec("3.23")
def test_init_writes_criteria_that_are_valid_as_they_stand(folder: Path) -> None:
    done = run("init")
    assert done.exit_code == 0
    assert "tamis criteria check criteria.yaml" in done.stdout
    criteria = read_criteria(folder / "criteria.yaml")
    assert len(criteria.labelled()) == 5
    assert run("check", "criteria.yaml").exit_code == 0


@pytest.mark.spec("3.23")
def test_the_template_explains_every_field_and_is_valid_with_all_of_them(folder: Path) -> None:
    (folder / "all.yaml").write_text(re.sub(r"^#(?! \S)", "", TEMPLATE, flags=re.MULTILINE), "utf-8")
    criteria = read_criteria(folder / "all.yaml")
    assert criteria.model_fields_set == set(SearchCriteria.model_fields)
    lines = TEMPLATE.splitlines()
    for name in SearchCriteria.model_fields:
        (at,) = (at for at, line in enumerate(lines) if line.removeprefix("#").startswith(f"{name}:"))
        assert lines[at - 1].startswith("# "), name
    assert "doubtful" not in run("check", "all.yaml").stdout


def test_init_writes_under_the_name_given_or_to_standard_output(folder: Path) -> None:
    assert run("init", "mine.yaml").exit_code == 0
    assert (folder / "mine.yaml").read_text("utf-8") == TEMPLATE
    assert run("init", "-").stdout == TEMPLATE
    assert [path.name for path in folder.iterdir()] == ["mine.yaml"]


def test_init_leaves_a_file_that_is_there_as_it_is(folder: Path) -> None:
    path = folder / "criteria.yaml"
    path.write_text("mine", "utf-8")
    done = run("init")
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == "criteria.yaml: the file already exists, and was not changed"
    assert path.read_text("utf-8") == "mine"


def test_init_into_a_folder_that_is_not_there_says_so() -> None:
    done = run("init", "absent/criteria.yaml")
    assert isinstance(done.exception, InputError)
    assert "cannot be written: No such file or directory" in str(done.exception)


@pytest.mark.spec("3.23")
def test_check_shows_every_criterion_under_its_label(folder: Path) -> None:
    criteria = {
        "research_question": "Does it [really] work?",
        "purpose": "A review",
        "inclusion_criteria": ["adults [over 18]", "randomised trials"],
        "exclusion_criteria": ["simulations"],
        "date_range": [2010, 2020],
        "study_types": ["RCT", "cohort"],
        "exclude_as": {"E1": "Nobody took part"},
        "custom_keywords": ["finite element"],
    }
    (folder / "criteria.json").write_text(json.dumps(criteria), "utf-8")
    shown = run("check", "criteria.json").stdout
    assert [line.strip() for line in shown.splitlines() if not line.startswith(("initial filter", "shared"))] == [
        "Does it [really] work?",
        "purpose  A review",
        "years  2010 to 2020",
        "keywords that exclude  finite element",
        "included if all are met",
        "I1  adults [over 18]",
        "I2  randomised trials",
        "S1  Study type: RCT or cohort",
        "excluded if one is met",
        "E1  simulations (exclusion reason: Nobody took part)",
        "criteria.json is valid: 4 criteria.",
    ]
    labelled = json.loads(run("check", "criteria.json", "--json").stdout)["labelled"]
    assert [one["reason"] for one in labelled] == [
        "not met: adults [over 18]",
        "not met: randomised trials",
        "not met: Study type: RCT or cohort",
        "Nobody took part",
    ]


def test_check_names_doubts_and_is_content_all_the_same(folder: Path) -> None:
    text = "research_question: q\ninclusion_criteria: [adults, Adults]\nexclusion_criteria: [the adults]\n"
    (folder / "criteria.yaml").write_text(text, "utf-8")
    done = run("check", "criteria.yaml")
    assert done.exit_code == 0
    assert done.stdout.count("doubtful: ") == 3
    assert "3 criteria, 3 doubts." in done.stdout


def test_check_says_which_rules_of_the_initial_filter_the_criteria_switch_off(folder: Path) -> None:
    (folder / "criteria.yaml").write_text("research_question: q\ninclusion_criteria: [studies in mice]\n", "utf-8")
    assert "initial filter, without the rule animal" in run("check", "criteria.yaml").stdout


def test_check_names_the_line_of_a_mistake(folder: Path) -> None:
    (folder / "criteria.yaml").write_text("research_question: q\ninclusion_critera: [a]\n", "utf-8")
    done = run("check", "criteria.yaml")
    assert isinstance(done.exception, InputError)
    assert (done.exception.line, done.exception.field) == (2, "inclusion_critera")


EXAMPLES = """\
research_question: q
inclusion_criteria: [adults]
examples:
  - title: A [real] trial
    decision: include
  - title: In rats
    abstract: Twenty rats.
    decision: exclude
    reason: adults
"""


def test_check_shows_the_examples(folder: Path) -> None:
    (folder / "criteria.yaml").write_text(EXAMPLES, "utf-8")
    shown = [line.strip() for line in run("check", "criteria.yaml").stdout.splitlines()]
    assert shown[shown.index("examples") + 1 : -2] == ["include  A [real] trial", "exclude  In rats (adults)"]


def test_examples_of_one_decision_only_are_doubtful(folder: Path) -> None:
    (folder / "criteria.yaml").write_text(EXAMPLES.replace("decision: exclude", "decision: include"), "utf-8")
    assert "doubtful: examples: all are included" in run("check", "criteria.yaml").stdout
    (folder / "criteria.yaml").write_text(EXAMPLES, "utf-8")
    assert "doubtful" not in run("check", "criteria.yaml").stdout


def _never(_: Planned) -> Rehearsal:
    raise AssertionError("nothing is rehearsed")


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (
            1023,
            "about 1,023 tokens of each prompt are the same for all records, 1 fewer than the 1,024 that most "
            "endpoints need to cache them",
        ),
        (
            1024,
            "about 1,024 tokens of each prompt are the same for all records, enough for endpoints that cache 1,024 or "
            "more",
        ),
    ],
)
def test_check_says_whether_endpoints_would_keep_what_prompts_have_in_common(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tokens: int, told: str
) -> None:
    asked: list[Operation] = []

    def counted(operation: Operation) -> Beginning:
        asked.append(operation)
        return Beginning(tokens, 1024)

    monkeypatch.setattr("tamis_cli.commands.criteria.beginning_of_all", counted)
    (folder / "criteria.yaml").write_text(EXAMPLES, "utf-8")
    assert f"shared  {told}" in run("check", "criteria.yaml").stdout
    assert asked == [Inclusion(criteria=read_criteria(folder / "criteria.yaml"))]
    assert json.loads(run("check", "criteria.yaml", "--json").stdout)["beginning"] == {
        "tokens": tokens,
        "minimum": 1024,
    }


@pytest.mark.parametrize(
    ("text", "instead", "told", "line"),
    [
        ("decision: exclude", "decision: maybe", "must be include or exclude", 8),
        ("reason: adults", "because: adults", "unknown field; an example has title, abstract,", 9),
        ("    decision: exclude\n", "", "is missing", 6),
    ],
)
def test_a_mistake_in_an_example_is_named_with_its_line(
    folder: Path, text: str, instead: str, told: str, line: int
) -> None:
    (folder / "criteria.yaml").write_text(EXAMPLES.replace(text, instead), "utf-8")
    done = run("check", "criteria.yaml")
    assert isinstance(done.exception, InputError)
    assert told in str(done.exception)
    assert done.exception.line == line
