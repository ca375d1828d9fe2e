"""A day of a review, in two browsers: page, figure, methods, terminal and tables count the same at every moment."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2 as httpx
import pytest
from playwright.sync_api import Page, expect

from stage import one_ledger, tamis
from stage.browser import needs_chromium
from stage.gateway_page import Open, Opened, decision, everything_is_sent
from stage.plain_counts import Reckoned, numbers, reckoned
from stage.published_pair import Published, published
from stage.screened import Ledgered, answer, decided, failed, kept_out, written_batch
from stage.shared_data import DATA, needs_real_records
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import Exclusion, Inclusion
from tamis_schemas.batches.flow import BY_HUMAN

pytestmark = [needs_chromium, needs_real_records]
client, base = one_ledger.client, one_ledger.base

CRITERIA = DATA.parent / "cases" / "review" / "snhl.yaml"
FIRST, SECOND, LEAD = "Reviewer A", "Reviewer B", "Lead"
KEYS = {"include": ("i",), "exclude": ("e", "Enter"), "uncertain": ("u",)}
WORDS = {"passed": "include", "excluded": "exclude", "ineligible": "exclude"}
SAME = {"duplicate", "uncertain", "conflict"}  # outcomes that exports name so
BOXES = "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"


def screened(records: list[Published]) -> list[Ledgered]:
    """What the model said of them: sometimes nothing; and behind them a copy, and a record that the filter removed."""
    rows = []
    for place, record in enumerate(records):
        word = "uncertain" if place % 12 == 7 else "exclude" if place % 3 else "include"
        reason = "Wrong age cohort" if word == "exclude" else None
        said = decision(word, 0.8, exclusion_reason=reason)
        rows.append(failed(record.item(), "timeout") if place % 12 == 5 else decided(record.item(), said))
    copy = Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)
    old = Exclusion(rule="date_range", reason="of 1976")
    return [*rows, kept_out({"id": "copy", "title": "A copy"}, copy), kept_out({"id": "old", "title": "Old"}, old)]


class Reader:
    """A person at a browser of their own, who reads what Work shows."""

    def __init__(self, browser: Opened, key: str, batch_id: str, words: list[str]) -> None:
        self.words = words
        self.page = browser.sign_in(key, f"/?batch={batch_id}&view=work")
        self.card = self.page.locator(".work-card .eyebrow")

    def read(self, count: int) -> None:
        """Decide on the next records with the keyboard, as far as there are any."""
        for _ in range(count):
            expect(self.card.or_(self.page.locator("#work-title")).first).to_be_visible()
            if not self.card.count():
                break
            here = self.card.inner_text()
            for key in KEYS[self.words[int(re.sub(r"\D", "", here)) - 1]]:
                self.page.keyboard.press(key)
            expect(self.card.filter(has_text=re.compile(rf"^{here}$", re.IGNORECASE))).to_have_count(0)
        everything_is_sent(self.page)

    def take_back(self) -> None:
        self.page.keyboard.press("z")
        everything_is_sent(self.page)

    def settle(self, batch_id: str) -> None:
        """Settle every conflict, the first as an include, the next as an exclusion, and so on."""
        self.page.goto(self.page.url.replace("view=work", "view=conflicts"))
        expect(self.page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
        cards = self.page.locator(".work-line")
        for n in range(cards.count()):
            for key in KEYS["exclude" if n % 2 else "include"]:
                self.page.keyboard.press(key)
        expect(self.page.get_by_role("heading", name="Every conflict is settled")).to_be_visible()
        everything_is_sent(self.page)
        self.page.goto(self.page.url.replace("view=conflicts", "view=work"))
        expect(self.page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)


@dataclass
class Day:
    """The batch, and everything that names numbers of it."""

    client: Client
    batch_id: str
    watch: Opened
    key: str
    environment: dict[str, str]
    folder: Path

    def terminal(self, command: str, *options: str) -> str:
        done = tamis(command, self.batch_id, *options, env=self.environment, cwd=self.folder)
        assert done.code == 0, done.out + done.err
        return done.out

    def listed(self, **query: object) -> dict[str, Any]:
        headers, path = {"Authorization": f"Bearer {self.key}"}, f"{self.watch.base}/v1/batches/{self.batch_id}/work"
        told = httpx.get(path, headers=headers, params={"show": "all", "limit": 1, **query})  # type: ignore[dict-item]
        counts: dict[str, Any] = told.raise_for_status().json()["counts"]
        return counts

    def view(self, address: str) -> Page:
        self.watch.page.goto(f"{self.watch.base}/?batch={self.batch_id}{address}")
        expect(self.watch.page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
        return self.watch.page

    def check(self) -> None:
        """Hold every number of page, figure, methods and terminal against the tables."""
        with self.client.engine.connect() as connection:
            records = reckoned(connection, UUID(self.batch_id))
        finals = Counter(one.final for one in records)
        human = [one for one in records if one.by_human]
        of_people = Counter(one.final for one in human)
        self._check_figure(finals, of_people)
        self._check_methods(records, finals, human)
        self._check_lists(records, finals)
        status = json.loads(self.terminal("status", "--json"))
        changed = sum(one.software != one.final for one in human)
        assert (status["human_decisions"], status["overridden"]) == (len(human), changed)
        assert status["conflicts"] == finals["conflict"]

    def _check_figure(self, finals: Counter[str], of_people: Counter[str]) -> None:
        """The figure on the page, as a drawing and as a table, and at the terminal."""
        page = self.view("")
        table = {}
        box = ""
        for phase, title, n in page.locator("#boxes tr").evaluate_all(BOXES):
            box = title if phase else box
            table[box if phase else f"{box}: {title}"] = n.replace(",", "")
        figures = json.loads(self.terminal("report", "--format", "json"))
        lines = {one["box"]: one["n"] for one in figures["boxes"]}
        lines |= {f"{one['box']}: {part['text']}": part["n"] for one in figures["boxes"] for part in one["parts"]}
        assert table == {name: "" if n is None else str(n) for name, n in lines.items()}
        (included,) = [name for name in lines if re.fullmatch("Records included by screening( so far)?", name)]
        assert lines[included] == finals["passed"]
        assert lines.get(f"{included}: of these, by a human", 0) == of_people["passed"]
        assert lines["Records excluded"] == finals["excluded"]
        assert lines["Records excluded: by a human"] == of_people["excluded"]
        assert lines["Records referred to a human"] == finals["uncertain"] + finals["conflict"] + finals["failed"]
        assert lines["Records removed before screening"] == finals["duplicate"] + finals["ineligible"]
        drawing = "".join((page.locator("#flow svg").text_content() or "").split())
        drawn = [int(n.replace(",", "")) for n in re.findall(r"(?<!decided)byahuman\(n=([\d,]+)\)", drawing)]
        assert sorted(drawn) == sorted([of_people["excluded"], *filter(None, [of_people["passed"]])])
        assert "".join(BY_HUMAN.split()) in drawing

    def _check_methods(self, records: list[Reckoned], finals: Counter[str], human: list[Reckoned]) -> None:
        told = self.terminal("report", "--format", "md").replace("\\", "")
        of_people = Counter(one.final for one in human)
        alone = [finals["excluded"] - of_people["excluded"], finals["passed"] - of_people["passed"]]
        assert numbers(r"A language model alone excluded # and included #\.", told) == alone
        settled = sum(one.software in {"uncertain", "failed", "cancelled", "open"} for one in human)
        confirmed = sum(one.software == one.final for one in human)
        changed = [confirmed, len(human) - confirmed - settled, settled]
        pattern = "confirmed for @ and changed for @; @ had no decision by the software"
        assert numbers(pattern, told) == (changed if human else [])
        by_people = "By these decisions, # excluded by a human, and # included"
        assert numbers(by_people, told) == ([of_people["excluded"], of_people["passed"]] if human else [])
        assert numbers("Reviewers disagreed on #;", told) == [finals["conflict"]] * bool(finals["conflict"])
        resolved = sum(one.settler is not None for one in records)
        assert numbers("For #, the decision of", told) == [resolved] * bool(resolved)

    def _check_lists(self, records: list[Reckoned], finals: Counter[str]) -> None:
        """Work, its filters, the conflicts and the export."""
        todo = sum(one.word is None and one.software not in {"duplicate", "ineligible"} for one in records)
        words = self.view("&view=work&show=all&outcome=passed").locator(".work-counts").inner_text()
        conflicts = f"; {finals['conflict']} in conflict" if finals["conflict"] else ""
        assert re.sub(r"\d+ decided by me", "", words) == (
            f"{finals['passed']} found. {todo} to do, , of {len(records)}{conflicts}."
        )
        for outcome in ("excluded", "uncertain", "failed", "conflict", "duplicate", "ineligible"):
            counts = self.listed(outcome=outcome)
            assert (outcome, counts["found"], counts["todo"]) == (outcome, finals[outcome], todo)
        assert len(self.terminal("conflicts", "--json").splitlines()) == finals["conflict"]
        self.terminal("export", "-o", "day.csv")
        with (self.folder / "day.csv").open(encoding="utf-8-sig", newline="") as stream:
            exported = Counter(row["tamis_decision"] for row in csv.DictReader(stream))
        expected: Counter[str] = Counter()
        for outcome, n in finals.items():
            expected[outcome if outcome in SAME else WORDS.get(outcome, "not decided")] += n
        assert exported == expected


@pytest.mark.night  # by day, the numbers: tests/integration/review/report/test_counted_decisions.py
@pytest.mark.parametrize(
    ("count", "looks"),
    [
        pytest.param(24, {2, 6, 9}, id="24 records, three moments"),
        pytest.param(200, set(range(10)), id="200 records, ten moments"),
    ],
)
def test_a_day_of_a_review_has_one_number_for_each_thing_wherever_it_is_read(
    client: Client, base: str, opened: Open, tmp_path: Path, count: int, looks: set[int]
) -> None:
    records = published(count)
    batch = written_batch(
        client, screened(records), operation=Inclusion(criteria=read_criteria(CRITERIA)), source=None, state="running"
    )
    keys = {name: api_keys.create(client.engine, name, [*Scope]) for name in (FIRST, SECOND, LEAD)}
    first = Reader(opened(), keys[FIRST], batch.id, [one.first for one in records])
    second = Reader(
        opened(), keys[SECOND], batch.id, ["uncertain" if n % 9 == 4 else one.second for n, one in enumerate(records)]
    )
    environment = {"TAMIS_DATABASE_URL": client.settings.database_url, "TAMIS_BROKER_URL": client.settings.broker_url}
    watch = opened()
    watch.batch(keys[LEAD], batch.id)
    day, turn = Day(client, batch.id, watch, keys[LEAD], environment, tmp_path), count // 4

    def imported() -> None:
        with (tmp_path / "second.csv").open("w", newline="", encoding="utf-8") as stream:
            rows = csv.writer(stream)
            rows.writerow(["id", "title", "decision"])
            rows.writerows([one.id, one.title, one.second] for one in records[turn : 2 * turn])
        day.terminal("import-decisions", "second.csv", "--reviewer", SECOND)

    def tried_again() -> None:
        for place in (n for n, row in enumerate(screened(records)) if row.error_kind):
            answer(client, batch.id, place, decided({}, decision("include" if place % 2 else "exclude")))

    def corrected() -> None:
        day.terminal("override", "copy", "include", "--reviewer", LEAD)  # the copy is none
        other = "include" if records[0].first == "exclude" else "exclude"
        day.terminal("override", records[0].id, other, "--reviewer", FIRST)
        day.terminal("override", "old", "exclude", "--reviewer", LEAD)

    moments: list[Callable[[], object]] = [
        lambda: None,
        lambda: first.read(turn),
        lambda: second.read(turn),  # the same records
        imported,
        lambda: first.read(turn),
        first.take_back,
        lambda: second.settle(batch.id),
        tried_again,
        corrected,
        lambda: second.read(count),
    ]
    for number, happens in enumerate(moments):
        happens()
        if number in looks:
            day.check()
    with client.engine.connect() as connection:
        ended = reckoned(connection, UUID(batch.id))
    assert {one.word for one in ended} >= {"include", "exclude", "uncertain"}
    assert any(one.settler for one in ended)
    assert [one.page.url for one in (first, second) if "work" not in one.page.url] == []
