"""Decisions are found, opened on their reasons, and overridden with one key."""

import re

import pytest
from playwright.sync_api import expect

from stage import one_ledger
from stage.browser import needs_chromium
from stage.gateway_page import Open, decision, few, record, write
from stage.screened import CRITERIA, Ledgered, decided
from tamis_producer import Client
from tamis_review import list_conflicts, list_overrides, overrides, set_screening_mode
from tamis_schemas import HumanStage, ItemStatus

pytestmark = needs_chromium
client, base = one_ledger.client, one_ledger.base


@pytest.mark.night
def test_decisions_are_searched_filtered_and_opened_on_their_reasons(client: Client, key: str, opened: Open) -> None:
    page = opened().batch(key, write(client, few()))
    page.get_by_label("Search", exact=True).fill("apples")
    expect(page.locator("#rows .title")).to_have_text(["Apples", "apples again"])
    page.get_by_label("Decision", exact=True).select_option("exclude (1)")
    expect(page.locator("#rows .title")).to_have_text(["Apples"])
    page.get_by_role("button", name="Record 2: details").click()
    detail = page.locator("#detail-2")
    expect(detail).to_contain_text("Animal studies")
    expect(detail.locator("blockquote")).to_have_text("“Abstract 1”")
    assert detail.locator("mark").evaluate("mark => mark.firstChild.textContent") == "Abstract 1"


def test_one_key_decides_and_one_takes_it_back(client: Client, key: str, opened: Open) -> None:
    batch_id = write(client, few())
    page = opened().batch(key, batch_id)
    page.get_by_label("Decision", exact=True).select_option("uncertain (1)")
    expect(page.locator("#flow svg")).to_contain_text(re.compile(r"uncertain\) \(n\s=\s1\)"))
    page.locator("#record-3 .toggle").focus()
    page.keyboard.press("i")
    expect(page.locator("#record-3 .badge")).to_have_text("include")  # it stays where it is, with the focus
    expect(page.locator("#record-3 .toggle")).to_be_focused()
    expect(page.locator("#flow svg")).to_contain_text(re.compile(r"uncertain\) \(n\s=\s0\)"))  # the flow follows
    page.keyboard.press("w")
    expect(page.locator("#record-3 .badge")).to_have_text("uncertain")
    assert list_overrides(client.batch(batch_id)) == []
    assert [one.withdrawn for one in list_overrides(client.batch(batch_id), history=True)] == [False, True]
    page.keyboard.press("w")
    expect(page.locator("#said")).to_contain_text("there is no decision to withdraw")


@pytest.mark.night
def test_a_note_is_kept_with_a_decision_and_keys_are_letters_while_it_is_written(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = write(client, few())
    page = opened().batch(key, batch_id)
    page.get_by_role("button", name="Record 4: details").click()
    detail = page.locator("#detail-4")
    detail.get_by_label("Note").focus()
    page.keyboard.type("i even read it twice")
    assert list_overrides(client.batch(batch_id)) == []
    detail.get_by_role("button", name="Exclude").click()
    expect(page.locator("#record-4 .badge")).to_have_text("exclude")
    (override,) = list_overrides(client.batch(batch_id))
    assert (override.value, override.note) == ("exclude", "i even read it twice")
    expect(page.locator("#detail-4 .note")).to_have_text("i even read it twice")
    expect(page.locator("#detail-4").get_by_role("button", name="Exclude")).to_be_focused()


@pytest.mark.night
def test_the_report_of_a_record_that_passed_is_retrieved_and_assessed_with_a_reason(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = write(client, few())
    page = opened().batch(key, batch_id)
    page.get_by_role("button", name="Record 1: details").click()
    detail = page.locator("#detail-1")
    detail.get_by_role("button", name="Retrieved", exact=True).click()
    expect(page.locator("#said")).to_contain_text("Record 1: “Retrieved” by you.")
    detail.get_by_label("Reason").fill("wrong age")
    detail.get_by_role("button", name="Exclude full text").click()
    expect(page.locator("#said")).to_contain_text("Record 1: “Exclude full text” by you, wrong age.")
    place = detail.get_by_label("Link to the full text, or its file name")
    for address in ("https://example.org/first.pdf", "https://example.org/second.pdf"):
        place.fill(address)
        detail.get_by_role("button", name="Save full text").click()
        expect(detail.get_by_role("link", name="full text")).to_have_attribute("href", address)
    (row,) = client.batch(batch_id).results([0])
    assert row.notes == ("Reviewer A: full text: https://example.org/second.pdf",)
    expect(place).to_have_value(address)
    said = [(one.index, one.stage, one.value, one.reason) for one in list_overrides(client.batch(batch_id))]
    assert said == [
        (0, HumanStage.RETRIEVAL, "retrieved", None),
        (0, HumanStage.FULL_TEXT, "exclude", "wrong age"),
    ]
    expect(page.locator("#flow svg")).to_contain_text(re.compile(r"Reports excluded \(n\s=\s1\)"))
    page.get_by_role("button", name="Record 2: details").click()
    expect(page.locator("#detail-2").get_by_role("button", name="Exclude full text")).to_have_count(0)


@pytest.mark.night
def test_a_record_may_be_decided_before_the_software_has(client: Client, key: str, opened: Open) -> None:
    page = opened().batch(key, write(client, [Ledgered(record(0), ItemStatus.PENDING)], state="running"))
    page.locator("#record-1 .toggle").focus()
    page.keyboard.press("i")
    expect(page.locator("#record-1 .badge")).to_have_text("include")


@pytest.mark.night
def test_a_conflict_is_shown_with_who_said_what_and_settled_there(client: Client, key: str, opened: Open) -> None:
    batch_id = write(client, few())
    overrides.override(client.batch(batch_id), 3, "exclude", reviewer="Somebody else", note="in rats")
    page = opened().batch(key, batch_id)
    page.locator("#record-4 .toggle").focus()
    page.keyboard.press("i")
    expect(page.locator("#record-4 .badge")).to_have_text("conflict")
    expect(page.locator("#record-4 .human")).to_contain_text("Somebody else: exclude")
    expect(page.locator("#said")).to_contain_text("No decision counts until a person settles the record")
    page.get_by_role("button", name="Record 4: details").click()
    detail = page.locator("#detail-4")
    expect(detail).to_contain_text("Somebody else: exclude")
    expect(detail).to_contain_text("in rats")
    detail.get_by_label("It settles the record").check()
    detail.get_by_role("button", name="Include").click()
    expect(page.locator("#record-4 .badge")).to_have_text("include")
    assert list_conflicts(client.batch(batch_id)) == []


def test_the_keyboard_alone_signs_in_and_reaches_a_decision(client: Client, key: str, opened: Open) -> None:
    batch_id = write(client, few())
    browser = opened()
    page = browser.page
    page.goto(f"{browser.base}/?batch={batch_id}")
    expect(page.get_by_label("API key")).to_be_focused()
    page.keyboard.type(key)
    page.keyboard.press("Enter")
    expect(page.locator("#rows tr.row")).to_have_count(5)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "toggle":
            break
    page.keyboard.press("e")
    expect(page.locator("#record-1 .badge")).to_have_text("exclude")


# The table is that of the report, which tests/acceptance/test_report_page.py opens with 10,000 records.
@pytest.mark.night
@pytest.mark.parametrize("rows", [1_000, 10_000])
def test_thousands_of_records_are_sorted_searched_decided_and_paged(
    client: Client, key: str, opened: Open, rows: int
) -> None:
    abstract = "Background: a sentence of ordinary length about posttraumatic stress. " * 20  # 1,400 characters
    reason = CRITERIA.exclusion_criteria[0]
    written = [
        decided(
            record(n, abstract=f"{abstract} Number {n}."),
            decision("exclude" if n % 9 else "include", (n % 100) / 100, exclusion_reason=reason if n % 9 else None),
        )
        for n in range(rows)
    ]
    page = opened().batch(key, write(client, written))
    page.get_by_role("button", name="Confidence", exact=True).click()
    expect(page.locator("#rows .sure").first).to_have_text("0.00")
    page.get_by_label("Search", exact=True).fill(f"number {rows - 2}")
    expect(page.locator("#status")).to_contain_text(f"1 of {rows:,} records match.")
    page.locator(f"#record-{rows - 1} .toggle").focus()
    page.keyboard.press("i")
    expect(page.locator(f"#record-{rows - 1} .human")).to_be_visible()
    page.get_by_label("Search", exact=True).fill("")
    page.get_by_role("button", name="Last page").click()
    expect(page.locator("#page")).to_have_text(f"Page {rows // 100} of {rows // 100}")


@pytest.mark.night
def test_who_reads_blind_decides_without_being_told_what_others_and_the_model_said(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = write(client, few())
    set_screening_mode(client.batch(batch_id), "pair", set_by="Lead")
    overrides.override(client.batch(batch_id), 1, "include", reviewer="Reviewer X")
    page = opened().batch(key, batch_id)
    expect(page.locator("#warnings")).to_contain_text("records are still read blind")
    expect(page.locator("#record-2 .badge")).to_have_text("hidden")
    page.locator("#record-1 .toggle").focus()
    page.keyboard.press("e")
    expect(page.locator("#said")).to_contain_text("your decision is saved")
    expect(page.locator("#record-1 .badge")).to_have_text("hidden")
    page.keyboard.press("w")
    expect(page.locator("#said")).to_contain_text("Record 1: withdrawn")
    page.locator("#record-2 .toggle").focus()
    page.keyboard.press("e")
    expect(page.locator("#record-2 .badge")).to_have_text("conflict")
