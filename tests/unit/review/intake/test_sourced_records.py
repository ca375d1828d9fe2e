"""Sources from files: which files are one source, what it is called, and where each record stands.

Two files of one source are one export in two forms where they share the source's own identifiers.
"""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from stage.searches import EMBASE, MEDLINE, SWIMS, WALKS, nbib, write_searches
from stage.shared_data import DATA, needs_real_records
from tamis_review.intake.filling import FILLED
from tamis_review.intake.sourced_records import (
    CROWD,
    FILE,
    SourceRead,
    complete,
    identifiers_of,
    in_two_forms,
    read_sources,
)
from tamis_review.intake.stated_source import StatedSource
from tamis_schemas import SourceKind

Record = dict[str, Any]


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


def table(*pmids: int) -> list[Record]:
    return [{"id": f"{n}", "pmid": f"{n}", "title": f"Walks, part {n}", "_line": n} for n in pmids]


def text(*pmids: int) -> list[Record]:
    return [one | {"abstract": f"Of part {one['pmid']}.", "_line": 10 + n} for n, one in enumerate(table(*pmids))]


def test_rows_of_one_identifier_are_joined_and_the_others_follow() -> None:
    completed = complete(table(1, 2, 3), text(3, 1, 4), "abstracts.txt")
    assert [(one["id"], one.get("abstract")) for one in completed.records] == [
        ("1", "Of part 1."),
        ("2", None),
        ("3", "Of part 3."),
        ("4", "Of part 4."),
    ]
    assert (completed.joined, completed.added) == (2, [2])
    first = completed.records[0]
    assert first[FILLED] == {"abstract": {"file": "abstracts.txt", "line": 11}}
    assert first["_line"] == 1, "it stands where it stood"


def test_each_field_is_that_of_the_first_file_which_has_it_and_hidden_ones_fill_gaps_too() -> None:
    one = {"id": "1", "pmid": "1", "title": "Walks", "year": 2020, "_note": "ours", "_source": {"format": "CSV"}}
    other = {"id": "1", "pmid": "1", "title": "Walks.", "year": 2020, "_note": "theirs", "_mesh": "Gait", "chunks": []}
    (joined,) = complete([one], [other | {"_source": {"format": "NBIB"}}], "b.nbib").records
    assert joined == one | {"_mesh": "Gait", "chunks": []}


def test_a_number_that_each_file_counts_anew_joins_nothing() -> None:
    """Ovid numbers the records of each file from 1: the titles say that they are others."""
    parts = [{"id": "1", "title": "Walking at home after a new hip"}], [{"id": "1", "title": "Benches in gardens"}]
    completed = complete(*parts, "part-2.csv")
    assert (len(completed.records), completed.joined) == (2, 0)


def test_of_several_records_with_one_identifier_each_joins_one() -> None:
    completed = complete(table(1, 1), text(1, 1, 1), "b.txt")
    assert (len(completed.records), completed.joined, completed.added) == (3, 2, [2])
    crowd = complete(table(*[1] * 500), text(*[1] * 500), "b.txt")  # 250,000 comparisons, if it were looked through
    assert crowd.joined == CROWD


@pytest.mark.parametrize(
    ("record", "identifiers"),
    [
        ({"id": "31200", "pmid": "31200"}, [("pmid", "31200")]),
        ({"id": "L1", "pmid": "0031200"}, [("pmid", "31200"), ("id", "L1")]),
        ({"id": "NCT00000001", "nct_id": "NCT00000001"}, [("nct_id", "NCT00000001")]),
        ({"id": "L1", "nct_id": "NCT00000001"}, [("id", "L1")]),  # a paper about a trial is not the trial
        ({"id": "10.1000/a", "doi": "10.1000/a"}, []),  # the publisher's, not the source's
        ({"id": "record-7"}, []),  # a number given here
    ],
)
def test_identifiers_are_those_that_the_source_gave(record: Record, identifiers: list[tuple[str, str]]) -> None:
    assert identifiers_of(record) == identifiers


@pytest.mark.parametrize(
    ("one", "other", "forms"),
    [
        (table(*range(1, 11)), text(*range(1, 10), 77), True),  # 9 of 10 are 90 %
        (table(*range(1, 11)), text(*range(1, 9), 77, 78), False),  # 8 of 10
        (table(*range(1, 11)), text(*range(1, 41)), True),  # all of the smaller one
        (text(*range(1, 41)), table(*range(1, 11)), True),
        (table(*range(1, 11)), table(*range(1, 41)), False),  # a search, and a later one that found these again
        (table(*range(1, 11)), text(*range(20, 30)), False),  # two parts of one export
        (table(*range(1, 11)), table(*range(1, 6)) + text(*range(6, 10)), False),  # 4 of 9 abstracts: not half of them
        (table(*range(1, 11)), table(*range(1, 5)) + text(*range(5, 10)), True),  # 5 of 9
        ([{"id": "record-1", "title": "A"}], [{"id": "record-1", "title": "A", "abstract": "B"}], False),
        ([], text(1), False),
    ],
)
def test_two_files_of_a_database_are_one_export_where_nine_in_ten_are_shared_and_one_has_more(
    one: list[Record], other: list[Record], forms: bool
) -> None:
    assert in_two_forms(one, other) is forms
