"""The Run view: what an operator sees of a batch and does with it, beside its figure."""

import re

from playwright.sync_api import expect

from stage import abstracts
from stage.browser import CONTRAST, needs_chromium
from stage.gateway_page import ONCOLOGY, Open, few, write
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Priority, ScreeningMode

pytestmark = needs_chromium


def test_a_running_batch_gets_another_priority_and_budget_and_is_paused_and_resumed(
    client: Client, key: str, opened: Open
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3), max_cost=1, model="gpt-5-mini")
    browser = opened()
    page = browser.sign_in(key, f"/?batch={batch.id}&view=run")
    expect(page.locator("#waits")).to_contain_text("no worker is running")
    expect(page.locator(".run-facts")).to_contain_text("$0.00 of $1.00 spent")
    page.get_by_label("Where batches wait for each other", exact=True).select_option("high")
    page.get_by_role("button", name="Set the priority").click()
    expect(page.get_by_text("Its priority is high.")).to_be_visible()
    assert batch.status().priority is Priority.HIGH
    page.get_by_label("New budget in dollars").fill("20")
    page.get_by_role("button", name="Set the budget").click()
    expect(page.locator("#pace")).to_contain_text("budget $20.00")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#waits")).to_contain_text("until somebody resumes it")
    page.get_by_label("New budget in dollars").fill("30")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#pace")).to_contain_text("budget $30.00")
    expect(page.locator(".run-facts")).to_contain_text("$0.00 of $30.00 spent")
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Cancel 3 records").click()
    expect(page.get_by_label("the 3 cancelled")).to_be_checked()
    expect(page.get_by_role("button", name="Set the priority")).to_have_count(0)
    assert batch.status().state == "cancelled"
    assert browser.said == []


def test_failures_labels_and_the_mode_of_reading_are_told_and_lead_on(client: Client, key: str, opened: Open) -> None:
    batch = client.batch(write(client, few()))
    batch.remark([0, 2], labels=["to discuss"], reviewer="Reviewer B")
    browser = opened(viewport=360, scheme="dark")
    page = browser.sign_in(key, f"/?batch={batch.id}&view=run")
    row = page.get_by_role("table", name="What failed").get_by_role("row", name=re.compile("timeout"))
    expect(row).to_contain_text("timeout 1")
    label = page.get_by_role("link", name="to discuss")
    expect(label).to_have_attribute("href", f"/?batch={batch.id}&view=work&show=all&label=to%20discuss")
    expect(page.get_by_text("Nobody has set it")).to_be_visible()
    audit = page.get_by_label("The model decides, people audit it")
    expect(audit).to_have_accessible_description(re.compile("random sample of what the model excluded"))
    page.get_by_label("In pairs, blind").check()
    page.get_by_role("button", name="Set how people read").click()
    expect(page.get_by_text("Set by Reviewer A")).to_be_visible()
    assert batch.screening_mode().mode is ScreeningMode.PAIR
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(CONTRAST, ["dt", "dd", "label", ".small", "button", "a", "td", "th"]) == {}
    page.get_by_label("Ask again about").select_option(label="those that failed with timeout")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.locator("#pace")).to_contain_text("round 2")
    assert batch.status().counts.pending == 1
    assert browser.said == []


def test_whoever_only_reads_is_told_and_offered_nothing(client: Client, opened: Open) -> None:
    reader = api_keys.create(client.engine, "A reader", [Scope.READ])
    page = opened().sign_in(reader, f"/?batch={write(client, few())}&view=run")
    expect(page.get_by_role("table", name="What failed")).to_be_visible()
    expect(page.get_by_label("In pairs, blind")).to_be_disabled()
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
