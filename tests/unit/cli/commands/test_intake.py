"""What is said of a file: what was skipped, and which records could not be read."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tamis_cli.commands import app
from tamis_cli.commands.intake import say_what_was_read
from tamis_review.filter.identification import identify
from tamis_schemas import InputError

# Imported for their commands.
from tamis_cli.commands import duplicates, initial_filter, submit  # noqa: F401  # isort: skip

RECORD = "TY  - JOUR\nTI  - Title {0}\nAU  - Rossi, A\nER  - \n"
BROKEN = "TY  - JOUR\nTI  - Title {0}\n"
RUNNER = CliRunner()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my [records].ris"
    path.write_text(f"1.\n{RECORD.format('one')}2.\nExported\n{BROKEN.format('two')}3.\n{RECORD.format('three')}")
    return path


def test_what_was_skipped_and_what_was_lost_is_said_and_counted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    identified = identify(file)
    assert (identified.sources[0].skipped, identified.sources[0].lost, len(identified.records)) == (3, 1, 2)
    say_what_was_read(identified)
    assert capsys.readouterr().err.splitlines() == [
        "my [records].ris: skipped between records: 2 × record number, 1 × line of text outside of any record",
        "my [records].ris: 1 record could not be read and is skipped (--strict makes this an error)",
        "  line 8: a record without its end: no `ER  - ` before the next one, in line 11",
    ]
    with pytest.raises(InputError, match=r"\.ris:8: a record without its end"):
        identify(file, strict=True)


def test_eight_lost_records_are_named_and_the_others_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.ris"
    path.write_text("".join(BROKEN.format(at) for at in range(1_010)) + RECORD.format("last"))
    identified = identify(path)
    say_what_was_read(identified)
    first, *named, more = capsys.readouterr().err.splitlines()
    assert first.startswith("broken.ris: 1,010 records could not be read and are skipped")
    assert [line.partition(":")[0] for line in named] == [f"  line {line}" for line in range(1, 17, 2)]
    assert more == "  and 1,002 more"


@pytest.mark.parametrize("command", [["duplicates"], ["initial-filter", "--criteria", "criteria.yaml"]])
def test_commands_that_only_read_say_it_too_and_know_strict(
    file: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(file.parent)
    Path("criteria.yaml").write_text("research_question: Q?\ninclusion_criteria: [adults]\n")
    told = RUNNER.invoke(app, [*command, file.name])
    assert told.exit_code == 0, told.output
    assert "1 record could not be read" in told.stderr
    assert "2 × record number" in told.stderr
    refused = RUNNER.invoke(app, [*command, file.name, "--strict"])
    assert isinstance(refused.exception, InputError)
    assert "a record without its end" in str(refused.exception)


@pytest.mark.parametrize("command", [["duplicates"], ["initial-filter", "--criteria", "criteria.yaml"]])
def test_the_note_on_a_guessed_encoding_names_the_option_that_ends_the_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("criteria.yaml").write_text("research_question: Q?\ninclusion_criteria: [adults]\n")
    Path("records.ris").write_bytes(RECORD.format("für").encode("mac_roman"))
    guessed = RUNNER.invoke(app, [*command, "records.ris"])
    assert "records.ris: read as cp1252, which is a guess: if letters are wrong, state it (--encoding NAME)" in (
        guessed.stderr.replace("\n", " ")
    )
    stated = RUNNER.invoke(app, [*command, "records.ris", "--encoding", "mac_roman"])
    assert (stated.exit_code, "guess" in stated.stderr) == (0, False), stated.output
    unknown = RUNNER.invoke(app, [*command, "records.ris", "--encoding", "mac"])
    assert isinstance(unknown.exception, InputError)
    assert "'mac' is no known encoding. State another encoding, such as" in str(unknown.exception)


def test_a_file_in_which_nothing_can_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.ris"
    path.write_text(BROKEN.format(1) * 3)
    with pytest.raises(InputError, match=r"broken\.ris:1: .*; none of its 3 records can be read"):
        identify(path)
