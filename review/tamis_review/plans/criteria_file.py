"""A review's criteria, from a YAML or JSON file that a reviewer writes by hand.

So a mistake is named as the reviewer sees it: the line, the field, what was probably meant.
"""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tamis_producer.files.yaml_file import Location, YamlFile, read_yaml
from tamis_schemas import SearchCriteria
from tamis_schemas.operations.criteria import WordedCriterion

EXAMPLE = """\
research_question: Does exercise ease depression in adults?
inclusion_criteria: [randomised controlled trials, adults with depression]
exclusion_criteria: [study protocols]"""

# pydantic's error type -> what to say instead of pydantic's own words.
PLAIN_WORDS = {
    "missing": "is missing",
    "string_too_short": "is empty",
    "list_type": "takes a list: one entry a line, each after `- `",
    "tuple_type": "takes two years: [2010, 2024]",
    "literal_error": "takes include or exclude",
    "extra_forbidden": "is no field of an example: these are title, abstract, decision and reason",
    "model_type": "takes fields of its own, each in a line below it: title, abstract, decision, reason",
    "too_short": "takes two years: [2010, 2024]",
    "dict_type": "takes a wording for each label: {S1: Wrong study design}",
    "int_parsing": "takes a year, as a number",
    "int_type": "takes a year, as a number",
    "int_from_float": "takes a year, as a whole number",
}
TWO_YEARS = "date_range"
LISTS = ("inclusion_criteria", "exclusion_criteria")


def read_criteria(path: Path | str) -> SearchCriteria:
    """The criteria in a YAML or JSON file.

    Raises `InputError` naming line and field, where the file is none, or says something that criteria cannot say.
    """
    return criteria_of(read_yaml(path, what="criteria", example=EXAMPLE))


def criteria_of(file: YamlFile, place: Location = ()) -> SearchCriteria:
    """The criteria that stand at a place of a file; by default they are all of it. Raises as `read_criteria` does."""
    file.check_names(SearchCriteria.model_fields, place)
    for name in LISTS:
        _check_entries(file, (*place, name))
    try:
        return SearchCriteria.model_validate(file.at(place))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = first["loc"] or _field_named_by(first["msg"], file.at(place))
        raise file.wrong(
            _plain(first["type"], first["msg"], first.get("input"), location), (*place, *location)
        ) from error


def _check_entries(file: YamlFile, place: Location) -> None:
    """Refuse an unknown name in an entry that is a criterion with its wording."""
    entries = file.at(place[:-1]).get(place[-1])
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and ("criterion" in entry or len(entry) > 1):
            file.check_names(WordedCriterion.model_fields, (*place, number))


def _plain(kind: str, message: str, value: Any, location: tuple[int | str, ...]) -> str:
    if kind == "string_type":
        return _not_a_text(value)
    if location and location[0] == TWO_YEARS and kind in ("missing", "too_long"):
        kind = "tuple_type"
    if kind == "list_type" and value is None:
        return "is empty: leave it out, or list entries below it, each after `- `"
    return PLAIN_WORDS.get(kind, message.removeprefix("Value error, "))


def _not_a_text(entry: Any) -> str:
    if isinstance(entry, dict) and set(entry) == {"exclude_as"}:
        return "names no criterion: `- criterion: ...` stands before its exclude_as"
    if isinstance(entry, dict) and len(entry) == 1:
        (name, value), *_ = entry.items()
        return f'a text with a colon in it must stand in quotes: "{name}: {value}"'
    if isinstance(entry, dict | list):
        return "takes a text, not entries of its own"
    if entry is None:
        return "is empty"
    return f"takes a text; YAML reads this as {str(entry)!r}: put it in quotes"


def _field_named_by(message: str, values: Any) -> tuple[str, ...]:
    """The field with which a message about the whole begins, if the file has it."""
    first = message.removeprefix("Value error, ").split()[0]
    return (first,) if isinstance(values, dict) and first in values else ()
