"""How many duplicates Tamis finds, and how many different records it merges.

    python -m benchmarks.duplicates [--misses]

1. The eight sources of a published review, and exports of six tools. An independent key shows which records are the
   same: a common DOI or PubMed id, directly or through a third record. Two records are different if both have a DOI, or
   both a PubMed id, and the key does not show them to be the same. The key is hidden from Tamis, with the links that
   contain it. Specificity is given for different pairs with similar titles (at least 80 of 100), and for all different
   pairs. A pair with a record without a key does not count.
2. Pairs made of real records by the rules of `title_mutations.py`.
3. Sets of which people labelled the copies. Nothing is hidden. Sensitivity is the share of labelled copies that are in
   a group of copies. In ASySD, people kept one record of each group, and it has no label. Specificity is the share of
   unlabelled records that are in no group, or are the only ones of their group in ASySD.
4. The growth of the time: the records of the three labelled sets, repeated under new names.

`review_deduplication.py` compares the duplicates that are found if nothing is hidden. `--misses` lists every pair that
is missed or falsely merged, with Tamis' reason.
"""

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any

from rapidfuzz import fuzz, process

from tamis_review.intake.duplicates import find_duplicates
from tamis_review.intake.likeness import by_title
from tamis_review.intake.traits import fold, traits_of

from .duplicate_sets import LabelledCopies, SourcedRecord, export_records, labelled_copies, review_records
from .labelled_sets import labelled_sets
from .title_mutations import COPIES, NO_COPIES, Pair, hidden

_NUMBERS = re.compile(r" \(\d+, \d+\)")
ALIKE = 80.0  # of 100
MUTATED = 400  # records a rule
SIZES = (12_500, 50_000)


class Found(StrEnum):
    """The verdict of Tamis on a pair."""

    COPY = "copy"
    DOUBT = "doubt"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Judged:
    """One pair: whether the key shows that its records are the same, and the verdict of Tamis."""

    one: int
    other: int
    same: bool
    found: Found


@dataclass(frozen=True)
class Outcome:
    """The duplicates that Tamis finds in some records."""

    group: list[int]  # for each record, the record that is kept instead of its copies
    doubts: Mapping[frozenset[int], str]  # two kept records -> reason of the doubt

    def of(self, one: int, other: int) -> Found:
        if self.group[one] == self.group[other]:
            return Found.COPY
        return Found.DOUBT if self.reason(one, other) else Found.DIFFERENT

    def reason(self, one: int, other: int) -> str:
        """Return why it is doubtful whether two records are copies; "" if there is no doubt."""
        return self.doubts.get(frozenset((self.group[one], self.group[other])), "")


def outcome(records: Sequence[Mapping[str, Any]]) -> Outcome:
    """Return the groups of copies, and the doubts between records."""
    found = find_duplicates(records)
    stays = {copy.index: copy.of for copy in found.copies}
    return Outcome(
        [stays.get(index, index) for index in range(len(records))],
        {frozenset((one.index, one.of)): one.reason for one in found.doubts},
    )


def keyed(records: Sequence[SourcedRecord]) -> tuple[list[int], list[tuple[str | None, str | None]]]:
    """Return for each record its group by DOI and PubMed id, and these two ids."""
    ids = [(own.doi, own.pmid) for own in (traits_of(one.record) for one in records)]
    group = list(range(len(records)))
    first: dict[tuple[int, str], int] = {}

    def root(index: int) -> int:
        while group[index] != index:
            index = group[index]
        return index

    for index, both in enumerate(ids):
        for kind, value in enumerate(both):
            if value is not None:
                group[root(index)] = root(first.setdefault((kind, value), index))
    return [root(index) for index in range(len(records))], ids


def judged(records: Sequence[SourcedRecord]) -> tuple[list[Judged], int, int]:
    """Return the pairs that are the same, or different but alike; the number of different pairs; and how many of these
    are merged."""
    group, ids = keyed(records)
    finder = outcome([hidden(own.record) for own in records])
    titles = [fold(str(own.record.get("title") or ""))[:300] for own in records]
    alike = {
        (one, other)
        for one, title in enumerate(titles)
        for _, _, other in process.extract(title, titles, scorer=fuzz.ratio, score_cutoff=ALIKE, limit=None)
    }
    pairs: list[Judged] = []
    different = merged = 0
    known = [index for index, both in enumerate(ids) if any(both)]
    for one, other in combinations(known, 2):
        same = group[one] == group[other]
        if not same:
            if not any(ours and theirs for ours, theirs in zip(ids[one], ids[other], strict=True)):
                continue
            different += 1
            merged += finder.group[one] == finder.group[other]
        if same or (one, other) in alike:
            pairs.append(Judged(one, other, same, finder.of(one, other)))
    return pairs, different, merged


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")


def share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def print_pairs(name: str, records: Sequence[SourcedRecord], *, misses: bool) -> None:
    pairs, different, merged = judged(records)
    say(f"\n{name}: {len(records):,} records; identifiers hidden\n")
    say("| sources | same | copy | doubt | missed | sensitivity | different, alike | merged | doubt | specificity |")
    say("|---|---|---|---|---|---|---|---|---|---|")
    by_sources: dict[str, Counter[tuple[bool, Found]]] = defaultdict(Counter)
    for pair in pairs:
        both = " - ".join(sorted((records[pair.one].source, records[pair.other].source)))
        by_sources[both][pair.same, pair.found] += 1
    for both, counts in sorted(by_sources.items()):
        _row(both, counts)
    total = sum(by_sources.values(), Counter())
    _row("all", total)
    say(f"\nof all {different:,} different pairs {merged} are merged: specificity {1 - merged / different:.6f}")
    print_reasons(records, pairs)
    if misses:
        print_misses(records, pairs)


def _row(name: str, counts: Counter[tuple[bool, Found]]) -> None:
    same = sum(counts[True, found] for found in Found)
    alike = sum(counts[False, found] for found in Found)
    say(
        f"| {name} | {same} | {counts[True, Found.COPY]} | {counts[True, Found.DOUBT]} "
        f"| {counts[True, Found.DIFFERENT]} | {share(counts[True, Found.COPY], same)} | {alike} "
        f"| {counts[False, Found.COPY]} | {counts[False, Found.DOUBT]} "
        f"| {share(alike - counts[False, Found.COPY], alike)} |"
    )


def print_reasons(records: Sequence[SourcedRecord], pairs: Iterable[Judged]) -> None:
    """Print how often each reason speaks against a copy that is not found."""
    traits = [traits_of(hidden(own.record)) for own in records]
    counts: Counter[tuple[Found, str]] = Counter()
    for pair in pairs:
        if pair.same and pair.found is not Found.COPY:
            against = by_title(traits[pair.one], traits[pair.other]).against
            said = ", ".join(_NUMBERS.sub("", one).strip() for one in against) or "a third record stands between them"
            counts[pair.found, said] += 1
    if counts:
        say("\n| a copy, but | against | pairs |\n|---|---|---|")
    for (found, said), count in counts.most_common():
        say(f"| {found} | {said} | {count} |")


def print_misses(records: Sequence[SourcedRecord], pairs: Iterable[Judged]) -> None:
    """Print the wrong pairs, each record with source, year, first author, journal and title."""
    finder = outcome([hidden(own.record) for own in records])
    for pair in pairs:
        if pair.same is (pair.found is Found.COPY):
            continue
        reason = finder.reason(pair.one, pair.other)
        say(f"\n{'MISSED' if pair.same else 'MERGED'} {pair.found} {reason}")
        for index in (pair.one, pair.other):
            own = records[index].record
            author = next(iter(own.get("authors") or [""]))
            say(f"  {records[index].source} {own.get('year')} {author} | {own.get('journal')} | {own.get('title')}")


def print_mutated(records: Sequence[Mapping[str, Any]]) -> None:
    say("\n| rule | pairs | copy | doubt | different |")
    say("|---|---|---|---|---|")
    for heading, rules in (("copies", COPIES), ("no copies", NO_COPIES)):
        total: Counter[Found] = Counter()
        for name, rule in rules.items():
            made = [pair for record in records if (pair := rule(record)) is not None][:MUTATED]
            counts = Counter(_found(pair) for pair in made)
            say(f"| {name} | {len(made)} | {' | '.join(str(counts[found]) for found in Found)} |")
            total += counts
        say(f"| **all {heading}** | {total.total()} | {' | '.join(str(total[found]) for found in Found)} |")


def _found(pair: Pair) -> Found:
    return outcome(pair).of(0, 1)


def labelled_counts(labelled: LabelledCopies) -> tuple[int, int]:
    """Return how many labelled copies are found, and how many unlabelled records are merged."""
    groups: dict[int, list[int]] = defaultdict(list)
    for index, kept in enumerate(outcome(labelled.records).group):
        groups[kept].append(index)
    found = merged = 0
    for members in groups.values():
        if len(members) > 1:
            copies = sum(labelled.labels[index] for index in members)
            found += min(copies, len(members) - labelled.unlabelled)
            merged += max(len(members) - copies - labelled.unlabelled, 0)
    return found, merged


def print_labelled() -> None:
    say("\n| labelled set | records | copies | found | sensitivity | merged | specificity |")
    say("|---|---|---|---|---|---|---|")
    for labelled in labelled_copies():
        records, copies = len(labelled.records), sum(labelled.labels)
        found, merged = labelled_counts(labelled)
        unlabelled = records - copies
        shares = share(found, copies), share(unlabelled - merged, unlabelled)
        say(f"| {labelled.name} | {records} | {copies} | {found} | {shares[0]} | {merged} | {shares[1]} |")


def print_growth() -> None:
    """Print the time for many records, and for a quarter of them."""
    own = [record for labelled in labelled_sets() for record in labelled.records]
    seconds = []
    for size in SIZES:
        repeated = [
            {**own[at % len(own)], "title": f"{own[at % len(own)].get('title')} {at // len(own)}"} for at in range(size)
        ]
        start = time.process_time()
        find_duplicates(repeated)
        seconds.append(time.process_time() - start)
    small, large = seconds
    say(
        f"\n{SIZES[0]:,} records: {small:.1f} s CPU; {SIZES[1]:,}: {large:.1f} s; "
        f"{SIZES[1] / SIZES[0]:.0f} times the records take {large / small:.1f} times as long"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="list every pair that is missed or falsely merged")
    misses = parser.parse_args().misses
    review = review_records()
    print_pairs("sources of the review", review, misses=misses)
    print_pairs("exports", export_records(), misses=misses)
    rich = [own.record for own in review if own.record.get("year") and own.record.get("journal")]
    print_mutated([{**own, "year": int(own["year"])} for own in rich if own.get("authors") and own.get("title")])
    print_labelled()
    print_growth()


if __name__ == "__main__":
    main()
