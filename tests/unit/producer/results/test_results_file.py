"""Results as files: every item, nothing a spreadsheet would execute, and no half-written file."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.results.formula_guard import FORMULA_STARTS, unguarded
from tamis_producer.results.results_file import COLUMNS, replacing, write_csv, write_jsonl
from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    InclusionDecision,
    InclusionStatus,
    InputError,
    ItemResult,
    Provenance,
    Usage,
)
from tamis_schemas.answers.results import CriterionVerdict, Difference, Quote


def row(index: int = 0, **changes: object) -> ItemResult:
    fields: dict[str, object] = {
        "index": index,
        "item_id": f"i{index}",
        "status": "decided",
        "result": EvaluationResult(value=True, confidence=0.9, reasoning="because"),
        "provenance": Provenance(model="m", usage=Usage(10, 2), cost=Decimal("0.0000450"), calls=1),
        "item": {"title": "T"},
    }
    return ItemResult.model_validate(fields | changes)


def table(*rows: ItemResult) -> list[dict[str, str]]:
    stream = io.StringIO(newline="")
    assert write_csv(rows, stream) == len(rows)
    return list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))


def test_a_decided_item() -> None:
    (cells,) = table(row())
    assert tuple(cells) == COLUMNS
    assert (cells["value"], cells["confidence"], cells["reasoning"]) == ("true", "0.9", "because")
    assert (cells["model"], cells["prompt_tokens"], cells["title"]) == ("m", "10", "T")
    assert cells["cost"] == "0.000045"
    assert cells["overridden"] == ""
    unflagged = InclusionDecision(status="include", confidence=0.9, rationale="because")
    assert table(row(decision=unflagged))[0]["flagged"] == ""


def test_a_flagged_record_says_which_quotes_are_altered_and_which_are_not_there() -> None:
    men = Difference(quoted="men", recorded="women", start=0, end=3)
    dropped, added = (
        Difference(quoted="", recorded="not", start=9, end=9),
        Difference(quoted="never", recorded="", start=1, end=6),
    )
    quotes = {
        "I1": Quote(text="men walked", state="altered", similarity=0.9, differences=(men, dropped, added)),
        "I2": Quote(text="women", state="found", similarity=1.0),
        "E1": Quote(text='in "rats"', state="not found", similarity=0.2),
    }
    verdicts = {label: CriterionVerdict(verdict="met", quote=quote) for label, quote in quotes.items()}
    decision = InclusionDecision(status="include", confidence=0.5, rationale="because", verdicts=verdicts, flagged=True)
    flagged, sound = table(row(decision=decision), row())
    assert (flagged["flagged"], sound["flagged"], sound["quotes"]) == ("true", "", "")
    assert flagged["quotes"] == (
        'I1 altered: "men" for "women", "not" omitted, "never" added; E1 not found: "in \\"rats\\""'
    )


@pytest.mark.parametrize(
    ("cost", "cell"), [(None, ""), ("0", "0"), ("12.500000000", "12.5"), ("120", "120"), ("1E-9", "0.000000001")]
)
def test_a_cost_is_a_plain_number_and_an_unknown_one_is_empty(cost: str | None, cell: str) -> None:
    provenance = Provenance(calls=1, cost=None if cost is None else Decimal(cost))
    (cells,) = table(row(provenance=provenance))
    assert cells["cost"] == cell


def test_a_line_of_json_says_what_was_otherwise_in_the_answer() -> None:
    stream = io.StringIO()
    provenance = Provenance(model="m", calls=1, deviations=("confidence: '0.9' read as a number",))
    assert write_jsonl([row(provenance=provenance)], stream) == 1
    line = json.loads(stream.getvalue())
    assert line["provenance"]["deviations"] == ["confidence: '0.9' read as a number"]


def test_a_failed_item_has_an_error_and_neither_value_nor_confidence() -> None:
    failed = row(status="failed", result=EvaluationResult(error="took too long"), error_kind=ErrorKind.TIMEOUT)
    (cells,) = table(failed)
    assert (cells["value"], cells["confidence"]) == ("", "")
    assert (cells["error_kind"], cells["error"]) == ("timeout", "took too long")


def test_a_pending_item_has_a_row_too() -> None:
    (cells,) = table(row(status="pending", result=None, provenance=None))
    assert (cells["status"], cells["value"], cells["model"]) == ("pending", "", "")


def test_an_inclusion_lists_the_criteria_that_decided() -> None:
    decision = InclusionDecision(
        status=InclusionStatus.EXCLUDE, confidence=0.9, rationale="r", criteria=["humans", "adults"]
    )
    (cells,) = table(row(result=EvaluationResult(value="exclude", confidence=0.9), decision=decision))
    assert (cells["value"], cells["deciding_criteria"]) == ("exclude", "humans | adults")


def test_why_a_record_is_excluded_or_was_made_uncertain_stands_in_columns_of_its_own() -> None:
    said = InclusionDecision(
        status=InclusionStatus.EXCLUDE, confidence=0.9, rationale="r", exclusion_reason="not met: a"
    )
    doubted = {"status": "uncertain", "exclusion_reason": None, "uncertain_reason": "no verified quote"}
    told = table(row(decision=said), row(decision=said.model_copy(update=doubted)), row())
    assert [(cells["exclusion_reason"], cells["uncertain_reason"]) for cells in told] == [
        ("not met: a", ""),
        ("", "no verified quote"),
        ("", ""),
    ]


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_a_cell_that_a_spreadsheet_would_execute_is_guarded(start: str) -> None:
    (cells,) = table(row(item={"title": f"{start}cmd|' /C calc'!A0"}))
    assert cells["title"] == f"'{start}cmd|' /C calc'!A0"


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), max_size=5))
def test_any_text_survives_csv(titles: list[str]) -> None:
    written = table(*(row(n, item={"title": title}) for n, title in enumerate(titles)))
    for cells, title in zip(written, titles, strict=True):
        assert unguarded(cells["title"]) == title


def test_jsonl_holds_everything() -> None:
    rows = [row(n, item={"title": "=1+1", "nested": {"a": [1]}}) for n in range(3)]
    stream = io.StringIO()
    assert write_jsonl(rows, stream) == 3
    assert [ItemResult.model_validate_json(line) for line in stream.getvalue().splitlines()] == rows


def test_no_result_at_all_is_a_header_alone() -> None:
    assert table() == []


def test_a_file_appears_when_it_is_complete_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before", "utf-8")
    with replacing(path) as stream:
        stream.write("after")
        stream.flush()
        assert path.read_text("utf-8") == "before"
    assert path.read_text("utf-8") == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before", "utf-8")

    def interrupted() -> None:
        with replacing(path) as stream:
            stream.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text("utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"missing/out\.csv: cannot be written"),
        replacing(tmp_path / "missing/out.csv"),
    ):
        pass
