"""The duplicates that Tamis finds, compared pair by pair with a published review's own deduplication.

    python -m benchmarks.review_deduplication [--pairs]

`review_rows.py` determines without Tamis to which of the review's 1,498 rows each of the 2,695 records belongs. A
difference is a group of Tamis with records of several rows (merged), or a row with records of several groups (apart).
Records that the review lost are in no row. `--pairs` lists every difference and every lost record.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tamis_review.intake.duplicates import Duplicates, find_duplicates
from tamis_review.intake.likeness import Key, agreement, by_title, value_of
from tamis_review.intake.traits import Traits, traits_of

from .duplicate_sets import review_records
from .review_rows import Placed, PlacedBy, exported_records, place, screened_titles

_NUMBERS = re.compile(r" \(\d+, \d+\)")


@dataclass(frozen=True)
class Difference:
    """Two sets of records that are one for Tamis and two for the review, or the reverse, with the cause."""

    one: tuple[int, ...]
    other: tuple[int, ...]
    cause: str


@dataclass(frozen=True)
class Comparison:
    """The groups of Tamis and the rows of the review, for the same records."""

    placed: Sequence[Placed]
    group: Sequence[int]  # for each record, the record that Tamis keeps instead of its copies
    merged: list[Difference]  # different rows in one group of Tamis
    apart: list[Difference]  # different groups of Tamis in one row

    @property
    def lost(self) -> list[int]:
        """The records that the review lost."""
        return [index for index, one in enumerate(self.placed) if one.row is None]

    @property
    def lost_groups(self) -> int:
        """The number of groups whose records the review lost, all of them."""
        screened = {self.group[index] for index, one in enumerate(self.placed) if one.row is not None}
        return len(set(self.group) - screened)


def compare(records: Sequence[Mapping[str, Any]], placed: Sequence[Placed]) -> Comparison:
    """Return the comparison, with every difference once: rows in one group, and groups in one row."""
    found = find_duplicates(records)
    stays = {copy.index: copy.of for copy in found.copies}
    group = [stays.get(index, index) for index in range(len(records))]
    rows: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    groups: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, one in enumerate(placed):
        if one.row is not None:
            rows[one.row][group[index]].append(index)
            groups[group[index]][one.row].append(index)
    causes = _Causes([traits_of(record) for record in records], found)
    return Comparison(
        placed,
        group,
        [Difference(one, other, causes.of_merging(one, other)) for one, other in _pairs(groups.values())],
        [Difference(one, other, causes.of_parting(one, other)) for one, other in _pairs(rows.values())],
    )


def _pairs(parted: Iterable[Mapping[Any, list[int]]]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield pairs of parts: for each whole, its first part with every other part."""
    for parts in parted:
        first, *others = (tuple(part) for part in parts.values())
        yield from ((first, other) for other in others)


def sources_alone(placed: Sequence[Placed]) -> dict[str, int]:
    """Return for each source the number of the review's rows with records only of this source."""
    sources: dict[str, set[str]] = defaultdict(set)
    for one in placed:
        if one.row is not None:
            sources[one.row].add(one.record.source)
    alone = Counter(next(iter(found)) for found in sources.values() if len(found) == 1)
    return {source: alone[source] for source in dict.fromkeys(one.record.source for one in placed)}


class _Causes:
    """The causes why Tamis merged two sets of records, or kept them apart."""

    def __init__(self, traits: Sequence[Traits], found: Duplicates) -> None:
        self._traits = traits
        self._stays = {copy.index: copy.of for copy in found.copies}
        self._doubts = {frozenset((one.index, one.of)): one.reason for one in found.doubts}

    def of_merging(self, one: Sequence[int], other: Sequence[int]) -> str:
        """Return the strongest key that a record of `one` shares with a record of `other`."""
        for key in Key:
            for ours, theirs in self._traits_of(one, other):
                if (value := value_of(ours, key)) and value == value_of(theirs, key):
                    return f"the same {key.value}" if key is not Key.TITLE else agreement(ours, theirs, key)
        return "by way of others"

    def of_parting(self, one: Sequence[int], other: Sequence[int]) -> str:
        """Return the reason of the doubt, or the reasons against the pair with the fewest reasons against it."""
        if reason := self._doubts.get(frozenset(self._stays.get(at, at) for at in (one[0], other[0]))):
            return _NUMBERS.sub("", reason)
        against = min((by_title(ours, theirs).against for ours, theirs in self._traits_of(one, other)), key=len)
        return _NUMBERS.sub("", ", ".join(against))

    def _traits_of(self, one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[Traits, Traits]]:
        return ((self._traits[ours], self._traits[theirs]) for ours, theirs in product(one, other))


def print_comparison(found: Comparison, *, pairs: bool) -> None:
    """Print the steps from the review's number of records to Tamis' number, and the differences by cause."""
    _table("how a record was placed in the review's rows", "records")
    for by in PlacedBy:
        _row(by, sum(one.by is by for one in found.placed))
    _row("lost", len(found.lost))
    for source, count in Counter(found.placed[index].record.source for index in found.lost).items():
        _row(f"lost, of {source}", count)
    _table("source of a row's only records", "rows of the review")
    for source, count in sources_alone(found.placed).items():
        _row(source, count)
    _table("from the review's records to Tamis'", "records")
    _row("left by the review", len({one.row for one in found.placed if one.row is not None}))
    _row("merged by Tamis alone", -len(found.merged))
    _row("kept apart by Tamis alone", len(found.apart))
    _row("lost by the review, left by Tamis", found.lost_groups)
    _row("left by Tamis", len(set(found.group)))
    for name, differences in (("merged by Tamis alone", found.merged), ("kept apart by Tamis alone", found.apart)):
        _table(name, "differences")
        for cause, count in Counter(one.cause for one in differences).most_common():
            _row(cause, count)
        for one in sorted(differences, key=lambda one: one.cause) if pairs else ():
            say(f"\n{one.cause}")
            for side in (one.one, one.other):
                say("  " + "; ".join(_named(found.placed[index]) for index in side))
    if pairs:
        say("\nlost: " + ", ".join(found.placed[index].record.name for index in found.lost))


def _table(name: str, unit: str) -> None:
    say(f"\n| {name} | {unit} |\n|---|---|")


def _row(name: str, count: int) -> None:
    say(f"| {name} | {count:,} |")


def _named(one: Placed) -> str:
    return f"{one.record.name} (row {one.row}) {one.record.title.strip()}"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", action="store_true", help="list every difference and every lost record")
    placed = place(exported_records(), screened_titles())
    print_comparison(compare([own.record for own in review_records()], placed), pairs=parser.parse_args().pairs)


if __name__ == "__main__":
    main()
