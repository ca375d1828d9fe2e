"""A view that is drawn again keeps what a person typed into its form."""

import re
from collections.abc import Iterator
from pathlib import Path

import tamis_review.page

SCRIPTS = sorted((Path(tamis_review.page.__file__).parent / "assets").glob("*.js"))
FIELD = re.compile(r"<(?:input|select|textarea)\b")


def tags(script: str) -> Iterator[str]:
    """Yield the tag of each form field in a template; a `>` inside `${...}` does not end it."""
    for match in FIELD.finditer(script):
        end, depth = match.end(), 0
        while depth or script[end] != ">":
            depth += (script[end] == "{") - (script[end] == "}")
            end += 1
        yield script[match.start() : end]


def forgets(tag: str) -> bool:
    """Whether drawing the view again sets the field back: it has a value, and nothing keeps what is typed."""
    return bool(re.search(r"\s(value|checked)=", tag)) and not re.search(r"\son(Input|Change)=", tag)


def test_no_field_is_set_back_when_its_view_is_drawn_again() -> None:
    for script in SCRIPTS:
        assert [tag for tag in tags(script.read_text("utf-8")) if forgets(tag)] == [], script.name


def test_a_field_with_a_first_value_of_its_own_is_set_back() -> None:
    (first, second) = tags("<p><input value=${50} /><input value=${n} onInput=${(event) => set(event)} /></p>")
    assert (forgets(first), forgets(second)) == (True, False)
