"""Tables in which one cell holds several fields, or several cells hold one."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake.column_mappings import database_of, database_of_table
from tamis_review.intake.delimited import read_delimited, write_csv
from tamis_review.intake.notes import Notes
from tamis_review.intake.traits import traits_of
from tamis_schemas.records.item import shown_fields

PATH = Path("export.csv")

OVID_EMBASE = {
    "ORN": "1",
    "VN": "Ovid Technologies",
    "DB": "Embase",
    "UI": "20230",
    "TI": "Walking at night.",
    "SO": "Night Walks. Conference: Walkers, 2022. Graz, Austria. 12(Supplement 3) (pp 45-49.e2), 2023. Date of "
    "Publication: 15 Feb 2023.",
    "AU": "Bo G.\n\nLi M.A.",
    "AB": "Text\n\nof two lines.",
    "FTURL": "https://ovid.example/web.cgi?T=JS&D=em&DO=10.1101%2f2023.02%2528a%2529",
    "PM": "385 [https://pubmed.example/385]",
}
OVID_PSYCINFO = {
    "DB": "APA PsycInfo",
    "AN": "2024-5-035",
    "TI": "Walking by day. [References].",
    "DP": "Mar 2024",
    "YR": "2024",
    "AU": "Bo, Gil\n\nLi, Mo",
    "SO": "Day Walks. Vol.45,(3, Suppl), 2024, pp. 120-127.",
    "JN": "Day Walks",
    "FTURL": "Click here",
    "URL": "https://ovid.example/web.cgi?AN=2024-5-035",
}
OVID_MEDLINE = {
    "DB": "Ovid MEDLINE(R) ALL",
    "UI": "3812",
    "TI": "Walking.DP  - May 2019",
    "SO": "Walks. 12(3):45-9, 2019 May 02.",
    "DO": "https://dx.doi.org/10.1/w",
    "PT": "Journal Article",
    "LG": "English",
    "KW": "walk; night",
}
EBSCO_CINAHL = {
    "jinfo/jtl": "Walks",
    "jinfo/issn": "12345678",
    "pubinfo/dt/_year": "2021",
    "artinfo/ui/0/_type": "doi",
    "artinfo/ui/0/__text": "10.1/w",
    "artinfo/ui/1/_type": "pmid",
    "artinfo/ui/1/__text": "NLM3153",
    "artinfo/tig/atl": "Walking",
    "artinfo/aug/au/0": "Bo, Gil",
    "artinfo/aug/au/10": "Last, A",
    "artinfo/aug/au/2": "Li M",
    "artinfo/sug/subj/0/_type": "major",
    "artinfo/sug/subj/0/__text": "Walking, Night",
    "artinfo/ab/0": "",
    "artinfo/ab/1": "Texte",
    "artinfo/doctype/0": "research",
    "artinfo/doctype/1": "Journal Article",
    "language": "English",
    "header/displayInfo/pLink/url": "https://ebsco.example/1",
    "header/_shortDbName": "jlh",
    "header/_longDbName": "CINAHL Plus",
    "header/_uiTerm": "1727",
}
BASE = {
    "language": "{en}",
    "keywords": "{Walks; night}",
    "note": "{Source: Walks \\& Talks ; volume 7, issue 1, page 8,9 ; ISSN 0745-747X ; Description: A Press ; Text of "
    "{\\textquoteright}it{\\textquoteright}.}",
    "year": "2020",
    "url": "http://dx.doi.org/10.1097/01.w",
    "author": "Bo, Gil AND {Walk and Talk Group}",
    "title": '{Walking {\\"a}t night}',
    "ENTRYTYPE": "article",
    "ID": "1ca0",
}


@pytest.mark.parametrize(
    ("row", "shown", "hidden"),
    [
        (
            OVID_EMBASE,
            {
                "title": "Walking at night.",
                "abstract": "Text\n\nof two lines.",
                "authors": ["Bo G.", "Li M.A."],
                "year": 2023,
                "journal": "Night Walks",
                "doi": "10.1101/2023.02(a)",
                "pmid": "385",
                "url": OVID_EMBASE["FTURL"],
            },
            {"id": "385", "_UI": "20230", "_volume": "12", "_issue": "Supplement 3", "_pages": "45-49.e2"},
        ),
        (
            OVID_PSYCINFO,
            {
                "title": "Walking by day.",
                "authors": ["Bo, Gil", "Li, Mo"],
                "year": 2024,
                "journal": "Day Walks",
                "url": OVID_PSYCINFO["URL"],
            },
            {"id": "2024-5-035", "_volume": "45", "_issue": "3, Suppl", "_pages": "120-127"},
        ),
        (
            OVID_MEDLINE,
            {
                "title": "Walking.",
                "year": 2019,
                "journal": "Walks",
                "keywords": ["walk", "night"],
                "type": "Journal Article",
                "language": "English",
                "doi": "10.1/w",
                "pmid": "3812",
            },
            {"id": "3812", "_volume": "12", "_issue": "3", "_pages": "45-9"},
        ),
        (
            EBSCO_CINAHL,
            {
                "title": "Walking",
                "abstract": "Texte",
                "authors": ["Bo, Gil", "Li M", "Last, A"],
                "year": 2021,
                "journal": "Walks",
                "keywords": ["Walking, Night"],
                "type": "research; Journal Article",
                "language": "English",
                "doi": "10.1/w",
                "pmid": "3153",
                "url": "https://ebsco.example/1",
            },
            {"id": "3153", "_header/_uiTerm": "1727", "_issn": "12345678"},
        ),
        (
            BASE,
            {
                "title": "Walking ät night",
                "abstract": "Text of ’it’.",
                "authors": ["Bo, Gil", "Walk and Talk Group"],
                "year": 2020,
                "journal": "Walks & Talks",
                "keywords": ["Walks", "night"],
                "type": "article",
                "language": "en",
                "doi": "10.1097/01.w",
                "url": "http://dx.doi.org/10.1097/01.w",
            },
            {"id": "1ca0", "_issn": "0745-747X"},
        ),
    ],
    ids=["Ovid Embase", "Ovid PsycINFO", "Ovid MEDLINE", "EBSCO", "BASE"],
)
def test_what_stands_in_several_cells_or_in_a_part_of_one_is_found_and_the_table_comes_back_as_it_was(
    row: dict[str, str], shown: dict[str, Any], hidden: dict[str, str]
) -> None:
    text = table(row)
    (record,) = read_delimited(text, Notes(PATH, strict=True))
    assert shown_fields(record) == shown
    assert {name: record.get(name) for name in hidden} == hidden
    assert written([record]) == text
    # A value that has been changed since stands in a column of its own, or in its cell, and is what is read again.
    changed = {**record, "year": 1999, "journal": "Other; walks", "authors": ["A, B", "C"], "title": "New & {old}"}
    (again,) = read_delimited(written([changed]), Notes(PATH, strict=True))
    assert {**shown_fields(again), "id": None} == {**shown_fields(changed), "id": None}


def test_a_congress_abstract_is_known_by_the_source_though_its_journal_says_nothing_of_it() -> None:
    abstract, paper = (read_delimited(table(row), Notes(PATH, strict=True))[0] for row in (OVID_EMBASE, OVID_PSYCINFO))
    assert (traits_of(abstract).meeting, traits_of(paper).meeting) == (True, False)


@pytest.mark.parametrize(
    ("source", "journal", "year"),
    [
        ("Walks, Supplement. (524) (pp 43-49), 1996. Date of Publication: 1996.", "Walks, Supplement", 1996),
        ("Walks. Night edition. 49(pp 28-39), 2002. Date of Publication: 2002.", "Walks. Night edition", 2002),
        ("Walks. (no pagination), 2023. Date of Publication: 9 Feb 2023.", "Walks", 2023),
        ("J. Walk. Res. 2018-July (no pagination), 2018.", "J. Walk. Res", 2018),
        (
            "Bo, Gil [Ed]. (2021). Walks of all kinds, 3rd ed. (pp. 1-9). Town: Press.",
            "Walks of all kinds, 3rd ed",
            2021,
        ),
        ("Walks. 2021, pp. No Pagination Specified.", "Walks", 2021),
        ("of no such form", None, None),
        ("1" * 100_000, None, None),
        (". 1" * 100_000, None, None),
    ],
)
def test_journal_and_year_are_found_in_whatever_way_ovid_writes_the_source(
    source: str, journal: str | None, year: int | None
) -> None:
    (record,) = read_delimited(table({"DB": "Embase", "TI": "t", "SO": source}), Notes(PATH, strict=True))
    assert (record.get("journal"), record.get("year"), record["_SO"]) == (journal, year, source)


@pytest.mark.parametrize(
    ("note", "journal", "abstract"),
    [
        ("Source: Walks, Vol 12, Iss 1, Pp 1-10 (2022) ; Description: Text", "Walks", None),
        ("Source: Walks; Volume 13; Issue 10 ; Description: A Press ; Text", "Walks", "Text"),
        ("Source: https://walks.example/1 ; Description: University of Walking", None, None),
        ("Description: " + "Words of an abstract. " * 5, None, ("Words of an abstract. " * 5).strip()),
        ("Supplementary", None, None),
    ],
)
def test_journal_and_abstract_are_found_in_the_note_of_base(
    note: str, journal: str | None, abstract: str | None
) -> None:
    (record,) = read_delimited(table({**BASE, "note": f"{{{note}}}"}), Notes(PATH, strict=True))
    assert (record.get("journal"), record.get("abstract")) == (journal, abstract)


def test_rows_of_several_sources_in_one_table_are_each_read_in_their_own_way() -> None:
    scopus = {"Title": "Walk {on}", "Authors": "Bo G.; Li M.", "Source title": "Walks", "Source": "Scopus", "EID": "2"}
    records = [
        record
        for row in (BASE, OVID_EMBASE, EBSCO_CINAHL, scopus)
        for record in read_delimited(table(row), Notes(PATH, strict=True))
    ]
    again = read_delimited(written(records), Notes(PATH, strict=True))
    for one, other in zip(records, again, strict=True):
        assert shown_fields(other) == shown_fields(one)
        assert database_of(other) == database_of(one)


def test_the_database_is_named_where_a_cell_says_so_and_no_citation_is_taken_for_one() -> None:
    assert read_delimited(table(OVID_PSYCINFO), Notes(PATH, strict=True))[0]["_database"] == "APA PsycInfo"
    assert read_delimited(table(EBSCO_CINAHL), Notes(PATH, strict=True))[0]["_database"] == "CINAHL Plus"
    assert (
        read_delimited("Title,Source,EID,Source title\nt,Scopus,2,W\n", Notes(PATH, strict=True))[0]["_database"]
        == "Scopus"
    )
    (embase,) = read_delimited(
        f"Title,PUI,Embase Link,Source\nt,L2,u,{'Walks (2024) 15:1 ' * 5}\n", Notes(PATH, strict=True)
    )
    assert "_database" not in embase
    assert database_of(embase) is None
    (pubmed,) = read_delimited("PMID,Title,Journal/Book,Create Date\n1,t,W,2020/01/01\n", Notes(PATH, strict=True))
    assert "_database" not in pubmed
    assert database_of_table(["PMID", "Title", "Journal/Book", "Create Date"]) == "PubMed"
    assert database_of_table(["title", "abstract"]) is None


def table(row: dict[str, str]) -> str:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([row.keys(), row.values()])
    return stream.getvalue()


def written(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    write_csv(records, stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("record", "database"),
    [
        ({"_ris_DB": ["Embase", "Medline"]}, "Embase; Medline"),
        ({"_DB": "APA PsycInfo"}, "APA PsycInfo"),
        ({"_Source": "Scopus", "_Database": "Embase"}, "Embase"),
        ({"__source": "Scopus", "_source": {"format": "CSV"}}, "Scopus"),
        ({"_source_file": " embase.ris "}, "embase.ris"),
        ({"_source": {"format": "CSV"}, "title": "A", "database": "shown to the model"}, None),
        ({"_ris_DB": ""}, None),
    ],
)
def test_columns_and_tags_of_many_tools_name_it(record: dict[str, Any], database: str | None) -> None:
    assert database_of(record) == database
