"""docs/specification.md: requirements, what holds them, and the tests that bear their numbers as marks.

`spec_1.toml` to `spec_5.toml` hold the requirements' sentences and the names of what holds each; `differences.toml`
says where they are met otherwise than written. Each test that shows one bears `@pytest.mark.spec("1.12")`, and
`python -m tests.specification` writes the page from it all.
"""

from .definitions import Definition, Definitions, definitions_in
from .marks import Mark, marks_in, marks_under
from .page import PAGE, ROOT, page_of, written_page
from .requirements import Difference, Requirement, Specification, read_differences, read_specifications

__all__ = [
    "PAGE",
    "ROOT",
    "Definition",
    "Definitions",
    "Difference",
    "Mark",
    "Requirement",
    "Specification",
    "definitions_in",
    "marks_in",
    "marks_under",
    "page_of",
    "read_differences",
    "read_specifications",
    "written_page",
]
