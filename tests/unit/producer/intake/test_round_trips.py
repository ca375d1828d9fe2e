"""What a plain writer writes, the readers read back equal."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.intake.delimited import read_delimited
from tamis_producer.intake.jsonl import read_jsonl
from tamis_producer.intake.ris import read_ris

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
            "abstract": abstract,
            "authors": st.lists(NAME, min_size=1, max_size=4),
            "year": st.integers(1000, 9999),
            "journal": LINE,
            "keywords": st.lists(KEYWORD, min_size=1, max_size=4),
            "doi": st.from_regex(r"10\.[0-9]{4}/[a-z;:()]{1,9}", fullmatch=True),
        },
    )
    return st.lists(record, min_size=1, max_size=5)


def _without_lines(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in record.items() if name != "_line"} for record in records]


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
    assert _without_lines(read_ris(text, PATH)) == records


@given(_records(LINE | st.tuples(LINE, LINE).map("\r\n".join)), st.sampled_from(",;\t|"))
def test_csv(records: list[dict[str, Any]], delimiter: str) -> None:
    written = io.StringIO(newline="")
    names = [*RIS_TAGS, "authors", "keywords"]
    writer = csv.DictWriter(written, names, delimiter=delimiter)
    writer.writeheader()
    for record in records:
        joined: dict[str, Any] = {name: "; ".join(record[name]) for name in ("authors", "keywords") if name in record}
        writer.writerow({**record, **joined})
    assert _without_lines(read_delimited(written.getvalue(), PATH)) == records


@given(
    st.lists(
        st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())).map(
            lambda own: {**own, "id": "x"}
        ),
        min_size=1,
    )
)
def test_jsonl(records: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    read = read_jsonl(text, PATH)
    assert [record["_line"] for record in read] == list(range(1, len(records) + 1))
    assert read == [{**record, "_line": line} for line, record in enumerate(records, 1)]
