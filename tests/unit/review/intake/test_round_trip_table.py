"""A record of each format, read, written in each format that Tamis writes, and read again: no field is lost."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tamis_review.intake import Format, read_file, write_records
from tamis_review.intake.reading import READERS
from tamis_review.intake.record import CANONICAL
from tamis_review.intake.record_type import kind_of
from tamis_review.intake.writing import WRITERS

RIS = """TY  - JOUR
TI  - Walking & towns: 10 %
AU  - Moor, Ann
AU  - Hill, Bob
PY  - 2021
T2  - J Walks
AB  - We walked
and saw {it}.
KW  - walks
KW  - towns, old
LA  - eng
DO  - 10.1000/w_1
UR  - https://example.org/a_b
ID  - 77
VL  - 3
N1  - PMID: 12345
ER  - \x20
"""
NBIB = """PMID- 12345
TI  - Walking & towns.
AB  - We walked.
FAU - Moor, Ann
FAU - Hill, Bob
DP  - 2021
JT  - J Walks
LA  - eng
PT  - Journal Article
MH  - Walking
OT  - towns
LID - 10.1000/w [doi]
SI  - ClinicalTrials.gov/NCT01234567
VI  - 3
"""
BIBTEX = """@article{moor,
  title = {{W}alking \\& \\emph{towns}},
  author = {Moor, Ann and {Hill and Sons}},
  year = {2021},
  journal = {J Walks},
  abstract = {We walked.},
  keywords = {walks; towns},
  language = {eng},
  doi = {10.1000/w},
  pmid = {12345},
  url = {https://example.org/a_b},
  Early Access Date = {{NOV 2021}},
  volume = 3,
}
"""
ENDNOTE_XML = (
    '<xml><records><record><ref-type name="Journal Article">17</ref-type><contributors><authors><author>Moor, Ann'
    "</author><author>Hill, Bob</author></authors></contributors><titles><title>Walking &amp; towns</title></titles>"
    "<periodical><full-title>J Walks</full-title></periodical><keywords><keyword>walks</keyword></keywords><dates>"
    "<year>2021</year></dates><abstract>We walked.</abstract><urls><related-urls><url>https://example.org</url>"
    "</related-urls></urls><electronic-resource-num>10.1000/w</electronic-resource-num><language>eng</language>"
    "<volume>3</volume><custom7>x</custom7></record></records></xml>"
)
PUBMED_XML = """<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>12345</PMID><Article><Journal><JournalIssue>
<Volume>3</Volume><PubDate><Year>2021</Year></PubDate></JournalIssue><Title>J Walks</Title></Journal><ArticleTitle>
Walking</ArticleTitle><Abstract><AbstractText>We walked.</AbstractText></Abstract><AuthorList><Author><LastName>Moor
</LastName><ForeName>Ann</ForeName></Author></AuthorList></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>
"""
CSL = {
    "id": "m",
    "type": "article-journal",
    "title": "Walking",
    "abstract": "We walked.",
    "author": [{"family": "Moor", "given": "Ann"}],
    "issued": {"date-parts": [[2021, 5]]},
    "container-title": "J Walks",
    "keyword": "walks; towns",
    "DOI": "10.1000/w",
    "volume": "3",
}
TABLE = [
    ("Title", "Authors", "Year", "Journal", "Abstract", "Keywords", "Language", "DOI", "PMID", "URL", "Volume"),
    (
        *("Walking", "Moor, Ann; Hill, Bob", "2021", "J Walks", "We walked.", "walks; towns", "eng", "10.1000/w"),
        *("12345", "https://example.org", "3"),
    ),
]
TEXTS: Mapping[Format, str] = {
    Format.RIS: RIS,
    Format.NBIB: NBIB,
    Format.BIBTEX: BIBTEX,
    Format.ENDNOTE_XML: ENDNOTE_XML,
    Format.DELIMITED: "\n".join(",".join(f'"{cell}"' for cell in row) for row in TABLE),
    Format.TSV: "\n".join("\t".join(row) for row in TABLE),
    Format.JSONL: json.dumps(
        {"id": 7, "title": "Walking", "abstract": "We walked.", "authors": ["Moor"], "score": 0.5}
    ),
    Format.JSON_ARRAY: json.dumps([CSL]),
    Format.ENDNOTE_TAGGED: "%0 Journal Article\n%T Walking\n%A Moor, Ann\n%A Hill, Bob\n%D 2021\n%J J Walks\n"
    "%X We walked.\n%K walks\n%G eng\n%R 10.1000/w\n%U https://example.org\n%V 3\n",
    Format.WOS_TAGGED: "FN Clarivate\nVR 1.0\nPT J\nAU Moor, A\n   Hill, B\nTI Walking\nSO J WALKS\nLA English\n"
    "DT Review\nDE walks; towns\nAB We walked.\nPY 2021\nVL 3\nDI 10.1000/w\nPM 12345\nUT WOS:1\nER\n\nEF\n",
    Format.PUBMED_TEXT: "1. J Walks. 2021 May;3(2):10-9. doi: 10.1000/w.\n\nWalking.\n\nMoor A(1), Hill B.\n\n"
    "Author information:\n(1)Univ Walks.\n\nWe walked and saw the towns for many years with many people.\n\n"
    "DOI: 10.1000/w\nPMID: 12345\n",
    Format.PUBMED_XML: PUBMED_XML,
}
# The format in which a record keeps every field, if it is another.
WHOLE_IN = {Format.JSON_ARRAY: Format.JSONL, Format.PUBMED_XML: Format.NBIB}


def _read(path: Path, form: Format) -> dict[str, Any]:
    intake = read_file(path, strict=True)
    assert (intake.format, intake.notes) == (form, ())
    (record,) = intake.records
    return {name: value for name, value in record.items() if name not in ("_line", "_source")}


def _there_and_back(folder: Path, form: Format, target: Format | None) -> tuple[dict[str, Any], dict[str, Any]]:
    (folder / "in").write_text(TEXTS[form], "utf-8")
    first = _read(folder / "in", form)
    write_records(read_file(folder / "in").records, folder / "out", format=target)
    return first, _read(folder / "out", target or WHOLE_IN.get(form, form))


def test_the_table_has_a_row_for_every_format() -> None:
    assert TEXTS.keys() == {*READERS, Format.TSV}


@pytest.mark.parametrize("form", [*WRITERS, *WHOLE_IN])
def test_in_its_own_format_a_record_keeps_every_field(form: Format, tmp_path: Path) -> None:
    first, back = _there_and_back(tmp_path, form, None)
    blank = {"_bib_Early Access Date": "_bib_Early_Access_Date"}  # BibTeX knows no blank there
    assert back == {blank.get(name, name): value for name, value in first.items()}


@pytest.mark.parametrize("target", WRITERS)
@pytest.mark.parametrize("form", TEXTS)
def test_in_any_format_a_record_keeps_every_canonical_field(form: Format, target: Format, tmp_path: Path) -> None:
    first, back = _there_and_back(tmp_path, form, target)
    own = {name: first[name] for name in CANONICAL if name in first and name not in ("id", "type")}
    assert {name: back.get(name) for name in own} == own
    if "type" in first:
        assert kind_of(back["type"]) is kind_of(first["type"])


@pytest.mark.parametrize("target", [Format.RIS, Format.ENDNOTE_XML, Format.DELIMITED])
@pytest.mark.parametrize("form", [form for form in TEXTS if form not in WRITERS and form is not Format.PUBMED_XML])
def test_formats_that_are_only_read_keep_the_volume_in_others(form: Format, target: Format, tmp_path: Path) -> None:
    _, back = _there_and_back(tmp_path, form, target)
    assert "3" in (back.get(name) for name in back if name.casefold().endswith(("volume", "_vl", "_v")))


HIDDEN = (
    *("_ris_N1", "_ris_C5", "_nbib_GN", "_nbib_MH", "_bib_note", "_bib_Early Access Date", "_enw_V", "_enw_E"),
    *("_wos_VL", "_wos_CR", "_wos_PT", "_pubmed_volume", "_pubmed_notice", "_csl_page", "_csl_custom", "_label"),
    *("_xml_custom7", "score", "Funding", "_a"),
)


@given(
    st.sampled_from([*TEXTS]),
    st.sampled_from([*WRITERS]),
    st.lists(st.sampled_from(HIDDEN), unique=True, max_size=6),
    st.booleans(),
)
@example(Format.DELIMITED, Format.TSV, ["score", "_wos_VL"], False)
@example(Format.RIS, Format.RIS, ["_wos_CR", "_nbib_GN"], True)
def test_every_field_of_a_record_is_written_or_counted_as_dropped(
    tmp_path_factory: pytest.TempPathFactory, form: Format, target: Format, names: list[str], several: bool
) -> None:
    folder = tmp_path_factory.mktemp("fields")
    (folder / "in").write_text(TEXTS[form], "utf-8")
    (record,) = read_file(folder / "in").records
    added = {name: f"zq{at}zq" for at, name in enumerate(names) if name not in record}
    values = {name: [text, text] if several else text for name, text in added.items()}
    dropped = write_records([record | values, record], folder / "out", format=target)
    written = (folder / "out").read_text("utf-8")
    assert {name for name, text in added.items() if text not in written} == {*dropped} & {*added}
    assert all(dropped[name] == 1 for name in {*dropped} & {*added})
    own = {name: str(value) for name, value in record.items() if isinstance(value, str | int) and len(str(value)) > 6}
    lost = {name for name, text in own.items() if text not in written.replace("\n      ", "") and name.startswith("_")}
    assert lost - {"_line", "_source"} <= {*dropped}


@pytest.mark.parametrize("form", WRITERS)
def test_a_record_in_its_own_format_drops_no_field(form: Format, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(TEXTS[form], "utf-8")
    assert write_records(read_file(tmp_path / "in").records, tmp_path / "out") == {}
