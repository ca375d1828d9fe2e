"""A published review's records, screened again by two people in two browsers who do not see each other's decisions."""

import csv
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from playwright.sync_api import Page, Route, expect

from stage import tamis
from stage.browser import needs_chromium
from stage.gateway_page import Open, Opened, decision, everything_is_sent, write
from stage.published_pair import CRITERIA, THIRD, Published, published
from stage.screened import decided
from stage.shared_data import needs_real_records
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import set_screening_mode
from tamis_schemas import Inclusion

pytestmark = [needs_chromium, needs_real_records]

FIRST, SECOND, SETTLER = "Reviewer A", "Reviewer B", "Reviewer C"
# Beside the six records on which the published readers differ: what the second says otherwise here, and how it ends.
OTHERWISE = {"7": "uncertain", "8": "exclude"}
SETTLED = THIRD | {"7": "exclude", "8": "include"}
MODELS = "quixotic"  # a word of the model's, that stands in no record
ALONE = "Decide alone: other decisions appear once two people have decided."
KEYS = {"include": "i", "exclude": "e", "uncertain": "u"}
TURN = 8  # records that one decides before the other does
OF_HIDDEN = {"i", "id", "ids", "title", "fields", "by"}  # what is told of a record before
REASONS = len(CRITERIA.inclusion_criteria) + len(CRITERIA.exclusion_criteria)


class Reviewed:
    """The records, and what everybody says of them: the truth that page, report, terminal and API are held to."""

    def __init__(self, count: int) -> None:
        self.records = published(count)
        self.first = [one.first for one in self.records]
        self.second = [OTHERWISE.get(one.id, one.second) for one in self.records]
        self.model = ["exclude" if place % 3 else "include" for place in range(count)]
        self.conflicts = [place for place in range(count) if self.first[place] != self.second[place]]
        self.final = [
            SETTLED[one.id] if place in self.conflicts else one.first for place, one in enumerate(self.records)
        ]

    def write(self, client: Client) -> str:
        """A batch of them with the model's decisions, read blind by pairs."""
        rows = [
            decided(record.item(), decision(value, 0.8, rationale=_models_word(record)))
            for record, value in zip(self.records, self.model, strict=True)
        ]
        batch_id = write(client, rows, operation=Inclusion(criteria=CRITERIA), source=None)
        set_screening_mode(client.batch(batch_id), "pair", set_by="Lead")
        return batch_id

    def overridden(self) -> int:
        """The records on which people say otherwise than the model."""
        return sum(one != other for one, other in zip(self.final, self.model, strict=True))

    def kappa(self) -> float:
        """Cohen's kappa of the two: (po - pe) / (1 - pe)."""
        n, first, second = len(self.records), Counter(self.first), Counter(self.second)
        chance = sum(first[value] * second[value] for value in first) / n**2
        return (1 - len(self.conflicts) / n - chance) / (1 - chance)


class Person:
    """Whoever screens, what the gateway sent to their browser, and on which records they have decided."""

    def __init__(self, name: str, browser: Opened, reviewed: Reviewed, said: list[str]) -> None:
        self.name, self.browser, self.page, self.said = name, browser, browser.page, said
        self.decided: set[int] = set()
        self.other: Person | None = None
        self.told_of_hidden = 0
        self._records = reviewed.records
        self._answers: list[tuple[str, str, set[int]]] = []
        self.page.route("**/v1/**", self._hear)

    def screen(self, places: range) -> None:
        """Decide by the keyboard on the records that are shown, each of them alone."""
        for place in places:
            card = self.page.locator(".work-card")
            expect(card.locator(".eyebrow")).to_have_text(f"Record {place + 1:,}")
            expect(card.locator(".notice")).to_have_text(ALONE)
            assert self.page.locator(".work-said, .work-card .badge").count() == 0
            shown = self.page.locator("main").inner_text()
            assert MODELS not in shown
            assert self.other is None or self.other.name not in shown
            self.decided.add(place)
            self.page.keyboard.press(KEYS[self.said[place]])
            if self.said[place] == "exclude":
                self.page.keyboard.press(str(1 + place % REASONS))
        everything_is_sent(self.page)
        self._check()

    def _hear(self, route: Route) -> None:
        both = self.decided & (self.other.decided if self.other else set())
        answer = route.fetch()
        self._answers.append((route.request.url, answer.text(), both))
        route.fulfill(response=answer)

    def _check(self) -> None:
        """What was sent tells nothing of a record on which not both had decided by then."""
        for url, text, both in self._answers:
            hidden = [record for place, record in enumerate(self._records) if place not in both]
            assert [record.id for record in hidden if _models_word(record) in text] == [], url
            if "/work?" in url:
                of_hidden = [one for one in json.loads(text)["items"] if one["index"] not in both]
                assert all(one["hidden"] and one["row"].keys() <= OF_HIDDEN for one in of_hidden)
                self.told_of_hidden += len(of_hidden)
            assert self.other is None or self.other.name not in text, url
        self._answers.clear()


def _models_word(record: Published) -> str:
    return f"{MODELS} {record.id}."


@dataclass(frozen=True)
class Told:
    """What API and terminal say of the batch."""

    batch_id: str
    base: str
    key: str
    environment: dict[str, str]
    folder: Path

    def api(self, what: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.get(f"{self.base}/v1/batches/{self.batch_id}/{what}", headers=headers).raise_for_status()

    def terminal(self, command: str, *options: str) -> str:
        done = tamis(command, self.batch_id, *options, env=self.environment, cwd=self.folder)
        assert done.code == 0, done.err
        return done.out

    @staticmethod
    def rows(lines: str) -> list[Any]:
        return [json.loads(line) for line in lines.splitlines() if line]


@pytest.mark.night
@pytest.mark.parametrize("count", [24, 200])
def test_two_people_screen_alone_a_third_settles_and_every_figure_says_the_same(
    client: Client, opened: Open, environment: dict[str, str], tmp_path: Path, count: int
) -> None:
    reviewed = Reviewed(count)
    batch_id = reviewed.write(client)
    keys = {name: api_keys.create(client.engine, name, [*Scope]) for name in (FIRST, SECOND, SETTLER)}
    first = Person(FIRST, opened(), reviewed, reviewed.first)
    second = Person(SECOND, opened(), reviewed, reviewed.second)
    first.other, second.other = second, first
    for person in (first, second):
        person.browser.sign_in(keys[person.name], f"/?batch={batch_id}&view=work")
    for began in range(0, count, TURN):
        for person in (first, second):
            person.screen(range(began, min(began + TURN, count)))
    assert first.told_of_hidden >= count
    assert second.told_of_hidden >= count
    told = Told(batch_id, first.browser.base, keys[SETTLER], environment, tmp_path)
    differing = told.rows(told.terminal("conflicts", "--json"))
    assert differing == told.api("conflicts").json()["items"]
    assert [one["index"] for one in differing] == reviewed.conflicts
    both = zip(reviewed.first, reviewed.second, strict=True)
    said = [{one["reviewer"]: one["value"] for one in record["decisions"]} for record in differing]
    assert said == [{FIRST: one, SECOND: other} for one, other in both if one != other]
    page = opened().sign_in(keys[SETTLER], f"/?batch={batch_id}&view=conflicts")
    _settle(page, reviewed)
    page.locator("#views").get_by_role("link", name="Figure and report").click()
    _check_figures(page, told, reviewed)
    _check_agreement(told, reviewed)
    _check_outcomes(told, reviewed)
    assert [first.browser.said, second.browser.said] == [[], []]


def _check_figures(page: Page, told: Told, reviewed: Reviewed) -> None:
    """The figure on the page, the report, the same at the terminal and over HTTP."""
    count, included, excluded = len(reviewed.records), *map(reviewed.final.count, ("include", "exclude"))
    boxes = {
        "Records identified": count,
        "Records removed before screening": 0,
        "Records screened by a language model": count,
        "Records excluded": excluded,
        "Records referred to a human": 0,
        "Records included by screening": included,
    }
    expect(page.locator("#flow svg")).to_contain_text(re.compile(rf"by screening \(n\s=\s{included}\)"))
    assert _boxes(page.locator("#boxes").inner_html()) == boxes
    assert _boxes(told.api("report").text) == boxes
    figures = told.api("report?form=json").json()
    assert {one["box"]: one["n"] for one in figures["boxes"]} == boxes
    assert json.loads(told.terminal("report", "--format", "json"))["boxes"] == figures["boxes"]
    assert figures["batches"][0]["final_outcomes"] == {"passed": included, "excluded": excluded}


def _check_agreement(told: Told, reviewed: Reviewed) -> None:
    """That of the two, without whoever settled, and that of people with the model."""
    count = len(reviewed.records)
    agreement = told.api("agreement").json()
    assert json.loads(told.terminal("agreement", "--json"))["people"] == agreement["people"]
    (pair,) = agreement["people"]
    assert (pair["first"], pair["second"], pair["agreement"]["n"]) == (FIRST, SECOND, count)
    assert pair["agreement"]["observed"] == pytest.approx(1 - len(reviewed.conflicts) / count)
    assert pair["agreement"]["kappa"] == pytest.approx(reviewed.kappa())
    assert agreement["overrides"]["observed"] == pytest.approx(1 - reviewed.overridden() / count)


def _check_outcomes(told: Told, reviewed: Reviewed) -> None:
    """No conflict is left, and each record ends as it should."""
    assert told.api("conflicts").json()["items"] == told.rows(told.terminal("conflicts", "--json")) == []
    status = json.loads(told.terminal("status", "--json"))
    assert (status["human_decisions"], status["overridden"]) == (len(reviewed.records), reviewed.overridden())
    assert status["conflicts"] == 0
    told.terminal("export", "-o", "decided.csv")
    with (told.folder / "decided.csv").open(encoding="utf-8-sig", newline="") as stream:
        exported = {row["id"]: row["tamis_decision"] for row in csv.DictReader(stream)}
    final = {record.id: value for record, value in zip(reviewed.records, reviewed.final, strict=True)}
    assert exported == final
    assert {row["item_id"]: row["final_value"] for row in told.rows(told.api("results?form=ndjson").text)} == final


def _boxes(html: str) -> dict[str, int]:
    """The boxes of a flow's table, with their numbers."""
    found = re.findall(r'<tr class="box">.*?<th scope="row">(.*?)</th><td class="number">([\d,]+)</td>', html)
    return {box: int(n.replace(",", "")) for box, n in found}


def _settle(page: Page, reviewed: Reviewed) -> None:
    """By the keyboard, one conflict after the other, with what both said beside it."""
    for place in reviewed.conflicts:
        voices = page.get_by_role("article", name=f"Record {place + 1}").locator(".conflicts-voice")
        expect(voices).to_have_count(2)
        for n, (name, said) in enumerate([(FIRST, reviewed.first), (SECOND, reviewed.second)]):
            expect(voices.nth(n)).to_contain_text(name)
            expect(voices.nth(n).locator(".badge")).to_have_text(said[place])
        for key in {"include": ("i",), "exclude": ("e", "Enter")}[reviewed.final[place]]:
            page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Every conflict is settled")).to_be_visible()
    everything_is_sent(page)
