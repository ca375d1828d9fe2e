"""Identification of several sources: duplicates within and between them, what stays, and what is filled from where."""

from pathlib import Path

import pytest

from stage.searches import ABSTRACT, write_searches
from tamis_review.filter.identification import identify, label_of
from tamis_review.intake.filling import CONTRADICTED, FILLED
from tamis_schemas import InputError, SearchCriteria


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return list(write_searches(tmp_path).values())


def test_duplicates_between_sources_are_kept_out_with_their_source_and_fill_the_copy_that_stays(
    files: list[Path],
) -> None:
    identified = identify(files)
    assert [source.records for source in identified.sources] == [6, 4, 2]
    assert {index: one.duplicate_of for index, one in identified.exclusions.items()} == {6: 0, 7: 3, 9: 3}
    assert identified.exclusions[6].reason == (
        "A copy of record '101' (PubMed, medline.csv, line 2): the same title, year, first author and journal."
    )
    walks, stairs = identified.records[0], identified.records[3]
    assert (walks["doi"], walks["journal"]) == ("10.1000/walks", "J Walk")  # Embase's DOI, and PubMed's own journal
    assert walks[FILLED] == {
        "abstract": {"file": "pubmed.nbib", "line": 1},
        "doi": {"from": 6, "source": "Embase"},
    }
    assert list(walks)[:8] == ["id", "title", "abstract", "authors", "year", "journal", "doi", "pmid"]
    assert stairs["year"] == 2018
    assert stairs[CONTRADICTED] == {"year": [{"value": 2017, "from": 7, "source": "Embase"}]}
    assert len(identified.asked) == 9  # 12 - 3
    assert all(one.duplicates_kept is False for one in identified.sources)


def test_copies_that_are_kept_fill_nothing(files: list[Path]) -> None:
    kept = identify(files, keep_duplicates=True)
    assert (kept.exclusions, len(kept.asked)) == ({}, 12)
    assert "doi" not in kept.records[0]
    assert kept.records[0]["abstract"].startswith(ABSTRACT), "two forms of one export are one, all the same"
    assert all(one.duplicates_kept for one in kept.sources)


def test_the_initial_filter_reads_what_was_filled(files: list[Path]) -> None:
    criteria = SearchCriteria(
        research_question="Does walking help?", inclusion_criteria=["Walking"], custom_keywords=["gerbil"]
    )
    abstracts = files[1].read_text("utf-8").replace("Sixty adults walked", "Sixty gerbils walked", 1)
    files[1].write_text(abstracts, "utf-8")
    identified = identify(files, initial_filter=criteria)
    assert identified.rejected >= 1
    rejected = identified.exclusions[0]
    assert (rejected.field, rejected.matched) == ("abstract", "gerbils")
    assert all(one.initial_filter for one in identified.sources)


def test_copies_within_one_file_fill_the_one_that_stays_and_name_no_source(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text("id,title,doi,pmid\na,Walks at home,10.1000/a,\nb,Walks at home,10.1000/a,31200\n", "utf-8")
    identified = identify(path)
    assert identified.exclusions[0].reason == "A copy of record 'b' (line 3): the same DOI, 10.1000/a."
    assert FILLED not in identified.records[1]
    path.write_text("id,title,doi,url\na,Walks at home,10.1000/a,\nb,Walks at home,10.1000/a,u\n", "utf-8")
    assert identify(path).sources[0].name == "all.csv"


def test_a_copy_that_offers_more_is_asked_first_and_what_lacks_least_stays(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    rows = (
        '{"id": "a", "title": "Walks at home", "doi": "10.1000/a", "year": 2020, "url": "u", "abstract": "A"}\n'
        '{"id": "b", "title": "Walks at home", "doi": "10.1000/a", "journal": "J b"}\n'
        '{"id": "c", "title": "Walks at home", "doi": "10.1000/a", "journal": "J c", "language": "en"}\n'
    )
    path.write_text(rows, "utf-8")
    stays = identify(path).records[0]
    assert stays[FILLED] == {"journal": {"from": 2}, "language": {"from": 2}}  # c has one field more than b
    assert (stays["journal"], stays["abstract"]) == ("J c", "A")


def test_the_same_files_again_are_the_same_records(files: list[Path]) -> None:
    assert identify(files) == identify(files)


def test_one_file_twice_is_refused_whatever_it_is_called(files: list[Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy of embase.csv"
    copy.write_bytes(files[2].read_bytes())
    with pytest.raises(InputError, match=r"copy of embase\.csv: this file is identical to embase\.csv"):
        identify([*files, copy])
    with pytest.raises(InputError, match="identical to"):
        identify([files[0], files[0]])


@pytest.mark.parametrize(
    ("names", "label"),
    [(["a.ris"], "a.ris"), (["a.ris", "b.csv"], "a.ris and 1 more file"), (["a", "b", "c"], "a and 2 more files")],
)
def test_a_batch_is_called_after_its_files(names: list[str], label: str) -> None:
    assert label_of(names) == label
