"""Labels and records come together by id, or by place; what does not is named and never dropped silently."""

from pathlib import Path

import pytest

from stage.judged import copied, row
from tamis_review.quality.gold_labels import GoldLabel, GoldLabels, read_labels
from tamis_review.quality.judged import Stand
from tamis_review.quality.matching import match
from tamis_schemas import InputError, InvalidRequest


def written(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def labels(*said: tuple[str, bool | None]) -> GoldLabels:
    return GoldLabels(tuple(GoldLabel(item_id, included, line) for line, (item_id, included) in enumerate(said, 2)))


@pytest.mark.parametrize(
    "text",
    [
        "id,label\na,1\nb,0\nc,\n",
        "ID;Included\na;yes\nb;no\nc;\n",
        "title\tinclude\trecord id\nA\tTRUE\ta\nB\tfalse\tb\nC\t\tc\n",
        'id,title,abstract,year,label\na,"A, and more",,,1\nb,B,"two\nlines",,0\nc,C,,,\n',
        '{"id": "a", "title": "A", "label": 1}\n{"id": "b", "title": "B", "label": 0}\n{"id": "c", "title": "C"}\n',
        "pmid,decision\na,include\nb,exclude\nc,\n",
    ],
)
def test_labels_are_read_from_the_screened_file_or_from_ids_and_labels_alone(tmp_path: Path, text: str) -> None:
    found = read_labels(written(tmp_path, text))
    assert [(label.item_id, label.included) for label in found.labels] == [("a", True), ("b", False), ("c", None)]


def test_a_column_can_be_named_and_must_be_where_several_could_be_meant(tmp_path: Path) -> None:
    path = written(tmp_path, "id,label,included,full_text\na,1,0,1\n")
    with pytest.raises(InputError, match=r"several columns could hold the labels: label, included; choose one"):
        read_labels(path)
    assert read_labels(path, "full_text").labels[0].included is True
    assert read_labels(path, "included").labels[0].included is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,verdict\na,1\n", "no column 'label' for the labels"),
        ("id,label\na,1\nb,perhaps\n", "labels.csv:3: field 'label': 'perhaps' is not a label: 1 means included"),
        ("id,title,label\na,A,2\n", "labels.csv:2: field 'label': '2' is not a label"),
        ("name,label\na,1\n", "no column for a title or an abstract"),
        ("", "labels.csv"),
    ],
)
def test_a_file_that_holds_no_labels_says_where_and_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_labels(written(tmp_path, text))
    assert said in str(caught.value)


def test_labels_match_by_id_whatever_their_order() -> None:
    found = match([row(0, "a"), row(1, "b"), row(2, "c")], labels(("c", True), ("a", False)))
    assert [(one.item_id, one.human) for one in found.records] == [("a", False), ("c", True)]
    assert [one.item_id for one in found.others] == ["b"]
    assert found.matching.by == "id"
    assert (found.matching.labelled, found.matching.unlabelled, found.matching.unlabelled_ids) == (2, 1, ("b",))


def test_labels_without_a_record_and_records_without_a_label_are_counted_and_the_first_ten_named() -> None:
    rows = [row(n, f"r{n}") for n in range(30)]
    strangers = [(f"s{n}", True) for n in range(12)]
    found = match(rows, labels(("r29", True), *strangers, ("r3", None))).matching
    assert (found.labels, found.empty, found.without_record, found.unlabelled) == (13, 1, 12, 29)
    assert found.without_record_ids == tuple(f"s{n}" for n in range(10))
    assert found.unlabelled_ids == tuple(f"r{n}" for n in range(10))


def test_ids_that_records_share_match_by_place_where_the_file_is_the_screened_one() -> None:
    rows = [row(0, "x"), row(1, "x"), row(2, "unknown"), row(3, "unknown")]
    said = [("x", True), ("x", False), ("unknown", False), ("unknown", True)]
    found = match(rows, labels(*said))
    assert found.matching.by == "place"
    assert [one.human for one in found.records] == [True, False, False, True]


@pytest.mark.parametrize(
    ("rows", "said", "message"),
    [
        ([row(0, "x"), row(1, "x")], [("x", True)], "2 records of the batch have the id 'x'"),
        ([row(0, "unknown"), row(1, "unknown")], [("unknown", True)], "2 records of the batch have no id"),
        ([row(0, "x")], [("x", True), ("x", False)], r"'x' is both included and excluded \(lines 2 and 3\)"),
        (
            [row(0, "x")],
            [("y", True)],
            "no label belongs to a record of this batch. Ids of labels: 'y'; of records: 'x'",
        ),
    ],
)
def test_what_cannot_be_matched_is_refused_with_the_reason(rows: list, said: list, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        match(rows, labels(*said))


def test_a_shared_id_does_no_harm_where_no_label_is_of_it() -> None:
    found = match([row(0, "x"), row(1, "x"), row(2, "y")], labels(("y", True)))
    assert [one.index for one in found.records] == [2]


def test_labels_of_one_id_that_agree_are_one_label() -> None:
    assert match([row(0, "x")], labels(("x", True), ("x", True))).matching.labelled == 1


@pytest.mark.parametrize(
    ("own", "of_the_copy", "human", "by_copy"),
    [
        (True, False, True, 0),
        (False, True, True, 1),
        (None, True, True, 1),
        (None, False, False, 0),
        (False, None, False, 0),
    ],
)
def test_a_work_is_included_where_a_human_included_any_copy_of_it(
    own: bool | None, of_the_copy: bool | None, human: bool, by_copy: int
) -> None:
    found = match([row(0, "a"), copied(1, "b", of=0)], labels(("a", own), ("b", of_the_copy)))
    (one,) = found.records
    assert (one.item_id, one.human, one.stand) == ("a", human, Stand.INCLUDE)
    assert (found.matching.copies, found.matching.labelled_by_copy, found.matching.labelled) == (1, by_copy, 1)


def test_a_copy_with_the_id_of_its_record_makes_the_id_no_shared_one() -> None:
    found = match([row(0, "a"), row(1, "b"), copied(2, "a", of=0)], labels(("a", True)))
    assert [(one.index, one.human) for one in found.records] == [(0, True)]
