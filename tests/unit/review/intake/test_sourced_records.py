"""Sources from files: which files are one source, what it is called, and where each record stands."""

from datetime import date
from pathlib import Path

import pytest

from stage.searches import EMBASE, MEDLINE, SWIMS, WALKS, nbib, write_searches
from stage.shared_data import DATA, needs_real_records
from tamis_review.intake.sourced_records import FILE, SourceRead, read_sources
from tamis_review.intake.stated_source import StatedSource
from tamis_schemas import SourceKind


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return write_searches(tmp_path)


def told(read: tuple[SourceRead, ...]) -> list[tuple[str, str, int | None, list[str]]]:
    return [
        (one.source.name, one.source.kind.value, one.source.records, [file.file for file in one.source.files])
        for one in read
    ]


def test_files_tell_their_database_and_two_forms_of_one_export_are_one_source(files: dict[str, Path]) -> None:
    read = read_sources(list(files.values()))
    assert told(read) == [
        ("PubMed", "database", 6, ["medline.csv", "pubmed.nbib"]),
        ("Embase", "database", 4, ["embase.csv"]),
        ("trials.csv", "register", 2, ["trials.csv"]),  # each of its records is a trial
    ]
    first, second = read[0].files
    assert (first.completes, second.completes, second.joined) == (None, "medline.csv", 5)
    assert [(one.path.name, one.index, one.record[FILE]) for one in read[0].sourced[4:]] == [
        ("medline.csv", 4, "medline.csv"),
        ("pubmed.nbib", 5, "pubmed.nbib"),  # which the table does not have yet
    ]
    assert all(one.record["abstract"] for one in read[0].sourced)
    assert all(FILE not in one.record for other in read[1:] for one in other.sourced)


def test_the_source_stands_where_its_first_file_does(files: dict[str, Path]) -> None:
    order = ["pubmed.nbib", "embase.csv", "medline.csv"]
    read = read_sources([files[name] for name in order])
    assert [(one.source.name, one.source.file) for one in read] == [("PubMed", "pubmed.nbib"), ("Embase", "embase.csv")]
    assert [(file.name, file.completes) for file in read[0].files] == [
        ("pubmed.nbib", None),
        ("medline.csv", "pubmed.nbib"),
    ]


def test_parts_of_one_export_are_one_source_and_every_record_counts(tmp_path: Path) -> None:
    header, *rows = EMBASE.splitlines(keepends=True)
    for name, part in (("one.csv", rows[:2]), ("two.csv", rows[2:]), ("again.csv", rows[1:3])):
        (tmp_path / name).write_text(header + "".join(part), "utf-8")
    (source,) = read_sources([tmp_path / name for name in ("one.csv", "two.csv", "again.csv")])
    assert (source.source.name, source.source.records) == ("Embase", 6)  # 2 + 2 + 2: what is there twice is a copy
    assert [file.completes for file in source.files] == [None, None, None]


def test_what_a_reviewer_states_counts_before_what_files_tell(files: dict[str, Path]) -> None:
    stated = StatedSource(
        name="MEDLINE",
        kind=SourceKind.OTHER,
        files=(files["medline.csv"], files["pubmed.nbib"]),
        searched=date(2024, 3, 1),
        query="hip AND walk*",
    )
    (read,) = read_sources(stated)
    source = read.source
    assert (source.name, source.kind, source.records) == ("MEDLINE", "other", 6)
    assert (source.searched, source.query) == (date(2024, 3, 1), "hip AND walk*")


def test_stated_files_are_joined_however_few_they_share(tmp_path: Path) -> None:
    few = "\n".join([nbib(101, WALKS), nbib(102, SWIMS), *(nbib(at, f"Late record {at}") for at in (201, 202, 203))])
    for name, text in (("table.csv", MEDLINE), ("some.nbib", few)):
        (tmp_path / name).write_text(text, "utf-8")
    paths = (tmp_path / "table.csv", tmp_path / "some.nbib")
    (read,) = read_sources([StatedSource(files=paths)])
    assert (read.source.records, read.files[1].joined) == (8, 2)  # 5 + 5 - 2; 40 % are shared
    assert read.source.name == "PubMed"
    (untold,) = read_sources(paths)
    assert (untold.source.records, untold.files[1].completes) == (10, None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ClinicalTrials.gov", SourceKind.REGISTER),
        ("WHO  ictrp", SourceKind.REGISTER),
        ("Cochrane Central Register of Controlled Trials", SourceKind.DATABASE),  # unless somebody states it
        ("Registered reports", SourceKind.DATABASE),
    ],
)
def test_a_register_is_one_by_its_name_or_because_somebody_says_so(
    files: dict[str, Path], name: str, kind: SourceKind
) -> None:
    (read,) = read_sources(StatedSource(name=name, files=(files["embase.csv"],)))
    assert read.source.kind is kind
    (said,) = read_sources(StatedSource(name=name, kind=SourceKind.REGISTER, files=(files["embase.csv"],)))
    assert said.source.kind is SourceKind.REGISTER


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder, text in (("grey", "id,title\n1,Walks\n"), ("cited", "id,title\n1,Benches\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "export.csv").write_text(text, "utf-8")
    read = read_sources([tmp_path / "grey/export.csv", tmp_path / "cited/export.csv"])
    assert [one.source.name for one in read] == ["grey/export.csv", "cited/export.csv"]


@pytest.mark.parametrize(
    ("name", "text", "called"),
    [
        ("ovid.csv", "id,title,Database\n1,Walks,Embase\n2,Benches,MEDLINE\n", "ovid.csv"),
        ("half.csv", "id,title,Database\n1,Walks,Embase\n2,Benches,\n", "Embase"),
        ("few.csv", "id,title,Database\n1,Walks,Embase\n2,Benches,\n3,Stairs,\n", "few.csv"),
        ("a.nbib", nbib(101, WALKS), "PubMed"),
        ("eric.nbib", "OWN - ERIC\nTI  - Walks to school\nOID - EJ1\n", "ERIC"),
        ("own.csv", "id,title\n1,Walks\n", "own.csv"),
    ],
)
def test_a_source_is_called_after_what_most_of_its_records_or_its_format_tell(
    tmp_path: Path, name: str, text: str, called: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    (read,) = read_sources(tmp_path / name)
    assert read.source.name == called


def test_a_file_that_tells_a_name_that_was_stated_belongs_to_it(files: dict[str, Path]) -> None:
    (read,) = read_sources([StatedSource(name="pubmed", files=(files["pubmed.nbib"],)), files["medline.csv"]])
    assert (read.source.name, read.source.records) == ("pubmed", 6)


@needs_real_records
def test_the_records_of_a_published_review_are_counted_as_it_published_them() -> None:
    """2,695 = 85 + 168 + 568 + 155 + 93 + 859 + 58 + 709; PubMed's text adds abstracts, and no record."""
    folder = DATA / "reviews" / "snhl_dimitrov_2024" / "search_returns"
    read = read_sources(sorted(folder.iterdir()))
    counts = {one.source.file: one.source.records for one in read}
    assert counts == {
        "base.csv": 85,
        "cinahl.csv": 168,
        "embase.csv": 568,
        "github.csv": 155,
        "ieee.csv": 93,
        "medline.csv": 859,
        "psychinfo.csv": 58,
        "scopus.csv": 709,
    }
    (pubmed,) = (one for one in read if one.source.name == "PubMed")
    assert [(file.name, file.joined) for file in pubmed.files] == [("medline.csv", 0), ("pubmed_abstracts.txt", 859)]
    assert sum(bool(one.record.get("abstract")) for one in pubmed.sourced) > 700  # the table alone has none
