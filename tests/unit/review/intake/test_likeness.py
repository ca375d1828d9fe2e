"""Likeness: copy, doubt or different, and why; each rule in both directions."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.intake.duplicates import find_duplicates
from tamis_review.intake.likeness import LIKE, Key, Likeness, by_title
from tamis_review.intake.traits import traits_of

LONG = "Walking and the mood of older people in small towns"  # 42 letters
SHORT = "Walking and moods"  # 15
ABSTRACT = "Older people who walked each day for a year slept better than those who did not walk at all. "
OTHER_ABSTRACT = "In this chapter we describe how questionnaires about exercise were translated into Finnish. "
PAPER: dict[str, Any] = {"title": LONG, "year": 2014, "authors": ["Ames A"], "journal": "Journal of Walking"}
CONGRESS = "Journal of Walking. Conference: 9th Congress"
MEETING_TYPE, MEETING, OTHER_TEXT = "Conference Abstract", "one is a congress abstract", "another abstract"
PLACE = {"_endnote_volume": "12 (Suppl 3)", "_endnote_pages": "345-9"}
SAME_PLACE = {"_ris_VL": "12", "_ris_SP": "345"}
SUBTITLED = f"{LONG}: a randomised trial"
COPY, DOUBT, DIFFERENT, UNKNOWN = Likeness.COPY, Likeness.DOUBT, Likeness.DIFFERENT, Likeness.UNKNOWN


def judged(one: dict[str, Any], other: dict[str, Any]) -> tuple[Likeness, tuple[str, ...]]:
    """What two variants of the paper are by their titles; the order does not matter."""
    first, second = (
        traits_of({name: value for name, value in {**PAPER, **own}.items() if value is not None})
        for own in (one, other)
    )
    verdict = by_title(first, second)
    assert by_title(second, first) == verdict
    return verdict.likeness, verdict.against


@pytest.mark.parametrize(
    ("one", "other", "likeness", "against"),
    [
        ({}, {}, COPY, ()),
        ({}, {"title": f"[{LONG} (author's transl)] [Article in German]"}, COPY, ()),
        ({}, {"journal": "J Walk"}, COPY, ()),
        ({}, {"journal": "Annals of Rest"}, DOUBT, ("another journal",)),
        ({"abstract": ABSTRACT}, {"journal": "Annals of Rest", "abstract": ABSTRACT}, DOUBT, ("another journal",)),
        ({}, {"journal": "Annals of Rest", "authors": None}, DOUBT, ("another journal",)),
        ({}, {"journal": None}, COPY, ()),
        (
            {"_ISSN": "1234-5678"},
            {"journal": "Zeitschrift", "_ris_SN": "12345678 (ISSN)"},
            COPY,
            (),
        ),
        ({}, {"type": "Conference Abstract"}, DOUBT, ("one is a congress abstract",)),
        (
            {},
            {"journal": "Journal of Walking. Conference: 9th Congress", "year": 2013},
            DOUBT,
            ("another year (2013, 2014)", "one is a congress abstract"),
        ),
        ({"doi": "10.1234/a"}, {"doi": "10.1234/b"}, DOUBT, ("another DOI",)),
        ({"pmid": "1"}, {"pmid": "2"}, DOUBT, ("another PubMed id",)),
        ({"nct_id": "NCT00000001"}, {"nct_id": "NCT00000002"}, DIFFERENT, ("another trial",)),
        ({"abstract": ABSTRACT}, {"abstract": OTHER_ABSTRACT}, DOUBT, ("another abstract",)),
        ({}, {"authors": ["Bond B"]}, DIFFERENT, ("another first author",)),
        ({"abstract": ABSTRACT}, {"authors": ["Bond B"], "abstract": ABSTRACT}, DOUBT, ("another first author",)),
        ({}, {"year": 2017}, DIFFERENT, ("another year (2014, 2017)",)),
        ({}, {"year": 2016}, DOUBT, ("another year (2014, 2016)",)),
        ({"abstract": ABSTRACT}, {"year": 2019, "abstract": ABSTRACT}, DOUBT, ("another year (2014, 2019)",)),
        ({"title": SHORT}, {"title": SHORT}, DOUBT, ("a title that many papers have",)),
        ({"title": SHORT, "journal": None}, {"title": SHORT}, UNKNOWN, ("too little agreement besides the title",)),
        ({"title": SHORT}, {"title": SHORT, "year": 2015}, DIFFERENT, ("another year (2014, 2015)",)),
        # a congress abstract with the text of the other record, in its journal and year
        ({"abstract": ABSTRACT}, {"abstract": ABSTRACT, "journal": CONGRESS}, COPY, ()),
        ({"abstract": ABSTRACT}, {"abstract": OTHER_ABSTRACT, "journal": CONGRESS}, DOUBT, (MEETING, OTHER_TEXT)),
        ({"abstract": ABSTRACT}, {"abstract": ABSTRACT, "type": MEETING_TYPE, "journal": None}, DOUBT, (MEETING,)),
    ],
)
def test_under_one_title(
    one: dict[str, Any], other: dict[str, Any], likeness: Likeness, against: tuple[str, ...]
) -> None:
    assert judged(one, other) == (likeness, against)


@pytest.mark.parametrize(
    ("fields", "likeness"),
    [
        ({"abstract": ABSTRACT}, COPY),
        ({"title": f"{LONG} in rather hilly countries", "abstract": None}, COPY),  # 64 letters
        ({"abstract": None}, DOUBT),  # 42 letters, as a yearly report may have
        ({"abstract": ABSTRACT, "journal": "Annals of Rest"}, DOUBT),
        ({"abstract": ABSTRACT, "authors": None}, DOUBT),
    ],
)
def test_over_the_turn_of_a_year_author_and_journal_agree(fields: dict[str, Any], likeness: Likeness) -> None:
    own = {name: value for name, value in fields.items() if name in ("title", "abstract")}
    assert judged(own, {**fields, "year": 2015})[0] is likeness


@pytest.mark.parametrize(
    ("one", "other", "likeness"),
    [
        ({}, {}, COPY),  # the journal is the same
        ({"journal": None, "abstract": ABSTRACT}, {"abstract": ABSTRACT}, COPY),
        ({"journal": None}, {}, DOUBT),
        ({}, {"journal": "Annals of Rest"}, DIFFERENT),
        ({}, {"authors": None}, DIFFERENT),
        ({}, {"authors": ["Bond B"]}, DIFFERENT),
        ({}, {"year": None}, DIFFERENT),
        ({}, {"title": f"{LONG}: study protocol"}, DOUBT),
        ({"title": f"{LONG}: for women"}, {"title": f"{LONG}: for men"}, DIFFERENT),
        ({}, {"title": f"{LONG}; [Gehen und Stimmung im Alter]"}, COPY),
        ({"title": "Gehen und Stimmung im Alter"}, {"title": f"{LONG}; [Gehen und Stimmung im Alter]"}, COPY),
    ],
)
def test_with_and_without_a_subtitle_more_has_to_agree(
    one: dict[str, Any], other: dict[str, Any], likeness: Likeness
) -> None:
    assert judged(one, {"title": SUBTITLED, **other})[0] is likeness


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("Müller A", "Mueller A", True),
        ("Müller A", "Muller A", True),
        ("Mueller A", "Muller A", True),
        ("Jørgensen B", "Joergensen B", True),
        ("Jørgensen B", "Jorgensen B", True),
        ("Joergensen B", "Jorgensen B", True),
        ("Đorđević C", "Djordjevic C", True),
        ("Đorđević C", "Dordevic C", True),
        ("Djordjevic C", "Dordevic C", True),
        ("Yıldız D", "YILDIZ D", True),
        ("Åberg E", "Aaberg E", True),
        ("Mu\u0308ller A", "Mueller A", True),  # the accent is a sign of its own
        ("Miller A", "Mueller A", False),
        ("Jensen B", "Jørgensen B", False),
    ],
)
def test_a_first_author_is_the_same_in_another_alphabet(one: str, other: str, agree: bool) -> None:
    assert (judged({"authors": [one]}, {"authors": [other]})[0] is COPY) is agree


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Vishnevskii A", "Vishnevski A"),
        ("Vishnevskii A", "Wischnewsky A"),
        ("Chaikovskii B", "Tchaikovsky B"),
        ("M?ller C", "Müller C"),
    ],
)
def test_a_first_author_is_the_same_in_another_transliteration(one: str, other: str) -> None:
    assert judged({"authors": [one]}, {"authors": [other]})[0] is COPY
    assert judged({"authors": ["Zhang D"]}, {"authors": ["Zhao D"]})[0] is DIFFERENT
    assert judged({"authors": ["Chen D"]}, {"authors": ["Cheng D"]})[0] is DIFFERENT


@pytest.mark.parametrize(
    ("other", "likeness"),
    [
        ({"journal": "Gazette of the Hills"}, COPY),  # a name in another language
        ({"authors": ["Bond B"]}, COPY),
        ({"abstract": OTHER_ABSTRACT}, COPY),
        ({"type": MEETING_TYPE}, COPY),
        ({"year": 2015}, COPY),
        ({"year": 2015, "journal": "Gazette of the Hills"}, DOUBT),
        ({"doi": "10.1234/b"}, DOUBT),
        ({"title": SHORT}, DIFFERENT),
        ({"title": f"{LONG} and vilages"}, COPY),
        ({"title": LONG.replace("small", "smal")}, COPY),
        ({"title": LONG.replace("small", "smal"), "year": 2015}, DIFFERENT),
        ({"title": LONG.replace("small", "smal"), "authors": ["Bond B"]}, DIFFERENT),
        ({"title": LONG.replace("small", "smal"), "abstract": OTHER_ABSTRACT}, DIFFERENT),
        ({"title": f"Comment on: {LONG}"}, DIFFERENT),
    ],
)
def test_at_one_volume_and_page_no_weak_trait_contradicts(other: dict[str, Any], likeness: Likeness) -> None:
    own = {**PLACE, "doi": "10.1234/a", "abstract": ABSTRACT}
    assert judged(own, {"abstract": None, **other, **SAME_PLACE})[0] is likeness
    assert judged(own, {"abstract": None, **other, "_ris_VL": "13", "_ris_SP": "345"})[0] is not COPY


def test_a_page_with_a_letter_holds_many_abstracts_with_similar_titles() -> None:
    page = {"_volume": "12", "_pages": "A129"}
    assert judged(page, {**page, "title": LONG.replace("small", "smal")})[0] is DIFFERENT
    assert judged(page, {**page, "journal": "Gazette of the Hills"})[0] is COPY


VARIANTS = st.fixed_dictionaries(
    {"title": st.sampled_from([LONG, SHORT, SUBTITLED, f"{LONG} [German]", f"{LONG}: part 2"])},
    optional={
        "year": st.sampled_from([2014, 2015, 2019]),
        "authors": st.sampled_from([["Ames A"], ["Müller B"], ["Mueller B"]]),
        "journal": st.sampled_from(["J Walk", "Journal of Walking", "Annals of Rest. Conference: 9th Congress"]),
        "abstract": st.sampled_from([ABSTRACT, OTHER_ABSTRACT]),
        "doi": st.sampled_from(["10.1234/a", "10.1234/b"]),
        "pmid": st.sampled_from(["1", "2"]),
    },
)


@settings(max_examples=80)
@given(VARIANTS, VARIANTS)
def test_a_verdict_is_the_same_in_either_order(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = traits_of(one), traits_of(other)
    for like in LIKE.values():
        assert like(first, second) == like(second, first)


@settings(max_examples=40)
@given(VARIANTS)
def test_a_record_is_its_own_copy_once_its_title_says_enough(record: dict[str, Any]) -> None:
    own = {**record, "title": f"{record['title']} {LONG} {LONG}"}
    assert LIKE[Key.TITLE](traits_of(own), traits_of(own)).likeness is COPY
    assert [(copy.index, copy.of) for copy in find_duplicates([own, own]).copies] == [(1, 0)]


@settings(max_examples=60)
@given(st.lists(VARIANTS, max_size=6), st.randoms(use_true_random=False))
def test_what_is_copy_and_what_is_doubt_does_not_depend_on_the_order(
    records: list[dict[str, Any]], random: Any
) -> None:
    numbered = [{**record, "_n": at} for at, record in enumerate(records)]
    shuffled = random.sample(numbered, len(numbered))

    def groups(some: list[dict[str, Any]]) -> set[frozenset[int]]:
        found = find_duplicates(some)
        gone = {copy.index for copy in found.copies}
        assert all(one.index != one.of and gone.isdisjoint((one.index, one.of)) for one in found.doubts)
        members: dict[int, set[int]] = {at: {some[at]["_n"]} for at in range(len(some))}
        for copy in found.copies:
            members[copy.of] |= members.pop(copy.index)
        return {frozenset(group) for group in members.values()}

    assert groups(numbered) == groups(shuffled)


def test_doubts_are_between_records_that_stay_each_once_with_what_agrees_and_what_does_not() -> None:
    records = [
        {**PAPER, "pmid": "1"},
        {**PAPER, "pmid": "1", "abstract": ABSTRACT},
        {**PAPER, "journal": "Annals of Rest", "pmid": "2"},
        {**PAPER, "journal": "Annals of Rest", "pmid": "2"},
    ]
    found = find_duplicates(records)
    assert [(copy.index, copy.of) for copy in found.copies] == [(0, 1), (3, 2)]
    assert [(one.index, one.of) for one in found.doubts] == [(2, 1)]
    assert found.doubts[0].reason == ("the same title, year and first author, but another PubMed id, another journal")


def test_a_record_that_fits_two_that_are_not_copies_is_a_doubt_with_both() -> None:
    records = [PAPER, {**PAPER, "journal": None}, {**PAPER, "journal": "Annals of Rest"}]
    found = find_duplicates(records)
    assert found.copies == []
    assert {(one.index, one.of) for one in found.doubts} == {(1, 0), (2, 0), (1, 2)}


def test_a_record_with_both_names_of_a_journal_joins_those_with_one() -> None:
    names = ("Archivos del Paseo", "Archivos del Paseo = Journal of Walking", "Journal of Walking")
    records = [{**PAPER, "journal": name} for name in names]
    assert [(copy.index, copy.of) for copy in find_duplicates(records).copies] == [(1, 0), (2, 0)]
    assert find_duplicates([records[0], records[2]]).copies == []


def test_a_title_does_not_join_records_whose_copies_have_other_identifiers() -> None:
    records = [{**PAPER, "doi": "10.1234/a"}, {"doi": "10.1234/a", "pmid": "1"}, {**PAPER, "pmid": "2"}]
    found = find_duplicates(records)
    assert [(copy.index, copy.of) for copy in found.copies] == [(1, 0)]
    assert [(one.index, one.of) for one in found.doubts] == [(2, 0)]
    assert found.doubts[0].reason.endswith("but other identifiers on copies of them")


def test_a_record_without_a_year_borrows_none_from_its_copies_whatever_the_order() -> None:
    title = {"title": LONG}
    records = [{**title, "year": 2014}, {**title, "doi": "10.1234/a"}, {"year": 2014, "pmid": "1", "doi": "10.1234/a"}]
    for some in (records, records[::-1]):
        assert [len({copy.index, copy.of} & {some.index(records[0])}) for copy in find_duplicates(some).copies] == [0]
