"""PubMed XML: what an article says, under the names of NBIB, and what is lost."""

from pathlib import Path

import pytest

from tamis_review.intake import read_file
from tamis_review.intake.notes import NoteKind, Notes
from tamis_review.intake.pubmed_xml import read_pubmed_xml
from tamis_review.intake.recognise import Format
from tamis_review.intake.sourced_records import database_told_by
from tamis_schemas import InputError
from tamis_schemas.records.item import shown_fields

PATH = Path("pubmed.xml")
HEAD = (
    '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2024//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_240101.dtd">\n<PubmedArticleSet>\n'
)
ARTICLE = """<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">123</PMID>
<Article><Journal><ISSN>1234-5678</ISSN><JournalIssue><Volume>3</Volume><Issue>2</Issue>
<PubDate><Year>2021</Year> <Month>May</Month></PubDate></JournalIssue><Title>J Walks</Title></Journal>
<ArticleTitle>CO<sub>2</sub> &amp; <i>Sus
 scrofa</i>.</ArticleTitle><Pagination><MedlinePgn>10-9</MedlinePgn></Pagination>
<ELocationID EIdType="doi">10.1000/own</ELocationID>
<Abstract><AbstractText Label="AIMS">To walk.</AbstractText><AbstractText>We walked.</AbstractText>
<CopyrightInformation>Copyright 2021.</CopyrightInformation></Abstract>
<AuthorList><Author><LastName>Moor</LastName><ForeName>Ann B</ForeName><AffiliationInfo>
<Affiliation>Univ Walks</Affiliation></AffiliationInfo></Author><Author><LastName>Hill</LastName></Author>
<Author><CollectiveName>Walks Group</CollectiveName></Author></AuthorList>
<Language>eng</Language><DataBankList><DataBank><DataBankName>ClinicalTrials.gov</DataBankName>
<AccessionNumberList><AccessionNumber>NCT01234567</AccessionNumber></AccessionNumberList></DataBank></DataBankList>
<PublicationTypeList><PublicationType>Journal Article</PublicationType><PublicationType>Review</PublicationType>
</PublicationTypeList></Article><OtherAbstract><AbstractText>Autre.</AbstractText></OtherAbstract>
<MeshHeadingList><MeshHeading><DescriptorName>Walking</DescriptorName></MeshHeading></MeshHeadingList>
<KeywordList><Keyword>towns</Keyword></KeywordList></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1000/own</ArticleId><ArticleId IdType="pmc">PMC9</ArticleId>
</ArticleIdList><ReferenceList><Reference><ArticleIdList>
<ArticleId IdType="doi">10.1000/other</ArticleId></ArticleIdList></Reference></ReferenceList></PubmedData>
</PubmedArticle>
"""
BOOK = """<PubmedBookArticle><BookDocument><PMID>9</PMID><Book><BookTitle>Towns</BookTitle><PubDate><Year>2019</Year>
</PubDate></Book><ArticleTitle>Old towns</ArticleTitle><Abstract><AbstractText>A chapter.</AbstractText></Abstract>
</BookDocument></PubmedBookArticle>
"""
END = "</PubmedArticleSet>\n"


def test_an_article_stands_under_canonical_names_and_a_book_too(tmp_path: Path) -> None:
    path = tmp_path / "any.txt"
    path.write_text(HEAD + ARTICLE + BOOK + END)
    intake = read_file(path, strict=True)
    assert (intake.format, intake.notes) == (Format.PUBMED_XML, ())
    first, second = intake.records
    assert shown_fields(first) == {
        "title": "CO2 & Sus scrofa.",
        "abstract": "AIMS: To walk.\nWe walked.",
        "authors": ["Moor, Ann B", "Hill"],
        "year": 2021,
        "journal": "J Walks",
        "keywords": ["Walking", "towns"],
        "type": "Journal Article; Review",
        "language": "eng",
        "doi": "10.1000/own",
        "pmid": "123",
        "nct_id": "NCT01234567",
    }
    assert (first["_nbib_VI"], first["_nbib_AD"], first["_nbib_CN"]) == ("3", "Univ Walks", "Walks Group")
    assert (first["_nbib_PMC"], first["_line"]) == ("PMC9", 4)
    assert (second["id"], second["title"], second["year"], second["abstract"]) == ("9", "Old towns", 2019, "A chapter.")
    assert database_told_by(intake) == "PubMed"


def test_a_broken_article_costs_no_other() -> None:
    notes = Notes(PATH)
    broken = ARTICLE.replace("</ArticleTitle>", "")
    cut_off = ARTICLE[: len(ARTICLE) // 2]
    records = read_pubmed_xml(HEAD + ARTICLE + broken + BOOK + cut_off, notes)
    assert [record["id"] for record in records] == ["123", "9"]
    lines = ARTICLE.count("\n")
    assert [note.kind for note in notes.taken] == [NoteKind.LOST] * 2
    assert 4 + lines <= notes.taken[0].line < 4 + 2 * lines
    assert notes.taken[1].line >= 4 + 2 * lines + BOOK.count("\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<PubmedArticleSet></PubmedArticleSet>", "no record: PubMed writes each record as <PubmedArticle>"),
        ("<PubmedArticle><PMID>&unknown;</PMID></PubmedArticle>", "Entity 'unknown' not defined"),
    ],
)
def test_what_is_no_pubmed_xml_is_an_error(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_pubmed_xml(text, Notes(PATH))
