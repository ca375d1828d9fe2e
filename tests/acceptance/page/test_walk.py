"""The keys and steps that docs/page.md counts are those of the page."""

import re
import sys
from pathlib import Path

import pytest

from stage.browser import needs_chromium
from stage.gateway_page import Open
from tamis_producer import Client

pytestmark = needs_chromium

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))  # the benchmarks lie beside the packages, not among them

RECORDS = 6


@pytest.mark.night
def test_the_document_counts_the_steps_and_keys_that_a_decision_takes(
    client: Client, key: str, opened: Open, tmp_path: Path
) -> None:
    from benchmarks.walk import begin, decide, write_files

    browser = opened()
    page = browser.sign_in(key)
    steps = begin(page, *write_files(tmp_path, RECORDS)).table()
    decisions = decide(page, RECORDS)
    text = (ROOT / "docs" / "page.md").read_text("utf-8")
    said = {row[0]: row[1] for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)}
    _, clicks, fields, keys = steps.rows[-1]
    assert said["from files to the first decision"].startswith(f"{clicks} clicks, {fields} fields, {keys} key: ")
    shown = {str(row[0]): " ".join(f"`{one}`" for one in str(row[1]).split()) for row in decisions.rows}
    names = {"exclude without a reason": "exclude"}
    assert {names.get(name, name): pressed for name, pressed in shown.items()}.items() <= said.items()
    assert sum(int(str(row[3])) for row in decisions.rows) == RECORDS - 1 + RECORDS // 4
    assert browser.said == []
