"""What a plain writer writes, the readers read back equal."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.intake.columns import is_no_abstract
from tamis_review.intake.decision import DECISION_NAMES
from tamis_review.intake.delimited import read_delimited
from tamis_review.intake.fields import fields_of
from tamis_review.intake.jsonl import RESERVED, read_jsonl
from tamis_review.intake.nbib import read_nbib, write_nbib
from tamis_review.intake.notes import Notes
from tamis_review.intake.recognise import Format
from tamis_review.intake.ris import read_ris, write_ris

PATH = Path("written")
RIS_TAGS = {"id": "ID", "title": "TI", "abstract": "AB", "year": "PY", "journal": "T2", "type": "TY", "doi": "DO"}

# Letters of many scripts, digits, marks; no line ends, which each format treats in its own way.
WORDS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1)
LINE = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
NAME = st.from_regex(r"[A-Z][a-zé]{1,8}, [A-Z]\.", fullmatch=True)
KEYWORD = st.from_regex(r"[a-z]{1,8}( [a-zäß]{1,8})?", fullmatch=True)


def _records(abstract: st.SearchStrategy[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    record = st.fixed_dictionaries(
        {"id": WORDS, "title": LINE, "type": WORDS.filter(lambda word: not word.startswith("10."))},
        optional={
            "abstract": abstract.filter(lambda text: not is_no_abstract(text)),
            "authors": st.lists(NAME, min_size=1, max_size=4),
            "year": st.integers(1000, 9999),
            "journal": LINE,
            "keywords": st.lists(KEYWORD, min_size=1, max_size=4),
            "doi": st.from_regex(r"10\.[0-9]{4}/[a-z;:()]{1,9}", fullmatch=True),
        },
    )
    return st.lists(record, min_size=1, max_size=5)


def _without_lines(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in record.items() if name not in ("_line", "_source")} for record in records]


@given(_records(st.lists(LINE, min_size=1, max_size=3).map("\n".join)), st.sampled_from(["\n", "\r\n", "\r"]))
def test_ris(records: list[dict[str, Any]], line_end: str) -> None:
    lines: list[str] = []
    for record in records:
        lines.append(f"TY  - {record['type']}")
        lines += [f"{tag}  - {record[name]}" for name, tag in RIS_TAGS.items() if name in record and tag != "TY"]
        lines += [f"AU  - {author}" for author in record.get("authors", [])]
        lines += [f"KW  - {keyword}" for keyword in record.get("keywords", [])]
        lines += ["ER  - ", ""]
    text = "\n".join(lines).replace("\n", line_end)
    assert _without_lines(read_ris(text, Notes(PATH, strict=True))) == records


# What may harm: line ends of all kinds, blanks at any end, tags, marks, controls.
HOSTILE = st.lists(
    st.sampled_from(
        [
            *[
                "\n",
                "\n\n",
                "\r\n",
                "\r",
                " ",
                "   ",
                "      ",
                "\t",
                "\ufeff",
                "\u2028",
                "\x0b",
                "\x1c",
                "\x85",
                "\xa0",
            ],
            *["ER  - ", "TY  - JOUR", "AB  - x", "US - x", "TI  -", "PMID- 1", "1.", "ER  -", "@article{a,", "-", ""],
            *["doi:10.1/a", "10.1/b [doi]", "Tamis decision: ", "PMID: 5", "URL: x", "word", "long words " * 12],
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    max_size=8,
).map("".join)


def _hostile_records() -> st.SearchStrategy[list[dict[str, Any]]]:
    texts = dict.fromkeys(("title", "abstract", "journal", "language", "doi", "pmid", "nct_id", "type"), HOSTILE)
    lists = {name: st.lists(HOSTILE, max_size=3) for name in ("authors", "keywords")}
    decisions = {"_tamis_decision": HOSTILE, "_tamis_reason": HOSTILE, "_tamis_confidence": st.floats(0, 1)}
    optional = {**texts, **lists, **decisions, "url": HOSTILE, "year": st.integers(1000, 9999) | HOSTILE}
    return st.lists(st.fixed_dictionaries({"id": HOSTILE}, optional=optional), min_size=1, max_size=3)


FORMS = {Format.RIS: (read_ris, write_ris), Format.NBIB: (read_nbib, write_nbib)}


@pytest.mark.parametrize("form", FORMS)
@given(records=_hostile_records())
def test_no_value_harms_another_and_each_survives(form: Format, records: list[dict[str, Any]]) -> None:
    read, write = FORMS[form]
    written = io.StringIO(newline="")
    write(records, written)
    again = read(written.getvalue(), Notes(PATH, strict=True))
    assert len(again) == len(records)
    for record, back in zip(records, again, strict=True):
        texts = [field.text for field in fields_of(back, form, {})]
        for name, value in record.items():
            if name in ("title", "abstract", "journal", "language", "_tamis_decision", "_tamis_reason") and value:
                # The field has the very text, but for the kind of its line ends ...
                assert any(text.endswith(_lines(str(value))) for text in texts)
        # ... the record the text without the blanks around it.
        if (abstract := _lines(record.get("abstract", "")).strip()) != "":
            assert back["abstract"] == abstract
        for name in ("_tamis_decision", "_tamis_reason"):
            assert back.get(name, "") == _lines(record.get(name, ""))
        assert back.get("_tamis_confidence") == record.get("_tamis_confidence")
    twice = io.StringIO(newline="")
    write(json.loads(json.dumps(again)), twice)
    assert twice.getvalue() == written.getvalue()


def _lines(text: str) -> str:
    return re.sub(r"\r\n|\r", "\n", text)


TAGS = {Format.RIS: st.from_regex(r"[A-Z][A-Z0-9]", fullmatch=True).filter(lambda tag: tag not in ("TY", "ER"))}
TAGS[Format.NBIB] = st.from_regex(r"[A-Z][A-Z0-9]{1,3}", fullmatch=True).filter(lambda tag: tag != "PMID")
KNOWN = {Format.RIS: ["TI", "AB", "AU", "PY", "KW", "DO", "UR", "N1", "M3", "AN", "ID", "DB", "C5", "C2", "N2"]}
KNOWN[Format.NBIB] = ["TI", "AB", "FAU", "AU", "DP", "LID", "AID", "PT", "MH", "OT", "SI", "GN", "LA", "JT", "TA"]
BEGIN = {Format.RIS: "TY", Format.NBIB: "PMID"}


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_every_field_of_any_file_is_written_again_in_its_place(form: Format, data: st.DataObject) -> None:
    read, write = FORMS[form]
    tags = TAGS[form] | st.sampled_from(KNOWN[form])
    fields = data.draw(st.lists(st.tuples(tags, HOSTILE.map(_lines)), max_size=12))
    entries = [[BEGIN[form], None, "x"], *([tag, None, text] for tag, text in fields)]
    written = io.StringIO(newline="")
    write([{"_source": {"format": form.value, "fields": entries}}], written)
    (record,) = read(written.getvalue(), Notes(PATH, strict=True))
    given_back = [(field.name, field.text) for field in fields_of(json.loads(json.dumps(record)), form, {})]
    assert given_back == [(BEGIN[form], "x"), *fields]


@given(_records(LINE | st.tuples(LINE, LINE).map("\r\n".join)), st.sampled_from(",;\t|"))
def test_csv(records: list[dict[str, Any]], delimiter: str) -> None:
    written = io.StringIO(newline="")
    names = [*RIS_TAGS, "authors", "keywords"]
    writer = csv.DictWriter(written, names, delimiter=delimiter)
    writer.writeheader()
    for record in records:
        joined: dict[str, Any] = {name: "; ".join(record[name]) for name in ("authors", "keywords") if name in record}
        writer.writerow({**record, **joined})
    assert _without_lines(read_delimited(written.getvalue(), Notes(PATH, strict=True))) == records


# Names to which Tamis gives a meaning are read as `test_jsonl.py` has it.
NOT_OURS = st.text().filter(lambda name: name not in RESERVED and name not in DECISION_NAMES)


@given(
    st.lists(
        st.dictionaries(NOT_OURS, st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())).map(
            lambda own: {**own, "id": "x"}
        ),
        min_size=1,
    )
)
def test_jsonl(records: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    read = read_jsonl(text, Notes(PATH, strict=True))
    assert [record["_line"] for record in read] == list(range(1, len(records) + 1))
    own = [{name: value for name, value in record.items() if name != "_source"} for record in read]
    assert own == [{**record, "_line": line} for line, record in enumerate(records, 1)]
