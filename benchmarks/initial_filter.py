"""How fast the initial filter is on real records, and on an abstract made to be slow.

    python -m benchmarks.initial_filter

Real records: those of the three labelled sets, each under its own criteria, on one core. Beside it, in the same run, a
bare loop of Python's `re` over the same keywords, without contexts, spellings or results. Hostile abstracts: 1 MB
each; beside them what it costs to copy the text and put it into small letters. The best of several runs counts.
"""

import re
import sys
import time
from collections.abc import Callable
from functools import partial

from tamis_producer.screening import InitialFilter
from tamis_producer.screening.patterns import DEFAULT_EXCLUSION_KEYWORDS
from tamis_schemas import SearchCriteria
from tamis_schemas.paper import PaperData

from .labelled_sets import LabelledSet, labelled_sets

RUNS = 7
SIZE = 2**20  # characters of a hostile abstract
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
}


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of several runs."""
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def filter_all(pairs: list[tuple[InitialFilter, LabelledSet]]) -> None:
    for initial_filter, labelled in pairs:
        for record in labelled.records:
            initial_filter.filter_paper(record)


def bare_loop(pairs: list[tuple[InitialFilter, LabelledSet]]) -> None:
    """A search for each keyword, in title and abstract."""
    keywords = [re.compile(rf"\b{re.escape(keyword)}\b", re.IGNORECASE) for keyword in DEFAULT_EXCLUSION_KEYWORDS]
    for _, labelled in pairs:
        for record in labelled.records:
            text = f"{record.get('title') or ''} {record.get('abstract') or ''}"
            any(keyword.search(text) for keyword in keywords)


def _copied(text: str) -> str:
    return text.encode().decode().lower()


def main() -> None:
    pairs = [(InitialFilter(labelled.criteria), labelled) for labelled in labelled_sets()]
    records = sum(len(labelled.records) for _, labelled in pairs)
    ours, bare = seconds(lambda: filter_all(pairs)), seconds(lambda: bare_loop(pairs))
    sys.stdout.write(
        f"{records:,} real records: {records / ours:,.0f} records/s; a bare loop of Python's re: "
        f"{records / bare:,.0f}; {bare / ours:.1f} times as fast\n"
    )
    initial_filter = InitialFilter(SearchCriteria(research_question="Which?", inclusion_criteria=["adults"]))
    for name, unit in UNITS.items():
        abstract = unit * (SIZE // len(unit))
        paper = PaperData(title="A title", abstract=abstract)
        hostile = seconds(partial(initial_filter.filter_paper, paper))
        copied = seconds(partial(_copied, abstract))
        sys.stdout.write(
            f"{len(abstract):,} characters, {name}: {hostile * 1e3:.1f} ms; copied and put into small letters: "
            f"{copied * 1e3:.1f} ms\n"
        )


if __name__ == "__main__":
    main()
