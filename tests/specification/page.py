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

What specs 1 to 5 demand, what holds it and which test shows it. A requirement that is met otherwise than written
names its difference in brackets. `python -m tests.specification` writes this page from the sentences in
`tests/specification` and from the marks at the tests, `@pytest.mark.spec("1.12")`: edit those.
"""
DIFFERENCES = "Where the specifications contradict themselves, leave something open, or ask for what would harm."
NOT_BUILT = "Work that none of the packages does yet. The services that it would call stand."


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
    of = {one.number: [req.number for req in requirements if one.number in req.differences] for one in differences}
    parts = [HEAD]
    for specification in specifications:
        parts += [
            f"\n## Spec {specification.number}: {specification.title}\n\n",
            _row("no.", "what is demanded", "held by", "shown by"),
            "|---|---|---|---|\n",
            *(
                _row(one.number, _sentence(one), _held(one, definitions), _shown(one, marks))
                for one in specification.requirements
            ),
        ]
    parts += [f"\n## Differences\n\n{DIFFERENCES}\n\n| no. | of | what is different | why |\n|---|---|---|---|\n"]
    parts += [_row(one.number, ", ".join(of[one.number]), one.difference, one.reason) for one in differences]
    parts += [f"\n## Not built yet\n\n{NOT_BUILT}\n\n| of | what is demanded |\n|---|---|\n"]
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
    found = [definitions.find(name) for name in requirement.held_by]
    return _references((one.path, one.name) for one in found)


def _shown(requirement: Requirement, marks: list[Mark]) -> str:
    return _references((mark.path, mark.name) for mark in marks if mark.number == requirement.number)


def _references(named: Iterable[tuple[str, str | None]]) -> str:
    """Return files with the names in them, each once, in the order in which they come."""
    by_path: dict[str, dict[str, None]] = {}
    for path, name in named:
        by_path.setdefault(path, {}).update({name: None} if name else {})
    return "; ".join(
        f"`{path}`" + (": " + ", ".join(f"`{name}`" for name in names) if names else "")
        for path, names in by_path.items()
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"
