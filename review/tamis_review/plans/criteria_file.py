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
    "list_type": "must be a list: one entry per line, each after `- `",
    "tuple_type": "must be two years: [2010, 2024]",
    "literal_error": "must be include or exclude",
    "extra_forbidden": "unknown field; an example has title, abstract, decision and reason",
    "model_type": "needs its fields on the lines below it: title, abstract, decision, reason",
    "too_short": "must be two years: [2010, 2024]",
    "dict_type": "must give a wording for each label: {S1: Wrong study design}",
    "int_parsing": "must be a year, as a number",
    "int_type": "must be a year, as a number",
    "int_from_float": "must be a year, as a whole number",
}
LISTS = ("inclusion_criteria", "exclusion_criteria")

# The template of a criteria file, with an explanation of every field. Explanations begin with "# ", optional fields
# with "#"; without this mark a field is valid.
TEMPLATE = """\
# The criteria of a review, for `tamis screen records.ris --criteria criteria.yaml`.
# `tamis criteria check criteria.yaml` shows how Tamis reads them. Put a text with a colon in quotes.

# The question of the review. The model reads it with every record.
research_question: >-
  Does exercise done at home, compared with usual care, improve physical function in adults after hip replacement?

# The use of the answers, which shows the model how strict to be. Optional.
purpose: >-
  Title and abstract screening of a systematic review. A record that may be relevant is kept for full-text reading.

# A record must meet all of these. Write one condition per entry. Each gets a label (I1, I2, ...), a quote from the
# record and a verdict: met, not met, not met by silence or unclear. If a record does not meet it, the exclusion reason
# is "not met: ..." or the entry's own wording, as in the last entry here.
inclusion_criteria:
  - The participants are adults who have had a hip replacement
  - At least one group exercises mainly at home
  - criterion: The study is a randomised controlled trial
    exclude_as: Wrong study design

# One of these is enough to exclude a record. Describe the excluded records, not the wanted ones: E1, E2, ...
# The two lists together need at least one criterion.
exclusion_criteria:
  - The record is a review, a study protocol or an editorial
  - The study was done on animals or cadavers

# The first and the last year of publication, inclusive. The initial filter excludes records of other years before any
# model is asked, but not records without a year.
#date_range: [2010, 2025]

# The wanted kinds of study. A record must be one of them. Together they are one criterion, S1, with one verdict. Rules
# of the initial filter that would reject such studies do not apply.
#study_types:
#  - randomised controlled trial
#  - cluster randomised trial

# The exclusion reason of a criterion, by its label; the same as `exclude_as` in its entry.
#exclude_as:
#  S1: Wrong study design

# Keywords for the initial filter, besides its own (animal studies, editorials, ...). It excludes a record if title or
# abstract describe the study itself with one. It finds whole words, in British and American spelling.
#custom_keywords:
#  - simulation study
#  - finite element model

# Records with human decisions, to show the model how to read the criteria. Do not use records to be screened.
# Every prompt contains them, so use a few, with both decisions. Most endpoints charge less for the common beginning of
# prompts if it has 1,024 tokens; examples lengthen short criteria. `tamis criteria check` counts the tokens.
# `tamis screen --examples-from ID` takes examples from an earlier batch of the review instead.
#examples:
#  - title: Home-based exercise after total hip replacement, a randomised trial
#    abstract: We randomised 90 adults after hip replacement to exercise at home or usual care.
#    decision: include
#  - title: Strength of the hip in cadavers of adults
#    decision: exclude
#    reason: The study was done on cadavers
"""


def read_criteria(path: Path | str) -> SearchCriteria:
    """Return the criteria in a YAML or JSON file. Raise `InputError`, with line and field, if the file is invalid."""
    return criteria_of(read_yaml(path, what="criteria", example=EXAMPLE))


def criteria_of(file: YamlFile, place: Location = ()) -> SearchCriteria:
    """Return the criteria in a file, or in one field of the file (`place`). Raise `InputError` if they are invalid."""
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
    """Raise `InputError` if an entry of the list at `place` has an unknown name.

    An entry with a single name other than `criterion` is not checked: it is probably a text with a colon.
    """
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
        return "is empty: remove it, or list entries below it, each after `- `"
    return PLAIN_WORDS.get(kind, message.removeprefix("Value error, "))


def _not_a_text(entry: Any) -> str:
    if isinstance(entry, dict) and set(entry) == {"exclude_as"}:
        return "has no criterion: write `- criterion: ...` above exclude_as"
    if isinstance(entry, dict) and len(entry) == 1:
        (name, value), *_ = entry.items()
        return f'put a text with a colon in quotes: "{name}: {value}"'
    if isinstance(entry, dict | list):
        return "must be a text, not a list or fields"
    return "is empty" if entry is None else f"must be a text, but YAML reads it as {str(entry)!r}: put it in quotes"


def _field_named_by(message: str, values: Any) -> tuple[str, ...]:
    """Return the first word of `message` if it is the name of a field in `values`, otherwise ()."""
    first = message.removeprefix("Value error, ").split()[0]
    return (first,) if isinstance(values, dict) and first in values else ()
