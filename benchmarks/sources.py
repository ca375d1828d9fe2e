"""The time and memory to identify the records of eight sources: reading, joining, deduplication.

    python -m benchmarks.sources [--records 50000]

Works are made from the real records of the labelled sets, with a number in the title, and made-up identifiers, years,
journals and authors. The eight sources have different formats or columns, and contain works at random: a work is in 1.7
sources on average. A third of the copies lack the DOI, a sixth the abstract, and some have another spelling of the
title. One source has two files: a CSV without abstracts, and NBIB with abstracts.

The measured process does only what `tamis screen` does before it submits. Its peak is its resident memory. For
comparison, in the same run: `json.loads` over the same records, one per line.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_review.filter.identification import identify
from tamis_review.intake import write_records
from tamis_review.intake.filling import FILLED
from tamis_review.intake.stated_source import StatedSource

from .labelled_sets import labelled_sets
from .many_items import peak_memory

RECORDS = 50_000
SEED = 19
COPIES = 1.7  # records of one work, in the mean
# File -> its share of all records, and the form of a title there.
SHARES = {
    "medline.csv": 0.22,
    "embase.ris": 0.24,
    "scopus.csv": 0.2,
    "webofscience.bib": 0.12,
    "psycinfo.tsv": 0.08,
    "cinahl.xml": 0.07,
    "central.ris": 0.05,
    "base.jsonl": 0.02,
}
ABSTRACTS = "medline.nbib"  # the second form of medline.csv
FAMILIES = ("Abbott", "Brontë", "Čapek", "Dumas", "Eliot", "Fontane", "Gogol", "Hardy", "Ibsen", "Joyce", "Kivi", "Lu")
JOURNALS = ("Journal of Trauma", "Annals of Hearing", "Archives of Medicine", "European Review", "Nursing Letters")


@dataclass(frozen=True)
class Measured:
    """The figures of one identification."""

    records: int
    duplicates: int
    doubts: int
    filled: int
    joined: int
    wall: float  # seconds
    cpu: float
    peak: int  # bytes


def works(count: int) -> list[dict[str, Any]]:
    """Return `count` different works."""
    own = [record for labelled in labelled_sets() for record in labelled.records if record.get("title")]
    chance = random.Random(SEED)  # noqa: S311 - the same works in every run
    made = []
    for number in range(count):
        record = own[number % len(own)]
        pmid = str(10_000_000 + number)
        made.append(
            {
                "id": pmid,
                "title": f"{record['title']}: report {number // len(own)}" if number >= len(own) else record["title"],
                "abstract": f"{record.get('abstract') or ''} [{number}]",
                "authors": [f"{chance.choice(FAMILIES)}, {chance.choice('ABCDE')}." for _ in range(4)],
                "year": chance.randint(1990, 2024),
                "journal": chance.choice(JOURNALS),
                "doi": f"10.5555/work.{number}",
                "pmid": pmid,
            }
        )
    return made


def write_sources(folder: Path, records: int) -> list[Path]:
    """Write the files, and return their paths. Together they have `records` records, without `ABSTRACTS`."""
    chance = random.Random(SEED)  # noqa: S311 - the same works in every run
    pool = works(int(records / COPIES))
    counts = {name: int(share * records) for name, share in SHARES.items()}
    counts[next(iter(counts))] += records - sum(counts.values())
    paths = []
    for name, count in counts.items():
        drawn = chance.sample(pool, min(count, len(pool)))
        if name == "medline.csv":
            write_records(drawn, folder / ABSTRACTS, format="nbib")
            written = [{key: value for key, value in one.items() if key != "abstract"} for one in drawn]
        else:
            written = [_as_in(name, one, chance) for one in drawn]
        write_records(written, folder / name, format=_format_of(name))
        paths.append(folder / name)
    return [*paths, folder / ABSTRACTS]


def _as_in(name: str, work: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return the work as another database has it: with another accession number, and without some fields."""
    copy = {key: value for key, value in work.items() if key != "pmid"} | {"id": f"{name[:2].upper()}{work['pmid']}"}
    if chance.random() < 1 / 3:
        del copy["doi"]
    if chance.random() < 1 / 6:
        del copy["abstract"]
    if chance.random() < 1 / 4:
        copy["title"] = f"{str(copy['title']).upper()}."
    return copy


def _format_of(name: str) -> str:
    return {"bib": "bibtex", "xml": "endnote"}.get(name.rpartition(".")[2], name.rpartition(".")[2])


def stated(paths: Iterable[Path]) -> list[StatedSource]:
    """Return the sources of these files. MEDLINE's two files are one source."""
    medline, *others = paths
    *others, abstracts = others
    return [
        StatedSource(name="MEDLINE", files=(medline, abstracts)),
        *(StatedSource(name=path.stem, files=(path,)) for path in others),
    ]


def measure(paths: Iterable[Path]) -> Measured:
    """Identify the records in this process, and return the figures."""
    wall, cpu = time.perf_counter(), time.process_time()
    identified = identify(stated(paths))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Measured(
        records=len(identified.records),
        duplicates=identified.duplicates,
        doubts=len(identified.doubts),
        filled=sum(FILLED in record for record in identified.asked),
        joined=sum(file.joined for file in identified.files),
        wall=wall,
        cpu=cpu,
        peak=peak_memory(),
    )


def measure_json(paths: Iterable[Path], folder: Path) -> float:
    """Return the CPU seconds of `json.loads` over all records, one line each with the fields of its file."""
    lines = folder / "all.ndjson"
    with lines.open("w", encoding="utf-8") as stream:
        for source in identify(stated(paths)).records:
            stream.write(json.dumps(source, ensure_ascii=False) + "\n")
    started = time.process_time()
    with lines.open(encoding="utf-8") as stream:
        kept = [json.loads(line) for line in stream]
    return (time.process_time() - started) if kept else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--measure", nargs="+", type=Path, metavar="FILE", help="identify these files and print JSON")
    given = parser.parse_args()
    if given.measure:
        sys.stdout.write(json.dumps(measure(given.measure).__dict__) + "\n")
        return
    with tempfile.TemporaryDirectory(prefix="tamis-sources-") as folder:
        paths = write_sources(Path(folder), given.records)
        size = sum(path.stat().st_size for path in paths)
        command = [sys.executable, "-m", "benchmarks.sources", "--measure", *map(str, paths)]
        found = Measured(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        baseline = measure_json(paths, Path(folder))
    sys.stdout.write(
        "| records | files | MB | duplicates | doubts | filled | joined | wall s | CPU s | peak MB "
        "| CPU to json.loads |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n"
        f"| {found.records:,} | {len(paths)} | {size / 1e6:.0f} | {found.duplicates:,} | {found.doubts:,} "
        f"| {found.filled:,} | {found.joined:,} | {found.wall:.1f} | {found.cpu:.1f} | {found.peak / 1e6:.0f} "
        f"| {found.cpu / baseline:.0f} |\n"
    )


if __name__ == "__main__":
    main()
