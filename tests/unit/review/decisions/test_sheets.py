"""The file of a pilot: drawn at random, blind, and read back as what was drawn."""

import csv
import io
from pathlib import Path

import pytest

from stage.judged import copied, rejected, row
from tamis_review.decisions.sheets import Pilot, draw_pilot, write_pilot
from tamis_review.quality.gold_labels import read_labels
from tamis_review.quality.matching import match
from tamis_review.quality.pilot import calibrate
from tamis_review.quality.sampling import Lie
from tamis_schemas import InputError, InvalidParameters, InvalidRequest, ItemResult

ROWS = [row(at, f"r{at}", "include" if at % 3 else "exclude", 0.8) for at in range(300)]
ROWS += [rejected(300, "=rule()"), copied(301, "c", of=0)]
ORIGINALS = range(301)


def written(pilot: Pilot, path: Path, *, filled: int, rows: list[ItemResult] = ROWS) -> Path:
    """The file of a pilot, of which somebody filled in the first rows: yes, then no, by turns."""
    stream = io.StringIO()
    write_pilot(pilot, rows, stream)
    lines = list(csv.DictReader(io.StringIO(stream.getvalue().removeprefix("\ufeff"))))
    for number, line in enumerate(lines[:filled]):
        line["include"] = "no" if number % 2 else "yes"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return path


def test_the_same_seed_draws_the_same_and_a_larger_pilot_begins_with_the_smaller() -> None:
    pilot = draw_pilot(ORIGINALS, 50, seed=1)
    assert pilot == draw_pilot(ORIGINALS, 50, seed=1)
    assert pilot.places == draw_pilot(ORIGINALS, 80, seed=1).places[:50]
    assert pilot.places != draw_pilot(ORIGINALS, 50, seed=2).places
    assert pilot.population == 301  # what a rule rejected can be drawn, a copy cannot
    assert set(draw_pilot(ORIGINALS, 900, seed=1).places) == set(range(301))
    for n, seed in ((0, 1), (5, -1)):
        with pytest.raises(InvalidParameters):
            draw_pilot(ORIGINALS, n, seed=seed)


def test_the_file_says_nothing_of_what_the_model_decided() -> None:
    stream = io.StringIO()
    write_pilot(draw_pilot(ORIGINALS, 301, seed=1), ROWS, stream)
    assert stream.getvalue().startswith("\ufeff")  # by which spreadsheets know UTF-8
    header, *lines = list(csv.reader(io.StringIO(stream.getvalue()[1:])))
    assert header == ["seed", "index", "id", "title", "abstract", "include", "note", "number"]
    assert not any("so it is" in cell or cell in ("include", "exclude", "0.8") for line in lines for cell in line)
    assert "'=rule()" in {line[2] for line in lines}


@pytest.mark.parametrize("filled", [30, 120])
def test_as_far_as_it_is_filled_in_from_the_top_it_is_known_to_be_drawn(tmp_path: Path, filled: int) -> None:
    path = written(draw_pilot(ORIGINALS, 120, seed=1), tmp_path / "pilot.csv", filled=filled)
    matched = match(ROWS, read_labels(path))
    assert (matched.matching.by, matched.matching.labelled, matched.matching.empty) == ("index", filled, 120 - filled)
    assert matched.seed == 1
    sampling = calibrate(matched, 0.5, 0.1).calibration.sampling
    assert (sampling.lie, sampling.seed) == (Lie.RANDOM, 1)


def test_rows_that_were_passed_over_are_tested_as_any_other_labels(tmp_path: Path) -> None:
    path = written(draw_pilot(ORIGINALS, 120, seed=1), tmp_path / "pilot.csv", filled=60)
    text = path.read_text("utf-8-sig").replace(",yes,", ",,", 1)
    path.write_text(text, "utf-8")
    matched = match(ROWS, read_labels(path))
    assert (matched.matching.labelled, matched.seed) == (59, None)


def test_records_that_share_an_id_are_told_apart_by_their_places(tmp_path: Path) -> None:
    rows = [row(at, "same") for at in range(40)]
    path = written(draw_pilot(range(len(rows)), 20, seed=3), tmp_path / "pilot.csv", filled=20, rows=rows)
    matched = match(rows, read_labels(path))
    assert {one.index for one in matched.records} == set(draw_pilot(range(len(rows)), 20, seed=3).places)


def test_another_batchs_pilot_and_columns_sorted_apart_are_refused(tmp_path: Path) -> None:
    path = written(draw_pilot(ORIGINALS, 20, seed=1), tmp_path / "pilot.csv", filled=5)
    with pytest.raises(InvalidRequest, match="another batch's pilot, or its columns were sorted separately"):
        match([row(at, f"x{at}") for at in range(302)], read_labels(path))
    lines = path.read_text("utf-8-sig").splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], "2" + lines[-1][1:]]), "utf-8")
    with pytest.raises(InputError, match="rows of several pilots"):
        read_labels(path)
    path.write_text("".join([*lines[:-1], "x" + lines[-1][1:]]), "utf-8")
    with pytest.raises(InputError, match="'x' is not a whole number"):
        read_labels(path)
