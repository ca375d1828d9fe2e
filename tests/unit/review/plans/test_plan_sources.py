"""The sources of a plan: files, and what no file says of itself."""

from datetime import date
from pathlib import Path

import pytest

from tamis_review.intake.stated_source import StatedSource
from tamis_review.plans.plan_file import read_plan
from tamis_schemas import InputError, SourceKind

STAGES = "stages:\n  - filter: {criteria: 'Is it about walking?'}\n"
SOURCES = """\
title: Walking after hip replacement
sources:
  - name: MEDLINE
    files: [medline.csv, pubmed_abstracts.txt]
    searched: 2024-03-01
    query: >-
      hip AND walk*
  - name: ClinicalTrials.gov
    kind: register
    file: trials.csv
  - embase.ris
  - file: citations.ris
    kind: other
"""


def plan(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text + STAGES, "utf-8")
    return path


def test_each_source_has_its_files_and_what_is_stated_of_it(tmp_path: Path) -> None:
    planned = read_plan(plan(tmp_path, SOURCES))
    assert planned.sources == (
        StatedSource(
            name="MEDLINE",
            files=(tmp_path / "medline.csv", tmp_path / "pubmed_abstracts.txt"),
            searched=date(2024, 3, 1),
            query="hip AND walk*",
        ),
        StatedSource(name="ClinicalTrials.gov", kind=SourceKind.REGISTER, files=(tmp_path / "trials.csv",)),
        StatedSource(files=(tmp_path / "embase.ris",)),
        StatedSource(kind=SourceKind.OTHER, files=(tmp_path / "citations.ris",)),
    )
    assert planned.title == "Walking after hip replacement"
    untitled = SOURCES.partition("\n")[2]
    assert read_plan(plan(tmp_path, untitled)).title == "MEDLINE and 3 more sources"
    assert read_plan(plan(tmp_path, "records: a.ris\n")).sources == (StatedSource(files=(tmp_path / "a.ris",)),)


@pytest.mark.parametrize(
    ("text", "line", "field", "why"),
    [
        ("title: T\n", 1, None, "'records' is missing: write the file with the records there, or list several"),
        ("records: a.ris\nsources: [b.ris]\n", 2, "sources", "cannot be combined with `records`: list the files"),
        ("sources: a.ris\n", 1, "sources", "must be a list: one source after each `- `"),
        ("sources: []\n", 1, "sources", "must be a list"),
        ("sources:\n  - a.ris\n  - 7\n", 3, "sources[2]", "must be the name of a file, or have its fields"),
        ("sources:\n  - name: A\n", 2, "sources[1]", "needs either `file`, or `files` with a list"),
        ("sources:\n  - {name: A, file: a.ris, files: [b.ris]}\n", 2, "sources[1]", "needs either `file`, or `files`"),
        ("sources:\n  - name: A\n    files: a.ris\n", 3, "sources[1].files", "must be a list of files"),
        ("sources:\n  - name: A\n    file: [a.ris]\n", 3, "sources[1].file", "must be the name of a file"),
        ("sources:\n  - file: a.ris\n    kinds: register\n", 3, "sources[1].kinds", "did you mean 'kind'?"),
        ("sources:\n  - file: a.ris\n    kind: registry\n", 3, "sources[1].kind", "'database', 'register' or 'other'"),
        ("sources:\n  - file: a.ris\n    searched: in March\n", 3, "sources[1].searched", "valid date"),
        (
            "sources:\n  - {name: Embase, file: a.ris}\n  - name: embase\n    file: b.ris\n",
            3,
            "sources[2].name",
            "'embase' occurs twice: list all its files in one entry, as `files: [...]`",
        ),
    ],
)
def test_what_a_source_cannot_say_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, field: str | None, why: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_plan(plan(tmp_path, text))
    assert why in str(refused.value)
    assert (refused.value.line, refused.value.field) == (line, field)
