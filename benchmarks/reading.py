"""The time of reading a table of many records, and its growth with the number of records.

    python -m benchmarks.reading

Synthetic records of real size are written as tables of three kinds: one column per field, as most sources have; Ovid's,
where `SO` contains year and journal; EBSCO's, with a column for each author and subject. For comparison, in the same
run: Python's `csv.DictReader` on the same text, which makes no records. In the last table, one row in a hundred lacks
its last quotation mark, so the rows after it are read again.
"""

import csv
import gc
import io
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tamis_review.intake.delimited import read_delimited
from tamis_review.intake.notes import Notes

from .records import records

Layout: TypeAlias = Callable[[Mapping[str, Any]], dict[str, str]]

PATH = Path("table.csv")
SIZES = (12_500, 50_000)
RUNS = 3
DAMAGED = 100  # rows, of which one is damaged
AUTHORS = ("Strand, Anna", "Li, Mo", "Okafor, Chi")
SUBJECTS = 12


def plain(record: Mapping[str, Any]) -> dict[str, str]:
    """Return a row with one column per field."""
    return {
        **record,
        "authors": "; ".join(AUTHORS),
        "year": "2020",
        "journal": "Journal of Walking",
        "doi": f"10.1234/{record['id']}",
    }


def ovid(record: Mapping[str, Any]) -> dict[str, str]:
    return {
        "DB": "Embase",
        "UI": record["id"],
        "TI": record["title"],
        "SO": "Journal of Walking. 12(3) (pp 45-49), 2020. Date of Publication: March 2020.",
        "AU": "\n\n".join(AUTHORS),
        "AB": record["abstract"],
        "FTURL": f"https://ovid.example/web.cgi?DO=10.1234%2f{record['id']}",
    }


def ebsco(record: Mapping[str, Any]) -> dict[str, str]:
    return {
        "jinfo/jtl": "Journal of Walking",
        "pubinfo/dt/_year": "2020",
        "artinfo/ui/0/_type": "doi",
        "artinfo/ui/0/__text": f"10.1234/{record['id']}",
        "artinfo/tig/atl": record["title"],
        "artinfo/ab/0": record["abstract"],
        **{f"artinfo/aug/au/{number}": name for number, name in enumerate(AUTHORS)},
        **{f"artinfo/sug/subj/{number}/__text": f"Walking {number}" for number in range(SUBJECTS)},
        "header/_uiTerm": record["id"],
    }


LAYOUTS: Mapping[str, Layout] = {"plain": plain, "Ovid": ovid, "EBSCO": ebsco}


def table(layout: Layout, own: Sequence[Mapping[str, Any]]) -> str:
    rows = [layout(record) for record in own]
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, rows[0].keys(), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def damaged(own: Sequence[Mapping[str, Any]]) -> str:
    """Return the plain table, in which some rows lack their last quotation mark."""
    lines = table(plain, own).splitlines(keepends=True)
    for at in range(DAMAGED, len(lines), DAMAGED):
        lines[at] = lines[at].replace('"\r\n', "\r\n")
    return "".join(lines)


def seconds(*contestants: Callable[[], object]) -> list[float]:
    """Return the CPU seconds of each contestant's fastest run. The contestants take turns."""
    best = [float("inf")] * len(contestants)
    for _ in range(RUNS):
        for at, work in enumerate(contestants):
            gc.collect()
            start = time.process_time()
            work()
            best[at] = min(best[at], time.process_time() - start)
    return best


def measure(name: str, text_of: Callable[[Sequence[Mapping[str, Any]]], str], own: Sequence[Mapping[str, Any]]) -> None:
    """Print a row: microseconds per record for both sizes, the growth, and the ratio to `csv.DictReader`."""
    each: list[float] = []
    times = 0.0
    for size in SIZES:
        text = text_of(own[:size])
        ours, theirs = seconds(partial(_read, text), partial(_read_by_csv, text))
        each.append(ours / size * 1e6)
        times = ours / theirs
    say(f"| {name} | {each[0]:.0f} | {each[1]:.0f} | {each[1] / each[0]:.2f} | {times:.1f} |")


def _read(text: str) -> None:
    read_delimited(text, Notes(PATH))


def _read_by_csv(text: str) -> None:
    for _ in csv.DictReader(io.StringIO(text, newline="")):
        pass


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    small, large = SIZES
    own = records(large)
    say(f"| table | µs a record of {small:,} | of {large:,} | growth | times csv.DictReader |")
    say("|---|---|---|---|---|")
    for name, layout in LAYOUTS.items():
        measure(name, partial(table, layout), own)
    measure("plain, one row of a hundred damaged", damaged, own)


if __name__ == "__main__":
    main()
