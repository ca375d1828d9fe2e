"""The order in which ASReview shows the records of labelled sets, from runs in a separate environment.

    python -m benchmarks.asreview_runs --json asreview.json

ASReview's default model learns from the labels of one included and one excluded record, which the seed draws
(`priors`), and then from every label. These two records count as read. The environment is made if it is missing. The
file is rewritten after each set, the smallest set first.
"""

import argparse
import csv
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from .labelled_sets import DATA, SCREENING
from .reading_curve import ReadingCurve

VERSION = "3.0.8"
MODEL = "elas_u4"  # what its command line takes without being told
SEEDS = 10
FILES: Mapping[str, Path] = {  # the smallest first
    "synergy_Donners_2021": SCREENING / "synergy_Donners_2021" / "records.csv",
    "cdss_ro": SCREENING / "cdss_ro" / "records.csv",
    "kwok_2020_gpt4omini": DATA / "recorded" / "kwok_2020_gpt4omini" / "records.csv",
    "ptsd_van_de_schoot_2017": SCREENING / "ptsd_van_de_schoot_2017" / "records.csv",
}


@dataclass(frozen=True)
class Priors:
    """The two records whose labels are known at the start. Rows count from 0."""

    included: int
    excluded: int


@dataclass(frozen=True)
class Run:
    """One simulation: the rows in the order of reading, until the last included record."""

    seed: int
    priors: Priors
    records: int  # that ASReview took in
    order: tuple[int, ...]

    def to_json(self, labels: Sequence[bool]) -> dict[str, Any]:
        curve = ReadingCurve.of(self.order, labels)
        return {
            "priors": [self.priors.included, self.priors.excluded],
            "n": self.records,
            "read_95": curve.share_read(0.95),
            "read_98": curve.share_read(0.98),
            "read_100": curve.share_read(1.0),
            "order": list(self.order),
        }


def labels_of(path: Path) -> list[bool]:
    """Return for each row of the file whether its record is finally included."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [row["label"] == "1" for row in csv.DictReader(stream)]


def priors(labels: Sequence[bool], seed: int) -> Priors:
    """Return an included and an excluded row, drawn by the seed. Comparisons with ASReview begin with the same rows."""
    draw = random.Random(seed)  # noqa: S311 - a simulation
    return Priors(
        included=draw.choice([row for row, label in enumerate(labels) if label]),
        excluded=draw.choice([row for row, label in enumerate(labels) if not label]),
    )


class ASReview:
    """The command line of ASReview, in a separate environment."""

    def __init__(self, environment: Path) -> None:
        self._folder = environment

    def install(self) -> None:
        """Make the environment if it is missing."""
        if self._command.exists():
            return
        venv.create(self._folder, with_pip=True)
        python = self._command.with_name("python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"asreview=={VERSION}"], check=True)

    def simulate(self, records: Path, labels: Sequence[bool], seed: int) -> Run:
        """Simulate the reading until the last included record.

        Raise ValueError if ASReview read fewer records than the file has, or other labels. Its order would not be
        comparable.
        """
        start = priors(labels, seed)
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder, "run.asreview")
            command = [str(self._command), "simulate", str(records), "--ai", MODEL, "--seed", str(seed)]
            command += ["--output", str(project)]
            command += ["--prior-idx", str(start.included), str(start.excluded)]
            subprocess.run(command, check=True, capture_output=True)
            with ZipFile(project) as archive:
                results = Path(archive.extract("results.db", folder))
            with closing(sqlite3.connect(results)) as database:
                taken = dict(database.execute("SELECT dataset_row, included FROM record").fetchall())
                read = database.execute(
                    "SELECT dataset_row FROM results JOIN record USING (record_id) ORDER BY results.rowid"
                ).fetchall()
        if taken != {row: int(label) for row, label in enumerate(labels)}:
            raise ValueError(
                f"ASReview took in {len(taken)} of the {len(labels)} records of {records}, or other labels"
            )
        return Run(seed, start, len(taken), tuple(row for (row,) in read))

    @property
    def _command(self) -> Path:
        return self._folder / ("Scripts" if sys.platform == "win32" else "bin") / "asreview"


def run_all(tool: ASReview, names: Iterable[str], seeds: int, file: Path) -> None:
    """Simulate the named sets, and write all results so far after each set."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        labels = labels_of(FILES[name])
        runs = {}
        for seed in range(seeds):
            runs[str(seed)] = tool.simulate(FILES[name], labels, seed).to_json(labels)
            sys.stderr.write(f"{name} seed {seed}: {runs[str(seed)]['read_95']:.3f}\n")
        found[name] = runs
        part = file.with_suffix(".part")
        part.write_text(json.dumps(found) + "\n", "utf-8")
        part.replace(file)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.asreview_runs", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(FILES)}; none: all")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="simulations of each set")
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="keep ASReview there, for the next time")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="write what it read there")
    given = parser.parse_args()
    if unknown := set(given.sets) - set(FILES):
        parser.error(f"{sorted(unknown)[0]!r} is none of {', '.join(FILES)}")
    environment = given.environment or Path(tempfile.mkdtemp(prefix="asreview-"))
    try:
        tool = ASReview(environment)
        tool.install()
        run_all(tool, given.sets or FILES, given.seeds, given.json)
    finally:
        if given.environment is None:
            shutil.rmtree(environment)


if __name__ == "__main__":
    main()
