"""The speed of the initial filter on real records, and on abstracts that are made to be slow.

    python -m benchmarks.initial_filter

The real records are those of the three labelled sets, each under its own criteria, on one core. For comparison, in the
same run: programs of a few lines that search title and abstract for the default keywords. These are one compiled
alternation, with Python's `re` and with RE2, and a loop of `in` over the text in small letters. They ignore contexts
and spellings, so they find other records. Each slow abstract has 1 MB, and is compared with copying the text and
putting it into small letters. The best of several runs counts.
"""

import re
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import re2

from tamis_review.filter import InitialFilter
from tamis_review.filter.patterns import DEFAULT_EXCLUSION_KEYWORDS
from tamis_schemas import SearchCriteria
from tamis_schemas.records.paper import PaperData

from .labelled_sets import LabelledSet, labelled_sets

RUNS = 15
SIZE = 2**20  # characters of a hostile abstract
ENDING = "Patients may profit. Statins were tested in vitro."  # so that all rules are asked, to the end
UNITS = {
    "no keyword": "x y ",
    "half keywords": "in-vitr case repor ",
    "protected mentions": "We excluded case reports. ",
    "one long list": "excluded case reports and ",
    "contexts without a mention": "prior unlike exclud ",
    "letters beyond ASCII": "é",
    "keywords within words": "éfelineé ",
    "words before a keyword": "previous a ",
    "nested groups": "((((in vitro",
    "own work beside patients": "We used no cells. ",
    "exclusion verbs": "is excluded; ",
    "soft hyphens": "vi\u00adtro ",
}


def seconds(*contestants: Callable[[], object]) -> list[float]:
    """Return the CPU seconds of each contestant's fastest run. The contestants take turns."""
    best = [float("inf")] * len(contestants)
    for _ in range(RUNS):
        for at, work in enumerate(contestants):
            start = time.process_time()
            work()
            best[at] = min(best[at], time.process_time() - start)
    return best


def filter_all(pairs: list[tuple[InitialFilter, LabelledSet]]) -> None:
    for initial_filter, labelled in pairs:
        for record in labelled.records:
            initial_filter.filter_paper(record)


def search_all(searches: Callable[[str], object], records: list[dict[str, Any]]) -> None:
    for record in records:
        searches(f"{record.get('title') or ''} {record.get('abstract') or ''}")


def few_lines() -> dict[str, Callable[[str], object]]:
    """Return short programs that search a text for the default keywords, by name."""
    keywords = list(DEFAULT_EXCLUSION_KEYWORDS)
    whole_words = rf"\b(?:{'|'.join(map(re.escape, keywords))})\b"
    by_re = re.compile(whole_words, re.IGNORECASE)
    by_re_lowered = re.compile("|".join(map(re.escape, keywords)))
    by_re2 = re2.compile(f"(?i){whole_words}".encode())

    def loop_of_in(text: str) -> bool:
        lowered = text.lower()
        return any(keyword in lowered for keyword in keywords)

    return {
        "one alternation, Python's re, ignoring case": by_re.search,
        "one alternation, Python's re, of small letters": lambda text: by_re_lowered.search(text.lower()),
        "one alternation, RE2": lambda text: by_re2.search(text.encode()),
        "a loop of `in`": loop_of_in,
    }


def _copied(text: str) -> str:
    return text.encode().decode().lower()


def main() -> None:
    pairs = [(InitialFilter(labelled.criteria), labelled) for labelled in labelled_sets()]
    records = [record for _, labelled in pairs for record in labelled.records]
    others = few_lines()
    ours, *theirs = seconds(partial(filter_all, pairs), *(partial(search_all, one, records) for one in others.values()))
    sys.stdout.write(f"{len(records):,} real records: {len(records) / ours:,.0f} records/s\n")
    for name, theirs_is in zip(others, theirs, strict=True):
        sys.stdout.write(
            f"{name}: {len(records) / theirs_is:,.0f} records/s; the filter is {theirs_is / ours:.2f} times as fast\n"
        )
    initial_filter = InitialFilter(SearchCriteria(research_question="Which?", inclusion_criteria=["adults"]))
    for name, unit in UNITS.items():
        abstract = f"{unit * (SIZE // len(unit))}{ENDING}"
        paper = PaperData(title="A title", abstract=abstract)
        hostile, copied = seconds(partial(initial_filter.filter_paper, paper), partial(_copied, abstract))
        sys.stdout.write(
            f"{len(abstract):,} characters, {name}: {hostile * 1e3:.1f} ms; copied and put into small letters: "
            f"{copied * 1e3:.1f} ms\n"
        )


if __name__ == "__main__":
    main()
