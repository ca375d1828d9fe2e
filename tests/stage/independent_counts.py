"""The records of the real files, counted without Tamis' readers: plain `csv` and regular expressions.

A field counts where the file holds it, wherever that is: the year of Ovid's Embase stands in the middle of `SO`. What
such a file does not tell in a way that a line of code could count is None.
"""

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .shared_data import DATA

RETURNS = "reviews/snhl_dimitrov_2024/search_returns"
RESPONSES = "reviews/snhl_dimitrov_2024/responses"
RIS = ("embase", "endnote", "scopus", "webofscience", "zotero")
MORE_RIS = ("cochrane_endnote", "eric_ovid", "psychInfo_ovid")

NOT_AVAILABLE = "[No abstract available]"

Row = Mapping[str, str]
Holds = Callable[[Row], bool]
csv.field_size_limit(2**24)


@dataclass(frozen=True)
class Counted:
    """How many records a file has, and how many of them hold what."""

    records: int
    title: int | None = None
    abstract: int | None = None
    year: int | None = None
    doi: int | None = None


def counted(name: str) -> Counted:
    """Count the records of one of `RECORD_FILES`."""
    path = DATA / name
    if name in TABLES:
        return _of_table(path, *TABLES[name])
    return TAGGED[name](path.read_text("utf-8-sig"))


def _of_table(path: Path, above: int, fields: Mapping[str, Holds]) -> Counted:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        for _ in range(above):
            next(stream)
        first = stream.readline()
        names = next(csv.reader([first], delimiter=";" if ";" in first and "," not in first else ","))
        delimiter = ";" if first.count(";") > first.count(",") else ","
        rows = [dict(zip(names, cells, strict=True)) for cells in csv.reader(stream, delimiter=delimiter) if cells]
    return Counted(len(rows), **{field: sum(map(holds, rows)) for field, holds in fields.items()})


def _filled(column: str, *, but: str = "") -> Holds:
    return lambda row: bool(row[column].strip()) and row[column] != but


def _found(column: str, pattern: str) -> Holds:
    return lambda row: re.search(pattern, row[column], re.DOTALL) is not None


def _never(row: Row) -> bool:
    return False


def _columns(title: str, abstract: str | Holds, year: str | Holds, doi: str | Holds = _never) -> Mapping[str, Holds]:
    named = {"title": title, "abstract": abstract, "year": year, "doi": doi}
    return {field: _filled(one) if isinstance(one, str) else one for field, one in named.items()}


def _ebsco_doi(row: Row) -> bool:
    return any(row[name] == "doi" and row[name.replace("_type", "__text")] for name in row if name.endswith("_type"))


# Path -> lines above the header, and what holds the fields.
TABLES: Mapping[str, tuple[int, Mapping[str, Holds]]] = {
    f"{RETURNS}/base.csv": (
        0,
        _columns(
            "title",
            # Behind "Description:" a publisher's name may stand, with or without an abstract behind it.
            _found("note", r"Description:(?:.* ; | *.{80,}\}$)"),
            "year",
            _found("url", r"doi\.org/10\."),
        ),
    ),
    f"{RETURNS}/cinahl.csv": (
        0,
        _columns("artinfo/tig/atl", "artinfo/ab/0", "pubinfo/dt/_year", _ebsco_doi),
    ),
    f"{RETURNS}/embase.csv": (0, _columns("TI", "AB", _found("SO", r", \d{4}\."), _found("FTURL", r"&DO=10\."))),
    f"{RETURNS}/psychinfo.csv": (0, _columns("TI", "AB", "YR", _found("URL", r"&DO=10\."))),
    f"{RETURNS}/github.csv": (0, _columns("title", _filled("abstract", but="None"), "date")),
    f"{RETURNS}/ieee.csv": (0, _columns("Document Title", "Abstract", "Publication Year", "DOI")),
    f"{RETURNS}/medline.csv": (0, _columns("Title", _never, "Publication Year", "DOI")),
    f"{RETURNS}/scopus.csv": (
        0,
        _columns("Title", _filled("Abstract", but=NOT_AVAILABLE), "Year", "DOI"),
    ),
    **{
        f"{RESPONSES}/{name}": (0, _columns("title", _filled("abstract", but=NOT_AVAILABLE), _never))
        for name in ("LB_response_complete.csv", "LD_response_complete.csv", "full_text_reviews.csv")
    },
    "exports/CSV/_baseline_embase.csv": (3, _columns("Title", "Abstract", "Publication Year", "DOI")),
    "exports/CSV/_baseline_pubmed.csv": (0, _columns("Title", _never, "Publication Year", "DOI")),
    "exports/CSV/_baseline_scopus.csv": (
        0,
        _columns("Title", _filled("Abstract", but=NOT_AVAILABLE), "Year", "DOI"),
    ),
    "exports/CSV/cdss_ro_utf8_with_22_cp1252_bytes_semicolon.csv": (0, _columns("Title", "Abstract", _never)),
    "recorded/kwok_2020_gpt4omini/records.csv": (0, _columns("title", "abstract", _never)),
    "screening/cdss_ro/records.csv": (0, _columns("title", "abstract", "year")),
    "screening/ptsd_van_de_schoot_2017/records.csv": (0, _columns("title", "abstract", "year", "doi")),
    "screening/synergy_Donners_2021/records.csv": (0, _columns("title", "abstract", "year", "doi")),
}


def _of_tags(begins: str, title: str, abstract: str, year: str, doi: str) -> Callable[[str], Counted]:
    """A tagged text is one record between two beginnings; a field counts where one of its lines has a word."""

    def count(text: str) -> Counted:
        _, *records = re.split(rf"(?m)^{begins}", text)

        def having(tag: str) -> int:
            return sum(re.search(rf"(?m)^(?:{tag})[ -]+\S", record) is not None for record in records)

        return Counted(len(records), having(title), having(abstract), having(year), having(doi))

    return count


def _of_numbered(text: str) -> Counted:
    """PubMed's "Abstract (text)": a number, the citation, the title in a paragraph of its own."""
    # A notice of retraction may stand above the citation.
    records = [re.sub(r"\A[A-Z ]+\n\n", "", one) for one in re.split(r"(?:\A|\n\n\n)\d+\. ", text)[1:]]
    paragraphs = [record.split("\n\n") for record in records]
    return Counted(
        records=sum("\nPMID: " in record for record in records),
        title=sum(len(parts) > 1 and bool(parts[1].strip()) for parts in paragraphs),
        year=sum(re.search(r"\b(?:19|20)\d\d\b", parts[0]) is not None for parts in paragraphs),
        doi=sum(re.search(r"\bdoi:\s", record, re.IGNORECASE) is not None for record in records),
    )


_RIS = _of_tags("TY {1,2}- ", "TI|T1", "AB|N2", "PY|Y1", "DO")
TAGGED: Mapping[str, Callable[[str], Counted]] = {
    f"{RETURNS}/pubmed_abstracts.txt": _of_numbered,
    "exports/RIS/_baseline_pubmed.ris": _of_tags("PMID- ", "TI", "AB", "DP", r"(?:LID|AID)(?=.*\[doi\])"),
    "more_exports/wos_tagged_rispy.ris": _of_tags("PT ", "TI", "AB", "PY", "DI"),
    **dict.fromkeys((f"exports/RIS/_baseline_{own}.ris" for own in RIS), _RIS),
    **dict.fromkeys((f"more_exports/_baseline_{own}.ris" for own in MORE_RIS), _RIS),
}

RECORD_FILES = sorted([*TABLES, *TAGGED])  # by their path below the data
