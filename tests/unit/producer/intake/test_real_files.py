"""Real exports, held against an independent reading of the same bytes."""

import csv
import io
import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from stage.shared_data import DATA, needs_real_records
from tamis_producer.intake import read_records
from tamis_schemas import InputError

EXPORTS = DATA / "exports"
SCREENING = DATA / "screening"
ODD_CSV = EXPORTS / "CSV" / "cdss_ro_utf8_with_22_cp1252_bytes_semicolon.csv"
RIS = [f"_baseline_{source}.ris" for source in ("embase", "endnote", "scopus", "webofscience", "zotero")]

pytestmark = needs_real_records


def _words(value: object) -> Counter[str]:
    """The words in a value, however deeply it is nested."""
    if isinstance(value, dict):
        return sum((_words(inner) for inner in value.values()), Counter())
    if isinstance(value, list):
        return sum((_words(inner) for inner in value), Counter())
    return Counter(str(value).split())


def _content(record: dict[str, Any]) -> Counter[str]:
    return _words({name: value for name, value in record.items() if name not in ("id", "_line")})


@pytest.mark.parametrize("name", RIS)
def test_every_word_of_a_ris_export_is_in_its_record(name: str) -> None:
    path = EXPORTS / "RIS" / name
    lines = re.split(r"\r\n|\n", path.read_bytes().decode("utf-8-sig"))
    records = read_records(path)
    assert len(records) == sum(line.startswith("ER  -") for line in lines) == 10
    starts = [number for number, line in enumerate(lines, 1) if line.startswith("TY  -")]
    assert [record["_line"] for record in records] == starts
    for record, (start, end) in zip(records, pairwise([*starts, len(lines) + 1]), strict=True):
        written = Counter(
            word
            for line in lines[start - 1 : end - 1]
            for word in (line[6:] if re.match(r"[A-Z][A-Z0-9]  -", line) else line).split()
        )
        missing = written - _content(record) - Counter([str(record["id"])])
        # The reader drops what a date says beyond its year where that is nothing: "2024///".
        assert not {word for word in missing if not re.fullmatch(r"\d{4}/+", word)}


def test_pubmed_s_export_under_the_name_of_ris_is_recognised_as_medline() -> None:
    with pytest.raises(InputError, match="MEDLINE"):
        read_records(EXPORTS / "RIS" / "_baseline_pubmed.ris")


@pytest.mark.parametrize(("name", "header"), [("embase", 3), ("pubmed", 0), ("scopus", 0)])
def test_every_cell_of_a_csv_export_is_in_its_record(name: str, header: int) -> None:
    path = EXPORTS / "CSV" / f"_baseline_{name}.csv"
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    records = read_records(path)
    assert len(records) == len(rows) - header - 1 == 10
    for record, row in zip(records, rows[header + 1 :], strict=True):
        content = _content(record) + Counter([record["id"]])
        held = re.sub(r"\W+", " ", " ".join(content.elements())).split()
        written = re.sub(r"\W+", " ", " ".join(row)).split()
        assert not Counter(written) - Counter(held)
        assert record["title"] in row
        assert record["id"] in row
        assert record["year"] in range(1900, 2030)
        assert len(record["authors"]) == next(
            cell.count(";" if ";" in cell else ",") + 1 for cell in row if cell.startswith(record["authors"][0])
        )


@pytest.mark.parametrize(
    ("folder", "count", "included", "abstracts", "untitled"),
    [
        ("synergy_Donners_2021", 258, 15, 250, 1),
        ("cdss_ro", 521, 36, 520, 0),
        ("ptsd_van_de_schoot_2017", 6189, 43, 5425, 5),
    ],
)
def test_a_screening_set_has_the_numbers_of_its_readme(
    folder: str, count: int, included: int, abstracts: int, untitled: int
) -> None:
    path = SCREENING / folder / "records.csv"
    records = read_records(path)
    assert len(records) == count
    assert sum(record["_label"] == "1" for record in records) == included
    assert sum("abstract" in record for record in records) == abstracts
    assert sum("title" not in record for record in records) == untitled
    rows = csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""))
    for record, row in zip(records, rows, strict=True):
        assert record["id"] == row["id"]
        assert record.get("title", "") == row["title"].strip()
        assert record.get("abstract", "") == row["abstract"].strip()
        assert str(record.get("year", "")) == row["year"]
        assert row.get("doi", "").endswith(record.get("doi", ""))


def test_stray_bytes_cost_no_record_and_become_the_same_text_as_in_the_cleaned_set() -> None:
    odd = read_records(ODD_CSV)
    clean = read_records(SCREENING / "cdss_ro" / "records.csv")
    assert [record["_label_included"] for record in odd] == [record["_label"] for record in clean]
    for one, other in zip(odd, clean, strict=True):
        assert (one["title"], one.get("abstract")) == (other["title"], other.get("abstract"))
