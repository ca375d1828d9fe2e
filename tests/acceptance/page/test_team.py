"""What the model has done and what people have read are two bars, and the lead sees and invites the people."""

import re

import pytest
from playwright.sync_api import expect

from stage.browser import needs_chromium
from stage.gateway_page import Open, decision, record, write
from stage.screened import SCREENING, Place, decided, write_batch, write_review
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import decide, list_overrides, override, set_screening_mode
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import ScreeningMode

pytestmark = needs_chromium

ROWS = [decided(record(n), decision()) for n in range(3)]


@pytest.mark.night
def test_a_batch_is_called_completed_only_once_people_have_read_it(client: Client, key: str, opened: Open) -> None:
    batch = client.batch(write(client, ROWS, label="spring"))
    override(batch, 0, "include", reviewer="Reviewer A")
    browser = opened()
    page = browser.sign_in(key)
    row = page.get_by_role("row", name=re.compile("spring"))
    expect(row.locator(".badge")).to_have_text("waits for people")
    expect(row.get_by_role("progressbar", name="spring: read by people 1 of 3")).to_have_js_property("value", 1)
    page.get_by_role("link", name="spring").click()
    expect(page.locator("#state")).to_have_text("waits for people")
    expect(page.locator("#state")).not_to_have_class(re.compile("passed"))
    expect(page.get_by_role("progressbar", name="model finished: 3 of 3 done")).to_be_visible()
    people = page.get_by_role("progressbar", name="read by people")
    expect(people).to_have_attribute("aria-label", "read by people 1 of 3")
    expect(page.locator("#people")).to_have_text("read by people 1 of 3")
    for number in (2, 3):
        page.locator(f"#record-{number} .toggle").focus()
        page.keyboard.press("i")
    expect(people).to_have_attribute("aria-label", "read by people 3 of 3")
    expect(page.locator("#state")).to_have_text("completed")
    expect(page.locator("#state")).to_have_class("badge passed")
    assert browser.said == []


@pytest.mark.night
def test_a_review_shows_both_bars_for_each_stage_and_pairs_need_two_people(
    client: Client, key: str, opened: Open
) -> None:
    with client.engine.begin() as connection:
        review = write_review(connection, "Sieves", SCREENING, SCREENING)
        batch_id = write_batch(connection, ROWS, place=Place(review, 0))
    batch = client.batch(str(batch_id))
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    decide(batch, [HumanDecision(0, "include", name) for name in ("Reviewer A", "Reviewer B")])
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in (1, 2)])
    page = opened().sign_in(key)
    stage = page.get_by_role("article", name="Sieves")
    for text in ("model finished: 3 of 3 done", "read by two people 1 of 3"):
        expect(stage.get_by_role("progressbar", name=f"1. inclusion, Sieves: {text}")).to_be_visible()
    page.get_by_role("link", name="Sieves").click()
    expect(page.locator(".stages .badge")).to_have_text("waits for people")
    expect(page.get_by_role("progressbar", name="1. inclusion: read by two people 1 of 3")).to_be_visible()


def test_the_lead_sees_who_has_read_how_much_and_invites_a_reader_whose_key_is_shown_once(
    client: Client, key: str, opened: Open
) -> None:
    batch = client.batch(write(client, ROWS))
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in (0, 1)])
    override(batch, 0, "exclude", reviewer="Reviewer B")
    browser = opened()
    page = browser.sign_in(key, f"/?batch={batch.id}&view=team")
    expect(page.get_by_role("row", name=re.compile("Reviewer A 2 2"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Reviewer B 1 1"))).to_be_visible()
    expect(page.get_by_role("link", name="1 conflict to settle")).to_be_visible()
    assert not re.search("exclude|include", page.locator("#view").inner_text())
    page.get_by_label("Name in decisions").fill("Reviewer C")
    page.keyboard.press("Enter")
    made = page.get_by_label("Key of Reviewer C").input_value()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#said")).to_have_text("The key is copied.")
    assert page.evaluate("navigator.clipboard.readText()") == made
    page.reload()
    expect(page.get_by_label("Name in decisions")).to_be_visible()
    assert made not in page.content()
    assert made not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    page.get_by_role("button", name="Sign out").click()
    page = browser.sign_in(made, f"/?batch={batch.id}&view=work")
    expect(page.locator("#work-title")).to_contain_text("Title 2")
    page.keyboard.press("i")
    expect(page.locator("#unsent")).to_have_attribute("data-waiting", "0", timeout=30_000)
    assert "Reviewer C" in [one.reviewer for one in list_overrides(batch)]
    page.goto(f"{browser.base}/?batch={batch.id}&view=team")
    expect(page.get_by_text("A key with the scope control shows")).to_be_visible()
    expect(page.get_by_role("heading", name="Invite a reader")).to_be_hidden()
    assert browser.said == []


@pytest.mark.night
def test_a_name_that_has_a_key_is_refused_in_words(client: Client, key: str, opened: Open) -> None:
    api_keys.create(client.engine, "Reviewer B", [Scope.READ])
    page = opened().sign_in(key, f"/?batch={write(client, ROWS)}&view=team")
    page.get_by_label("Name in decisions").fill("Reviewer B")
    page.get_by_role("button", name="Make a key").click()
    expect(page.get_by_role("alert")).to_contain_text("'Reviewer B' has a key already: choose another name")
