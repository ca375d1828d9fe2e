"""Real tagged exports of databases, held against an independent reading of the same bytes, or of another export."""

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stage.shared_data import DATA, needs_real_records
from tamis_review.intake import Format, Intake, read_file, read_records, write_records
from tamis_review.intake.notes import NoteKind

MORE = DATA / "more_exports"
REVIEW = DATA / "reviews" / "snhl_dimitrov_2024"
PUBMED = REVIEW / "search_returns" / "pubmed_abstracts.txt"
WOS = MORE / "wos_tagged_rispy.ris"
RIS = {"_baseline_cochrane_endnote.ris": 3, "_baseline_eric_ovid.ris": 10, "_baseline_psychInfo_ovid.ris": 10}

pytestmark = needs_real_records


@cache
def pubmed() -> Intake:
    return read_file(PUBMED)


def letters(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def words(value: object) -> Counter[str]:
    if isinstance(value, dict):
        return sum((words(inner) for inner in value.values()), Counter())
    if isinstance(value, list):
        return sum((words(inner) for inner in value), Counter())
    return Counter(str(value).split())


@pytest.mark.parametrize(("name", "count"), RIS.items())
def test_ris_with_lines_between_its_records_is_read_whole_and_written_again(
    name: str, count: int, tmp_path: Path
) -> None:
    lines = re.split(r"\r?\n", (MORE / name).read_bytes().decode("utf-8-sig"))
    intake = read_file(MORE / name)
    assert (intake.format, len(intake.records)) == (Format.RIS, count)
    assert sum(bool(re.match(r"TY {2}-", line)) for line in lines) == count
    outside = re.sub(r"^TY {2}-.*?^ER {2}-.*?$", "", "\n".join(lines), flags=re.MULTILINE | re.DOTALL)
    between = [line for line in outside.split("\n") if line.strip()]
    assert {note.kind for note in intake.notes} == {NoteKind.SKIPPED}
    assert intake.skipped == len(between) == count * (3 if "cochrane" in name else 1)
    write_records(intake.records, tmp_path / "written")
    written = (tmp_path / "written").read_text("utf-8").splitlines()
    tagged = [line for line in lines if line.strip() and line not in between]
    assert [" ".join(line.split()) for line in written if line] == [" ".join(line.split()) for line in tagged]


def test_every_word_of_web_of_science_is_in_its_record_and_most_survive_in_other_formats(tmp_path: Path) -> None:
    text = WOS.read_bytes().decode("utf-8-sig")
    blocks = re.findall(r"^PT .*?^ER", text, re.MULTILINE | re.DOTALL)
    intake = read_file(WOS)
    assert (intake.format, intake.notes, len(intake.records)) == (Format.WOS_TAGGED, (), len(blocks))
    for record, block in zip(intake.records, blocks, strict=True):
        written = words(re.sub(r"^(?:[A-Z][A-Z0-9] |   )|^ER|;", " ", block, flags=re.MULTILINE))
        own = {name: value for name, value in record.items() if name not in ("id", "_line")}
        assert not written - words(" ".join(words(own).elements()).replace(";", " "))
    write_records(intake.records, tmp_path / "all.ris", format="ris")
    for record, back in zip(intake.records, read_records(tmp_path / "all.ris"), strict=True):
        assert {name: back[name] for name in ("title", "authors", "abstract", "year", "doi", "pmid")} == {
            name: record[name] for name in ("title", "authors", "abstract", "year", "doi", "pmid")
        }
        assert (back["_ris_VL"], back["_ris_SP"], back["_ris_CR"]) == (
            record["_wos_VL"],
            record["_wos_BP"],
            record["_wos_CR"],
        )


def test_pubmed_s_text_holds_the_records_of_its_csv() -> None:
    with (REVIEW / "search_returns" / "medline.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = {row["PMID"]: row for row in csv.DictReader(stream)}
    assert (pubmed().format, pubmed().notes, len(pubmed().records)) == (Format.PUBMED_TEXT, (), 859)
    assert {record["pmid"] for record in pubmed().records} == rows.keys()
    for record in pubmed().records:
        row = rows[record["pmid"]]
        assert record["title"].rstrip(".") == row["Title"].rstrip(".")
        assert ", ".join(record["authors"]) == row["Authors"].rstrip(".").replace(";", ",")
        assert (record["journal"], str(record["year"])) == (row["Journal/Book"], row["Publication Year"])
        assert (record.get("doi", ""), record.get("_pubmed_pmcid", "")) == (row["DOI"], row["PMCID"])
        assert record["_pubmed_citation"] == row["Citation"]


def test_the_abstracts_of_pubmed_s_text_are_those_that_the_review_s_people_read() -> None:
    read_by_people: dict[str, list[str]] = {}
    with (REVIEW / "responses" / "LB_response_complete.csv").open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            read_by_people.setdefault(letters(row["title"]), []).append(letters(row["abstract"]))
    compared = [
        (letters(record.get("abstract", "")), read_by_people[letters(record["title"])])
        for record in pubmed().records
        if letters(record["title"]) in read_by_people
    ]
    # What people read holds the whole of PubMed's record; two titles are those of another version of the paper.
    assert len(compared) == 803
    assert sum(any(own in other for other in others) for own, others in compared) == 801
    without = [record for record in pubmed().records if "abstract" not in record]
    assert len(without) == 8
    everything = "\n".join(record.get("abstract", "") for record in pubmed().records)
    assert not re.search(
        r"^(?:Author information|Conflict of interest|Publisher:|DOI:|PMID:|©|Copyright)", everything, re.M
    )


def test_every_word_of_pubmed_s_text_is_in_its_record() -> None:
    text = PUBMED.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    blocks = re.split(r"\n\n\n(?=\d+\. )", text)
    labels = words("Author information: Conflict of interest statement: DOI: PMCID: PMID: [Indexed for MEDLINE]")
    for record, block in zip(pubmed().records, blocks, strict=True):
        own = {name: value for name, value in record.items() if name not in ("id", "_line")}
        missing = words(block.partition(". ")[2]) - words(own) - labels
        # Signs of affiliations behind a name and the commas between two are no part of it.
        assert not [word for word in missing if not re.search(r"\(\d+\)|\(#\)|[,.;]$", word)], missing


def test_a_pubmed_record_is_the_same_in_csv_after_export(tmp_path: Path) -> None:
    first: list[dict[str, Any]] = pubmed().records[:60]
    write_records(first, tmp_path / "some.csv", format="csv")
    for one, back in zip(first, read_records(tmp_path / "some.csv"), strict=True):
        assert {name: back.get(name) for name in one if name != "_line"} == {
            name: value for name, value in one.items() if name != "_line"
        }
