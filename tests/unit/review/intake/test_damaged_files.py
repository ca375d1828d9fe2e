"""Damaged files: nothing but `InputError` comes of them, no record is lost without a note or by its neighbour's harm.

The short form is part of every run; the long one of 10,000 files is `pytest -m night`.
"""

import io
import json
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from damaged_files import ANYWHERE, CONFINED, SAMPLES, Confined, Damage
from damaged_files.samples import RECORDS
from tamis_review.intake import Format, Intake, read_file
from tamis_review.intake.writing import WRITERS
from tamis_schemas import InputError

TAGGED = (
    Format.RIS,
    Format.NBIB,
    Format.BIBTEX,
    Format.ENDNOTE_XML,
    Format.WOS_TAGGED,
    Format.ENDNOTE_TAGGED,
    Format.PUBMED_TEXT,
)
BY_RECORD = (*TAGGED, Format.DELIMITED, Format.TSV, Format.JSONL)  # readers that take a damaged record for itself
FILES = 10_000
SHORT = 330


def _own(record: dict[str, Any]) -> str:
    """A record without its place in the file."""
    return json.dumps(
        {name: value for name, value in record.items() if name not in ("_line", "_source")}, sort_keys=True
    )


def _read(path: Path, raw: bytes, *, strict: bool = False) -> Intake | None:
    path.write_bytes(raw)
    try:
        return read_file(path, strict=strict)
    except InputError:
        return None


@cache
def _whole(form: Format) -> Intake:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        path.write_text(SAMPLES[form].text, "utf-8", newline="")
        return read_file(path)


def _harmed_in_one(path: Path, form: Format, damage: Confined, seed: str) -> None:
    """Damage one record of a file: the others are read as if nothing had been, and it is missing with a note alone."""
    random, sample = Random(seed), SAMPLES[form]
    whole = _whole(form)
    assert (whole.lost, len(whole.records)) == (0, len(sample.pieces))
    foreign = [line for other in SAMPLES if other is not form for line in SAMPLES[other].pieces[3].splitlines() if line]
    at = random.randrange(len(sample.pieces))
    pieces = [*sample.pieces]
    pieces[at] = damage(random, pieces[at], foreign)
    text = sample.before + "".join(pieces) + sample.behind
    read = _read(path, text.encode())
    assert read is not None, seed
    found = [_own(record) for record in read.records]
    missing = [number for number, record in enumerate(whole.records) if number != at and _own(record) not in found]
    assert not missing, f"{seed}: record {at} was harmed, {missing} suffered\n{text}"
    if len(read.records) < len(sample.pieces):
        assert read.lost or read.skipped, f"{seed}: a record is lost without a note\n{text}"
    begins_still = pieces[at].startswith("\n".join(sample.pieces[at].split("\n")[:2]))
    if begins_still and form is not Format.ENDNOTE_TAGGED:
        # What is left without a title, an author and an abstract is no record, but skipped text.
        assert len(read.records) + read.lost + read.skipped >= len(sample.pieces), f"{seed}\n{text}"
    _is_sound(path, read, strict=_read(path, text.encode(), strict=True), seed=seed)


def _harmed_anywhere(path: Path, form: Format, damage: Damage, seed: str) -> None:
    """Damage the bytes of a file: what comes is records and notes, or an `InputError`."""
    random = Random(seed)
    other = SAMPLES[random.choice([*SAMPLES])].text.encode()
    raw = damage(random, SAMPLES[form].text.encode(), other)
    read = _read(path, raw)
    if read is not None:
        _is_sound(path, read, strict=_read(path, raw, strict=True), seed=seed)


def _is_sound(path: Path, read: Intake, *, strict: Intake | None, seed: str) -> None:
    assert (strict is None) >= bool(read.lost), f"{seed}: strict, and a record is lost"
    if strict is not None:
        assert [_own(one) for one in strict.records] == [_own(one) for one in read.records], seed
    lines = path.read_bytes().count(b"\n") + path.read_bytes().count(b"\r") + 1
    assert all(1 <= note.line <= lines and note.text and note.n for note in read.notes), seed
    assert all(isinstance(record.get("id"), str) or read.format is Format.JSONL for record in read.records)
    stream = io.StringIO(newline="")
    WRITERS[Format.RIS](json.loads(json.dumps(read.records)), stream)  # whatever it is, it can be handed on


@pytest.mark.parametrize("form", TAGGED)
def test_of_two_files_in_one_every_record_is_read_or_noted(tmp_path: Path, form: Format) -> None:
    for other in TAGGED:
        read = _read(tmp_path / "records", (SAMPLES[form].text + SAMPLES[other].text).encode())
        assert read is not None
        whole = {*map(_own, _whole(form).records)}
        assert whole <= {_own(one) for one in read.records}, other
        if other is form:
            assert (len(read.records), read.lost) == (2 * RECORDS, 0)
        else:
            assert len(read.records) + read.lost >= 2 * RECORDS, (other, read.notes)


def _run(path: Path, files: int, first: int) -> None:
    confined = [*product(BY_RECORD, CONFINED)]
    anywhere = [*product(SAMPLES, ANYWHERE)]
    for number in range(files):
        seed = f"{first + number}"
        if number % 2:
            form, harm = confined[(number // 2) % len(confined)]
            _harmed_in_one(path, form, harm, f"{form} {harm.__name__} {seed}")
        else:
            form, anywhere_harm = anywhere[(number // 2) % len(anywhere)]
            _harmed_anywhere(path, form, anywhere_harm, f"{form} {anywhere_harm.__name__} {seed}")


def test_no_damage_makes_a_reader_fail_or_lose_a_record_without_a_note(tmp_path: Path) -> None:
    _run(tmp_path / "records", SHORT, 0)


@pytest.mark.night
def test_no_damage_of_ten_thousand_makes_a_reader_fail_or_lose_a_record_without_a_note(tmp_path: Path) -> None:
    _run(tmp_path / "records", FILES, 1_000_000)
