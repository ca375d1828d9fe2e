"""A record's identifiers for people, and only those addresses that are safe to follow."""

from datetime import UTC, datetime

import pytest

from tamis_review.report.identifiers import Identifier, full_text_of, identifiers
from tamis_review.report.table import blind_row, record_row
from tamis_schemas import ItemResult, ItemStatus, Remark, RemarkKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOI = "https://doi.org/"
PUBMED = "https://pubmed.ncbi.nlm.nih.gov/"


@pytest.mark.parametrize(
    ("item_id", "doi", "pmid", "shown"),
    [
        ("r1", "10.1/x", "", [("id r1", None), ("DOI 10.1/x", None)]),  # a registrant has four digits or more
        (
            "r1",
            "10.1000/x",
            "123",
            [("id r1", None), ("DOI 10.1000/x", DOI + "10.1000/x"), ("PMID 123", f"{PUBMED}123/")],
        ),
        ("123", "", "123", [("PMID 123", f"{PUBMED}123/")]),  # an id that says the same
        ("10.1000/x", "https://dx.doi.org/10.1000/x", "", [("DOI 10.1000/x", DOI + "10.1000/x")]),
        (
            "",
            "10.1016/S0140-6736(20)30183-5",
            "",
            [("DOI 10.1016/S0140-6736(20)30183-5", DOI + "10.1016/S0140-6736(20)30183-5")],
        ),
        (
            "",
            '10.1002/(SICI)<1::"A">3.0.CO;2-#?é',
            "",
            [('DOI 10.1002/(SICI)<1::"A">3.0.CO;2-#?é', DOI + "10.1002/(SICI)%3C1::%22A%22%3E3.0.CO;2-%23%3F%C3%A9")],
        ),
        ("", "javascript:alert(1)", "javascript:1", [("DOI javascript:alert(1)", None), ("PMID javascript:1", None)]),
        (
            "",
            "https://evil.example/10.1000/x",
            "1/../../x",
            [("DOI https://evil.example/10.1000/x", None), ("PMID 1/../../x", None)],
        ),
        ("", "10.1000/x y", "12 13", [("DOI 10.1000/x y", None), ("PMID 12 13", None)]),
        ("", "", "", []),
    ],
)
def test_doi_and_pmid_lead_to_their_resolvers_and_nothing_else_does(
    item_id: str, doi: str, pmid: str, shown: list[Identifier]
) -> None:
    assert identifiers(item_id, doi, pmid) == shown


@pytest.mark.parametrize(
    ("full_text", "shown"),
    [
        ("https://example.org/a%20b.pdf?x=1#p", ("full text", "https://example.org/a%20b.pdf?x=1#p")),
        ("HTTP://example.org/<é>|", ("full text", "HTTP://example.org/%3C%C3%A9%3E%7C")),
        ("smith-2020.pdf", ("full text: smith-2020.pdf", None)),
        ("javascript:alert(1)", ("full text: javascript:alert(1)", None)),
        ("https:///x", ("full text: https:///x", None)),
        ("https://example.org/a b.pdf", ("full text: https://example.org/a b.pdf", None)),
    ],
)
def test_a_full_text_on_the_web_is_a_link_and_the_name_of_a_file_is_none(full_text: str, shown: Identifier) -> None:
    assert identifiers("", "", "", full_text) == [shown]


def test_the_latest_note_that_names_a_full_text_counts() -> None:
    assert (
        full_text_of(["seen", "Full text: a.pdf", "see page 3\n full text : b c.pdf \nfull", "no full text: x"])
        == "b c.pdf"
    )
    assert full_text_of(["the full text is lost", "full text:"]) is None


def test_a_record_shows_where_its_full_text_is_unless_it_is_read_blind() -> None:
    notes = [(RemarkKind.LABEL, "full text: label.pdf"), (RemarkKind.NOTE, "full text: a.pdf")]
    remarks = tuple(Remark(kind=kind, text=text, reviewer="A", created_at=NOW) for kind, text in reversed(notes))
    item = {"title": "Walking", "pmid": "77"}
    result = ItemResult(index=0, item_id="r1", status=ItemStatus.PENDING, item=item, remarks=remarks)
    row, alone = record_row("inclusion", result), blind_row(result)
    pubmed = ("PMID 77", f"{PUBMED}77/")
    assert (row["full_text"], row["ids"]) == ("a.pdf", [("id r1", None), pubmed, ("full text: a.pdf", None)])
    assert "full_text" not in alone
    assert alone["ids"] == [("id r1", None), pubmed]
