"""A row of a file elsewhere is put to the record of a batch that it is about, or to none."""

import pytest

from tamis_review.decisions.import_decisions import KnownRecord, RecordFinder, RecordMatch

RECORDS: list[tuple[str, dict[str, str], int | None]] = [
    ("10.1000/hills", {"title": "Walking uphill: a trial in old age", "doi": "10.1000/HILLS"}, None),
    ("31", {"title": "Walking downhill", "pmid": "31"}, None),
    ("c", {"title": "Walking up-hill: A trial in old age.", "doi": "10.1000/hills"}, 0),  # a copy of the first
    ("d", {"title": "Swimming"}, None),
    ("e", {"title": "Swimming"}, None),
    ("f", {"title": "Chess in parks [References]"}, None),
    ("g", {}, None),
    ("h", {"title": "Das Wandern <i>in vivo</i> der Müller"}, None),
    ("i", {"title": "Walking in vitro.DP  - Mar 15, 2017"}, None),
    ("j", {"title": "Rowing on lakes"}, None),
]
FINDER = RecordFinder(
    KnownRecord(index, item_id, fields, copy_of) for index, (item_id, fields, copy_of) in enumerate(RECORDS)
)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"id": "31"}, RecordMatch((1,), "id")),
        ({"id": "c"}, RecordMatch((0,), "id")),  # the copy's match counts for the one that stays
        ({"id": "d", "title": "Swimming"}, RecordMatch((3,), "id")),  # which tells two records of one title apart
        ({"id": "31", "title": "walking downhill a study"}, RecordMatch((1,), "id")),
        (
            {"id": "31", "title": "Swimming in the sea", "doi": "https://doi.org/10.1000/hills."},
            RecordMatch((0,), "DOI"),
        ),
        ({"doi": "doi:10.1000/Hills", "pmid": "31"}, RecordMatch((0,), "DOI")),  # before the PMID
        ({"pmid": "PMID: 31"}, RecordMatch((1,), "PMID")),
        ({"id": "NA", "title": "WALKING DOWNHILL."}, RecordMatch((1,), "title")),
        ({"title": "walking uphill a trial in old age"}, RecordMatch((0,), "title")),  # of both copies
        ({"title": "walking up hill atrial in oldage"}, RecordMatch((0,), "title")),  # words run together elsewhere
        ({"title": "chess in parks references"}, RecordMatch((5,), "title")),
        ({"title": "rowing on lakes references"}, RecordMatch((9,), "title")),  # the reader took the remark away
        ({"title": "Das Wandern in vivo der Muller"}, RecordMatch((7,), "title")),
        ({"title": "das wandern in vivo der mller"}, RecordMatch((7,), "title")),
        ({"title": "walking in vitrodp   mar 15 2017"}, RecordMatch((8,), "title")),
        ({"title": "walking in vitro"}, RecordMatch((8,), "title")),
        ({"title": "Swimming"}, RecordMatch((3, 4), "title")),
        ({"title": "Walking"}, RecordMatch(())),
        ({"id": "unknown"}, RecordMatch(())),
        ({}, RecordMatch(())),
        ({"id": "31", "title": "Rowing"}, RecordMatch((), why="the record with the id '31' has another title")),
    ],
)
def test_records_are_found_by_id_doi_pmid_and_title_in_this_order(row: dict[str, str], found: RecordMatch) -> None:
    assert FINDER.find(row) == found


def test_two_records_of_one_id_are_told_apart_by_their_titles_alone() -> None:
    same = RecordFinder(KnownRecord(n, "1", {"title": title}) for n, title in enumerate(("Hills", "Rivers")))
    assert same.find({"id": "1"}) == RecordMatch((0, 1), "id")
    assert same.find({"id": "1", "title": "Rivers"}) == RecordMatch((1,), "id")


def test_a_copy_of_a_copy_is_found_as_the_one_that_stays() -> None:
    chain = RecordFinder(KnownRecord(n, f"r{n}", {}, copy_of) for n, copy_of in enumerate((None, 0, 1)))
    assert chain.find({"id": "r2"}) == RecordMatch((0,), "id")
