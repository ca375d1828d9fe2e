"""What `python -m benchmarks.work_page` measures is there to be measured: on a small batch, whatever the waits are."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from stage.browser import needs_chromium
from stage.gateway_page import Open
from tamis_producer import Client

pytestmark = needs_chromium

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))  # the benchmarks lie beside the packages, not among them

RECORDS = 120


@pytest.mark.night
def test_each_wait_that_the_document_bounds_is_measured_on_the_page(client: Client, key: str, opened: Open) -> None:
    from benchmarks.records import records
    from benchmarks.work_list import QUESTION, decide
    from benchmarks.work_page import measure, measure_table

    given = records(RECORDS)
    batch = client.submit(QUESTION, given)
    decide(SimpleNamespace(client=client), batch.id)
    browser = opened()
    page = browser.sign_in(key)
    address = f"{page.url.partition('?')[0]}?batch={batch.id}"
    table = measure(page, f"{address}&view=work", given, repetitions=1)
    rows = [*table.rows, *measure_table(page, address, RECORDS, repetitions=2)]
    waits = {str(name): (asked, took) for name, asked, took, _ in rows}
    assert all(float(str(took)) > 0 for _, took in waits.values())
    text = (ROOT / "docs" / "performance.md").read_text("utf-8")
    documented = [line.strip("| ").split(" | ") for line in text.splitlines() if line.count(" | ") == 2]
    assert {cells[0]: int(cells[1].replace(",", "")) for cells in documented if cells[0] in waits} == {
        name: asked for name, (asked, _) in waits.items()
    }
    assert browser.said == []
