"""The Conflicts view: what people decided differently is read side by side and settled, record by record."""

import re

import pytest
from playwright.sync_api import Page, expect

from stage import one_ledger
from stage.browser import CONTRAST, needs_chromium
from stage.gateway_page import Open, Opened, everything_is_sent, few, send_again, write
from stage.screened import CRITERIA
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import list_conflicts, list_overrides, override, set_screening_mode, withdraw_override
from tamis_schemas import ScreeningMode

pytestmark = needs_chromium
client, base = one_ledger.client, one_ledger.base

NARROW = [(320, 900), (640, 450)]  # the last is 1280 x 900 at 200 %


def differed(client: Client, *indices: int) -> str:
    """Return a batch on which two people decided differently about these records, and alike about the first."""
    batch_id = write(client, few())
    for index, first, second in [(0, "include", "include"), *((one, "include", "exclude") for one in indices)]:
        override(client.batch(batch_id), index, first, reviewer="Reviewer A", note="the dose is given")
        override(client.batch(batch_id), index, second, reviewer="Reviewer B", reason="Animal studies")
    return batch_id


def conflicts(key: str, browser: Opened, batch_id: str) -> Page:
    page = browser.sign_in(key, f"/?batch={batch_id}&view=conflicts")
    expect(page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
    return page


def test_a_third_person_settles_each_conflict_with_the_keyboard_and_takes_the_last_back(
    client: Client, opened: Open
) -> None:
    batch_id, browser = differed(client, 1, 2, 3), opened()
    override(client.batch(batch_id), 2, "uncertain", reviewer="Reviewer B")
    third = api_keys.create(client.engine, "Reviewer C", list(Scope))
    page = conflicts(third, browser, batch_id)
    article = page.get_by_role("article", name="Record 2")
    voices = article.get_by_role("list", name="Who decided what").get_by_role("listitem")
    expect(voices).to_have_count(2)
    expect(voices.nth(0)).to_contain_text(re.compile("Reviewer A.*include.*the dose is given", re.DOTALL))
    expect(voices.nth(1)).to_contain_text(re.compile("Reviewer B.*exclude.*Reason: Animal studies", re.DOTALL))
    expect(article.get_by_text("Abstract 1.")).to_be_visible()
    # What the software says is shown on demand, and for this record alone.
    expect(article.get_by_text("because", exact=True)).to_have_count(0)
    expect(article.locator("mark")).to_have_count(0)
    article.get_by_role("button", name="Show the software’s decision").click()
    expect(article.get_by_text("because", exact=True)).to_be_visible()
    expect(article.get_by_text("Reason: Animal studies")).to_have_count(2)
    page.get_by_label("Order").select_option("Largest disagreement first")
    expect(page.locator(".work-line .n")).to_have_text(["2", "4", "3"])
    page.locator("#work-title").focus()
    page.keyboard.press("n")
    page.keyboard.type("include, as I read it")
    page.keyboard.press("Enter")
    page.keyboard.press("e")
    page.get_by_role("group", name="Exclude, because …").get_by_role("button", name="Animal studies").wait_for()
    page.keyboard.press(str(1 + [one.reason for one in CRITERIA.labelled()].index("Animal studies")))
    article = page.get_by_role("article", name="Record 4")
    expect(article.get_by_role("button", name="Show the software’s decision")).to_have_attribute(
        "aria-expanded", "false"
    )
    page.keyboard.press("i")
    expect(page.get_by_role("article", name="Record 3")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_role("heading", name="Every conflict is settled")).to_be_focused()
    page.keyboard.press("z")
    expect(page.get_by_role("article", name="Record 3")).to_be_visible()
    everything_is_sent(page)
    settled = [one for one in list_overrides(client.batch(batch_id)) if one.reviewer == "Reviewer C"]
    assert [(one.index, one.value, one.reason, one.note, one.settles) for one in settled] == [
        (1, "exclude", "Animal studies", "include, as I read it", True),
        (3, "include", None, None, True),
    ]
    assert [one.index for one in list_conflicts(client.batch(batch_id))] == [2]
    assert browser.said == []


@pytest.mark.night
def test_one_of_the_pair_may_settle_and_taken_back_the_first_decision_stands_again(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = differed(client, 1)
    page = conflicts(key, opened(), batch_id)
    article = page.get_by_role("article", name="Record 2")
    expect(article.get_by_role("listitem").filter(has_text="Reviewer A (you)")).to_be_visible()
    article.get_by_role("button", name="Exclude").click()
    page.get_by_role("button", name="No reason").click()
    heading = page.get_by_role("heading", name="Every conflict is settled")
    expect(heading).to_be_visible()
    everything_is_sent(page)
    assert list_conflicts(client.batch(batch_id)) == []
    page.get_by_role("button", name="Undo").click()
    expect(article).to_be_visible()
    everything_is_sent(page)
    (again,) = list_conflicts(client.batch(batch_id))
    mine = next(one for one in again.decisions if one.reviewer == "Reviewer A")
    assert (mine.value, mine.note, mine.settles) == ("include", "the dose is given", False)


@pytest.mark.night
def test_who_settled_a_record_settles_it_anew_in_work_and_taken_back_the_first_settles_again(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = differed(client, 1)
    override(client.batch(batch_id), 1, "include", reviewer="Reviewer A", note="both read it", settles=True)
    page = opened().sign_in(key, f"/?batch={batch_id}&view=work&show=mine")
    expect(page.locator(".work-card .eyebrow")).to_have_text("Record 1")
    page.keyboard.press("j")
    page.keyboard.press("u")
    everything_is_sent(page)
    assert [(one.final_value, one.conflict) for one in client.batch(batch_id).results([1])] == [("uncertain", False)]
    page.keyboard.press("z")
    everything_is_sent(page)
    mine = next(one for one in list_overrides(client.batch(batch_id)) if (one.index, one.reviewer) == (1, "Reviewer A"))
    assert (mine.value, mine.note, mine.settles) == ("include", "both read it", True)


@pytest.mark.night
def test_what_is_refused_because_its_record_is_hidden_keeps_back_nothing_behind_it(
    client: Client, opened: Open
) -> None:
    batch_id = differed(client, 1, 2)
    third = api_keys.create(client.engine, "Reviewer C", list(Scope))
    page = conflicts(third, opened(), batch_id)
    page.route("**/override", lambda route: route.abort())
    page.keyboard.press("i")
    page.keyboard.press("i")
    expect(page.locator("#unsent")).to_contain_text("2 decisions are unsent")
    set_screening_mode(client.batch(batch_id), ScreeningMode.PAIR, set_by="Lead")
    withdraw_override(client.batch(batch_id), 1, reviewer="Reviewer B")
    page.unroute("**/override")
    send_again(page)
    expect(page.locator("#unsent")).to_have_attribute("data-waiting", "1", timeout=30_000)
    expect(page.locator("#unsent")).to_contain_text("Record 2, “include”, was not saved: No. 2 (index 1) is")
    assert [
        (one.index, one.settles) for one in list_overrides(client.batch(batch_id)) if one.reviewer == "Reviewer C"
    ] == [(2, True)]
    page.get_by_role("button", name="Discard it").click()
    everything_is_sent(page)


@pytest.mark.night
def test_a_record_is_said_to_be_settled_once_the_gateway_has_answered(client: Client, key: str, opened: Open) -> None:
    batch_id = differed(client, 1, 2)
    page = conflicts(key, opened(), batch_id)
    page.route("**/override", lambda _: None)  # it is not answered
    page.keyboard.press("i")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Every conflict is decided")).to_be_visible()
    card = page.locator(".work-card")
    expect(card).to_contain_text("2 decisions are unsent.You settled 0 records.")
    expect(page.locator(".work-line .badge")).to_have_text(["include, not sent"] * 2)
    page.unroute("**/override")  # it goes on
    expect(page.get_by_role("heading", name="Every conflict is settled")).to_be_visible()
    expect(card).to_contain_text("You settled 2 records.")
    expect(page.locator(".work-status")).to_have_text("Record 3 is settled: include.")


@pytest.mark.night
def test_what_settles_is_sent_again_once_the_gateway_is_back(client: Client, key: str, opened: Open) -> None:
    batch_id, browser = differed(client, 1, 2), opened()
    page = conflicts(key, browser, batch_id)
    page.route("**/override", lambda route: route.abort())
    page.keyboard.press("i")
    expect(page.locator("#unsent")).to_contain_text("1 decision is unsent")
    page.on("dialog", lambda asked: asked.accept())
    page.reload()
    expect(page.get_by_role("article", name="Record 3")).to_be_visible()  # the first is known to be settled
    page.unroute("**/override")
    send_again(page)
    everything_is_sent(page)
    assert [one.index for one in list_conflicts(client.batch(batch_id))] == [2]
    assert len([one for one in list_overrides(client.batch(batch_id), history=True) if one.settles]) == 1


@pytest.mark.night
def test_it_reads_well_on_a_phone_and_in_the_dark(client: Client, key: str, opened: Open) -> None:
    batch_id = differed(client, 1)
    for width, height in NARROW:
        browser = opened(viewport=width, scheme="dark")
        browser.page.set_viewport_size({"width": width, "height": height})
        page = conflicts(key, browser, batch_id)
        page.get_by_role("button", name="Show the software’s decision").click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(CONTRAST, [".conflicts-voice *", ".conflicts-software *", ".work-side *"]) == {}


@pytest.mark.night
def test_how_far_the_two_agree_stands_below_a_conflict_and_leads_to_the_records(
    client: Client, key: str, opened: Open
) -> None:
    batch_id, browser = differed(client, 1, 2), opened(viewport=320)
    override(client.batch(batch_id), 3, "exclude", reviewer="Reviewer A")
    override(client.batch(batch_id), 3, "exclude", reviewer="Reviewer B")
    page = conflicts(key, browser, batch_id)
    line = page.get_by_role("region", name="Agreement")
    # Of four, A says include three times, B once: kappa = (1/2 - 3/8) / (1 - (3/4 * 1/4 + 1/4 * 3/4)) = 0.125 / 0.625.
    expect(line).to_contain_text("Reviewer A and Reviewer B agree on 50.0% of the 4 records that both decided")
    expect(line).to_contain_text(re.compile(r"Cohen’s kappa 0\.20 \(95% interval -?\d\.\d\d to \d\.\d\d\)"))
    expect(line.get_by_role("link")).to_have_text(["1 include / include", "2 include / exclude", "1 exclude / exclude"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    line.get_by_role("link", name="2: Reviewer A include, Reviewer B exclude").click()
    behind = page.get_by_role("region", name="2 records: Reviewer A include, Reviewer B exclude")
    expect(behind.get_by_role("listitem")).to_have_text([re.compile("^2:"), re.compile("^3:")])
    expect(behind).to_be_in_viewport()
    assert browser.said == []


@pytest.mark.night
def test_nothing_is_said_of_the_agreement_of_people_who_still_read_blind(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = differed(client, 1)
    set_screening_mode(client.batch(batch_id), ScreeningMode.PAIR, set_by="Lead")
    page = conflicts(key, opened(), batch_id)
    expect(page.get_by_role("article", name="Record 2")).to_be_visible()
    expect(page.get_by_role("region", name="Agreement")).to_have_count(0)
    page.keyboard.press("i")
    expect(page.get_by_text("a conflict appears once two people have decided on its record")).to_be_visible()
    everything_is_sent(page)
