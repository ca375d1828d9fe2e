"""What ASReview reads is taken over as it stands in its project, or refused."""

import json
import random
import sys
from pathlib import Path

import pytest
from benchmarks.asreview_runs import FILES, ASReview, Priors, labels_of, priors

from stage.shared_data import needs_real_records

LABELS = [False, True, False, True, False]

# In place of `asreview simulate`: writes a project as version 3 does, with these records, read from the last.
STAND_IN = """#!{python}
import json, sqlite3, sys, zipfile
arguments = sys.argv[1:]
output = arguments[arguments.index("--output") + 1]
priors = [int(row) for row in arguments[arguments.index("--prior-idx") + 1 :]]
rows = json.loads({rows!r})
with sqlite3.connect(output + ".db") as database:
    database.execute("CREATE TABLE record (record_id INTEGER, dataset_row INTEGER, included INTEGER)")
    database.execute("CREATE TABLE results (record_id INTEGER UNIQUE, label INTEGER)")
    for row, label in rows:
        database.execute("INSERT INTO record VALUES (?, ?, ?)", (row + 100, row, label))
    read = priors + [row for row, _ in reversed(rows) if row not in priors]
    for row in read:
        database.execute("INSERT INTO results VALUES (?, ?)", (row + 100, dict(rows)[row]))
database.close()
with zipfile.ZipFile(output, "w") as archive:
    archive.write(output + ".db", "results.db")
"""


def stand_in(folder: Path, rows: list[tuple[int, int]]) -> ASReview:
    command = folder / "bin" / "asreview"
    command.parent.mkdir()
    command.write_text(STAND_IN.format(python=sys.executable, rows=json.dumps(rows)), "utf-8")
    command.chmod(0o755)
    return ASReview(folder)


def test_the_priors_are_an_included_and_an_excluded_record_of_the_seed() -> None:
    draw = random.Random(7)
    assert priors(LABELS, 7) == Priors(included=draw.choice([1, 3]), excluded=draw.choice([0, 2, 4]))
    assert len({priors(LABELS, seed) for seed in range(20)}) == 6


def test_the_order_is_that_of_the_project(tmp_path: Path) -> None:
    tool = stand_in(tmp_path, [(row, int(label)) for row, label in enumerate(LABELS)])
    tool.install()  # nothing: it is there
    run = tool.simulate(tmp_path / "records.csv", LABELS, 3)
    start = [run.priors.included, run.priors.excluded]
    assert list(run.order) == start + [row for row in (4, 3, 2, 1, 0) if row not in start]
    figures = run.to_json(LABELS)
    assert (figures["n"], figures["priors"]) == (5, start)
    # both includes: the prior, and the other one where it stands
    assert figures["read_100"] == (list(run.order).index(4 - start[0]) + 1) / 5


@pytest.mark.parametrize(
    "rows", [[(0, 0), (1, 1), (2, 0), (3, 1)], [(0, 0), (1, 1), (2, 0), (3, 0), (4, 1)]], ids=["a row less", "labels"]
)
def test_other_records_than_the_file_s_are_refused(tmp_path: Path, rows: list[tuple[int, int]]) -> None:
    labels = [False, True, False, True, False]
    tool = stand_in(tmp_path, rows)
    seed = next(seed for seed in range(50) if {priors(labels, seed).included, priors(labels, seed).excluded} <= {0, 1})
    with pytest.raises(ValueError, match=f"took in {len(rows)} of the 5 records"):
        tool.simulate(tmp_path / "records.csv", labels, seed)


@needs_real_records
def test_the_sets_have_their_records_and_includes() -> None:
    counts = {name: (len(labels), sum(labels)) for name, labels in ((n, labels_of(p)) for n, p in FILES.items())}
    assert counts == {
        "synergy_Donners_2021": (258, 15),
        "cdss_ro": (521, 36),
        "kwok_2020_gpt4omini": (2_477, 119),
        "ptsd_van_de_schoot_2017": (6_189, 43),
    }
