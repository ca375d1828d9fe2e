"""Criteria written by hand: a mistake is named with its line and what was probably meant."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.plans.criteria_file import EXAMPLE, read_criteria
from tamis_schemas import InputError, SearchCriteria

BEGUN = "research_question: Does it help?\ninclusion_criteria:\n- trials\n"
TEXT = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1).filter(str.strip)
CRITERIA = st.builds(
    SearchCriteria,
    research_question=TEXT,
    purpose=st.none() | TEXT,
    inclusion_criteria=st.lists(TEXT, min_size=1, max_size=3),
    exclusion_criteria=st.lists(TEXT, max_size=3),
    date_range=st.none() | st.tuples(st.integers(1900, 1999), st.integers(2000, 2030)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("criteria")


def _read(folder: Path, text: str) -> SearchCriteria:
    path = folder / "criteria.yaml"
    path.write_bytes(text.encode())
    return read_criteria(path)


@given(CRITERIA)
def test_yaml_and_json_give_the_criteria_back(folder: Path, criteria: SearchCriteria) -> None:
    values = criteria.model_dump(mode="json")
    assert _read(folder, json.dumps(values, indent=1)) == criteria
    assert _read(folder, json.dumps(values, ensure_ascii=False)) == criteria
    assert _read(folder, yaml.safe_dump(values, allow_unicode=True)) == criteria


def test_an_entry_may_bring_the_words_under_which_it_excludes(folder: Path) -> None:
    text = (
        BEGUN
        + "- criterion: adults\n  exclude_as: Wrong population\nstudy_types: [RCT]\nexclude_as: {S1: Wrong type}\n"
    )
    read = _read(folder, text)
    assert read.inclusion_criteria == ["trials", "adults"]
    assert [one.reason for one in read.labelled()] == ["not met: trials", "Wrong population", "Wrong type"]


def test_the_example_in_the_messages_is_right(folder: Path) -> None:
    assert len(_read(folder, EXAMPLE).inclusion_criteria) == 2
    assert len(EXAMPLE.splitlines()) == 3


@pytest.mark.spec("3.23")
@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        (BEGUN + "exclusion_critera: [a]\n", 4, "exclusion_critera", "did you mean 'exclusion_criteria'"),
        (BEGUN + "Study Types: [a]\n", 4, "Study Types", "did you mean 'study_types'"),
        (BEGUN + "colour: red\n", 4, "colour", "the fields are research_question, purpose"),
        (BEGUN + "purpose: a\npurpose: b\n", 5, "purpose", "occurs twice; the first is in line 4"),
        (BEGUN + "- age: over 18\n", 4, "inclusion_criteria[2]", 'in quotes: "age: over 18"'),
        (BEGUN + "- no\n", 4, "inclusion_criteria[2]", "YAML reads it as 'False'"),
        (BEGUN + "- 2020\n", 4, "inclusion_criteria[2]", "put it in quotes"),
        (BEGUN + "- ''\n", 4, "inclusion_criteria[2]", "is empty"),
        (BEGUN + "-\n", 4, "inclusion_criteria[2]", "is empty"),
        (BEGUN + "- [a, b]\n", 4, "inclusion_criteria[2]", "not a list or fields"),
        (
            BEGUN + "- criterion: a\n  exclude_ass: b\n",
            5,
            "inclusion_criteria[2].exclude_ass",
            "did you mean 'exclude_as'",
        ),
        (
            BEGUN + "- criterion: a\n  exclude_as:\n  because: b\n",
            6,
            "inclusion_criteria[2].because",
            "criterion, exclude_as",
        ),
        (BEGUN + "- criterion: a\n  exclude_as: ' '\n", 5, "inclusion_criteria[2].exclude_as", "is empty"),
        (BEGUN + "- criterion:\n", 4, "inclusion_criteria[2].criterion", "is empty"),
        (BEGUN + "- criterion: 2020\n", 4, "inclusion_criteria[2].criterion", "put it in quotes"),
        (BEGUN + "- exclude_as: a\n", 4, "inclusion_criteria[2]", "has no criterion"),
        (BEGUN + "- crit: a\n  exclude_as: b\n", 4, "inclusion_criteria[2].crit", "did you mean 'criterion'"),
        (BEGUN + "exclude_as: {I2: a}\n", 4, "exclude_as", "names 'I2', but the criteria are I1"),
        (BEGUN + "exclude_as: [a]\n", 4, "exclude_as", "a wording for each label"),
        (BEGUN + "exclude_as: {I1: ''}\n", 4, "exclude_as.I1", "is empty"),
        (BEGUN + "- a: b: c\n", 4, None, "put a text with a colon in quotes"),
        (BEGUN + "study_types: trials\n", 4, "study_types", "must be a list"),
        (BEGUN + "study_types:\n", 4, "study_types", "remove it"),
        (BEGUN + "date_range: 2010-2020\n", 4, "date_range", r"two years: \[2010"),
        (BEGUN + "date_range: [2010]\n", 4, "date_range[2]", r"two years: \[2010"),
        (BEGUN + "date_range: [a, 2020]\n", 4, "date_range[1]", "must be a year"),
        (BEGUN + "date_range: [2020, 2010]\n", 4, "date_range", "begins after it ends"),
        (BEGUN + "purpose: 2024-13-45\n", None, None, "month"),
        ("research_question: q\n", 1, None, "at least one criterion"),
        ("inclusion_criteria: [a]\n", 1, "research_question", "is missing"),
        (BEGUN + '- "a\n', 5, None, "not YAML: .*quoted scalar"),
        (BEGUN + "\t- a\n", 4, None, "not YAML"),
        (BEGUN + "---\nx: y\n", 4, None, "another document"),
        (BEGUN + "? [a]\n: b\n", 4, "?", "unknown field"),
        (BEGUN + "purpose: !!python/object/apply:os.getcwd []\n", 4, None, "not YAML"),
        ("research_question: &q why\npurpose: *q\n", 2, None, "put a text that begins with .* in quotes"),
        (
            "Adults with depression.\nNo reviews.\n",
            1,
            None,
            "plain text, but criteria must have named fields, for example:\n",
        ),
        (BEGUN + '- "\\ud800"\n', 4, None, "an incomplete character"),
        ("- adults\n- trials\n", 1, None, "a list, but criteria must have named fields"),
        ("# to be written\n", None, None, "only comments"),
        ("", None, None, "empty"),
        ("[" * 5000, None, None, "nested"),
        ("a: \x07\n", None, None, "not YAML"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_field(
    folder: Path, text: str, line: int | None, field: str | None, said: str
) -> None:
    with pytest.raises(InputError, match=said) as raised:
        _read(folder, text)
    assert (raised.value.line, raised.value.field) == (line, field)


def test_a_missing_file_is_an_input_error(folder: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_criteria(folder / "absent.yaml")
