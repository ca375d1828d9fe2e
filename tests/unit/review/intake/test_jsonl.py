"""JSONL: objects keep their names; a line that is no object has its number."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage.hostile import without_source
from tamis_review.intake.jsonl import read_jsonl, write_jsonl
from tamis_review.intake.notes import Notes
from tamis_schemas import InputError
from tamis_schemas.records.item import shown_fields

PATH = Path("items.jsonl")


def test_objects_keep_their_own_names_and_values() -> None:
    text = (
        '{"id": 0, "Title": "a", "label": 1, "nested": {"x": [null, true]}}\n\n{"pmid": "5"}\r\n{"doi": "10.1/x"}\n{}\n'
    )
    assert [
        {name: value for name, value in own.items() if name != "_source"}
        for own in read_jsonl(text, Notes(PATH, strict=True))
    ] == [
        {"id": 0, "Title": "a", "label": 1, "nested": {"x": [None, True]}, "_line": 1},
        {"pmid": "5", "_line": 3},
        {"doi": "10.1/x", "id": "10.1/x", "_line": 4},
        {"id": "record-4", "_line": 5},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": 1}\n{"id": 2,}\n', r"items\.jsonl:2: not JSON: .* \(column \d+\)"),
        ('{\n"id": 1\n}\n', r"items\.jsonl:1: not JSON: .*one line"),
        ('{"id": 1}\n[1]\n', r"items\.jsonl:2: a JSON array"),
        ('{"id": 1}\n"x"\n', r"items\.jsonl:2: a JSON string"),
        ('{"id": 1}\nnull\n', r"items\.jsonl:2: a JSON null"),
        ('{"id": 1} {"id": 2}\n', r"items\.jsonl:1: not JSON: Extra data"),
        ('{"score": NaN}\n', r"items\.jsonl:1: .*NaN"),
        ('{"score": 1e999}\n', r"items\.jsonl:1: .*1e999 is too large"),
        ('{"id": 1, "id": 2}\n', r"items\.jsonl:1: .*'id' occurs twice"),
        ("{" + '"a":{' * 100_000, r"items\.jsonl:1: "),
    ],
)
def test_a_line_that_is_no_object_is_an_error_naming_it(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_jsonl(text, Notes(PATH, strict=True))


def written(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    write_jsonl(records, stream)
    return stream.getvalue()


def test_a_broken_line_costs_that_line_alone() -> None:
    notes = Notes(PATH)
    records = read_jsonl('{"title": "a"}\n{"title": \n[1]\n{"title": "b"}\n{"a": 1, "a": 2}\n', notes)
    assert [(record["title"], record["_line"], record["id"]) for record in records] == [
        ("a", 1, "record-1"),
        ("b", 4, "record-2"),
    ]
    assert [(note.kind, note.line) for note in notes.taken] == [("lost", 2), ("lost", 3), ("lost", 5)]
    assert notes.taken[1].text == "a JSON array instead of an object ({...})"
    with pytest.raises(InputError, match=r":1: not JSON"):
        read_jsonl("no json\n", Notes(PATH))


def test_objects_come_back_under_their_own_names_with_the_decision() -> None:
    text = '{"Title": "a", "_label": [1, null], "score": 0.5}\n{"id": 7, "title": "b\\u2028"}\n'
    records = read_jsonl(text, Notes(PATH, strict=True))
    assert written(records) == text.replace("\\u2028", "\u2028")
    records[0] |= {"_tamis_decision": "exclude", "_tamis_confidence": 0.9}
    once = written(records)
    assert once.startswith('{"Title": "a", "_label": [1, null], "score": 0.5, "tamis_decision": "exclude", "tamis_conf')
    again = read_jsonl(once, Notes(PATH, strict=True))
    assert without_source(again) == without_source(records)
    assert "tamis_decision" not in shown_fields(again[0])
    again[0]["_tamis_decision"] = "include"
    assert written(again) == once.replace("exclude", "include")


def test_names_that_mean_something_here_are_moved_aside_and_come_back() -> None:
    text = (
        '{"id": 1, "_line": 9, "_source": {"format": "RIS"}, "_tamis_decision": "x", "__line": 3, '
        '"tamis_decision": "y"}\n'
    )
    (record,) = read_jsonl(text, Notes(PATH, strict=True))
    assert {name: value for name, value in record.items() if name != "_source"} == {
        "id": 1,
        "___line": 9,
        "__source": {"format": "RIS"},
        "__tamis_decision": "x",
        "__line": 3,
        "_tamis_decision": "y",
        "_line": 1,
    }
    assert written([record]) == text


def test_records_from_elsewhere_keep_their_hidden_fields_but_not_our_own() -> None:
    record = {"id": "record-1", "title": "a", "_label": "1", "_line": 4, "_source": {}, "_tamis_reason": "why"}
    assert written([record]) == '{"title": "a", "_label": "1", "tamis_reason": "why"}\n'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text() | st.sampled_from(
    ["id", "pmid", "doi", "_line", "__line", "_source", "_tamis_reason", "tamis_reason"]
)


@given(st.lists(st.dictionaries(NAMES, VALUES), min_size=1, max_size=4))
def test_any_object_comes_back(objects: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(own) + "\n" for own in objects)
    again = [
        json.loads(line)
        for line in written(json.loads(json.dumps(read_jsonl(text, Notes(PATH, strict=True))))).split("\n")[:-1]
    ]
    assert again == objects
    assert [list(own) for own in again] == [list(own) for own in objects]


def test_half_a_pair_of_surrogates_comes_back() -> None:
    text = '{"id": "\\ud800"}\n'
    assert written(read_jsonl(text, Notes(PATH, strict=True))) == text


def test_an_array_is_read_like_lines_with_the_line_of_each_object() -> None:
    notes = Notes(PATH)
    text = '[\n  {"title": "a",\r\n   "b": [1, {"c": "]"}]},\r\n  7, {"title": "d"}\n]\n[{"title": "e"}]'
    assert [(own["title"], own["_line"]) for own in read_jsonl(text, notes)] == [("a", 2), ("d", 4), ("e", 6)]
    assert [(note.kind, note.line, note.text) for note in notes.taken] == [
        ("lost", 4, "a JSON number instead of an object ({...})")
    ]


def test_an_array_that_is_cut_off_loses_its_last_object_alone() -> None:
    notes = Notes(PATH)
    assert [own["title"] for own in read_jsonl('[{"title": "a"},\n{"title": "b",', notes)] == ["a"]
    assert [(note.kind, note.line) for note in notes.taken] == [("lost", 2)]
    with pytest.raises(InputError, match="no object: the array is empty"):
        read_jsonl("[ ]", Notes(PATH))


def test_a_damaged_object_of_an_array_costs_itself_alone() -> None:
    objects = [{"id": number, "title": f"T{number}", "author": [{"family": "Moor"}]} for number in range(3)]
    for indent in (None, 2):
        text = json.dumps(objects, indent=indent)
        notes = Notes(PATH)
        read = read_jsonl(text.replace('"T1"', '"T1'), notes)
        assert [own["title"] for own in read] == ["T0", "T2"]
        (note,) = notes.taken
        assert (note.kind, note.line) == ("lost", text.count("\n", 0, text.index('"id": 1')) or 1)


def test_an_array_cut_off_behind_an_object_says_so_with_the_line() -> None:
    for text in ('[{"title": "a"}', '[{"title": "a"},\n\n', '[{"title": "a"},{"title": "b"}, '):
        notes = Notes(PATH)
        assert read_jsonl(text, notes)
        assert [(note.kind, note.line) for note in notes.taken] == [("lost", 1 + text.count("\n"))]
        with pytest.raises(InputError, match="the array has no end: the file is cut off"):
            read_jsonl(text, Notes(PATH, strict=True))


CITATIONS = [
    {"id": f"k{number}", "type": "book", "title": f"}} ] , {{ {number}", "author": [{"family": "Moor"}, {"given": "B"}]}
    for number in range(3)
]


def harmed_array_is_read_whole_or_noted(text: str, harmed: str) -> None:
    notes = Notes(PATH)
    try:
        read = read_jsonl(harmed, notes)
    except InputError:
        return
    if without_source(read) != without_source(read_jsonl(text, Notes(PATH, strict=True))):
        try:
            json.loads(harmed)
        except ValueError:
            assert notes.taken, harmed


@given(st.integers(0, 400), st.sampled_from([None, 2]), st.booleans())
def test_of_a_cut_or_damaged_array_no_record_is_lost_silently(at: int, indent: int | None, cut: bool) -> None:
    text = json.dumps(CITATIONS, indent=indent)
    at = 1 + at % (len(text) - 1)
    harmed_array_is_read_whole_or_noted(text, text[:at] if cut else text[:at] + text[at + 1 :])


@pytest.mark.night
def test_of_an_array_cut_or_damaged_at_any_place_no_record_is_lost_silently() -> None:
    for indent in (None, 1, 2):
        text = json.dumps(CITATIONS, indent=indent)
        for at in range(1, len(text)):
            for harmed in (text[:at], text[:at] + text[at + 1 :], text[:at] + '"' + text[at:]):
                harmed_array_is_read_whole_or_noted(text, harmed)


CSL = {
    "id": "k",
    "type": "article-journal",
    "title": "T",
    "DOI": "https://doi.org/10.1/w",
    "keyword": "walks; towns",
    "author": [
        {"family": "Berg", "given": "Ann", "non-dropping-particle": "van der"},
        {"literal": "Walks Group"},
        {"given": "Bo"},
        "?",
    ],
    "volume": "3",
    "doi": None,
}


@pytest.mark.parametrize(
    ("issued", "year"),
    [
        ({"date-parts": [["2021", 5]]}, 2021),
        ({"raw": "2020-03"}, 2020),
        ({"literal": "in press"}, None),
        ({"date-parts": [[]]}, None),
        ({}, None),
        ("2019", 2019),
    ],
)
def test_values_of_csl_become_canonical_and_only_these_are_shown(issued: object, year: int | None) -> None:
    members = {name: value for name, value in CSL.items() if name != "doi"} | {"issued": issued, "tamis_decision": "x"}
    (record,) = read_jsonl(json.dumps(members), Notes(PATH, strict=True))
    assert shown_fields(record) == {
        "title": "T",
        "type": "article-journal",
        "doi": "10.1/w",
        "authors": ["van der Berg, Ann", "Walks Group", "Bo"],
        "keywords": ["walks", "towns"],
        **({"year": year} if year else {}),
    }
    assert (record["_csl_volume"], record["_tamis_decision"]) == ("3", "x")
    assert json.loads(written([record])).items() >= {**members, "DOI": "10.1/w"}.items()


def test_csl_names_that_would_meet_another_stay_hidden() -> None:
    (record,) = read_jsonl(json.dumps(CSL), Notes(PATH, strict=True))
    assert (record["doi"], record["_csl_DOI"]) == (None, "https://doi.org/10.1/w")


def test_an_object_that_is_no_citation_keeps_its_names() -> None:
    text = '{"type": "x", "author": "A", "issued": "2019", "volume": 3}'
    assert shown_fields(read_jsonl(text, Notes(PATH, strict=True))[0]).keys() == {"type", "author", "issued", "volume"}


PERSONS = VALUES | st.dictionaries(
    st.sampled_from(["family", "given", "literal", "non-dropping-particle", "name"]), VALUES, max_size=3
)


@given(PERSONS | st.lists(PERSONS, max_size=4))
def test_authors_of_any_shape_are_read_as_text_or_noted(author: Any) -> None:
    notes = Notes(PATH, strict=True)
    text = json.dumps({**CSL, "container-title": "J", "author": author})
    (record,) = read_jsonl(text, notes)
    authors = record.get("authors", [])
    assert all(isinstance(name, str) and any(map(str.isalpha, name)) for name in authors)
    persons = author if isinstance(author, list) else [] if author in (None, "") else [author]
    assert len(authors) + sum(note.n for note in notes.taken) >= len(persons)
    assert json.loads(written([record]))["author"] == author


@pytest.mark.parametrize(
    ("author", "authors", "nameless"),
    [
        ("Moor A; Hill B", ["Moor A", "Hill B"], 0),
        (["Moor, Ann", {"literal": "Walks Group"}], ["Moor, Ann", "Walks Group"], 0),
        ({"family": "Moor", "given": 3}, ["Moor, 3"], 0),
        ([{"family": ["Moor"]}, None, 7, [], True, {"name": "W"}], [], 6),
        (None, [], 0),
    ],
)
def test_an_author_of_another_shape_is_text_or_a_note(author: object, authors: list[str], nameless: int) -> None:
    notes = Notes(PATH, strict=True)
    (record,) = read_jsonl(json.dumps({**CSL, "container-title": "J", "author": author}), notes)
    assert (record.get("authors", []), sum(note.n for note in notes.taken)) == (authors, nameless)
    assert {note.text for note in notes.taken} <= {"author without a name"}
