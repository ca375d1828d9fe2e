"""One document on one line, whatever is in it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from tamis_cli.commands.commands import Commands
from tamis_cli.commands.json_document import print_json, print_json_lines
from tamis_schemas import Counts, Priority


@dataclass(frozen=True)
class Thing:
    price: Decimal
    at: datetime


def test_models_dataclasses_amounts_times_paths_and_choices_at_any_depth(capsys: pytest.CaptureFixture[str]) -> None:
    thing = Thing(Decimal("0.10"), datetime(2026, 11, 22, 12, 0, tzinfo=UTC))
    print_json({"things": (thing,), "at": Path("a/b"), "first": Priority.HIGH, "text": "Grüße, 试验"})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "Grüße, 试验" in out
    assert json.loads(out) == {
        "things": [{"price": "0.10", "at": "2026-11-22T12:00:00Z"}],
        "at": "a/b",
        "first": "high",
        "text": "Grüße, 试验",
    }


def test_a_model_is_told_as_it_tells_itself(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counts(n_items=3, decided=2, failed=1)
    print_json([counts])
    assert json.loads(capsys.readouterr().out) == [counts.model_dump(mode="json")]


def test_a_number_that_json_does_not_have_is_null_and_no_broken_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"rate": float("nan")})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"rate": None}


def test_lines_are_documents_of_their_own_and_none_are_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_json_lines([{"n": 1}, {"n": 2}])
    assert [json.loads(line)["n"] for line in capsys.readouterr().out.splitlines()] == [1, 2]
    print_json_lines([])
    assert capsys.readouterr().out == ""


def test_a_command_that_yields_prints_its_document_for_programs_and_goes_on_for_people() -> None:
    left: list[str] = []
    commands = Commands()

    @commands.command(examples=("tamis count 2",))
    def count(n: Annotated[int, typer.Argument(min=1)]) -> Iterator[object]:
        """Count."""
        try:
            yield lambda: left.append("looked up") or {"n": n}
            left.append("told")
            typer.echo(f"{n} in words")
        finally:
            left.append("closed")

    program = CliRunner().invoke(commands, ["2", "--json"])
    assert (program.exit_code, json.loads(program.output), left) == (0, {"n": 2}, ["looked up", "closed"])
    left.clear()
    person = CliRunner().invoke(commands, ["2"])
    assert (person.exit_code, person.output, left) == (0, "2 in words\n", ["told", "closed"])
