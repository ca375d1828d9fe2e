"""A person's wait on the page of a large batch: for the first record, a filter, a decision, the next record.

Measured in a real Chromium with a separate gateway process that serves no other user. The benchmark needs
`pip install '.[test]'`, and a chromium on the path.
"""

import argparse
import re
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playwright.sync_api import Page, expect

from stage.browser import chromium
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope

from .parts import Parts, parts
from .records import records
from .report import Cell, Machine, Report, Table, spread
from .walk import READY_WITHIN, gateway_of
from .work_list import ITEMS, QUESTION, READER, SHORT_ITEMS, decide

REPETITIONS, SHORT_REPETITIONS = 7, 2
DECIDED = 40  # records, at most
TABLE, SHORT_TABLE = 10_000, 1_000  # records of the table below a figure, which the page holds all at once
COLUMNS = ("what is waited for", "asked, ms", "ms", "each run")
FIRST_VIEW, FILTER, DECISION, NEXT_RECORD = 1_500, 300, 100, 50  # ms: what a person is to wait at most
SORTED, TABLE_DECISION = 10_000, 2_000  # ms, of the table
# What a select of the filters is set to, and what that is called.
FILTERS = {
    "all records": ("show", "all"),
    "an outcome": ("outcome", "excluded"),
    "a reason": ("reason", "animals"),
    "a label": ("label", "to discuss"),
}
# Milliseconds: from the address to the frame after the first record; from a filter, or the request of a search, to the
# frame after its records; from a key to the answer of the gateway, and to the frame after another record.
WATCH = """() => {
  window.waits = { first: null, filtered: [], answered: [], next: [] };
  let [pressed, changed, arrived, before] = [0, null, false, null];
  const shown = () => document.querySelector(".work-card .eyebrow")?.textContent;
  const drawn = (tell) => requestAnimationFrame(() => setTimeout(() => tell(performance.now())));
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  addEventListener("change", (event) => { [changed, arrived] = [event.timeStamp, false]; }, true);
  const ask = window.fetch;
  window.fetch = async (address, options) => {
    const first = before !== null && /[/]work[?]/.test(address) && !/[?&]after=/.test(address);
    if (first && (changed === null || /[?&]q=/.test(address))) [changed, arrived] = [performance.now(), false];
    const answer = await ask(address, options);
    if (options?.method === "POST") {
      window.waits.answered.push(performance.now() - pressed);
    } else if (String(address).includes("/work?")) {
      const read = answer.json.bind(answer);
      answer.json = async () => { const told = await read(); arrived = true; return told; };
    }
    return answer;
  };
  new MutationObserver(() => {
    if (arrived && changed !== null) {
      const began = changed;
      changed = null;
      drawn((now) => window.waits.filtered.push(now - began));
    }
    if (!shown() || shown() === before) return;
    if (before === null) drawn((now) => { window.waits.first = now; });
    else if (pressed) { const began = pressed; drawn((now) => window.waits.next.push(now - began)); }
    before = shown();
  }).observe(document, { subtree: true, childList: true, characterData: true });
}"""

PAGE = 100  # rows of the table that are shown at once

UNTIL = """async (within) => {
  const end = Date.now() + within;
  while (!(CONDITION) && Date.now() < end) await new Promise((resume) => setTimeout(resume, 10));
  return CONDITION;
}"""


def work_page(running: Parts, count: int, rows: int, repetitions: int) -> Table:
    """Measure the work list of `count` records (open, filter, decide), then the table of `rows` records."""
    with running.ledger() as ledger, gateway_of(running, ledger) as base, chromium() as browser:
        given = records(count)
        batch = ledger.client.submit(QUESTION, given)
        batch.pause()
        decide(ledger, batch.id)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(base)
        page.get_by_label("API key").fill(api_keys.create(ledger.client.engine, READER, [Scope.READ, Scope.DECIDE]))
        page.keyboard.press("Enter")
        expect(page.locator("#whose")).to_contain_text(READER)
        table = measure(page, f"{base}?batch={batch.id}&view=work", given, repetitions)
        listed = ledger.client.submit(QUESTION, records(rows))
        listed.pause()
        decide(ledger, listed.id)
        return replace(
            table,
            rows=[*table.rows, *measure_table(page, f"{base}?batch={listed.id}", rows, repetitions)],
            notes=[*table.notes, f"the table below a figure has {rows:,} records"],
        )


def measure(page: Page, address: str, given: Sequence[dict[str, Any]], repetitions: int) -> Table:
    """Return the waits on the work list at `address`. A person is signed in, and the batch has the records `given`."""
    page.add_init_script(f"({WATCH})()")
    rows = [_row("the first record", FIRST_VIEW, _first_views(page, address, repetitions))]
    rows += [
        _row(f"a filter: {name}", FILTER, _filtered(page, address, *chosen, repetitions))
        for name, chosen in FILTERS.items()
    ]
    rows += [
        _row(f"a search: {name}", FILTER, _searched(page, address, words, repetitions))
        for name, words in searches(given).items()
    ]
    answered, following = _decided(page, address, min(DECIDED, max(2, len(given) // 100)))
    rows += [_row("a decision, answered", DECISION, answered), _row("the next record", NEXT_RECORD, following)]
    notes = [
        f"{len(given):,} records of 1.7 kB, each decided by the model; {READER} had decided on one in 20; medians",
        "a search is timed from its request, which the page sends 0.3 s after the last letter",
    ]
    return Table("The page of a large batch", COLUMNS, rows, notes)


def measure_table(page: Page, address: str, rows: int, repetitions: int) -> list[list[Cell]]:
    """Return two waits: until the table is shown sorted by confidence, and from a key to the row with its decision."""
    tables, decisions = [], []
    for n in range(repetitions):
        began = time.perf_counter()
        page.goto(address, wait_until="commit")
        expect(page.locator("#rows .row")).to_have_count(min(rows, PAGE), timeout=READY_WITHIN)
        column = page.get_by_role("button", name="Confidence", exact=True)
        column.click()
        expect(page.locator("th", has=column)).to_have_attribute("aria-sort", re.compile("scending"))
        tables.append(1000 * (time.perf_counter() - began))
        page.locator("#rows .toggle").nth(n).focus()
        began = time.perf_counter()
        page.keyboard.press("i")
        expect(page.locator("#rows .row").nth(n).locator(".human")).to_be_visible(timeout=READY_WITHIN)
        decisions.append(1000 * (time.perf_counter() - began))
    return [
        _row("the table, sorted", SORTED, tables),
        _row("a decision in the table", TABLE_DECISION, decisions),
    ]


def searches(given: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the texts to search for: a word of many records, which fill the page at once, and a title."""
    return {"a word of many": given[0]["title"].split()[1], "a title": given[len(given) // 2]["title"]}


def _row(name: str, most: int, runs: list[float]) -> list[Cell]:
    return [name, most, statistics.median(runs), spread(runs)]


def _opened(page: Page, address: str) -> None:
    page.goto(address)
    _until(page, "window.waits.first !== null")


def _first_views(page: Page, address: str, repetitions: int) -> list[float]:
    runs = []
    for _ in range(repetitions + 1):
        _opened(page, address)
        runs.append(page.evaluate("window.waits.first"))
    return runs[1:]  # before the first the gateway has read nothing of the batch


def _filtered(page: Page, address: str, name: str, value: str, repetitions: int) -> list[float]:
    _opened(page, address)
    page.get_by_text("More filters").click()
    field = page.locator(f"#work-{name}")
    expect(field.locator(f"option[value='{value}']")).to_have_count(1)
    usual = field.input_value()
    for n in range(repetitions):
        for at, chosen in enumerate((value, usual)):
            field.select_option(chosen)
            _until(page, f"window.waits.filtered.length === {2 * n + at + 1}")
    runs: list[float] = page.evaluate("window.waits.filtered")
    return runs[::2]  # those behind them take the filter off


def _searched(page: Page, address: str, words: str, repetitions: int) -> list[float]:
    _opened(page, address)
    for n in range(repetitions):
        for at, given in enumerate((words, "")):
            page.locator("#work-q").fill(given)
            _until(page, f"window.waits.filtered.length === {2 * n + at + 1}")
    runs: list[float] = page.evaluate("window.waits.filtered")
    return runs[::2]


def _decided(page: Page, address: str, count: int) -> tuple[list[float], list[float]]:
    _opened(page, address)
    for n in range(count):
        page.keyboard.press("i")
        _until(page, f"window.waits.next.length === {n + 1} && window.waits.answered.length === {n + 1}")
    waits = page.evaluate("window.waits")
    return waits["answered"], waits["next"]


def _until(page: Page, condition: str) -> None:
    """Wait on the page itself. Its content security policy forbids playwright's own way of waiting."""
    if not page.evaluate(UNTIL.replace("CONDITION", condition), READY_WITHIN):
        raise TimeoutError(f"not within {READY_WITHIN} ms: {condition}")


def main() -> None:
    """Print the table, in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.work_page", description=__doc__)
    parser.add_argument("--records", type=int, default=ITEMS)
    parser.add_argument("--short", action="store_true", help=f"{SHORT_ITEMS} records: shows that it works")
    given = parser.parse_args()
    count, repetitions = (SHORT_ITEMS, SHORT_REPETITIONS) if given.short else (given.records, REPETITIONS)
    rows = SHORT_TABLE if given.short else TABLE
    report = Report(Machine.here(), {"records": count})
    with parts() as running:
        report.benchmarks["work_page"] = [work_page(running, count, rows, repetitions)]
    sys.stdout.write(report.to_markdown())


if __name__ == "__main__":
    main()
