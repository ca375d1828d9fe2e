"""Files of decisions as people and programs write them."""

import json
import sqlite3
import tracemalloc
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from tamis_review.decisions.foreign_file import ForeignFile, ForeignWord, TableColumns, read_foreign
from tamis_review.intake import record_count
from tamis_review.intake.record_count import TooLarge
from tamis_schemas import InputError


def table(folder: Path, text: str, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def words(file: ForeignFile) -> list[ForeignWord]:
    return [word for row in file.rows for word in row.said]


def test_columns_are_guessed_by_name_and_told(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "\ufeffTitle;Record ID;DOI;Response;Reason for exclusion;Comments;Reviewer\n"
        '"Hills; and ""dales""";7;10.1000/a;2;wrong age;seen;Kim\n;;;;;;\nRiver;8;;1;;;\n',
    )
    file = read_foreign(path)
    assert file.kind == "CSV"
    assert file.columns == {
        "title": "Title",
        "id": "Record ID",
        "doi": "DOI",
        "decision": "Response",
        "reviewer": "Reviewer",
        "reason": "Reason for exclusion",
        "note": "Comments",
    }
    first, second = file.rows
    assert (first.place, first.record) == ("line 2", {"title": 'Hills; and "dales"', "id": "7", "doi": "10.1000/a"})
    assert first.said == (ForeignWord("2", "Kim", "wrong age", "seen"),)
    assert (second.place, second.said) == ("line 4", (ForeignWord("1"),))


def test_an_empty_reason_or_note_may_be_written_out(tmp_path: Path) -> None:
    path = table(tmp_path, "id,vote,reason,note\na,1,NA,None\nb,2,none of them adults,-\n")
    assert words(read_foreign(path)) == [ForeignWord("1"), ForeignWord("2", reason="none of them adults")]


def test_named_columns_count_before_guessed_ones(tmp_path: Path) -> None:
    path = table(tmp_path, "id,number,decision,second vote,got it\na,7,1,0,yes\n")
    named = TableColumns(id="number", decision="Second_Vote", retrieval="got it")
    (row,) = read_foreign(path, named).rows
    assert (row.record, row.said) == ({"id": "7"}, (ForeignWord("0", retrieval="yes"),))


@pytest.mark.parametrize(
    ("text", "named", "told"),
    [
        ("", TableColumns(), "empty"),
        ("id,title\na,b\n", TableColumns(), r"no column of decisions was recognised.*'id', 'title'.*--all include"),
        ("id,response,vote\na,1,0\n", TableColumns(), r"several columns may contain the decisions: 'response', 'vote'"),
        ("id,vote\na,1\n", TableColumns(decision="votes"), r"no column 'votes'; there are: 'id', 'vote'"),
        ("id,vote,vote\na,1,0\n", TableColumns(), r"votes.csv:1: the column 'vote' occurs twice"),
        ("id,vote\na,1\nb,1,more\n", TableColumns(), r"votes.csv:3: the row has 3 cells, but the header has 2 columns"),
        ('id,vote\na,"1\nb,1\n', TableColumns(), r"votes.csv:2: a quote that opens"),
    ],
)
def test_a_table_that_does_not_say_what_was_decided_is_refused(
    tmp_path: Path, text: str, named: TableColumns, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        read_foreign(table(tmp_path, text), named)


NOTES = (
    'screened | RAYYAN-INCLUSION: {"Kim O\'Dell"=>"Included", "Noor"=>"Excluded", "Li \\"L\\""=>"Maybe"} '
    "| RAYYAN-LABELS: trial,old | RAYYAN-EXCLUSION-REASONS: wrong population,in rats "
    '| USER-NOTES: {"Noor"=>["seen twice", "see p. 3"]}'
)


def rayyan(*notes: str) -> str:
    cells = ['"' + note.replace('"', '""') + '"' for note in notes]
    rows = "".join(f"rayyan-{n},Title {n},,{cell},{100 + n}\n" for n, cell in enumerate(cells))
    return f"key,title,year,notes,pubmed_id\n{rows}"


def test_rayyans_notes_hold_everybodys_decisions(tmp_path: Path) -> None:
    one = 'RAYYAN-INCLUSION: {"Noor"=>"Included"}'
    file = read_foreign(table(tmp_path, rayyan(NOTES, "nobody has seen it", one)))
    assert (file.kind, file.columns["decision"]) == ("Rayyan", "notes")
    first, second, third = file.rows
    assert first.record == {"id": "rayyan-0", "title": "Title 0", "pmid": "100"}
    assert first.said == (
        ForeignWord("Included", "Kim O'Dell"),
        ForeignWord("Excluded", "Noor", "wrong population,in rats", "seen twice; see p. 3"),
        ForeignWord("Maybe", 'Li "L"'),
    )
    assert (second.said, third.said) == ((), (ForeignWord("Included", "Noor"),))


def test_rayyans_archive_need_not_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("articles.csv", rayyan(NOTES))
        archive.writestr("customizations_log.csv", "article_id,key,value\n")
    assert [word.reviewer for word in words(read_foreign(path))] == ["Kim O'Dell", "Noor", 'Li "L"']
    with ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "hello")
    with pytest.raises(InputError, match=r"not an export of Rayyan or ASReview"):
        read_foreign(path)


def test_a_table_in_an_archive_may_have_a_name_that_no_file_may_have(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    for name in ("x" * 300 + ".csv", "../../articles.csv", "folder/" * 60 + "articles.csv"):
        with ZipFile(path, "w") as archive:
            archive.writestr(name, rayyan(NOTES))
        assert len(words(read_foreign(path))) == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["export.zip"]


def test_a_damaged_archive_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("articles.csv", rayyan(NOTES) * 20)
    whole = path.read_bytes()
    for place in range(45, len(whole) - 100, 3):
        path.write_bytes(whole[:place] + b"\xff\xff" + whole[place + 2 :])
        with pytest.raises(InputError, match=r"export\.zip"):
            read_foreign(path)


RIS = """TY  - JOUR
TI  - Hills
DO  - 10.1000/a
N1  - RAYYAN-INCLUSION: {"Kim"=>"Included"}
ER  -
"""


def test_references_hold_decisions_where_rayyan_wrote_them_or_all_were_decided_alike(tmp_path: Path) -> None:
    file = read_foreign(table(tmp_path, RIS, "rayyan.ris"))
    (row,) = file.rows
    assert (file.kind, row.place, row.record["doi"]) == ("Rayyan, RIS", "line 1", "10.1000/a")
    assert row.said == (ForeignWord("Included", "Kim"),)
    bare = table(tmp_path, RIS.replace("RAYYAN-INCLUSION", "SEEN"), "included.ris")
    assert words(read_foreign(bare, everything="include")) == [ForeignWord("include")]
    with pytest.raises(InputError, match=r"included.ris: this is RIS without decisions.*--all include"):
        read_foreign(bare)


COVIDENCE = "Title,Authors,DOI,Ref,Covidence #,Study,Notes,Tags\n"


def test_covidence_lists_records_of_one_decision_with_reasons_in_its_notes(tmp_path: Path) -> None:
    rows = 'Hills,Kim,,1,#12,Kim 2020,"Exclusion reason: Wrong population; see p. 3; ",\nRiver,,,2,#13,,,\n'
    path = table(tmp_path, COVIDENCE + rows)
    file = read_foreign(path, everything="exclude")
    assert file.kind == "Covidence"
    assert words(file) == [ForeignWord("exclude", None, "Wrong population", "see p. 3"), ForeignWord("exclude")]
    with pytest.raises(InputError, match=r"as in Covidence's exports, use --all include"):
        read_foreign(path)


def test_asreviews_own_label_counts_before_the_one_that_was_there_before(tmp_path: Path) -> None:
    path = table(tmp_path, "title,included,asreview_label,asreview_note\nHills,0,1,seen\n")
    file = read_foreign(path)
    assert (file.columns["decision"], words(file)) == ("asreview_label", [ForeignWord("1", note="seen")])


RECORD = "CREATE TABLE record (record_id INTEGER PRIMARY KEY, title TEXT, doi TEXT)"
RESULTS = "CREATE TABLE results (record_id INTEGER UNIQUE, label INTEGER, note TEXT, user_id INTEGER)"


def project(folder: Path, version: int | None) -> Path:
    """A project as a version of ASReview LAB lays it out: three records, of which two have a label."""
    store, results = folder / "store.db", folder / "results.db"
    for place in {store, results}:
        with sqlite3.connect(place) as database:
            database.execute(RECORD)
            database.executemany(
                "INSERT INTO record VALUES (?, ?, ?)", [(0, "Hills", "10.1000/a"), (1, "River", None), (2, "Sea", None)]
            )
            database.execute(RESULTS)
            database.executemany(
                "INSERT INTO results VALUES (?, ?, ?, NULL)", [(1, 1, "seen"), (0, 0, None), (2, None, None)]
            )
        database.close()
    path = folder / "project.asreview"
    with ZipFile(path, "w") as archive:
        about = {"reviews": [{"id": "ab12"}]} | ({} if version is None else {"project_file_version": version})
        archive.writestr("project.json", json.dumps(about))
        if version == 2:
            archive.write(store, "data_store.db")
            archive.write(results, "reviews/ab12/results.db")
        else:
            archive.write(results, "results.db")
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_a_project_of_asreview_is_read_as_its_versions_lay_it_out(tmp_path: Path, version: int) -> None:
    file = read_foreign(project(tmp_path, version))
    assert file.kind == "ASReview"
    assert [(row.place, row.record, row.said) for row in file.rows] == [
        ("record 1", {"title": "River"}, (ForeignWord("1", note="seen"),)),
        ("record 0", {"title": "Hills", "doi": "10.1000/a"}, (ForeignWord("0"),)),
    ]


@pytest.mark.parametrize(
    ("version", "told"),
    [(None, "before version 2"), (1, "before version 2"), (4, "of version 4: Tamis reads versions 2 and 3")],
)
def test_other_versions_of_asreview_are_refused(tmp_path: Path, version: int | None, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_foreign(project(tmp_path, version))


def test_a_project_without_its_databases_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "project.asreview"
    for about, told in (
        ('{"project_file_version": 3}', "results.db"),
        ("[]", "not a JSON object"),
        ("{", "not a JSON object"),
    ):
        with ZipFile(path, "w") as archive:
            archive.writestr("project.json", about)
        with pytest.raises(InputError, match=told):
            read_foreign(path)
    with ZipFile(path, "w") as archive:
        archive.writestr("project.json", '{"project_file_version": 3}')
        archive.writestr("results.db", "no database at all, but long enough to be looked at")
    with pytest.raises(InputError, match="not those of an ASReview project"):
        read_foreign(path)
    with pytest.raises(InputError, match="bytes, the maximum"):
        read_foreign(path, max_bytes=10)


def test_records_in_an_archive_are_counted_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "export.zip"
    with ZipFile(table, "w") as archive:
        archive.writestr("articles.csv", rayyan(*[NOTES] * 20))
    monkeypatch.setattr(record_count, "MOST_RECORDS", 2)
    for path, more in ((table, 2), (project(tmp_path, 3), 2)):
        with pytest.raises(TooLarge, match=rf"{path.name}: more than {more} records"):
            read_foreign(path)


@pytest.mark.parametrize(("member", "most"), [("project.json", 1_000_000), ("articles.csv", 5_000_000)])
def test_an_archive_that_inflates_to_more_than_a_bound_is_refused_before_it_takes_memory(
    tmp_path: Path, member: str, most: int
) -> None:
    path = tmp_path / "small.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr(member, b"A" * (most + 1))
    assert path.stat().st_size < most / 100
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=rf"{member} inflates to more than {most:,} bytes"):
            read_foreign(path, max_bytes=5_000_000)
        assert tracemalloc.get_traced_memory()[1] < most / 2
    finally:
        tracemalloc.stop()
