"""Several files on a command line: which is of which source, and what is said of them before anything is submitted."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stage.searches import write_searches
from tamis_cli.commands import app
from tamis_cli.commands.intake import say_what_was_read, sources_of
from tamis_review.filter.identification import identify
from tamis_review.intake.stated_source import StatedSource
from tamis_schemas import InputError, InvalidParameters

# Imported for its commands.
from tamis_cli.commands import submit  # noqa: F401  # isort: skip

A, B, C = Path("a.ris"), Path("b.csv"), Path("c.csv")


@pytest.mark.parametrize(
    ("named", "sources"),
    [
        ([], [StatedSource(files=(A,)), StatedSource(files=(B,)), StatedSource(files=(C,))]),
        (
            ["Embase = b.csv"],
            [StatedSource(files=(A,)), StatedSource(name="Embase", files=(B,)), StatedSource(files=(C,))],
        ),
        (
            ["PubMed=a.ris", "PubMed=c.csv"],
            [StatedSource(name="PubMed", files=(A, C)), StatedSource(files=(B,))],
        ),
    ],
)
def test_files_that_are_given_one_name_are_one_source(named: list[str], sources: list[StatedSource]) -> None:
    assert sources_of([A, B, C], named) == sources


@pytest.mark.parametrize(
    ("named", "why"),
    [
        (["Embase"], "--source 'Embase': write NAME=FILE, for example Embase=embase.ris"),
        (["=b.csv"], "write NAME=FILE"),
        (["Embase=d.csv"], "--source 'Embase=d.csv': d.csv is not among the files; add it as FILE"),
        (["Embase=b.csv", "Scopus=b.csv"], "b.csv already has the source Embase"),
    ],
)
def test_a_name_without_its_file_is_refused(named: list[str], why: str) -> None:
    with pytest.raises(InvalidParameters) as refused:
        sources_of([A, B, C], named)
    assert why in str(refused.value)


def test_what_completes_what_and_each_source_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = write_searches(tmp_path)
    files["trials.csv"].write_bytes(files["trials.csv"].read_bytes() + b"NCT00000003,Ren\xe9 walks\xff\xc3\xa9\n")
    say_what_was_read(identify(list(files.values())))
    said = capsys.readouterr().err.splitlines()
    assert said[:3] == [
        "pubmed.nbib completes medline.csv: 5 records",
        "trials.csv: 2 bytes are not utf-8 and were read as cp1252: line 4",
        "13 records of 3 sources: PubMed 6, Embase 4, trials.csv 3",
    ]
    assert said[3].startswith("3 of 13 records removed as copies of another record")


def test_a_dry_run_of_several_files_asks_about_what_is_left_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [str(path) for path in write_searches(tmp_path).values()]
    monkeypatch.setenv("TAMIS_HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["filter", *files, "--criteria", "Is it about walking?", "--dry-run", "--json"])
    assert done.exit_code == 0, done.output
    assert '"calls":9' in done.stdout  # 12 - 3 copies
    assert "12 records of 3 sources" in done.stderr
    twice = CliRunner().invoke(app, ["filter", *files, files[0], "--criteria", "Is it?", "--dry-run"])
    assert isinstance(twice.exception, InputError)
