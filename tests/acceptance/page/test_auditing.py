"""Where the model decides and people audit it, Work is the audit: drawn there, judged blind, and its verdict told."""

import re

import pytest
from playwright.sync_api import expect

from stage import one_ledger
from stage.browser import needs_chromium
from stage.gateway_page import Open, decision, everything_is_sent, few, record, write
from stage.screened import Ledgered, decided
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import audits, draw_audit, list_audits, list_conflicts, list_overrides, override, set_screening_mode
from tamis_review.decisions.audits import verdict
from tamis_schemas import ItemStatus, ScreeningMode

pytestmark = needs_chromium
client, base = one_ledger.client, one_ledger.base


def audited(client: Client) -> str:
    """Return a batch of eight records that the model excluded, and one that it included; nothing is drawn yet."""
    excluded = [decided(record(n, title=f"Title {n}"), decision("exclude", 0.7)) for n in range(8)]
    batch_id = write(client, [*excluded, decided(record(8, title="Title 8"), decision())])
    set_screening_mode(client.batch(batch_id), ScreeningMode.MODEL_AUDITED, set_by="Lead")
    return batch_id


@pytest.mark.night
def test_a_sample_is_drawn_judged_with_the_keyboard_and_ends_with_how_many_were_missed_at_most(
    client: Client, key: str, opened: Open
) -> None:
    batch_id, browser = audited(client), opened()
    page = browser.sign_in(key, f"/?batch={batch_id}&view=work")
    expect(page.get_by_role("heading", name="No audit sample yet")).to_be_visible()
    expect(page.locator("#work-bar")).to_have_count(0)
    page.get_by_label("Records to draw").fill("3")
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Draw the audit sample").click()
    expect(page.get_by_text("0 of 3 sampled records judged (seed 7)")).to_be_visible()
    (audit,) = list_audits(client.batch(batch_id))
    drawn = [item.index + 1 for item in audit.items]
    assert (audit.seed, audit.stratum, len(drawn)) == (7, "model", 3)
    expect(page.locator(".work-line .n")).to_have_text([str(number) for number in drawn])
    card = page.locator(".work-card")
    expect(card).to_contain_text("Judge alone")
    expect(card).not_to_contain_text("because")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    expect(page.get_by_role("button", name="Uncertain")).to_have_count(0)
    page.keyboard.press("i")
    expect(page.locator("#work-title")).to_have_text(f"Title {drawn[1] - 1}")
    page.keyboard.press("z")
    expect(page.get_by_text("You cannot undo a judgement")).to_be_visible()
    page.keyboard.press("k")
    expect(card).to_contain_text("should have been included decided by me")
    page.keyboard.press("e")
    page.keyboard.press("i")
    expect(page.get_by_text("2 of 3 sampled records judged")).to_be_visible()
    everything_is_sent(page)
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="All sampled records are judged")).to_be_visible()
    expect(card).to_contain_text("3 judged by a human")
    (audit,) = list_audits(client.batch(batch_id))
    words = verdict(audit).sentence
    expect(card).to_contain_text(words)
    assert re.search("at most [0-9]+ of all 8", words)
    assert [(item.index + 1, item.include, item.reviewer) for item in audit.items] == [
        (drawn[0], False, "Reviewer A"),
        (drawn[1], True, "Reviewer A"),
        (drawn[2], False, "Reviewer A"),
    ]
    assert list_overrides(client.batch(batch_id)) == []
    page.get_by_role("link", name="Audit results by record").click()
    expect(page.get_by_text(words)).to_be_in_viewport()
    assert browser.said == []


@pytest.mark.night
def test_two_people_share_a_sample_and_quality_leads_to_it(client: Client, key: str, opened: Open) -> None:
    batch_id = audited(client)
    audit = draw_audit(client.batch(batch_id), 3, seed=7)
    second = api_keys.create(client.engine, "Reviewer B", list(Scope))
    page = opened(viewport=390).sign_in(key, f"/?batch={batch_id}&view=quality")
    section = page.get_by_role("region", name="Audit of exclusions")
    expect(section.get_by_text("no human decision is recorded yet")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("3 records are still read blind")
    section.get_by_role("link", name="Work").click()
    expect(page.locator("#work-title")).to_have_text(f"Title {audit.items[0].index}")
    page.get_by_role("button", name="Rightly excluded").click()
    expect(page.locator("#work-title")).to_have_text(f"Title {audit.items[1].index}")
    everything_is_sent(page)
    theirs = opened().sign_in(second, f"/?batch={batch_id}&view=work")
    expect(theirs.get_by_text("1 of 3 sampled records judged")).to_be_visible()
    expect(theirs.locator(".work-line")).to_have_count(2)
    theirs.keyboard.press("e")
    expect(theirs.locator("#work-title")).to_have_text(f"Title {audit.items[2].index}")
    everything_is_sent(theirs)
    # Who has the same record before them still, and says otherwise, is told so.
    expect(page.locator("#work-title")).to_have_text(f"Title {audit.items[1].index}")
    page.get_by_role("button", name="Should have been included").click()
    expect(page.locator("#unsent")).to_contain_text("Reviewer B said exclude before")
    page.get_by_role("button", name="Discard it").click()
    assert [item.include for item in audits.audit(client, audit.id).items] == [False, False, None]


@pytest.mark.night
def test_conflicts_are_settled_with_every_word_and_reason_where_the_model_is_audited(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = audited(client)
    for who, value in (("Reviewer B", "include"), ("Reviewer C", "exclude")):
        override(client.batch(batch_id), 8, value, reviewer=who)
    page = opened().sign_in(key, f"/?batch={batch_id}&view=conflicts")
    expect(page.get_by_role("article", name="Record 9")).to_be_visible()
    page.keyboard.press("e")
    expect(
        page.get_by_role("group", name="Exclude, because …").get_by_role("button", name="Animal studies")
    ).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.get_by_text("A judgement against the model is not a conflict")).to_be_visible()
    everything_is_sent(page)
    assert list_conflicts(client.batch(batch_id)) == []


@pytest.mark.night
def test_nothing_is_drawn_before_the_batch_is_completed_or_by_who_only_reads(
    client: Client, key: str, opened: Open
) -> None:
    batch_id = write(client, [*few(), Ledgered(record(9), ItemStatus.PENDING)], state="running")
    set_screening_mode(client.batch(batch_id), ScreeningMode.MODEL_AUDITED, set_by="Lead")
    page = opened().sign_in(key, f"/?batch={batch_id}&view=work")
    expect(page.get_by_text("The batch is running.")).to_be_visible()
    expect(page.get_by_role("button", name="Draw the audit sample")).to_have_count(0)
    reader = api_keys.create(client.engine, "A reader", [Scope.READ])
    page = opened().sign_in(reader, f"/?batch={audited(client)}&view=work")
    expect(page.get_by_text("To draw a sample, use a key with the scope decide.")).to_be_visible()
