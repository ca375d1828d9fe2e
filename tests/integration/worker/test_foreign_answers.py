"""What a model answers, and what a record holds, is data everywhere: stored, counted and shown, never obeyed."""

import csv
import io
import json
from typing import Any

import pytest

from llm_double import Scripted
from stage import House
from tamis_producer.results.results_file import write_csv, write_jsonl
from tamis_review.decisions.decided_records import with_decision
from tamis_schemas import Cut, Extract, Filter, Inclusion, SearchCriteria

REASONS = {
    "markup": '<script>alert(1)</script> [bold red]x[/] {{ 7*7 }} ${jndi:ldap://x} <img src=x onerror="y">',
    "sql": "'); DROP TABLE results; -- \" ; DELETE FROM items WHERE 1=1; $1 %s %(x)s :idx",
    "formula": '=HYPERLINK("http://x","y")',
    "another formula": "\t@SUM(1+1)*cmd|' /C calc'!A0",
    "a full-width formula": "\uff1d1+1",
    "escape sequences": "\x1b[2J\x1b]0;x\x07 \x9b31m \u202egnp.exe",
    "nul": "a\x00b",
    "half a character": "a\ud800b",
    "a million characters": "x" * 900_000,
}
QUESTION = Filter(criteria="Is it a trial?")


@pytest.mark.parametrize("kind", REASONS)
def test_an_answer_is_kept_as_text_or_is_an_error_and_every_table_stands(house: House, kind: str) -> None:
    house.fresh()
    answer = {"reasoning": REASONS[kind], "value": True, "confidence": 0.9}
    house.double.script(answers=[Scripted("of the answer", json.dumps(answer))])
    items = [{"id": "1", "title": "of the answer"}, {"id": "2", "title": "another"}]
    batch = house.client.submit(QUESTION, items, use_cache=False)
    counts = batch.wait(60)
    first, second = batch.results()
    assert second.value is True
    # No JSON that we take, or more than an answer may have: an error, never a decision.
    if kind in ("nul", "half a character", "a million characters"):
        assert (counts.decided, counts.failed) == (1, 1)
    else:
        assert counts.decided == 2
        assert first.result is not None
        assert first.result.reasoning == REASONS[kind]
    stream = io.StringIO(newline="")
    write_csv([first, second], stream)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))
    assert len(rows) == 2
    for row in rows:
        for cell in row.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))
    stream = io.StringIO()
    write_jsonl([first, second], stream)
    assert len(stream.getvalue().splitlines()) == 2 or kind == "escape sequences"
    assert house.worker.process.poll() is None


@pytest.mark.parametrize("kind", [kind for kind in REASONS if kind != "a million characters"])
def test_a_value_is_text_too(house: House, kind: str) -> None:
    house.fresh()
    answer = {"reasoning": "r", "value": REASONS[kind], "confidence": 0.9}
    house.double.script(answers=[Scripted("of the answer", json.dumps(answer))])
    batch = house.client.submit(
        Extract(instruction="Take it.", output_type="text"), [{"id": "1", "title": "of the answer"}], use_cache=False
    )
    counts = batch.wait(60)
    assert counts.decided + counts.failed == 1
    (row,) = batch.results()
    if counts.decided:
        assert row.value == REASONS[kind].strip()


@pytest.mark.parametrize("kind", [kind for kind in REASONS if kind not in ("nul", "half a character")])
def test_a_record_is_text_in_prompt_ledger_and_tables(house: House, kind: str) -> None:
    house.fresh()
    text = REASONS[kind][:300_000]
    batch = house.client.submit(QUESTION, [{"id": text[:900], "title": text, "model": text}], use_cache=False)
    assert batch.wait(60).decided == 1
    (row,) = batch.results()
    assert row.item["title"] == text


def test_what_is_cut_is_said_to_the_model_and_wherever_a_result_is_read(house: House) -> None:
    house.fresh()
    text = "plausible words " * 20_000  # 320,000 characters, of which 319,999 are sent as they are folded
    items: list[dict[str, Any]] = [{"id": "long", "title": "T", "abstract": text}, {"id": "short", "title": "T"}]
    criteria = SearchCriteria(research_question="Q?", inclusion_criteria=["adults"])
    batch = house.client.submit(Inclusion(criteria=criteria), items, use_cache=False)
    batch.wait(60)
    long, short = batch.results()
    assert short.cut == {}
    assert set(long.cut) == {"abstract"}
    cut = long.cut["abstract"]
    assert isinstance(cut, Cut)
    # 100,000 less the names and the title ("title: T", "abstract: "), and less what the last word needs
    assert 99_950 < cut.sent < 100_000
    assert cut.of == 319_999
    prompts = [str(call.messages) for call in house.double.calls()]
    (sent,) = [prompt for prompt in prompts if "plausible words" in prompt]
    assert f"[cut here: {cut.sent} of 319999 characters are shown]" in sent
    assert len(sent) < 110_000
    words = f"abstract {cut.sent:,} of 319,999 characters"
    assert long.cut_words == words
    stream = io.StringIO()
    write_csv([long, short], stream)
    assert [row["cut"] for row in csv.DictReader(io.StringIO(stream.getvalue()))] == [words, ""]
    assert json.loads(long.model_dump_json())["cut"] == {"abstract": [cut.sent, 319_999]}
    assert f"[not sent in full: {words}]" in with_decision(long)["_tamis_reason"]
    summary = batch.summary()
    assert summary is not None
    assert summary.cut == 1
