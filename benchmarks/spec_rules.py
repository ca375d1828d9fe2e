"""The specification's rules for the initial filter, taken literally, on the labelled sets: the baseline of the filter.

    python -m benchmarks.spec_rules

Keywords are substrings of the lower-cased title and abstract. One protected mention protects every mention of its
keyword. A missing abstract, or one with fewer than 50 characters, rejects the record. The figures are given without
this last rule, and with it.
"""

import re
import sys
from typing import Any

from tamis_review.filter.patterns import (
    DEFAULT_EXCLUSION_KEYWORDS,
    DEFINITIVE_TITLE_PATTERNS,
    MIN_ABSTRACT_LENGTH,
    NEGATIVE_CONTEXT_PATTERNS,
)

from .labelled_sets import labelled_sets

# The first six and the first seven are the specification's; what follows in these lists is not.
TITLE_PATTERNS = [re.compile(pattern) for pattern in DEFINITIVE_TITLE_PATTERNS[:6]]
CONTEXTS = {
    keyword: [re.compile(context.replace("{keyword}", re.escape(keyword))) for context in NEGATIVE_CONTEXT_PATTERNS[:7]]
    for keyword in DEFAULT_EXCLUSION_KEYWORDS
}


def rejects(record: dict[str, Any]) -> bool:
    """Return whether title patterns or keywords reject the record."""
    title, abstract = (str(record.get(field) or "").lower() for field in ("title", "abstract"))
    if any(pattern.search(title) for pattern in TITLE_PATTERNS):
        return True
    text = f"{title} {abstract}"
    return any(
        keyword in text and not any(context.search(text) for context in contexts)
        for keyword, contexts in CONTEXTS.items()
    )


def is_short(record: dict[str, Any]) -> bool:
    return len(str(record.get("abstract") or "")) < MIN_ABSTRACT_LENGTH


def main() -> None:
    """Print a line per set and label: rejected includes and excludes, without and with the rule on short abstracts."""
    sys.stdout.write("set label included lost lost_with_content excluded rejected rejected_with_content\n")
    for labelled in labelled_sets():
        marks = [(rejects(record), is_short(record)) for record in labelled.records]
        for column in labelled.label_columns:
            counts: list[int] = []
            for label in ("1", "0"):
                of = [
                    mark for mark, record in zip(marks, labelled.records, strict=True) if record[f"_{column}"] == label
                ]
                counts += (len(of), sum(words for words, _ in of), sum(words or short for words, short in of))
            sys.stdout.write(" ".join((labelled.name, column, *map(str, counts))) + "\n")


if __name__ == "__main__":
    main()
