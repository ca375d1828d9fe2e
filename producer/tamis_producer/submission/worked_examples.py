"""Worked examples for an inclusion, from people's decisions in an earlier batch of the same review.

The choice depends only on the decisions: as many includes as excludes, in the order of hashes of their content. The
examples are chosen once, at the submission, and stored in the batch's parameters.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from tamis_schemas import (
    Inclusion,
    InclusionStatus,
    InvalidParameters,
    ItemResult,
    Operation,
    WorkedExample,
)
from tamis_schemas.operations.criteria import LONGEST_REASON, LONGEST_TITLE

MOST = 4  # examples
MOST_CHARACTERS = 6_000  # in all examples; about 1,500 tokens in every call
SHOWN_ABSTRACT = 1_000  # characters in each example
CUT = " [...]"


def with_examples(operation: Inclusion, earlier: Operation, batch_id: str, rows: Iterable[ItemResult]) -> Inclusion:
    """Return the inclusion with examples from an earlier batch. `rows`: the earlier items that people decided about.

    Raises `InvalidParameters` if the earlier batch is not an inclusion, or has another research question. Also raised
    if `rows` do not give both an include and an exclude, or if the criteria already have examples.
    """
    criteria = operation.criteria
    if criteria.examples:
        raise InvalidParameters("examples_from: the criteria have examples already; use one of the two")
    if not isinstance(earlier, Inclusion):
        raise InvalidParameters(f"examples_from: batch {batch_id} is not an inclusion")
    if earlier.criteria.research_question.split() != criteria.research_question.split():
        raise InvalidParameters(
            f"examples_from: batch {batch_id} has another research question, so its decisions are no examples here"
        )
    chosen = choose(rows)
    if not chosen:
        raise InvalidParameters(
            f"examples_from: batch {batch_id} needs a record that a person included and one that a person excluded, "
            "both with titles: `tamis override` records such decisions"
        )
    with_chosen = criteria.model_copy(update={"examples": chosen})
    return operation.model_copy(update={"criteria": with_chosen, "examples_from": batch_id})


def choose(rows: Iterable[ItemResult]) -> list[WorkedExample]:
    """Return examples, alternately an include and an exclude. The same decisions always lead to the same examples.

    Records with the same title but different decisions are skipped. The list is empty without includes or excludes.
    """
    by_title: dict[str, WorkedExample | None] = {}
    for candidate in filter(None, map(_example, rows)):
        same = " ".join(candidate.title.casefold().split())
        before = by_title.setdefault(same, candidate)
        if before is None or before.decision != candidate.decision:
            by_title[same] = None
    ordered = sorted(filter(None, by_title.values()), key=_drawn)
    includes = [example for example in ordered if example.decision == "include"]
    excludes = [example for example in ordered if example.decision == "exclude"]
    return list(_within_bounds(zip(includes, excludes, strict=False)))


def _within_bounds(pairs: Iterable[tuple[WorkedExample, WorkedExample]]) -> Iterator[WorkedExample]:
    taken = characters = 0
    for pair in pairs:
        more = sum(len(text) for example in pair for text in (example.title, example.abstract, example.reason) if text)
        if taken + len(pair) <= MOST and characters + more <= MOST_CHARACTERS:
            yield from pair
            taken, characters = taken + len(pair), characters + more


def _example(row: ItemResult) -> WorkedExample | None:
    """Return the record as an example.

    Return None if no person included or excluded the record, if no model was asked, or if it has no title.
    """
    human = row.override
    title = _text(row.item.get("title"), LONGEST_TITLE)
    if human is None or human.value not in (InclusionStatus.INCLUDE, InclusionStatus.EXCLUDE):
        return None
    if not title or row.exclusion is not None:
        return None
    # If a person agrees with the software, its reason is the person's too.
    reason = human.note or (row.exclusion_reason if human.confirms else None)
    return WorkedExample(
        title=title,
        abstract=_text(row.item.get("abstract"), SHOWN_ABSTRACT),
        decision="include" if human.value == InclusionStatus.INCLUDE else "exclude",
        reason=_text(reason, LONGEST_REASON),
    )


def _text(value: Any, most: int) -> str | None:
    """Return a text on one line, cut at the end of a word if longer than `most`; None if blank or not a text."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if len(text) <= most:
        return text or None
    kept = text[: most - len(CUT)]
    return (kept.rpartition(" ")[0] or kept) + CUT


def _drawn(example: WorkedExample) -> bytes:
    return hashlib.sha256(example.model_dump_json().encode("utf-8", "replace")).digest()
