"""Completion: two files of one source are one export in two forms where they share the source's own identifiers."""

from typing import Any

import pytest

from tamis_review.intake.completion import CROWD, complete, identifiers_of, in_two_forms
from tamis_review.intake.filling import FILLED

Record = dict[str, Any]


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
