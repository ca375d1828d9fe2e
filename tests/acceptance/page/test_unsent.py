"""Decisions arrive from whichever view is open, and every view says which of them have not."""

import pytest
from playwright.sync_api import Page, Route, expect

from stage import one_ledger, wait_until
from stage.browser import needs_chromium
from stage.gateway_page import Open, decision, everything_is_sent, few, record, write
from stage.screened import decided
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import list_overrides

pytestmark = needs_chromium
client, base = one_ledger.client, one_ledger.base

OVERRIDES = "**/items/*/override"


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Tamis")).to_be_visible()


@pytest.mark.night
def test_what_is_decided_on_a_slow_line_is_sent_by_the_view_that_is_opened_next(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = write(client, [decided(record(n), decision()) for n in range(5)])
    page = opened().sign_in(key, f"/?batch={batch_id}&view=work")
    page.route(OVERRIDES, lambda _: None)  # none is answered
    for number in range(1, 6):
        expect(page.locator(".work-card .eyebrow")).to_have_text(f"Record {number}")
        page.keyboard.press("i")
    with page.expect_request(OVERRIDES):  # by the other view, so nobody is asked whether to leave
        page.get_by_role("link", name="Reviews and batches").click()
    expect(page.get_by_role("status").filter(has_text="5 decisions are unsent")).to_contain_text("has not answered yet")
    page.unroute(OVERRIDES)  # they go on
    everything_is_sent(page)
    expect(page.locator("#said")).to_have_text("Everything is saved.")
    expect(page.locator("#unsent")).to_be_empty()
    history = list_overrides(client.batch(batch_id), history=True)
    assert [(one.index, one.value) for one in history] == [(n, "include") for n in range(5)]


def test_unsent_decisions_wait_for_the_person_who_made_them_and_nobody_else_sends_them(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = write(client, few())
    other, renewed = (api_keys.create(client.engine, who, list(Scope)) for who in ("Reviewer B", "Reviewer A"))
    page = opened().sign_in(key, f"/?batch={batch_id}&view=work")
    unsent = page.locator("#unsent")
    page.route(OVERRIDES, lambda route: route.abort())
    expect(page.locator(".work-card .eyebrow")).to_have_text("Record 1")
    page.keyboard.press("i")
    expect(unsent).to_contain_text("1 decision is unsent. The gateway does not answer. This browser keeps it")
    page.unroute(OVERRIDES)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    expect(unsent).to_contain_text("1 decision of Reviewer A is unsent. Nobody is signed in.")
    sign_in(page, other)
    everything_is_sent(page)  # of this person
    expect(unsent).to_be_empty()
    page.get_by_role("button", name="Sign out").click()
    expect(unsent).to_contain_text("1 decision of Reviewer A")
    sign_in(page, renewed)
    everything_is_sent(page)
    assert [(one.index, one.value, one.reviewer) for one in list_overrides(client.batch(batch_id))] == [
        (0, "include", "Reviewer A")
    ]


@pytest.mark.night
def test_what_is_decided_in_the_table_outlasts_its_view_and_a_refusal_is_shown_in_any(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = write(client, few())
    page = opened().batch(key, batch_id)
    page.route(OVERRIDES, lambda route: route.abort())
    for number, letter in ((1, "e"), (2, "i")):
        page.locator(f"#record-{number} .toggle").focus()
        page.keyboard.press(letter)
    expect(page.locator("#unsent")).to_contain_text("2 decisions are unsent")
    expect(page.locator("#said")).to_be_empty()
    page.unroute(OVERRIDES)
    page.route("**/items/1/override", lambda route: route.fulfill(status=409, json={"detail": "it is settled"}))
    page.get_by_role("link", name="Quality").click()
    unsent = page.locator("#unsent p")
    expect(unsent).to_have_count(1)
    expect(unsent).to_contain_text("Record 2, “include”, was not saved: it is settled")
    page.unroute("**/items/1/override")
    page.get_by_role("link", name="Figure and report").click()
    unsent.get_by_role("button", name="Send again").click()
    everything_is_sent(page)
    expect(page.locator("#record-2 .badge")).to_have_text("include")
    assert [(one.index, one.value) for one in list_overrides(client.batch(batch_id))] == [
        (0, "exclude"),
        (1, "include"),
    ]


@pytest.mark.night
def test_a_key_that_is_revoked_is_named_and_a_tab_that_is_opened_anew_says_what_waits(
    client: Client, key: str, opened: Open
) -> None:
    batch_id, browser = write(client, few()), opened()
    page = browser.sign_in(key, f"/?batch={batch_id}&view=work")
    expect(page.locator(".work-card .eyebrow")).to_have_text("Record 1")
    api_keys.revoke(client.engine, key.split("_")[1])
    page.keyboard.press("i")
    page.keyboard.press("n")
    page.keyboard.type("see page 3")
    page.keyboard.press("Enter")
    expect(page.locator("#unsent")).to_contain_text("2 decisions and notes are unsent. This key is not valid here")
    expect(page.locator("#unsent")).to_contain_text("when Reviewer A signs in with a valid key")
    again = page.context.new_page()
    again.goto(browser.base)
    expect(again.locator("#unsent")).to_contain_text("2 decisions and notes of Reviewer A are unsent")
    sign_in(again, api_keys.create(client.engine, "Reviewer A", list(Scope)))
    everything_is_sent(again)
    everything_is_sent(page)  # what the other tab has sent
    assert [one.reviewer for one in list_overrides(client.batch(batch_id))] == ["Reviewer A"]
    again.close()


@pytest.mark.night
def test_what_is_on_its_way_while_the_tab_is_closed_arrives_and_is_written_once(
    client: Client, key: str, opened: Open
) -> None:
    batch_id, browser, held = write(client, few()), opened(), list[Route]()
    page = browser.sign_in(key, f"/?batch={batch_id}&view=work")
    expect(page.locator(".work-card .eyebrow")).to_have_text("Record 1")
    page.context.route(OVERRIDES, lambda route: held.append(route))
    with page.expect_request(OVERRIDES):
        page.keyboard.press("i")
    with page.expect_event("dialog") as asked:
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto("about:blank")
    assert asked.value.type == "beforeunload"
    held[0].continue_()
    wait_until(lambda: len(list_overrides(client.batch(batch_id))) == 1, within=30, what="the decision is written")
    page.context.unroute(OVERRIDES)
    page.goto(f"{browser.base}/?batch={batch_id}&view=run")  # it has not heard the answer
    everything_is_sent(page)
    assert len(list_overrides(client.batch(batch_id), history=True)) == 1
