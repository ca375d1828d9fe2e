"""The reader of PubMed XML. Each `PubmedArticle` becomes a record with the fields and tags of NBIB.

Such records are written as NBIB. References, grants, chemicals, notices and history are not read.
"""

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from .endnote_xml import elements
from .nbib import SCHEME
from .notes import Notes
from .tagged import Tagged, TaggedRecord, record_of

# NBIB's tag, the path of its elements, and the form of its values.
FIELDS = (
    ("PMID", "*/PMID", "{}"),
    ("TI", ".//ArticleTitle", "{}"),
    ("BTI", ".//BookTitle", "{}"),
    ("TT", ".//VernacularTitle", "{}"),
    ("DP", ".//PubDate", "{}"),
    ("JT", ".//Journal/Title", "{}"),
    ("VI", ".//JournalIssue/Volume", "{}"),
    ("IP", ".//JournalIssue/Issue", "{}"),
    ("PG", ".//MedlinePgn", "{}"),
    ("IS", ".//Journal/ISSN", "{}"),
    ("LA", ".//Language", "{}"),
    ("PT", ".//PublicationType", "{}"),
    ("MH", ".//MeshHeading/DescriptorName", "{}"),
    ("OT", ".//Keyword", "{}"),
    ("CN", ".//Author/CollectiveName", "{}"),
    ("AD", ".//Affiliation", "{}"),
    ("CI", ".//Abstract/CopyrightInformation", "{}"),
    ("SI", ".//DataBank[DataBankName='ClinicalTrials.gov']//AccessionNumber", "ClinicalTrials.gov/{}"),
    ("AID", "*/ArticleIdList/ArticleId[@IdType='doi']", "{} [doi]"),  # the ids of references are deeper
    ("PMC", "*/ArticleIdList/ArticleId[@IdType='pmc']", "{}"),
)
_BEGIN = re.compile(r"<Pubmed(?:Book)?Article>")
_END = re.compile(r"</Pubmed(?:Book)?Article\s*>")


def read_pubmed_xml(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`. Each record is read separately. A broken record is lost, with a note in `notes`.

    Raises `InputError` if no record can be read. With strict `notes`, a lost record is an error too.
    """
    records = [
        record_of(SCHEME, TaggedRecord(line, number, [*_fields(article)]))
        for article, line, number in elements(text, notes, _BEGIN, _END)
    ]
    if not records:
        raise notes.nothing_read("no record: PubMed writes each record as <PubmedArticle>")
    return records


def _fields(article: etree._Element) -> Iterator[Tagged]:
    for tag, path, form in FIELDS:
        yield from (Tagged(tag, [form.format(_text(element))]) for element in article.iterfind(path))
    for author in article.iterfind(".//AuthorList/Author[LastName]"):
        yield Tagged("FAU", [", ".join(_text(part) for part in author if part.tag in ("LastName", "ForeName"))])
    parts = [(part.get("Label"), _text(part)) for part in article.iterfind(".//Abstract/AbstractText")]
    if parts:
        yield Tagged("AB", ["\n".join(f"{label}: {text}" if label else text for label, text in parts)])


def _text(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())
