"""A review's criteria, from a reviewer's YAML or JSON file, and the template of that file.

Errors name the line, the field and the probable intention, in words that a reviewer knows.
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

# pydantic's error type -> our message.
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
LISTS = ("inclusion_criteria", "exclusion_criteria")

# The template of a criteria file, with an explanation of every field. Explanations begin with "# ", optional fields
# with "#"; without this mark a field is valid.
TEMPLATE = """\
# The criteria of a review, for `tamis screen records.ris --criteria criteria.yaml`.
# `tamis criteria check criteria.yaml` says how they are understood. A text with a colon in it stands in quotes.

# What the review asks. Every record is judged with this question in view.
research_question: >-
  Does exercise done at home, compared with usual care, improve physical function in adults after hip replacement?

# What the answers are used for; it tells the model how strict to be. May be left out.
purpose: >-
  Title and abstract screening of a systematic review. A record that may be relevant is kept for full-text reading.

# A record must meet every one of these. One condition an entry: under a label (I1, I2, ...) each gets a quote from the
# record and a verdict of its own: met, not met, not met by silence or unclear. A record that does not meet one reads
# "not met: ..." as its reason, unless the entry brings words for that, as the last one here does.
inclusion_criteria:
  - The participants are adults who have had a hip replacement
  - At least one group exercises mainly at home
  - criterion: The study is a randomised controlled trial
    exclude_as: Wrong study design

# One of these is enough to exclude a record. Each says what is excluded, and not what is wanted: E1, E2, ...
# At least one criterion must stand in one of the two lists.
exclusion_criteria:
  - The record is a review, a study protocol or an editorial
  - The study was done on animals or cadavers

# The first and the last year of publication, both included. A record of another year is excluded by the initial filter,
# before any model is asked; a record without a year is not.
#date_range: [2010, 2025]

# Kinds of study that the review looks for. A record must be of one of them: together they are a criterion, S1, with a
# verdict of its own. No rule of the initial filter applies that would reject such studies.
#study_types:
#  - randomised controlled trial
#  - cluster randomised trial

# The words for what a criterion excludes, by its label; the same as `exclude_as` in its entry.
#exclude_as:
#  S1: Wrong study design

# Words by which the initial filter excludes a record whose title or abstract says them of itself, besides those that it
# knows (animal studies, editorials, ...). Each is found as whole words, in British and American spelling.
#custom_keywords:
#  - simulation study
#  - finite element model

# Records that people have decided about, to show the model how the criteria are meant: none that is to be screened.
# Every call reads them, so a few are enough, some of each decision. Short criteria come with them to the 1,024 tokens
# from which endpoints keep the common beginning of the prompts and ask less for it: `tamis criteria check` counts.
# `tamis screen --examples-from ID` takes them from an earlier batch of the review instead.
#examples:
#  - title: Home-based exercise after total hip replacement, a randomised trial
#    abstract: We randomised 90 adults after hip replacement to exercise at home or usual care.
#    decision: include
#  - title: Strength of the hip in cadavers of adults
#    decision: exclude
#    reason: The study was done on cadavers
"""


def read_criteria(path: Path | str) -> SearchCriteria:
    """Return the criteria in a YAML or JSON file.

    Raises `InputError` if the file is invalid. The message names line and field.
    """
    return criteria_of(read_yaml(path, what="criteria", example=EXAMPLE))


def criteria_of(file: YamlFile, place: Location = ()) -> SearchCriteria:
    """Return the criteria at a place of a file, by default the whole file. Raise the errors of `read_criteria`."""
    file.check_names(SearchCriteria.model_fields, place)
    for name in LISTS:
        _check_entries(file, (*place, name))
    try:
        return SearchCriteria.model_validate(file.at(place))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = first["loc"] or _field_named_by(first["msg"], file.at(place))
        words = _plain(first["type"], first["msg"], first.get("input"), location)
        raise file.wrong(words, (*place, *location)) from error


def _check_entries(file: YamlFile, place: Location) -> None:
    """Raise `InputError` if an entry, which has a criterion and its wording, also has an unknown name."""
    entries = file.at(place[:-1]).get(place[-1])
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and ("criterion" in entry or len(entry) > 1):
            file.check_names(WordedCriterion.model_fields, (*place, number))


def _plain(kind: str, message: str, value: Any, location: tuple[int | str, ...]) -> str:
    if kind == "string_type":
        return _not_a_text(value)
    if location and location[0] == "date_range" and kind in ("missing", "too_long"):
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
    """Return the field with which a message about the whole file begins. Return () if the file has no such field."""
    first = message.removeprefix("Value error, ").split()[0]
    return (first,) if isinstance(values, dict) and first in values else ()
