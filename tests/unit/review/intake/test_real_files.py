"""Real exports, held against an independent reading of the same bytes."""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stage.independent_counts import RECORD_FILES
from stage.shared_data import DATA, needs_real_records
from tamis_review.intake import Format, read_file, read_records, write_records

EXPORTS = DATA / "exports"
SCREENING = DATA / "screening"
RETURNS = DATA / "reviews" / "snhl_dimitrov_2024" / "search_returns"
ODD_CSV = EXPORTS / "CSV" / "cdss_ro_utf8_with_22_cp1252_bytes_semicolon.csv"
RIS = [f"_baseline_{source}.ris" for source in ("embase", "endnote", "scopus", "webofscience", "zotero")]
NBIB = EXPORTS / "RIS" / "_baseline_pubmed.ris"
LARGE = SCREENING / "ptsd_van_de_schoot_2017" / "records.csv"  # 6,189 records in columns that others have, too
FILES = [DATA / name for name in RECORD_FILES if name.startswith(("exports/", "screening/"))]

pytestmark = needs_real_records


def _words(value: object) -> Counter[str]:
    """The words in a value, however deeply it is nested."""
    if isinstance(value, dict):
        return sum((_words(inner) for inner in value.values()), Counter())
    if isinstance(value, list):
        return sum((_words(inner) for inner in value), Counter())
    return Counter(str(value).split())


def _content(record: dict[str, Any]) -> Counter[str]:
    return _words({name: value for name, value in record.items() if name not in ("id", "_line", "_source")})


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


def test_pubmed_s_export_under_the_name_of_ris_is_read_as_medline() -> None:
    intake = read_file(NBIB)
    assert (intake.format, intake.encoding, len(intake.records)) == (Format.NBIB, "utf-8", 50)
    assert all(record["id"] == record["pmid"] for record in intake.records)
    assert all(record["title"] and record["authors"] and record["doi"] for record in intake.records)
    assert sum("abstract" in record for record in intake.records) == 49
    assert intake.records[0]["year"] == 2020
    assert intake.records[0]["doi"] == "10.1016/j.ejmg.2019.03.004"
    assert intake.records[0]["type"] == "Historical Article; Journal Article; Review"


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.night if path == LARGE else (), id=path.name) for path in FILES],
)
def test_what_is_written_is_read_again_as_the_same_records(path: Path, tmp_path: Path) -> None:
    intake = read_file(path)
    write_records(intake.records, tmp_path / "written")
    again = read_file(tmp_path / "written")
    assert again.format is intake.format
    assert list(map(_own, again.records)) == list(map(_own, intake.records))
    write_records(again.records, tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "written").read_bytes()


@pytest.mark.parametrize("path", [*(EXPORTS / "RIS" / name for name in RIS), NBIB], ids=lambda path: path.name)
def test_every_field_of_a_tagged_export_is_written_again_in_its_place(path: Path, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = json.loads(json.dumps(read_records(path)))  # as the ledger hands them back
    write_records(records, tmp_path / "written")
    original, written = (_fields(one) for one in (path, tmp_path / "written"))
    assert len(original) > len(records) * 15
    assert written == original


def test_a_decision_changes_nothing_else_in_an_export(tmp_path: Path) -> None:
    for path, line in ((EXPORTS / "RIS" / "_baseline_zotero.ris", "N1  - "), (NBIB, "GN  - ")):
        records = read_records(path)
        for outcome in ("include", "exclude"):
            decided = [{**record, "_tamis_decision": outcome, "_tamis_confidence": 0.5} for record in records]
            write_records(decided, tmp_path / "decided")
            records = read_records(tmp_path / "decided")
            assert {record["_tamis_decision"] for record in records} == {outcome}
        notes = [f"{line}Tamis decision: exclude", f"{line}Tamis confidence: 0.5"]
        lines = (tmp_path / "decided").read_text("utf-8").splitlines()
        assert [sum(one == note for one in lines) for note in notes] == [len(records)] * 2
        assert [one for one in lines if one not in notes] == path.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    "names",
    [
        (
            "RIS/_baseline_embase.ris",
            "RIS/_baseline_endnote.ris",
            "RIS/_baseline_zotero.ris",
            "CSV/_baseline_embase.csv",
        ),
        ("RIS/_baseline_scopus.ris", "CSV/_baseline_scopus.csv"),
        ("RIS/_baseline_pubmed.ris", "CSV/_baseline_pubmed.csv"),
    ],
)
def test_exports_of_the_same_records_give_the_same_records(names: tuple[str, ...]) -> None:
    first, *others = ({_key(record): record for record in read_records(EXPORTS / name)} for name in names)
    for other in others:
        # PubMed's CSV holds ten of the fifty records of its NBIB; the others hold the same ten.
        assert len(other) == 10
        assert other.keys() <= first.keys()
        assert len(first) == (50 if "pubmed" in names[0] else 10)
        for key, record in other.items():
            assert record["doi"].lower() == first[key]["doi"].lower()
            assert _family_name(record) == _family_name(first[key])
            assert len(record["authors"]) == len(first[key]["authors"])
            # EndNote and Zotero have no tag for the PubMed id.
            assert record.get("pmid", first[key].get("pmid")) == first[key].get("pmid")


def test_what_two_databases_hold_of_one_article_agrees_but_for_the_markup_of_its_title() -> None:
    pubmed, wos = (
        {record["doi"].lower(): record for record in read_records(path)}
        for path in (NBIB, EXPORTS / "RIS" / "_baseline_webofscience.ris")
    )
    shared = pubmed.keys() & wos.keys()
    assert len(shared) == 2
    for doi in shared:
        one, other = pubmed[doi], wos[doi]
        # Web of Science loses a blank beside italics: "Spinosaurusis not an aquatic dinosaur".
        assert _folded(one["title"]).replace(" ", "") == _folded(other["title"]).replace(" ", "")
        assert (one["year"], _family_name(one)) == (other["year"], _family_name(other))
        assert len(one["authors"]) == len(other["authors"])


def _key(record: dict[str, Any]) -> tuple[str, int]:
    return _folded(record["title"]), record["year"]


def _folded(title: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", title).casefold().split())


def _family_name(record: dict[str, Any]) -> str:
    """`Yang, Z.`, `Yang Z.` and `Yang Z` give `yang`."""
    first: str = record["authors"][0]
    family = first.partition(",")[0] if "," in first else first.rpartition(" ")[0]
    return family.casefold()


def _own(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("_line", "_source")}


def _fields(path: Path) -> list[tuple[str, str]]:
    """Tag and text of every field of a RIS or NBIB file, in order, read without the reader; white space folded."""
    lines = [line for line in re.split(r"\r?\n", path.read_bytes().decode("utf-8-sig")) if line.strip()]
    fields: list[tuple[str, str]] = []
    for line in lines:
        if tagged := re.fullmatch(r"([A-Z][A-Z0-9]{1,3}) {0,2}-( .*)?", line):
            fields.append((tagged[1], tagged[2] or ""))
        else:
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line}")
    return [(tag, " ".join(text.split())) for tag, text in fields]


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
    "name",
    [
        *("base", "embase", "github", "ieee", "psychinfo"),
        *(pytest.param(name, marks=pytest.mark.night) for name in ("cinahl", "medline", "scopus")),
    ],
)
def test_the_table_of_a_review_s_search_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    path = RETURNS / f"{name}.csv"
    records: list[dict[str, Any]] = json.loads(json.dumps(read_records(path)))  # as the ledger hands them back
    write_records(records, tmp_path / "written.csv")
    original, written = (one.read_bytes().decode("utf-8-sig") for one in (path, tmp_path / "written.csv"))
    if name == "ieee":  # has quotes around some names of columns and not around others
        original, written = (str([*csv.reader(io.StringIO(text, newline=""))]) for text in (original, written))
    if name == "github":  # four cells begin with a line break, behind which a formula could stand
        original, n_guarded = re.subn(r',"(?=[\r\n])', ",\"'", original)
        assert n_guarded == 4
    assert hashlib.sha256(written.encode()).hexdigest() == hashlib.sha256(original.encode()).hexdigest()


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


def test_stray_bytes_cost_no_record_are_reported_and_become_the_same_text_as_in_the_cleaned_set() -> None:
    intake = read_file(ODD_CSV)
    odd = intake.records
    assert (intake.encoding, len(intake.replaced)) == ("utf-8", 22)
    lines = ODD_CSV.read_bytes().split(b"\n")
    assert all(bytes([one.byte]) in lines[one.line - 1] for one in intake.replaced)
    assert intake.sha256 == hashlib.sha256(ODD_CSV.read_bytes()).hexdigest()
    clean = read_records(SCREENING / "cdss_ro" / "records.csv")
    assert [record["_label_included"] for record in odd] == [record["_label"] for record in clean]
    for one, other in zip(odd, clean, strict=True):
        assert (one["title"], one.get("abstract")) == (other["title"], other.get("abstract"))
