"""What single rules of the initial filter are worth: what it rejects of labelled records, with and without each.

    python -m benchmarks.filter_rules

The sets of `labelled_sets`, those with people's decisions by title and abstract also under these. A rule is left out
by putting what says nothing in the place of what it asks. No set's criteria hold a long exclusion sentence; so one of
our own is added to them besides.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from tamis_review.filter import InitialFilter

from .labelled_sets import LabelledSet, animal_review, hearing_review, labelled_sets


def _no(*_: object) -> bool:
    return False


def _as_it_is(text: str) -> str:
    return text


SCREENING = "tamis_review.filter"
# Each rule, and what is put in the place of what.
RULES: dict[str, dict[str, object]] = {
    "exclusion_sentences": {f"{SCREENING}.exclusions.Exclusions.cover": _no},
    "reviews": {f"{SCREENING}.evidence.PaperEvidence.is_review": False},
    "series_of_ten": {f"{SCREENING}.evidence.PaperEvidence.large_series": False},
    "own_work": {f"{SCREENING}.initial_filter._is_own_work": _no},
    "soft_hyphens": {
        f"{SCREENING}.{module}.without_soft_hyphens": _as_it_is
        for module in ("initial_filter", "inclusions", "keywords")
    },
}


SENTENCE = (
    "Animal studies, in vitro studies, case reports, case series, letters, editorials, conference abstracts and other "
    "publications without original data are excluded."
)


def rejected(labelled: LabelledSet, left_out: list[str]) -> list[dict[str, Any]]:
    """The records that are rejected with some rules left out."""
    with ExitStack() as stack:
        for rule in left_out:
            for place, instead in RULES[rule].items():
                stack.enter_context(patch(place, instead))
        initial_filter = InitialFilter(labelled.criteria)
        return [record for record in labelled.records if not initial_filter.filter_paper(record).passed]


def lines() -> Iterator[str]:
    """A line per set and labels, parted by |: included and excluded records, then which of them are rejected.

    "0/12" is none of the included and twelve excluded: by the filter, without all of the five rules, without each, and
    with `SENTENCE` among the criteria, by the filter and without exclusion sentences.
    """
    columns = ["filter", "without_all", *(f"without_{rule}" for rule in RULES), "sentence", "sentence_without_rule"]
    yield "|".join(("set", "labels", "included", "excluded", *columns))
    animals = animal_review()
    no_in_vitro = animals.criteria.model_copy(update={"exclusion_criteria": ["In vitro studies"]})
    no_in_vitro_animals = replace(animals, name=f"{animals.name}, no in vitro", criteria=no_in_vitro)
    for labelled in (*labelled_sets(), hearing_review(), animals, no_in_vitro_animals):
        ways = [rejected(labelled, left_out) for left_out in ([], list(RULES), *([rule] for rule in RULES))]
        if not InitialFilter(labelled.criteria).switched_off:  # a review of animals would not exclude them
            said = [*labelled.criteria.inclusion_criteria, SENTENCE]
            more = replace(labelled, criteria=labelled.criteria.model_copy(update={"inclusion_criteria": said}))
            ways += [rejected(more, left_out) for left_out in ([], ["exclusion_sentences"])]
        for column in labelled.label_columns:
            included, excluded = _count(labelled.records, column)
            cells = ["/".join(map(str, _count(way, column))) for way in ways]
            cells += ["-"] * (len(columns) - len(cells))
            yield "|".join((labelled.name, column, str(included), str(excluded), *cells))


def _count(records: list[dict[str, Any]], column: str) -> tuple[int, int]:
    labels = [record[f"_{column}"] for record in records]
    return labels.count("1"), labels.count("0")


def main() -> None:
    for line in lines():
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
