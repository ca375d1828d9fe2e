"""Duplicates: what is a copy, what only looks like one, and which copy stays."""

import time
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage.shared_data import DATA, needs_real_records
from tamis_review.intake import read_records
from tamis_review.intake.duplicates import CROWD, Duplicate, Key, exclusion_of, find_duplicates
from tamis_review.intake.traits import traits_of

LONG = "Walking and the mood of older people: a randomised trial"  # 46 letters
SHORT = "Walking and older people"  # 21
ABSTRACT = "Older people who walked each day for a year slept better than those who did not walk at all. "
OTHER_ABSTRACT = "In this chapter we describe how questionnaires about exercise were translated into Finnish. "


def copies(records: list[dict[str, Any]]) -> list[Duplicate]:
    return find_duplicates(records).copies


def record(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def pair(one: dict[str, Any], other: dict[str, Any]) -> Key | None:
    """By what the two are copies; the order does not matter."""
    found = [copies(both) for both in ([one, other], [other, one])]
    assert len(found[0]) == len(found[1]) <= 1
    assert [copy.key for copy in found[0]] == [copy.key for copy in found[1]]
    return found[0][0].key if found[0] else None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10.1234/ABC.5", "https://doi.org/10.1234/abc.5"),
        ("doi:10.1234/abc", "10.1234/abc."),
        ("http://dx.doi.org/10.1234%2Fabc", "10.1234/abc"),
        ("10.1234/0165-3806%2887%2990215-x", "10.1234/0165-3806(87)90215-X"),
        ("10.1234/abc [doi]", "DOI 10.1234/abc"),
        ("10.1234/deposit.55.v1", "10.1234/deposit.55"),
        ("10.1234/rs.3/v1", "10.1234/rs.3/v2"),
    ],
)
def test_the_same_doi_in_any_spelling_makes_copies(one: str, other: str) -> None:
    assert pair(record(title=LONG, doi=one), record(title=LONG, doi=other)) is Key.DOI


@pytest.mark.parametrize(
    ("one", "other"),
    [("123", 123), ("PMID: 123", "0123"), ("123.0", "123"), ("123 [https://example.org/?term=123]", "123")],
)
def test_the_same_pmid_in_any_spelling_makes_copies(one: object, other: object) -> None:
    assert pair(record(title=LONG, pmid=one), record(title=LONG, pmid=other)) is Key.PMID


@pytest.mark.parametrize("value", ["0", "PMC123", "", "unknown"])
def test_what_is_no_pmid_is_no_key(value: str) -> None:
    assert pair(record(title=SHORT, pmid=value), record(title=SHORT, pmid=value)) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG, LONG.upper() + "."),
        ("Côte d'Ivoire: “children” of war and mental health", "Cote d’Ivoire - 'Children' of war and mental health"),
        ("[Violence and post-traumatic disorder in childhood]", "Violence and post traumatic disorder in child- hood."),
        (
            "<i>Felis</i> &amp; &lt;p&gt;effects of trauma on all the moods",
            "Felis and effects of trauma on all the moods",
        ),
        ("β2 receptors in stress disorders of adults", "(beta)2 receptors in stress disorders of adults"),
        (f"{LONG} [see comments]", LONG),
        (f"{LONG} [published erratum appears in J Walk 2001;3:4].", LONG),
    ],
)  # fmt: skip
def test_spelling_does_not_tell_titles_apart(one: str, other: str) -> None:
    assert pair(record(title=one, year=2014), record(title=other, year=2014)) is Key.TITLE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pérez-de la Fuente R.", "PEREZ-DE LA FUENTE, R"),
        ("Schoot, R. van de", "van de Schoot R"),
        ("Müller, Ann", "Mueller A"),
        ("Müller, Ann", "Muller A"),
        ("Scott D. Sampson", "Sampson, Scott D."),
        ("Sampson SD Jr", "Sampson S D"),
        ("Øster, P", "OSTER P."),
        ("Sampson et al.", "Sampson, Scott D."),
        ("Sampson SD, et al", "Sampson SD and others"),
    ],
)
def test_spelling_does_not_tell_first_authors_apart(one: str, other: str) -> None:
    left, right = record(title=SHORT, year=2014, authors=[one, "Zobel"]), record(title=SHORT, year=2014, authors=other)
    assert pair(left, right) is Key.TITLE


DIFFERENT_AUTHOR = {"authors": ["Ames A"]}, {"authors": ["Bond B"]}


@pytest.mark.parametrize(
    ("one", "other", "copies"),
    [
        ({}, {}, True),
        ({"doi": "10.1234/a"}, {}, True),
        ({"doi": "10.1234/a"}, {"doi": "10.1234/b"}, False),
        ({"pmid": "1"}, {"pmid": "2"}, False),
        ({"nct_id": "NCT00000001"}, {"nct_id": "NCT00000002"}, False),
        ({"doi": "10.1234/a", "pmid": "1"}, {"doi": "10.1234/a", "pmid": "2"}, True),
        ({"year": 2015}, {}, False),  # online first, but nothing proves it
        ({"year": 2015, "doi": "10.1234/a"}, {"doi": "10.1234/a"}, True),
        ({"year": None, "abstract": ABSTRACT}, {"abstract": ABSTRACT.upper()}, True),
        (*DIFFERENT_AUTHOR, False),
        ({"authors": ["Ames A"]}, {}, True),
        ({"authors": ["[Anonymous]"]}, {"authors": ["Bond B"]}, True),
        ({"abstract": ABSTRACT}, {}, True),
        ({"abstract": ABSTRACT}, {"abstract": OTHER_ABSTRACT}, False),
        ({"abstract": ABSTRACT * 3}, {"abstract": ABSTRACT[:80]}, True),  # cut off by one program
        ({"abstract": "No abstract available"}, {"abstract": ABSTRACT}, True),
        ({"year": None}, {"year": None}, False),  # 46 letters and nothing else: 60 are asked for
    ],
)
def test_with_one_title_and_year_the_rest_must_not_contradict(
    one: dict[str, Any], other: dict[str, Any], copies: bool
) -> None:
    both = [record(**{"title": LONG, "year": 2014, **fields}) for fields in (one, other)]
    assert (pair(*both) is not None) is copies


@pytest.mark.parametrize(
    "title", ["Editorial", "Introduction", "Reply", "Poster Presentations", "Letter to the editor"]
)
def test_a_title_that_many_papers_have_makes_no_copies(title: str) -> None:
    both = [record(title=title, year=2014, authors=["Ames A"]) for _ in range(2)]
    assert pair(*both) is None


@pytest.mark.parametrize(
    ("lossy", "title", "copies"),
    [
        ("Na?ve walkers and the mood of older people", "Naïve walkers and the mood of older people", True),
        ("Effect of ?-carotene on the mood of walkers", "Effect of β-carotene on the mood of walkers", True),
        ("?ber das Gehen und die Stimmung", "Über das Gehen und die Stimmung", True),
        ("L\ufffd\ufffd marche ? l'?ge adulte et l'humeur", "Lèé marche à l'âge adulte et l'humeur", True),
        ("Does walking help? A study of men", "Does walking help? A study of women", False),
        ("Does walking help? A study", "Does walking help? A trial", False),
    ],
)
def test_a_question_mark_may_be_a_lost_letter(lossy: str, title: str, copies: bool) -> None:
    own = {"year": 2014, "authors": "Ames A", "journal": "Journal of Walking"}
    assert (pair(record(**own, title=lossy), record(**own, title=title)) is not None) is copies
    assert pair(record(**own, title=lossy), record(**{**own, "authors": "Bond B"}, title=title)) is None


def test_a_misprint_is_found_by_volume_and_page() -> None:
    own = {"year": 2014, "authors": "Ames A", "journal": "Journal of Walking"}
    one, other = record(**own, title=LONG), record(**own, title=LONG.replace("older", "oder"))
    place = {"_volume": "12", "_pages": "345"}
    assert pair({**one, **place}, {**other, **place}) is Key.TITLE
    assert pair(one, other) is None


def test_no_third_record_comes_between_two_at_one_volume_and_page() -> None:
    own = {"title": LONG, "year": 2014, "authors": "Ames A", "journal": "Journal of Walking"}
    place = {"_volume": "12", "_pages": "345"}
    records = [{**own, **place, "abstract": ABSTRACT}, {**own, **place, "abstract": OTHER_ABSTRACT}]
    third = {**own, "abstract": OTHER_ABSTRACT}
    assert len(copies([*records, third])) == 2
    assert len(copies([third, *records])) == 2


@pytest.mark.parametrize(
    ("title", "year", "author", "copies"),
    [
        (SHORT, 2014, "Ames A", True),  # 21 letters, year and author agree: 20 are asked for
        (SHORT, 2014, None, False),  # 21, one agrees: 35
        (LONG, 2014, None, True),  # 46
        (LONG, None, "Ames A", True),
        (LONG, None, None, False),  # 46, none agrees: 60
        (LONG + " " + SHORT, None, None, True),  # 67
        ("老年人每日步行与情绪", 2014, "Ames A", True),  # ten signs that say as much as thirty letters
    ],
)
def test_the_shorter_the_title_the_more_agrees_beside_it(
    title: str, year: int | None, author: str | None, copies: bool
) -> None:
    both = [record(title=title, year=year, authors=author) for _ in range(2)]
    assert (pair(*both) is not None) is copies


def test_one_doi_for_all_parts_of_a_book_or_supplement_makes_no_copies() -> None:
    parts = [
        record(title="Disaster resiliency: Interdisciplinary perspectives", year=2013, doi="10.4321/97802"),
        record(title="Sociological insights on social capital", year=2013, doi="10.4321/97802"),
        record(title="Results of the HAVEN 1 trial in children with haemophilia", doi="10.4321/97802"),
        record(title="Results of the HAVEN 2 trial in children with haemophilia", doi="10.4321/97802"),
        record(title="Results of the HAVEN 2 trial in childrn with haemophilia", doi="10.4321/97802"),
    ]
    assert copies(parts) == [Duplicate(4, 3, Key.DOI)]


def test_one_doi_and_similar_titles_make_no_copies_where_the_abstracts_differ() -> None:
    part = {"title": "Walking and mood, part two", "doi": "10.1234/a"}
    parts = [
        {**part, "abstract": ABSTRACT},
        {**part, "title": "Walking and mood, part ten", "abstract": OTHER_ABSTRACT},
    ]
    assert copies(parts) == []


def test_with_one_doi_a_title_may_lack_its_subtitle_hold_an_error_or_stand_in_two_languages() -> None:
    own = {"doi": "10.1234/a", "abstract": ABSTRACT}
    assert pair(record(title=LONG, doi="10.1234/a"), record(title=LONG.split(":")[0], doi="10.1234/a")) is Key.DOI
    assert pair(record(title=LONG, **own), record(title=LONG.replace("mood", "mod"), **own)) is Key.DOI
    assert pair(record(title=LONG, **own), record(title="Gehen und Stimmung im Alter", **own)) is Key.DOI
    assert pair(record(title=LONG, **own), record(**own)) is Key.DOI
    behind = record(title=f"Gehen und Stimmung im Alter, {LONG}", doi="10.1234/a")
    assert pair(record(title=LONG, doi="10.1234/a"), behind) is Key.DOI
    assert pair(record(title=f"{LONG} [Gehen und Stimmung im Alter]", doi="10.1234/a"), behind) is Key.DOI
    assert pair(record(title=SHORT[-10:], doi="10.1234/a"), record(title=SHORT, doi="10.1234/a")) is None


def test_a_volume_within_a_doi_is_no_version() -> None:
    volumes = [record(title=LONG, year=2014, doi=f"10.1234/blood.v{number}.77") for number in (6, 7)]
    assert pair(*volumes) is None


@pytest.mark.parametrize("notice", ["Erratum: ", "Author Correction: ", "RETRACTED: ", "Reply to: ", "Re: "])
def test_a_notice_is_no_copy_of_the_paper_it_is_about(notice: str) -> None:
    assert pair(record(title=LONG, doi="10.1234/a"), record(title=notice + LONG, doi="10.1234/a")) is None


def test_copies_of_copies_are_one_group_and_say_through_whom() -> None:
    records = [
        record(id="a", title=LONG, year=2014, abstract=ABSTRACT),
        record(id="b", title=LONG, year=2014, doi="10.1234/x", pmid="7"),
        record(id="c", title=LONG, year=2015, pmid="7"),
    ]
    assert copies(records) == [Duplicate(1, 0, Key.TITLE), Duplicate(2, 0, Key.PMID, via=1)]
    assert exclusion_of(copies(records)[1], records).reason == (
        "A copy of record 'a' (place 1) through record 'b' (place 2): the same PMID, 7."
    )


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_record_that_fits_two_different_ones_stays(order: tuple[int, ...]) -> None:
    records = [
        record(title=LONG, year=2014, doi="10.1234/paper"),
        record(title=LONG, year=2014, doi="10.1234/congress"),
        record(title=LONG, year=2014),
    ]
    assert copies([records[at] for at in order]) == []


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_copy_that_lacks_the_abstract_tears_no_others_apart(order: tuple[int, ...]) -> None:
    own = {"title": "Acoustic walks", "year": 2014, "authors": ["Ames A"], "journal": "Journal of Walking"}
    records = [record(**own, abstract=ABSTRACT), record(**own, abstract=ABSTRACT, pmid="7"), record(**own, pmid="7")]
    assert len(copies([records[at] for at in order])) == 2
    assert copies([records[0], {**records[2], "pmid": "8"}]) == []


def test_no_chain_joins_records_with_different_identifiers() -> None:
    records = [
        record(title=LONG, year=2014, doi="10.1234/a", pmid="1"),
        record(title=LONG, pmid="1"),
        record(title=LONG, pmid="2"),
        record(title=LONG, year=2014, doi="10.1234/b", pmid="2"),
    ]
    assert copies(records) == [Duplicate(1, 0, Key.PMID), Duplicate(2, 3, Key.PMID)]
    subtitled = record(title=f"{LONG} in two towns", doi="10.1234/a", pmid="1")
    assert copies([subtitled, record(title=LONG, year=2014, pmid="1"), records[3]]) == [Duplicate(1, 0, Key.PMID)]


def test_the_copy_stays_that_offers_most_for_screening() -> None:
    shared = {"title": LONG, "doi": "10.1234/a"}
    assert copies([shared, shared]) == [Duplicate(1, 0, Key.DOI)]
    assert copies([shared, {**shared, "abstract": ABSTRACT}]) == [Duplicate(0, 1, Key.DOI)]
    assert copies([{**shared, "journal": "J"}, {**shared, "abstract": ABSTRACT}]) == [Duplicate(0, 1, Key.DOI)]
    assert copies([{**shared, "abstract": "None available"}, {**shared, "journal": "J", "year": 2014}]) == [
        Duplicate(0, 1, Key.DOI)
    ]
    assert copies([{**shared, "_note": "hidden"}, {**shared, "year": 2014}]) == [Duplicate(0, 1, Key.DOI)]


def test_the_exclusion_names_the_copy_and_what_agreed() -> None:
    first = record(id="x1", title=LONG, year=2014, authors=["Ames A"], _line=12)
    second = record(id="x2", title=LONG.upper(), year=2014, authors=["AMES, A"], _line=30)
    (found,) = copies([first, second])
    excluded = exclusion_of(found, [first, second])
    assert (excluded.rule, excluded.duplicate_of) == ("duplicate", 0)
    assert excluded.reason == "A copy of record 'x1' (line 12): the same title, year and first author."
    assert (excluded.field, excluded.matched, excluded.start, excluded.end) == ("title", LONG.upper(), 0, len(LONG))


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "title": st.sampled_from([LONG, SHORT, LONG + " 2", "", f"Erratum: {LONG}"]),
                "year": st.sampled_from([2014, 2015, "2014"]),
                "authors": st.sampled_from([["Ames A"], ["Bond, B"], "Ames A; Bond B", [], [None]]),
                "doi": st.sampled_from(["10.1234/a", "10.1234/b", None]),
                "pmid": st.sampled_from(["1", 2, ""]),
                "abstract": st.sampled_from([ABSTRACT, OTHER_ABSTRACT, ABSTRACT * 2]),
            },
        ),
        max_size=12,
    )
)
def test_what_stays_is_no_copy_and_differing_identifiers_under_one_title_never_meet(
    records: list[dict[str, Any]],
) -> None:
    found = copies(records)
    assert [copy.index for copy in found] == sorted({copy.index for copy in found})
    gone, stays = {copy.index for copy in found}, {copy.of for copy in found}
    assert not gone & stays
    for copy in found:
        own, kept = traits_of(records[copy.index]), traits_of(records[copy.of])
        if copy.via is None and copy.key is Key.TITLE:
            assert own.doi is None or kept.doi is None or own.doi == kept.doi
        assert bool(kept.title) or not own.title
        assert exclusion_of(copy, records).duplicate_of == copy.of


def test_values_of_any_type_are_no_reason_to_stumble() -> None:
    odd = [None, True, 3.5, [], [[]], {}, {"a": 1}, "\0", "\ud800"]
    records = [dict.fromkeys(("title", "abstract", "authors", "year", "doi", "pmid"), value) for value in odd]
    assert copies(records) == []


@pytest.mark.night
def test_time_grows_with_the_number_of_records_whatever_they_share() -> None:
    crowds = [record(title=f"{LONG} {at // CROWD}", year=2014, abstract=f"{at} {ABSTRACT}" * 9) for at in range(1_000)]
    same = [record(title=LONG, year=2014, abstract=ABSTRACT * 20)] * 5_000
    one_doi = [record(title=f"{at} {LONG}", doi="10.1234/a") for at in range(5_000)]
    huge = [
        record(title=mark * 2**18, authors="A, " * 2**16, abstract="<" * 2**18) for mark in ("x", "[corrected ", ". ")
    ]
    begun = time.process_time()
    for records in (crowds, same, one_doi, huge):
        find_duplicates(records)
    assert time.process_time() - begun < 10  # about 1; hours if pairs were counted


@needs_real_records
def test_real_copies_are_found_and_no_included_record_is_lost() -> None:
    records = read_records(DATA / "screening/ptsd_van_de_schoot_2017/records.csv")
    found = copies(records)
    assert len(found) == 361
    assert [
        (copy.index, copy.of) for copy in found if records[copy.index]["_label"] != records[copy.of]["_label"]
    ] == []


@needs_real_records
def test_the_same_ten_records_from_three_tools_are_ten() -> None:
    exports = ("CSV/_baseline_embase.csv", *(f"RIS/_baseline_{tool}.ris" for tool in ("embase", "endnote", "zotero")))
    records = [own for name in exports for own in read_records(Path(DATA, "exports", name))]
    assert (len(records), len(copies(records))) == (40, 30)
    bare = [{name: own[name] for name in own if name not in ("doi", "pmid", "url")} for own in records]
    assert {copy.key for copy in copies(bare)} == {Key.TITLE}
    assert len(copies(bare)) == 30
