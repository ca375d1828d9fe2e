"""The page: a table for each specification, the differences, and what is not built yet."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from .definitions import Definitions
from .marks import Mark, marks_under
from .requirements import Difference, Requirement, Specification, read_differences, read_specifications

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "specification.md"
HEAD = """\
# Specifications

This page lists each requirement of specifications 1 to 5, the code that meets it, and the tests that show it. D1 to D78
are [differences](#differences) from the specification. Do not edit the page: `python -m tests.specification` writes it
from `tests/specification` and from the marks `@pytest.mark.spec("1.12")` of the tests.
"""
DIFFERENCES = "Here the specifications contradict themselves, leave questions open, or would do harm."


def written_page(root: Path = ROOT) -> str:
    """Return the page as the files of the project have it."""
    return page_of(read_specifications(), read_differences(), marks_under(root), Definitions.under(root))


def page_of(
    specifications: list[Specification], differences: list[Difference], marks: list[Mark], definitions: Definitions
) -> str:
    """Return the page. `ValueError`: what is wrong with requirements and marks, all of it, a line for each."""
    requirements = [one for specification in specifications for one in specification.requirements]
    faults = [*_faults(requirements, differences, marks, definitions)]
    if faults:
        raise ValueError("\n".join(faults))
    parts = [HEAD]
    for specification in specifications:
        parts += [
            f"\n## Spec {specification.number}: {specification.title}\n\n",
            _row("no.", "requirement", "code", "tests"),
            "|---|---|---|---|\n",
            *(
                _row(one.number, _sentence(one), _held(one, definitions), _shown(one, marks))
                for one in specification.requirements
            ),
        ]
    parts += [f"\n## Differences\n\n{DIFFERENCES}\n\n", _row("no.", "difference and reason"), "|---|---|\n"]
    parts += [_row(one.number, one.difference) for one in differences]
    parts += ["\n## Not built\n\n", _row("spec", "requirement"), "|---|---|\n"]
    parts += [_row(one.number, demanded) for one in specifications for demanded in one.not_built]
    return "".join(parts)


def _faults(
    requirements: list[Requirement], differences: list[Difference], marks: list[Mark], definitions: Definitions
) -> Iterator[str]:
    numbers = {one.number for one in requirements}
    marked = {mark.number for mark in marks}
    known, named = {one.number for one in differences}, {number for one in requirements for number in one.differences}
    yield from (f"{one.number}: no test bears its mark" for one in requirements if one.number not in marked)
    yield from (
        f"{mark.path}: {mark.name or 'the file'} is marked with {mark.number!r}, which is no requirement"
        for mark in marks
        if mark.number not in numbers
    )
    yield from (f"{number} is named by a requirement and described nowhere" for number in sorted(named - known))
    yield from (f"{number} is described, and no requirement names it" for number in sorted(known - named))
    for one in requirements:
        for name in one.held_by:
            try:
                definitions.find(name)
            except ValueError as error:
                yield f"{one.number}: {error}"


def _sentence(requirement: Requirement) -> str:
    return requirement.demanded + (f" ({', '.join(requirement.differences)})" if requirement.differences else "")


def _held(requirement: Requirement, definitions: Definitions) -> str:
    return _listed(definitions.find(name).dotted for name in requirement.held_by)


def _shown(requirement: Requirement, marks: list[Mark]) -> str:
    """Return the tests as pytest names them on its command line."""
    marked = (mark for mark in marks if mark.number == requirement.number)
    return _listed("::".join([mark.path, *mark.name.split(".")] if mark.name else [mark.path]) for mark in marked)


def _listed(names: Iterable[str]) -> str:
    """Return names as code, each once, in their order."""
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def _row(*cells: str) -> str:
    return f"|{'|'.join(cells)}|\n"
