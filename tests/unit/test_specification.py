"""The page of specifications is written from the requirements and from the marks at the tests."""

from pathlib import Path

import pytest

from specification import (
    PAGE,
    Definitions,
    Difference,
    Mark,
    Requirement,
    Specification,
    definitions_in,
    marks_in,
    page_of,
    read_differences,
    read_specifications,
    written_page,
)

SPECIFICATIONS = read_specifications()
SOURCE = """
LIMIT = 3

class Score:
    value: float

    def on_grid(self):
        inner = 1

def parse(): ...
"""


def definitions() -> Definitions:
    """What two modules define that have a function of one name."""
    modules = ("tamis_worker/score.py", "tamis_worker/rooms/filter.py")
    return Definitions(one for module in modules for one in definitions_in(f"worker/{module}", Path(module), SOURCE))


def test_the_page_is_what_requirements_and_marks_say() -> None:
    written = written_page()  # fails with all faults: a requirement without a test, a mark without a requirement
    assert len(written.splitlines()) > 250
    if PAGE.read_text("utf-8") != written:
        pytest.fail(f"{PAGE.name} is not what requirements and marks say; `python -m tests.specification` writes it")


def test_five_specifications_are_numbered_without_a_gap() -> None:
    assert [specification.number for specification in SPECIFICATIONS] == ["1", "2", "3", "4", "5"]
    for specification in SPECIFICATIONS:
        numbers = [one.number for one in specification.requirements]
        assert len(numbers) >= 20
        assert numbers == [f"{specification.number}.{n}" for n in range(1, len(numbers) + 1)]
    differences = read_differences()
    assert [one.number for one in differences] == [f"D{n}" for n in range(1, len(differences) + 1)]


def test_no_requirement_stands_there_twice_and_none_is_empty() -> None:
    requirements = [one for specification in SPECIFICATIONS for one in specification.requirements]
    assert len({one.demanded for one in requirements}) == len(requirements)
    assert all(one.demanded and one.held_by for one in requirements)
    assert all(one.difference for one in read_differences())


def test_marks_are_read_from_tests_cases_classes_and_files() -> None:
    text = """
import pytest
pytestmark = [pytest.mark.chaos, pytest.mark.spec("1.1")]

@pytest.mark.spec("1.10", "1.9")
async def test_one(): ...

@pytest.mark.parametrize("a", [1, pytest.param(2, marks=pytest.mark.spec("2.1"))])
def test_cases(a): ...

@pytest.mark.spec("3.1")
class TestAll:
    pytestmark = pytest.mark.spec("3.2")
    @pytest.mark.spec("3.3")
    def test_two(self): ...
"""
    assert [(mark.number, mark.name) for mark in marks_in("tests/unit/test_it.py", text)] == [
        ("1.1", None),
        ("1.10", "test_one"),
        ("1.9", "test_one"),
        ("2.1", "test_cases"),
        ("3.1", "TestAll"),
        ("3.2", "TestAll"),
        ("3.3", "TestAll.test_two"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '@pytest.mark.spec("1.1")\ndef helper(): ...',
        'CASES = [pytest.param(1, marks=pytest.mark.spec("1.1"))]',
        "@pytest.mark.spec\ndef test_it(): ...",
        "@pytest.mark.spec()\ndef test_it(): ...",
        "@pytest.mark.spec(1.1)\ndef test_it(): ...",
        '@pytest.mark.spec("1.1", NUMBER)\ndef test_it(): ...',
    ],
)
def test_a_mark_that_no_test_bears_or_that_names_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"tests/unit/test_it\.py: .*: 1$"):
        marks_in("tests/unit/test_it.py", text)


def test_a_definition_is_found_by_as_much_of_its_name_as_is_its_own() -> None:
    found = definitions().find("filter.parse")
    assert (found.path, found.name) == ("worker/tamis_worker/rooms/filter.py", "parse")
    assert definitions().find("score.Score.on_grid").dotted == "tamis_worker.score.Score.on_grid"
    assert definitions().find("tamis_worker.score.LIMIT").name == "LIMIT"
    assert definitions().find("score.Score.value").name == "Score.value"


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("parse", "is more than one: tamis_worker.score.parse, tamis_worker.rooms.filter.parse"),
        ("inner", "is defined nowhere: none"),  # within a function
        ("lter.parse", "is defined nowhere: tamis_worker.rooms.filter.parse"),  # names are compared whole
    ],
)
def test_a_name_of_nothing_or_of_several_is_refused(name: str, refused: str) -> None:
    with pytest.raises(ValueError, match=refused):
        definitions().find(name)


def test_the_page_names_what_holds_and_what_shows_each_requirement() -> None:
    requirements = (
        Requirement("1.1", "One", ("filter.parse", "score.parse", "filter.LIMIT")),
        Requirement("1.2", "Two", ("score.LIMIT",), ("D1",)),
    )
    marks = [
        Mark("1.1", "tests/unit/test_a.py", None),
        Mark("1.1", "tests/unit/test_b.py", "test_x"),
        Mark("1.2", "tests/unit/test_b.py", "test_x"),
        Mark("1.2", "tests/unit/test_b.py", "TestAll.test_y"),
    ]
    specification = Specification("1", "A title", requirements, ("Three",))
    page = page_of([specification], [Difference("D1", "Otherwise")], marks, definitions())
    in_filter, in_score = "tamis_worker.rooms.filter", "tamis_worker.score"
    assert [line for line in page.splitlines() if line.startswith(("|1", "|D", "## "))] == [
        "## Spec 1: A title",
        f"|1.1|One|`{in_filter}.parse`, `{in_score}.parse`, `{in_filter}.LIMIT`"
        "|`tests/unit/test_a.py`, `tests/unit/test_b.py::test_x`|",
        f"|1.2|Two (D1)|`{in_score}.LIMIT`|`tests/unit/test_b.py::test_x`, `tests/unit/test_b.py::TestAll::test_y`|",
        "## Differences",
        "|D1|Otherwise|",
        "## Not built",
        "|1|Three|",
    ]


def test_every_fault_of_requirements_and_marks_is_told_at_once() -> None:
    requirements = (Requirement("1.1", "One", ("filter.parse",), ("D2",)), Requirement("1.2", "Two", ("gone",)))
    marks = [Mark("1.2", "tests/unit/test_a.py", "test_x"), Mark("9.9", "tests/unit/test_a.py", "test_y")]
    with pytest.raises(ValueError, match="no test") as refused:
        page_of([Specification("1", "A title", requirements)], [Difference("D1", "d")], marks, definitions())
    assert str(refused.value).splitlines() == [
        "1.1: no test bears its mark",
        "tests/unit/test_a.py: test_y is marked with '9.9', which is no requirement",
        "D2 is named by a requirement and described nowhere",
        "D1 is described, and no requirement names it",
        "1.2: 'gone' is defined nowhere: none",
    ]
