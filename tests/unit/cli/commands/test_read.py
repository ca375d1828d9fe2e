"""The format of an export: the one in which the records came, else one that is chosen."""

from pathlib import Path

import pytest

from tamis_cli.commands.read import _format_for, _say_dropped
from tamis_review.intake.recognise import Format
from tamis_schemas import InvalidRequest


def test_fields_that_an_export_drops_are_named_with_their_records(capsys: pytest.CaptureFixture[str]) -> None:
    _say_dropped({"_ris_C5": 1_200, "_[x]": 1})
    _say_dropped({})
    told = capsys.readouterr().err.split("them: ")[1]
    assert " ".join(told.split()) == "_ris_C5 (1,200 records), _[x] (1 record)"


RIS, CSV, JSONL = Format.RIS, Format.DELIMITED, Format.JSONL


@pytest.mark.parametrize(
    ("came_as", "output", "written", "said"),
    [
        ([RIS], "out.ris", RIS, ""),
        ([RIS], "out", RIS, ""),
        ([None], "out.ris", RIS, ""),  # a program's
        ([None], "out", None, ""),  # which the writer refuses
        ([CSV, RIS], "out.ris", RIS, "came as CSV and RIS and are written as RIS: records of other formats keep"),
        ([CSV, None], "out.csv", CSV, "came as CSV and a format that cannot be written and are written as CSV"),
        ([CSV, RIS], "out.jsonl", JSONL, "came as CSV and RIS and are written as JSONL.\n"),
    ],
)
def test_records_of_several_formats_are_written_in_one_and_it_is_said_what_is_lost(
    came_as: list[Format | None], output: str, written: Format | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _format_for(came_as, Path(output)) is written
    told = capsys.readouterr().err
    assert said in told
    assert bool(said) == bool(told)


@pytest.mark.parametrize(
    ("came_as", "output", "why"),
    [
        (
            [RIS],
            "out.csv",
            "the records came as RIS, which keeps every field, but out.csv looks like CSV: add --format RIS",
        ),
        ([CSV, RIS], "out", "the records came as CSV and RIS: choose the output's format with --format"),
    ],
)
def test_a_format_that_nobody_chose_is_asked_for(came_as: list[Format | None], output: str, why: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        _format_for(came_as, Path(output))
    assert why in str(refused.value)
