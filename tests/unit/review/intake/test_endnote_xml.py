"""EndNote XML: what a record says, what comes back when it is written, and what is refused."""

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage.hostile import TEXT, without_source
from tamis_review.intake.endnote_writing import taken_apart, with_decision, write_endnote_xml
from tamis_review.intake.endnote_xml import read_endnote_xml
from tamis_review.intake.notes import NoteKind, Notes
from tamis_schemas import InputError
from tamis_schemas.records.item import shown_fields

PATH = Path("library.xml")
ITALIC = '<style face="italic" font="default" size="100%">'


def styled(text: str) -> str:
    return f'<style face="normal" font="default" size="100%">{text}</style>'


RECORD = (
    '<record><database name="My.enl" path="C:/Walks/My.enl">My.enl</database>'
    '<source-app name="EndNote" version="20.1">EndNote</source-app><rec-number>12</rec-number>'
    '<foreign-keys><key app="EN" db-id="abc" timestamp="1">12</key></foreign-keys>'
    '<ref-type name="Journal Article">17</ref-type><contributors><authors>'
    f"<author>{styled('Müller, Ann')}</author><author>{styled('Bond, ')}{ITALIC}B.</style></author></authors>"
    f"<secondary-authors><author>{styled('Ed, I.')}</author></secondary-authors></contributors>"
    f"<titles><title>{styled('Walks of ')}{ITALIC}Homo sapiens</style>{styled(' &amp; &lt;mice&gt;')}</title>"
    f"<secondary-title>{styled('J Walk')}</secondary-title></titles>"
    f"<periodical><full-title>{styled('J Walk')}</full-title></periodical>"
    f"<keywords><keyword>{styled('walking')}</keyword><keyword>{styled('mood')}</keyword></keywords>"
    f"<dates><year>{styled('2020')}</year></dates><isbn/><accession-num>{styled('123456')}</accession-num>"
    f"<abstract>{styled('One&#xD;Two')}</abstract><notes>{styled('a note')}</notes>"
    f"<research-notes>{styled('mine&#xD;too')}</research-notes>"
    f"<urls><related-urls><url>{styled('http://a')}</url><url>{styled('http://b')}</url></related-urls></urls>"
    f"<electronic-resource-num>{styled('https://doi.org/10.1234/a')}</electronic-resource-num>"
    f"<remote-database-provider>{styled('NLM')}</remote-database-provider><language>{styled('eng')}</language>"
    "<custom1/></record>"
)
HEAD = '<?xml version="1.0" encoding="UTF-8" ?><xml><records>'
FILE = f"{HEAD}{RECORD}<record><titles><title>{styled('Second')}</title></titles></record></records></xml>"
PRETTY = """<?xml version="1.0" encoding="UTF-8"?>
<xml>
  <records>
    <!-- made by hand -->
    <record>
      <titles>
        <title>
          <style face="normal">A </style>
          <style face="bold">walk</style>
        </title>
      </titles>
      <accession-num>WOS:1</accession-num>
    </record>
    <record>
      <titles><title>Two <style face="bold">walks</style> more</title></titles>
    </record>
  </records>
</xml>
"""


def read(text: str) -> list[dict[str, Any]]:
    return read_endnote_xml(text, Notes(PATH, strict=True))


def written(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    write_endnote_xml(records, stream)
    return stream.getvalue()


def test_a_record_stands_under_canonical_names_with_its_styles_made_one_text() -> None:
    first, second = read(FILE)
    assert shown_fields(first) == {
        "title": "Walks of Homo sapiens & <mice>",
        "abstract": "One\nTwo",
        "authors": ["Müller, Ann", "Bond, B."],
        "year": 2020,
        "journal": "J Walk",
        "keywords": ["walking", "mood"],
        "type": "Journal Article",
        "language": "eng",
        "doi": "10.1234/a",
        "pmid": "123456",
        "url": "http://a",
    }
    assert {name: value for name, value in first.items() if name.startswith("_endnote")} == {
        "_endnote_rec-number": "12",
        "_endnote_contributors/secondary-authors/author": "Ed, I.",
        "_endnote_notes": "a note",
        "_endnote_research-notes": "mine\ntoo",
        "_endnote_urls/related-urls/url": "http://b",
        "_endnote_remote-database-provider": "NLM",
    }
    assert (first["id"], second["id"], second["title"]) == ("123456", "record-2", "Second")


def test_a_file_on_many_lines_says_the_same_without_its_white_space() -> None:
    first, second = read(PRETTY)
    assert (first["id"], first["title"], first["_line"]) == ("WOS:1", "A walk", 5)
    assert (second["title"], second["_line"]) == ("Two walks more", 14)
    assert without_source(read(written([first, second]))) == without_source([first, second])
    assert written([first, second]).count("\n") == 7  # a line for each record, and for what is around them


def test_a_file_comes_back_as_it_was() -> None:
    assert written(read(FILE)) == FILE


def test_what_is_changed_shows_and_the_rest_stays() -> None:
    records = read(FILE)
    records[0] |= {"authors": ["A", "B", "C & D"], "title": "new", "url": "u"}
    records[0]["keywords"].append("third")
    records[1] |= {"authors": ["X", "Y"], "journal": "Gait"}
    del records[0]["abstract"], records[0]["language"]
    text = written(records)
    assert f"<title>{styled('new')}</title><secondary-title>" in text
    assert (
        f"<authors><author>{styled('A')}</author><author>{styled('B')}</author><author>{styled('C &amp; D')}</author>"
        in text
    )
    assert f"<keyword>{styled('mood')}</keyword><keyword>{styled('third')}</keyword></keywords>" in text
    assert without_source(read(text)) == without_source(records)


def test_what_a_record_has_gained_stands_beside_its_like() -> None:
    (record,) = read(
        f"{HEAD}<record><titles><secondary-title>J</secondary-title></titles><notes>n</notes></record></records></xml>"
    )
    record["title"] = "T"
    assert f"<titles><secondary-title>J</secondary-title><title>{styled('T')}</title></titles><notes>" in written(
        [record]
    )


def test_thousands_of_authors_are_written_in_their_order() -> None:
    authors = [f"Moor, {number}" for number in range(5_000)]  # a search for each author's place would take a minute
    (back,) = read(written([{"id": "1", "title": "T", "authors": authors, "journal": "J"}]))
    assert back["authors"] == authors


@pytest.mark.parametrize("empty", ["<record/>", "<record />", "<record></record>", '<record a="b">\n </record >'])
def test_an_empty_record_is_none_and_costs_no_other(empty: str) -> None:
    assert [own["title"] for own in read(f"<xml><records>\n{A}{empty}{C}</records></xml>")] == ["a", "c"]


def test_one_author_more_is_an_element_of_its_own() -> None:
    authors = f"<contributors><authors><author>{styled('A')}</author></authors></contributors>"
    (record,) = read(f"{HEAD}<record>{authors}</record></records></xml>")
    record["authors"].append("B")
    assert f"<author>{styled('A')}</author><author>{styled('B')}</author>" in written([record])


def test_the_decision_stands_at_the_end_of_the_research_notes_and_is_replaced() -> None:
    records = read(FILE)
    for own in records:
        own |= {"_tamis_decision": "exclude", "_tamis_confidence": 0.9, "_tamis_reason": "a\n b <c>\nTamis decision: x"}
    once = written(records)
    lines = (
        "Tamis decision: exclude",
        "Tamis confidence: 0.9",
        "Tamis reason: a",
        "   b &lt;c&gt;",
        "  Tamis decision: x",
    )
    assert f"<research-notes>{styled('&#xD;'.join(('mine', 'too', *lines)))}</research-notes>" in once
    assert f"<research-notes>{styled('&#xD;'.join(lines))}</research-notes>" in once
    again = read(once)
    assert without_source(again) == without_source(records)
    assert shown_fields(again[0]) == shown_fields(records[0])
    again[0]["_tamis_decision"] = "include"
    assert written(again) == once.replace("Tamis decision: exclude", "Tamis decision: include", 1)
    for own in again:
        for name in [name for name in own if name.startswith("_tamis")]:
            del own[name]
    assert without_source(read(written(again))) == without_source(read(FILE))


@given(
    TEXT.filter(lambda text: "Tamis" not in text),
    st.dictionaries(st.sampled_from(["_tamis_decision", "_tamis_reason"]), TEXT),
)
def test_notes_and_decision_are_taken_apart_again(text: str, decision: dict[str, str]) -> None:
    own_text, in_notes = taken_apart(with_decision(text, decision))

    def lines(said: str) -> str:
        return said.replace("\r\n", "\n").replace("\r", "\n")

    assert (lines(own_text), in_notes) == (lines(text), {key: lines(said) for key, said in decision.items()})


def test_a_record_from_elsewhere_gets_the_usual_elements() -> None:
    own: dict[str, Any] = {"id": "7", "title": "T", "authors": ["A", "B"], "year": 2020, "journal": "J", "_label": "1"}
    assert written([{**own, "type": "Review"}]) == (
        f'{HEAD}<record><ref-type name="Journal Article">17</ref-type><work-type>{styled("Review")}</work-type>'
        f"<contributors><authors><author>{styled('A')}</author><author>{styled('B')}</author></authors></contributors>"
        f"<titles><title>{styled('T')}</title><secondary-title>{styled('J')}</secondary-title></titles>"
        f"<periodical><full-title>{styled('J')}</full-title></periodical><dates><year>{styled('2020')}</year></dates>"
        f"<accession-num>{styled('7')}</accession-num></record></records></xml>"
    )
    back = read(written([{**own, "pmid": "5", "id": "5"}, {**own, "nct_id": "NCT00000001"}]))
    assert [(one["id"], one.get("pmid"), one.get("nct_id")) for one in back] == [
        ("5", "5", None),
        ("NCT00000001", None, "NCT00000001"),
    ]


def test_control_characters_are_blanks_as_no_xml_can_hold_them() -> None:
    (record,) = read(f"{HEAD}<record><abstract>a\x02b&#x1;c&#31;d&#10;e</abstract></record></records></xml>")
    assert record["abstract"] == "a b c d\ne"
    record["abstract"] = "\x00x\ud800"
    assert "<abstract> x </abstract>" in written([record])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<xml><records>\n<record>a & b</record></records></xml>", r"library\.xml:2: the XML is broken"),
        ("<xml><records>\n<record>", r"library\.xml:2: the XML is broken: Premature end"),
        ("<xml><records></records></xml>", "no record"),
        ("<xml>" * 10_000, "no record"),
        (f"<xml><records><record>{'<a>' * 10_000}", r"library\.xml:1: the XML is broken: Excessive depth"),
        ("<xml><records><record>&unknown;</record></records></xml>", "the XML is broken: Entity 'unknown' not defined"),
        ('<xml><records><record xmlns:a="b"><a:x>1</a:x></record></records></xml>', "another namespace"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]><xml><records>'
            "<record><abstract>&b;</abstract></record></records></xml>",
            "a document type",
        ),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><xml><records><record/></records></xml>', "a document type"),
    ],
)
def test_what_is_no_endnote_xml_is_an_error(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(text)


A, B, C = (f"<record><titles><title>{name}</title></titles>\n<abstract>x</abstract></record>\n" for name in "abc")


@pytest.mark.parametrize(
    ("damaged", "line"),
    [
        (B.replace("</title>", ""), 4),
        (B.replace("</record>", ""), 6),
        (B.replace("<record>", "<recard>"), 4),
        (B.replace("<record>", ""), 4),
        (B.replace("x</", "x & y</"), 5),
        (B.replace("<abstract>", "<a:abstract xmlns:a='b'>").replace("</abstract>", "</a:abstract>"), 4),
    ],
)
def test_a_broken_record_costs_no_other(damaged: str, line: int) -> None:
    notes = Notes(PATH)
    records = read_endnote_xml(f"<xml><records>\n{A}{damaged}{C}</records></xml>", notes)
    whole = read(f"<xml><records>\n{A}{B}{C}</records></xml>")
    assert records == [whole[0], whole[2]]
    assert [(note.kind, note.line) for note in notes.taken] == [(NoteKind.LOST, line)]


def test_a_file_that_is_cut_off_loses_its_last_record_alone() -> None:
    notes = Notes(PATH)
    assert [own["title"] for own in read_endnote_xml(f"<xml><records>\n{A}{B}"[:-12], notes)] == ["a"]
    assert [note.line for note in notes.taken] == [5]
