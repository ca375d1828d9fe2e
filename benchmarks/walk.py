"""The effort of screening on the page: steps to the first decision, keys per decision, time until the next record.

Measured in a real Chromium with a separate gateway process. No model decides, only a person. The benchmark needs
`pip install '.[test]'`, and a chromium on the path.
"""

import argparse
import csv
import math
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from playwright.sync_api import Locator, Page, expect

from stage.browser import chromium
from tamis_cli.embedded.programs import Gateway
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope

from .parts import Ledger, Parts, clean_environment, parts
from .records import MODEL, records
from .report import Cell, Machine, Report, Table

RECORDS, SHORT_RECORDS = 400, 24
READY_WITHIN = 60_000  # ms
CRITERIA = """\
research_question: Does the drug help?
inclusion_criteria: [adults, randomised trials]
exclusion_criteria: [animals, reviews]
"""
# What is said of a record, and the keys that say it.
DECISIONS = {
    "include": ("i",),
    "exclude for the second reason": ("e", "2"),
    "exclude without a reason": ("e", "e"),
    "uncertain": ("u",),
}
UNDO = "undo your last decision"
# Milliseconds from the last key to the frame that shows another record, one number for each record that was shown.
WATCH = """() => {
  const shown = () => document.querySelector(".work-card .eyebrow")?.textContent;
  let [pressed, before] = [0, shown()];
  window.walked = [];
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (!shown() || shown() === before) return;
    before = shown();
    const began = pressed;
    requestAnimationFrame(() => setTimeout(() => window.walked.push(performance.now() - began)));
  }).observe(document.getElementById("view"), { subtree: true, childList: true, characterData: true });
}"""


@dataclass
class Steps:
    """A person's steps on the page, counted."""

    page: Page
    rows: list[list[Cell]] = field(default_factory=list)

    def click(self, what: Locator, name: str) -> None:
        what.click()
        self.rows.append([name, 1, 0, 0])

    def choose(self, name: str, file: Path) -> None:
        """Choose a file in the field of this name."""
        chooser = self.page.get_by_label(name)
        expect(chooser).to_be_visible()
        chooser.set_input_files(file)
        self.rows.append([f"{name}: choose one", 0, 1, 0])

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.rows.append([f"{key.upper()}: the first decision", 0, 0, 1])

    def table(self) -> Table:
        total = [sum(int(row[n] or 0) for row in self.rows) for n in (1, 2, 3)]
        notes = ["from the page, signed in, with the records and the criteria in a file each"]
        rows: list[list[Cell]] = [*self.rows, ["together", *total]]
        return Table("From files to the first decision", ("step", "clicks", "fields", "keys"), rows, notes)


def walk(parts: Parts, count: int) -> list[Table]:
    """Screen `count` records on the page with each kind of decision in turn, undo the last ones, and return tables."""
    with (
        parts.ledger() as ledger,
        gateway_of(parts, ledger) as base,
        TemporaryDirectory() as folder,
        chromium() as browser,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(base)
        page.get_by_label("API key").fill(api_keys.create(ledger.client.engine, "Reviewer A", [*Scope]))
        page.keyboard.press("Enter")
        steps = begin(page, *write_files(Path(folder), count))
        return [steps.table(), decide(page, count)]


def begin(page: Page, records_file: Path, criteria_file: Path) -> Steps:
    """Go from the first page after signing in to the second record, and return the steps."""
    steps = Steps(page)
    steps.click(page.get_by_role("link", name="New review"), "New review")
    steps.choose("Files of records", records_file)
    steps.choose("File of criteria", criteria_file)
    expect(page.get_by_label("Research question")).not_to_have_value("")
    dry_run = page.get_by_role("button", name=re.compile(r"Screen these [\d,]+ records"))
    expect(dry_run).to_be_visible(timeout=READY_WITHIN)  # shown by itself
    steps.click(dry_run, "Screen these records")
    steps.click(page.get_by_role("link", name="Work", exact=True), "Work")
    _is_at(page, 1)
    page.evaluate(WATCH)
    steps.press("i")
    _is_at(page, 2)
    return steps


def decide(page: Page, count: int) -> Table:
    """Decide all records except the first and the last, undo a part of the decisions, and return the times."""
    names = list(DECISIONS)
    said = ["include"]
    for number in range(2, count):
        said.append(names[number % len(names)])
        for key in DECISIONS[said[-1]]:
            page.keyboard.press(key)
        _is_at(page, number + 1)
    undone = count // len(names)
    for number in range(undone):
        page.keyboard.press("z")
        _is_at(page, count - 1 - number)
    expect(page.locator("#unsent")).to_have_attribute("data-waiting", "0", timeout=READY_WITHIN)
    took: list[float] = page.evaluate("window.walked")
    keys = DECISIONS | {UNDO: ("z",)}
    rows: list[Sequence[Cell]] = []
    for name, pressed in keys.items():
        runs = [ms for one, ms in zip([*said, *[UNDO] * undone], took, strict=True) if one == name]
        nine = sorted(runs)[math.ceil(0.95 * len(runs)) - 1]
        rows.append([name, " ".join(pressed).upper(), len(pressed), len(runs), statistics.median(runs), nine])
    columns = ("decision", "pressed", "keys", "times", "median ms", "95 of 100 ms")
    notes = [f"{count:,} records of 1.7 kB; from the last key to the frame after the one that shows another record"]
    return Table("Keys of a decision, and the next record", columns, rows, notes)


def _is_at(page: Page, number: int) -> None:
    expect(page.locator(".work-card .eyebrow")).to_have_text(f"Record {number:,}", timeout=READY_WITHIN)


def write_files(folder: Path, count: int) -> tuple[Path, Path]:
    """Write a file of `count` records and a file of criteria, and return their paths."""
    given = records(count)
    with (folder / "records.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, fieldnames=list(given[0]))
        table.writeheader()
        table.writerows(given)
    (folder / "criteria.yaml").write_text(CRITERIA, "utf-8")
    return folder / "records.csv", folder / "criteria.yaml"


@contextmanager
def gateway_of(parts: Parts, ledger: Ledger) -> Iterator[str]:
    """Yield the address of a separate gateway process for this ledger."""
    told = {"BROKER_URL": ledger.settings.broker, "DATABASE_URL": ledger.settings.database, "MODEL": MODEL}
    environment = clean_environment({f"TAMIS_{name}": value for name, value in told.items()})
    gateway = Gateway(parts.folder / f"gateway-{uuid4().hex[:8]}", environment, usual_port=None)
    gateway.launch()
    try:
        gateway.wait_until_healthy()
        yield gateway.url
    finally:
        gateway.process.kill()


def main() -> None:
    """Print the tables, in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walk", description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--short", action="store_true", help=f"{SHORT_RECORDS} records: shows that it works")
    given = parser.parse_args()
    count = SHORT_RECORDS if given.short else given.records
    report = Report(Machine.here(), {"records": count})
    with parts() as running:
        report.benchmarks["walk"] = walk(running, count)
    sys.stdout.write(report.to_markdown())


if __name__ == "__main__":
    main()
