"""Small files in every format, one piece a record."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tamis_review.intake import Format

RECORDS = 7
PLACES = ("harbour", "meadow", "library", "station", "orchard", "theatre", "kitchen", "workshop")


@dataclass(frozen=True)
class Sample:
    """A file: what stands before its records, the records, and what stands behind them."""

    before: str
    pieces: tuple[str, ...]
    behind: str = ""

    @property
    def text(self) -> str:
        """The whole file."""
        return self.before + "".join(self.pieces) + self.behind


def _record(at: int) -> dict[str, Any]:
    place = PLACES[at % len(PLACES)]
    return {
        "number": at + 1,
        "id": f"{place}-{at:03}-{place[::-1]}",
        "pmid": str(31_000_000 + 7_919 * at),
        "title": f"Walking to the {place} and back, a trial in {at + 3} towns – die Fußgänger",
        "authors": [f"Rossi{place.title()}, Ada", f"Ekholm{at}, Bo"],
        "abstract": f"BACKGROUND: Little is known of the {place}.\nMETHODS: We asked {at + 20} people; 50% came.",
        "year": 2001 + at,
        "journal": f"Journal of the {place.title()}",
        "keywords": ["walking", place],
        "doi": f"10.1000/{place}.{at}",
    }


def _ris(own: dict[str, Any]) -> str:
    authors = "".join(f"AU  - {name}\n" for name in own["authors"])
    keywords = "".join(f"KW  - {word}\n" for word in own["keywords"])
    journal = f"PY  - {own['year']}\nT2  - {own['journal']}\n"
    return (
        f"{own['number']}. \nTY  - JOUR\nDB  - A Database\nID  - {own['id']}\nTI  - {own['title']}\n{authors}"
        f"AB  - {own['abstract']}\n{journal}{keywords}DO  - {own['doi']}\nER  -  \n\n"
    )


def _nbib(own: dict[str, Any]) -> str:
    authors = "".join(f"FAU - {name}\n" for name in own["authors"])
    abstract = own["abstract"].replace("\n", " \n      ")
    return (
        f"PMID- {own['pmid']}\nOWN - NLM\nDP  - {own['year']} May\nTI  - {own['title']}\nLID - {own['doi']} [doi]\n"
        f"AB  - {abstract}\n{authors}LA  - eng\nPT  - Journal Article\nJT  - {own['journal']}\nOT  - walking\n\n"
    )


def _bibtex(own: dict[str, Any]) -> str:
    return (
        f"@article{{{own['id']},\n  title = {{{own['title']}}},\n  author = {{{' and '.join(own['authors'])}}},\n"
        f'  journal = "{own["journal"]}",\n  year = {own["year"]},\n  abstract = {{{own["abstract"]}}},\n'
        f"  doi = {{{own['doi']}}},\n}}\n\n"
    )


def _endnote_xml(own: dict[str, Any]) -> str:
    authors = "".join(f"<author>{name}</author>" for name in own["authors"])
    return (
        f'<record><rec-number>{own["id"]}</rec-number>\n<ref-type name="Journal Article">17</ref-type>\n'
        f"<contributors><authors>{authors}</authors></contributors>\n<titles><title>{own['title']}</title></titles>\n"
        f"<periodical><full-title>{own['journal']}</full-title></periodical>\n<dates><year>{own['year']}</year></dates>\n"
        f"<abstract>{own['abstract']}</abstract>\n</record>\n"
    )


def _wos(own: dict[str, Any]) -> str:
    authors = "\n   ".join(own["authors"])
    abstract = own["abstract"].replace("\n", "\n   ")
    return (
        f"PT J\nAU {authors}\nTI {own['title']}\nSO {own['journal']}\nDE {'; '.join(own['keywords'])}\nAB {abstract}\n"
        f"PY {own['year']}\nVL 3\nDI {own['doi']}\nUT WOS:{own['pmid']}\nER\n\n"
    )


def _enw(own: dict[str, Any]) -> str:
    authors = "".join(f"%A {name}\n" for name in own["authors"])
    keywords = "\n".join(own["keywords"])
    return (
        f"%0 Journal Article\n{authors}%T {own['title']}\n%J {own['journal']}\n%D {own['year']}\n%V 3\n"
        f"%X {own['abstract']}\n%K {keywords}\n%R {own['doi']}\n%M {own['id']}\n\n"
    )


def _pubmed_text(own: dict[str, Any]) -> str:
    names = ", ".join(f"{name.partition(',')[0]} A(1)" for name in own["authors"])
    abstract = own["abstract"].replace("of the ", "of the \n")
    citation = f"J {own['journal'][15:]}. {own['year']} May;3(2):10-9. doi: \n{own['doi']}."
    return (
        f"{own['number']}. {citation}\n\n{own['title']}.\n\n"
        f"{names}.\n\nAuthor information:\n(1)University of Walks.\n\n{abstract}\n\nCopyright © 2020 Walk Press.\n\n"
        f"DOI: {own['doi']}\nPMID: {own['pmid']} [Indexed for MEDLINE]\n\nConflict of interest statement: None.\n\n\n"
    )


def _row(delimiter: str) -> Callable[[dict[str, Any]], str]:
    def row(own: dict[str, Any]) -> str:
        stream = io.StringIO(newline="")
        cells = ["; ".join(cell) if isinstance(cell, list) else cell for cell in own.values()]
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerow(cells)
        return stream.getvalue()

    return row


def _json_line(own: dict[str, Any]) -> str:
    return json.dumps(own, ensure_ascii=False) + "\n"


def _sample(piece: Callable[[dict[str, Any]], str], before: str = "", behind: str = "") -> Sample:
    return Sample(before, tuple(piece(_record(at)) for at in range(RECORDS)), behind)


NAMES = list(_record(0))
SAMPLES: Mapping[Format, Sample] = {
    Format.RIS: _sample(_ris),
    Format.NBIB: _sample(_nbib),
    Format.BIBTEX: _sample(_bibtex, "A Database\nEXPORT DATE: today\n\n"),
    Format.ENDNOTE_XML: _sample(_endnote_xml, '<?xml version="1.0"?>\n<xml><records>\n', "</records></xml>\n"),
    Format.WOS_TAGGED: _sample(_wos, "FN Clarivate Analytics Web of Science\nVR 1.0\n", "EF\n"),
    Format.ENDNOTE_TAGGED: _sample(_enw),
    Format.PUBMED_TEXT: _sample(_pubmed_text),
    Format.DELIMITED: _sample(_row(","), ",".join(NAMES) + "\n"),
    Format.TSV: _sample(_row("\t"), "\t".join(NAMES) + "\n"),
    Format.JSONL: _sample(_json_line),
}
