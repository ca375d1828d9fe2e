"""The effect of single rules of the initial filter: how many labelled records it rejects with and without each rule.

    python -m benchmarks.filter_rules

The sets are those of `labelled_sets`. If people also decided by title and abstract, these decisions are counted too. A
rule is left out by replacing its function with a function that finds nothing. No set's criteria contain a long
exclusion sentence, so the figures are also given with a sentence of our own.
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
    """Return the records that the filter rejects without some of its rules."""
    with ExitStack() as stack:
        for rule in left_out:
            for place, instead in RULES[rule].items():
                stack.enter_context(patch(place, instead))
        initial_filter = InitialFilter(labelled.criteria)
        return [record for record in labelled.records if not initial_filter.filter_paper(record).passed]


def lines() -> Iterator[str]:
    """Yield a line for each set and kind of label, with columns separated by |.

    The columns are the numbers of included and excluded records, then the rejected records: "0/12" means none of the
    included and twelve of the excluded. They are given for the whole filter, without all five rules, and without each
    rule. The last two have `SENTENCE` among the criteria: the whole filter, and without exclusion sentences.
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
