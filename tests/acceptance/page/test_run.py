"""The Run view: what an operator sees of a batch and does with it, beside its figure."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from stage import abstracts, one_ledger
from stage.browser import CONTRAST, needs_chromium
from stage.gateway_page import ONCOLOGY, Open, few, write
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import get_screening_mode, list_overrides, remark, set_screening_mode
from tamis_schemas import Priority, ScreeningMode

pytestmark = needs_chromium
client, base = one_ledger.client, one_ledger.base


def test_a_running_batch_gets_another_priority_and_budget_and_is_paused_and_resumed(
    client: Client, key: str, opened: Open
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3), max_cost=1, model="gpt-5-mini")
    browser = opened()
    page = browser.sign_in(key, f"/?batch={batch.id}&view=run")
    expect(page.locator("#waits")).to_contain_text("no worker is running")
    expect(page.locator(".run-facts")).to_contain_text("$0.00 of $1.00 spent")
    page.get_by_label("Priority of this batch", exact=True).select_option("high")
    page.get_by_role("button", name="Set priority").click()
    expect(page.get_by_text("The priority is now high.")).to_be_visible()
    assert batch.status().priority is Priority.HIGH
    page.get_by_label("New budget in dollars").fill("20")
    page.get_by_role("button", name="Set budget").click()
    expect(page.locator("#pace")).to_contain_text("budget $20.00")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#waits")).to_contain_text("until a person resumes the batch")
    page.get_by_label("New budget in dollars").fill("30")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#pace")).to_contain_text("budget $30.00")
    expect(page.locator(".run-facts")).to_contain_text("$0.00 of $30.00 spent")
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Cancel 3 records").click()
    expect(page.get_by_label("the 3 cancelled")).to_be_checked()
    expect(page.get_by_role("button", name="Set priority")).to_have_count(0)
    assert batch.status().state == "cancelled"
    assert browser.said == []


@pytest.mark.night
def test_failures_labels_and_the_mode_of_reading_are_told_and_lead_on(client: Client, key: str, opened: Open) -> None:
    batch = client.batch(write(client, few()))
    remark(batch, [0, 2], labels=["to discuss"], reviewer="Reviewer B")
    browser = opened(viewport=360, scheme="dark")
    page = browser.sign_in(key, f"/?batch={batch.id}&view=run")
    row = page.get_by_role("table", name="Failures by round and kind").get_by_role("row", name=re.compile("timeout"))
    expect(row).to_contain_text("timeout 1")
    label = page.get_by_role("link", name="to discuss")
    expect(label).to_have_attribute("href", f"/?batch={batch.id}&view=work&show=all&label=to%20discuss")
    expect(page.get_by_text("This is the default mode.")).to_be_visible()
    audit = page.get_by_label("The model decides, people audit it")
    expect(audit).to_have_accessible_description(re.compile("random sample of the model’s exclusions"))
    page.get_by_label("In pairs, blind").check()
    page.get_by_role("button", name="Set screening mode").click()
    expect(page.get_by_text("Set by Reviewer A")).to_be_visible()
    assert get_screening_mode(batch).mode is ScreeningMode.PAIR
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(CONTRAST, ["dt", "dd", "label", ".small", "button", "a", "td", "th"]) == {}
    page.get_by_label("Records to retry").select_option(label="only timeout")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.locator("#pace")).to_contain_text("round 2")
    assert batch.status().counts.pending == 1
    assert browser.said == []


@pytest.mark.night
def test_decisions_made_elsewhere_are_shown_as_they_are_read_and_then_recorded(
    client: Client, key: str, opened: Open, tmp_path: Path
) -> None:
    batch, browser = client.batch(write(client, few())), opened()
    votes = tmp_path / "votes.csv"
    votes.write_text("id,title,vote,why\nr0,,in,\nr1,,so-so,\nr2,,out,seen\nx,Nowhere,in,\n", "utf-8")
    page = browser.sign_in(key, f"/?batch={batch.id}&view=run")
    section = page.get_by_role("region", name="Decisions made elsewhere")
    section.get_by_text("Import a file of decisions").click()
    look = section.get_by_role("button", name="Preview the file")
    section.get_by_label("File of decisions").set_input_files(votes)
    look.click()
    who = section.get_by_label("Name of the reviewer")
    expect(who).to_be_focused()
    expect(section.get_by_role("alert")).to_have_text(re.compile("who decided.*say “Name of the reviewer”$"))
    expect(who).to_have_accessible_description(re.compile("who decided"))
    who.fill("Reviewer B")
    look.click()
    expect(section.get_by_label("Words that mean include")).to_be_focused()
    expect(section.get_by_role("alert")).to_contain_text("'so-so' (1)")
    section.get_by_label("Words that mean uncertain").fill("so-so")
    section.get_by_label("Column of the note").fill("what")
    look.click()
    expect(section.get_by_label("Column of the note")).to_be_focused()
    expect(section.get_by_role("alert")).to_contain_text("votes.csv: no column 'what'")
    section.get_by_label("Column of the note").fill("why")
    look.click()
    told = section.get_by_role("status")
    expect(told).to_contain_text("note from “why”")
    expect(told).to_contain_text("so-so = uncertain")
    expect(told).to_contain_text("line 5: x Nowhere the batch has no such record")
    assert list_overrides(batch) == []
    section.get_by_role("button", name="Record 3 decisions").click()
    expect(told).to_have_text(re.compile("3 decisions recorded for Reviewer B, on titles and abstracts.$"))
    assert [(one.index, one.value, one.reviewer, one.note) for one in list_overrides(batch)] == [
        (0, "include", "Reviewer B", None),
        (1, "uncertain", "Reviewer B", None),
        (2, "exclude", "Reviewer B", "seen"),
    ]
    section.get_by_label("Name of the reviewer").fill("Reviewer C")
    section.get_by_label("Column of the note").fill("")
    votes.write_text("", "utf-8")
    look.click()
    expect(section.get_by_role("alert")).to_contain_text("choose it again")
    third = tmp_path / "third.csv"
    third.write_text("id,vote\nr0,out\n", "utf-8")
    section.get_by_label("File of decisions").set_input_files(third)
    look.click()
    section.get_by_role("button", name="Record 1 decision").click()
    expect(section.get_by_role("link", name="1 record is in conflict")).to_have_attribute(
        "href", f"/?batch={batch.id}&view=conflicts"
    )
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    look.click()
    expect(section.get_by_role("alert")).to_contain_text("people read blind")
    assert not [one for one in browser.said if "403" not in one and "422" not in one]


@pytest.mark.night
def test_whoever_only_reads_is_told_and_offered_nothing(client: Client, opened: Open) -> None:
    reader = api_keys.create(client.engine, "A reader", [Scope.READ])
    page = opened().sign_in(reader, f"/?batch={write(client, few())}&view=run")
    expect(page.get_by_role("table", name="Failures by round and kind")).to_be_visible()
    expect(page.get_by_label("In pairs, blind")).to_be_disabled()
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
