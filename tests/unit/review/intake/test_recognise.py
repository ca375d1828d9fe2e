"""The content says what a file is; what cannot be read yet is called by its name."""

from pathlib import Path

import pytest

from tamis_review.filter.identification import identify
from tamis_review.intake import read_file, read_records
from tamis_review.intake.notes import NoteKind
from tamis_review.intake.recognise import Format, recognise
from tamis_schemas import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n\nTY  - JOUR\n", Format.RIS),
        ("1.\nTY  - JOUR\n", Format.RIS),
        ("Exported today\r\nTY  - JOUR\r\n", Format.RIS),
        ("TI  - a\nER  - \n", Format.RIS),
        ('{"id": 1}', Format.JSONL),
        ('[\n {"id": 1}]', Format.JSON_ARRAY),
        ("[]", Format.JSON_ARRAY),
        ("PMID- 1\nOWN - NLM\nTI  - a\n", Format.NBIB),
        ("\r\n\r\n\ufeffPMID- 1\r\nTI  - a\r\n", Format.NBIB),
        ("TI  - a\nFAU - Rossi, Ada\nTY  - no tag of NBIB\n", Format.RIS),
        ("PMID- 1\nTI  - a\nAB  - b\nTY  - JOUR\n", Format.NBIB),
        ("TY  - JOUR\nAB  - a\nPMID- 1\n@article{x,\nER  - \n", Format.RIS),
        ("% exported\n@article{a, title={b}}", Format.BIBTEX),
        ("Exported today by a program\n\n  @Article (a, title={b})", Format.BIBTEX),
        ("@comment{TY  - JOUR}\n@article{a}", Format.BIBTEX),
        ('<?xml version="1.0"?><xml><records><record>', Format.ENDNOTE_XML),
        (
            '\ufeff<?xml version="1.0" encoding="UTF-8" ?>\n<!DOCTYPE xml>\n<!-- a -->\n<xml><records>',
            Format.ENDNOTE_XML,
        ),
        ("<XML>\n<RECORDS>", Format.ENDNOTE_XML),
        ("<!-- a page --><PubmedArticleSet>", Format.PUBMED_XML),
        ("<PubmedArticleSet>", Format.PUBMED_XML),
        ("<PubmedArticles>", Format.XML),
        ("<!DOCTYPE html><title>Log in</title>", Format.HTML),
        ("%0 Journal Article\n%T a\n", Format.ENDNOTE_TAGGED),
        ("FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\n", Format.WOS_TAGGED),
        ("\n\ufeffPT J\nAU Rossi, A\n", Format.WOS_TAGGED),
        ("Exported today\nPT J\nAU Rossi, A\n", Format.WOS_TAGGED),
        ("Exported today\n%0 Journal Article\n", Format.ENDNOTE_TAGGED),
        ("%A Rossi, A\n%T a\n", Format.ENDNOTE_TAGGED),
        ("%A comment\n@article{a, title={b}}", Format.BIBTEX),
        ("1. J Walks. 2021;3(2):1.\n\nWalking.\n\nRossi A.\n\nPMID: 1\n", Format.PUBMED_TEXT),
        (f"1. J Walks. 2021;3(2):1.\n\nWalking.\n\n{'Rossi A, ' * 3000}", Format.PUBMED_TEXT),
        ("Walking.\n\nRossi A.\n\nDOI: 10.1000/a\nPMID: 1\n", Format.PUBMED_TEXT),
        ("1. Rossi A. Walking. 2021\n2. Ekholm B. Running. 2020\n", Format.DELIMITED),
        ("6. \nTY  - JOUR\nN1  - PMID: 5\n", Format.RIS),
        ("id,title\n1. a,b\nPMID: 5,c\n", Format.DELIMITED),
        ("PT\tAU\tTI\n", Format.DELIMITED),
        ('id,Article Title,"Abstract"\n1,a,"b\nTY  - JOUR\n@article{c,"\n', Format.DELIMITED),
        ('"Title";year\n%0 Journal Article;2\nPMID- 1\n', Format.DELIMITED),
        ("Searched for title, abstract\nTY  - JOUR\n", Format.RIS),
        ("Title\nTY  - JOUR\n", Format.RIS),
        ("title,abstract\n", Format.DELIMITED),
        ("anything else", Format.DELIMITED),
    ],
)
def test_the_format_is_known_by_its_content(text: str, expected: Format) -> None:
    assert recognise(text) is expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '<rdf:RDF xmlns:z="http://www.zotero.org/namespaces/export#"><bib:Article rdf:about="#item_1"/></rdf:RDF>',
            "this is XML, which Tamis cannot read: export the records as one of RIS, NBIB, .*JSONL, JSON",
        ),
        ("<!DOCTYPE html><title>Log in</title>", r"a web page \(HTML\)"),
        ("[]", "no object: the array is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "records.ris"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_records(path)


def test_the_name_of_a_file_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("TY  - JOUR\nTI  - a\nER  - \n")
    assert read_records(path)[0]["title"] == "a"


@pytest.mark.parametrize(
    ("encoding", "is_doubtful"),
    [
        ("utf-8", False),
        ("utf-8-sig", False),
        ("utf-16", False),
        ("mac_roman", True),
        ("cp1250", True),
        ("cp1254", True),
    ],
)
def test_a_guessed_encoding_is_noted_with_its_remedy(tmp_path: Path, encoding: str, is_doubtful: bool) -> None:
    path = tmp_path / "records.ris"
    path.write_bytes("TY  - JOUR\nTI  - Spaziergänge\nAU  - Müller, é.\nER  - \n".encode(encoding))
    notes = read_file(path, strict=True).notes
    guess = "read as cp1252, which is a guess: if letters are wrong, state it (--encoding NAME)"
    assert [(note.kind, note.text) for note in notes] == [(NoteKind.DOUBT, guess)] * is_doubtful


TITLES = {"mac_roman": "Für Café", "cp1250": "Łódź, žena", "cp1254": "Yürüyüş, ığdır", "shift_jis": "歩行の研究"}


@pytest.mark.parametrize("encoding", [*TITLES, "iso2022_jp"])
def test_a_stated_encoding_is_read_without_a_doubt_and_unicode_beside_it_too(tmp_path: Path, encoding: str) -> None:
    text = f"TY  - JOUR\nTI  - {TITLES.get(encoding, TITLES['shift_jis'])}\nER  - \n"
    old, new = tmp_path / "old.ris", tmp_path / "new.ris"
    old.write_bytes(text.encode(encoding))
    new.write_bytes((text + text).encode())
    (record,) = read_records(old, encoding=encoding)
    intake = read_file(old, encoding=encoding)
    assert (f"TI  - {record['title']}" in text, intake.notes, intake.encoding) == (True, (), encoding)
    assert read_file(new, encoding=encoding).encoding == "utf-8"
    titles = [record["title"] for record in identify([old, new], keep_duplicates=True, encoding=encoding).records]
    assert titles == [record["title"]] * 3


@pytest.mark.parametrize("encoding", ["mac-romann", "hex", "unicode_escape", "", "a\0b", "cp1254"])
def test_an_encoding_that_is_unknown_or_wrong_is_an_error_with_likely_names(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "records.ris"
    path.write_bytes(b"TY  - JOUR\nTI  - \x8d\nER  - \n")
    with pytest.raises(InputError, match=r"records\.ris: .*such as cp1250, cp1252, cp1254, mac_roman or shift_jis"):
        read_file(path, encoding=encoding)
