"""Does the check find quotes with a changed meaning, and how fast is it? Measured on real abstracts.

    python -m benchmarks.quotes [--seed 1] [--each 60]

Quotes of four lengths are drawn from the records in `../shared/data`, beside the checkout. Each gets one change of
`quote_mutations.py`, in its meaning or only in its form. A changed quote that the record contains too is skipped. For
comparison: the result of a similarity of 0.95 alone for the same quotes.

Speed is measured with six quotes for each record, nine in ten of them verbatim, and includes folding the record. For
comparison, in the same run: rapidfuzz's bare `partial_ratio`. The best of several runs counts.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz import fuzz

from tamis_review.intake import read_records
from tamis_schemas.answers.results import QuoteState
from tamis_worker.quotes.folded_text import FoldedText
from tamis_worker.quotes.quotes import SHORT, QuotedRecord

from .quote_mutations import BEFORE, BEHIND, FLIPS, HARMLESS, LENGTHS, NEARLY, Kind

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = (
    *(f"screening/{name}/records.csv" for name in ("synergy_Donners_2021", "cdss_ro", "ptsd_van_de_schoot_2017")),
    "recorded/kwok_2020_gpt4omini/records.csv",
    *(f"exports/RIS/_baseline_{name}.ris" for name in ("embase", "endnote", "pubmed", "scopus", "webofscience")),
)
SIMILAR_ALONE = 95.0  # of 100: what was found before tokens were compared
SHORTEST = 300  # characters of an abstract that is quoted
DRAWN = 4_000  # draws for one kind and length, at most
RUNS = 5
OF_A_RECORD = 6  # quotes
_AROUND = " '\"\u201c\u201d.,;:-()"
VERBATIM = 0.9  # of the quotes whose speed is measured


@dataclass(frozen=True)
class Quoted:
    """A quote made from words of a record, and the kind of its change."""

    kind: str
    length: tuple[int, int]
    title: str
    abstract: str
    text: str

    @property
    def item(self) -> dict[str, str]:
        return {"title": self.title, "abstract": self.abstract}


def abstracts(files: Iterable[str] = FILES) -> list[tuple[str, str]]:
    """Return title and abstract of every record with a long enough abstract. Equal abstracts count once."""
    found: dict[str, str] = {}
    for name in files:
        for record in read_records(DATA / name):
            abstract, title = record.get("abstract"), record.get("title")
            if isinstance(abstract, str) and isinstance(title, str) and len(abstract) >= SHORTEST:
                found.setdefault(abstract, title)
    return [(title, abstract) for abstract, title in found.items()]


def quotes(
    records: list[tuple[str, str]], kinds: Iterable[Kind], *, each: int, seed: int, drawn: int = DRAWN
) -> Iterator[Quoted]:
    """Yield `each` quotes of every kind and length, or fewer if the records have no more. The seed determines them."""
    for kind in kinds:
        for length in LENGTHS:
            draw = random.Random(f"{seed} {kind.name} {length}")  # noqa: S311 - nothing secret
            made = 0
            for _ in range(drawn):
                if made == each:
                    break
                title, abstract = draw.choice(records)
                quote = _excerpt(draw, abstract, (length[0] + kind.longer, length[1] + kind.longer), kind)
                text = None if quote is None else kind.mutate(draw, quote, draw.choice(records)[1])
                if (
                    text is None
                    or len(text.strip(_AROUND)) < SHORT
                    or (
                        kind in FLIPS
                        and _stands_in(text, abstract, title, but=kind.behind is not None or kind.before is not None)
                    )
                ):
                    continue
                made += 1
                yield Quoted(kind.name, length, title, abstract, text)


def _excerpt(draw: random.Random, abstract: str, length: tuple[int, int], kind: Kind) -> str | None:
    """Return whole words of the abstract, with a length (in characters) between the two; None if there are none.

    Only a kind that says so begins just behind a negation, or ends just before a negation.
    """
    starts = [0, *(space.end() for space in re.finditer(r"\s+", abstract))]
    ends = [*(space.start() for space in re.finditer(r"\s+", abstract)), len(abstract)]
    behind = {place.end() for place in BEHIND.finditer(abstract)}
    before = {place.start() for place in BEFORE.finditer(abstract)}
    starts = [start for start in starts if (start in behind) is (kind.behind is not None)]
    ends = [end for end in ends if (end in before) is (kind.before is not None)]
    if not starts or not ends:
        return None
    if kind.before is not None:
        end = draw.choice(ends)
        fitting = [(start, end) for start in starts if length[0] <= end - start <= length[1]]
    else:
        start = draw.choice(starts)
        fitting = [(start, end) for end in ends if length[0] <= end - start <= length[1]]
    if not fitting:
        return None
    start, end = draw.choice(fitting)
    if kind.behind is None and NEARLY.search(abstract, max(0, start - 60), start):
        return None
    return abstract[start:end].strip()


def _stands_in(text: str, *fields: str, but: bool) -> bool:
    """Return whether a text is in the fields, more than once if `but`."""
    sought = " ".join(re.findall(r"\w+|[^\w\s]", FoldedText(text).folded.strip(_AROUND)))
    words = (" ".join(re.findall(r"\w+|[^\w\s]", FoldedText(field).folded)) for field in fields)
    return sum(field.count(sought) for field in words) > but


def before(quoted: Quoted) -> QuoteState:
    """Return the verdict by similarity alone: found if all parts are in order in one field, each 0.95 similar."""
    parts = [part.strip(" '.,;:-[](){}<>") for part in re.split(r"\[?\(?(?:\. ?){3,}\]?\)?", _folded(quoted.text))]
    for field in (quoted.title, quoted.abstract):
        folded, place = _folded(field), 0
        for part in filter(None, parts):
            exact = folded.find(part, place)
            if exact >= 0:
                place = exact + len(part)
                continue
            found = fuzz.partial_ratio_alignment(part, folded[place:], score_cutoff=SIMILAR_ALONE)
            if len(part) < SHORT or found is None or found.score < SIMILAR_ALONE:
                break
            place += found.dest_end
        else:
            return QuoteState.FOUND
    return QuoteState.NOT_FOUND


def after(quoted: Quoted) -> QuoteState:
    quote = QuotedRecord(quoted.item).find(quoted.text)
    return QuoteState.NOT_FOUND if quote is None else quote.state


def _folded(text: str) -> str:
    return FoldedText(text).folded


def table(made: list[Quoted], wrong: Callable[[QuoteState], bool], title: str, share: str) -> str:
    """Return the table: for each kind, the number of quotes, the wrong shares before and after, and the verdicts."""
    states = [(one, before(one), after(one)) for one in made]
    heads = [f"{low}-{high}" for low, high in LENGTHS]
    lines = [
        f"| {title} | quotes | {share}, before | after | {' | '.join(heads)} | found | altered | not found |",
        "|---" * (7 + len(heads)) + "|",
    ]
    by_kind: dict[str, list[tuple[Quoted, QuoteState, QuoteState]]] = defaultdict(list)
    for state in states:
        by_kind[state[0].kind].append(state)
    for name, of_kind in [*by_kind.items(), ("all", states)]:
        became = Counter(now for _, _, now in of_kind)
        lengths = [_share([now for one, _, now in of_kind if one.length == length], wrong) for length in LENGTHS]
        lines.append(
            f"| {name} | {len(of_kind):,} | {_share([then for _, then, _ in of_kind], wrong)} "
            f"| {_share([now for _, _, now in of_kind], wrong)} | {' | '.join(lengths)} "
            f"| {' | '.join(f'{became[state]:,}' for state in QuoteState)} |"
        )
    return "\n".join(lines)


def _share(states: list[QuoteState], wrong: Callable[[QuoteState], bool]) -> str:
    return f"{sum(map(wrong, states)) / len(states):.1%}" if states else "-"


def speed(records: list[tuple[str, str]], *, seed: int) -> str:
    """Return, as a line, the checks per second, and the speed of the bare similarity for comparison."""
    draw = random.Random(seed)  # noqa: S311 - nothing secret
    changes = [*FLIPS, *HARMLESS]
    asked: list[tuple[dict[str, str], list[str]]] = []
    for title, abstract in records:
        texts: list[str] = []
        while len(texts) < OF_A_RECORD:
            quote = _excerpt(draw, abstract, draw.choice(LENGTHS), HARMLESS[0]) or abstract[:60]
            if draw.random() >= VERBATIM:
                quote = draw.choice(changes).mutate(draw, quote, draw.choice(records)[1]) or quote
            texts.append(quote)
        asked.append(({"title": title, "abstract": abstract}, texts))
    ours = bare = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        for item, texts in asked:
            record = QuotedRecord(item)
            for text in texts:
                record.find(text)
        middle = time.process_time()
        for item, texts in asked:
            for text in texts:
                fuzz.partial_ratio(text, item["abstract"])
        ours, bare = min(ours, middle - start), min(bare, time.process_time() - middle)
    count = len(asked) * OF_A_RECORD
    return (
        f"{count:,} checks, nine in ten of them verbatim: {count / ours:,.0f} a second; a bare partial_ratio: "
        f"{count / bare:,.0f}; {bare / ours:.2f} times as fast"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quotes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=60, help="quotes of a kind and a length, at most")
    parser.add_argument("--show", type=int, default=0, help="wrong ones of each kind to show")
    asked = parser.parse_args()
    records = abstracts()
    flips = list(quotes(records, FLIPS, each=asked.each, seed=asked.seed))
    harmless = list(quotes(records, HARMLESS, each=asked.each, seed=asked.seed))
    sys.stdout.write(f"{len(records):,} abstracts, seed {asked.seed}\n\n")
    sys.stdout.write(table(flips, lambda state: state is QuoteState.FOUND, "says something else", "accepted") + "\n\n")
    sys.stdout.write(table(harmless, lambda state: state is not QuoteState.FOUND, "says the same", "flagged") + "\n\n")
    shown: Counter[str] = Counter()
    for one in [*flips, *harmless]:
        state = after(one)
        if (state is QuoteState.FOUND) is (one in flips) and shown[one.kind] < asked.show:
            shown[one.kind] += 1
            quote = QuotedRecord(one.item).find(one.text)
            sys.stdout.write(f"{one.kind}: {one.text!r}: {quote!r}\n")
    sys.stdout.write(speed(records[:1500], seed=asked.seed) + "\n")


if __name__ == "__main__":
    main()
