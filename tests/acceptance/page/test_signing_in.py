"""A key opens the page, stays in its tab, and what it does not allow is not there."""

from playwright.sync_api import expect

from stage.browser import needs_chromium
from stage.gateway_page import Open, few, write
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope

pytestmark = needs_chromium


def test_an_address_with_a_key_signs_in_and_keeps_the_key_nowhere_but_in_the_tab(key: str, opened: Open) -> None:
    browser = opened()
    browser.page.goto(f"{browser.base}/?new#key={key}")
    expect(browser.page.get_by_text("Signed in as Reviewer A")).to_be_visible()
    assert browser.page.url == f"{browser.base}/?new"
    assert not any(key in url for url in browser.requests)
    assert browser.said == []


def test_an_address_with_a_key_that_opens_nothing_asks_for_another(opened: Open) -> None:
    browser = opened()
    browser.page.goto(f"{browser.base}/#key=tamis_0123456789ab_wrong")
    expect(browser.page.get_by_label("API key")).to_be_focused()
    expect(browser.page.get_by_text("This key is not valid here")).to_be_visible()
    assert browser.page.url == f"{browser.base}/"


def test_a_wrong_key_opens_nothing_and_a_right_one_stays_in_its_tab(client: Client, key: str, opened: Open) -> None:
    write(client, few())
    browser = opened()
    page = browser.page
    page.goto(browser.base)
    page.get_by_label("API key").fill("tamis_00_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This key is not valid here")
    expect(page.locator("#batches")).to_be_hidden()
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="citations.ris")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    assert page.context.cookies() == []
    page.reload()
    expect(page.get_by_text("Signed in as Reviewer A")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_key_that_may_only_read_sees_no_way_to_change_anything(client: Client, opened: Open) -> None:
    reader = api_keys.create(client.engine, "A reader", [Scope.READ])
    page = opened().batch(reader, write(client, few()))
    page.get_by_role("button", name="Show all details on this page").click()
    for hidden in ("Pause", "Resume", "Retry failed", "Cancel …", "Include", "Exclude"):
        expect(page.get_by_role("button", name=hidden, exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="New review")).to_be_hidden()
    page.locator("#record-1 .toggle").focus()
    page.keyboard.press("e")
    expect(page.locator("#record-1 .badge")).to_have_text("include")
