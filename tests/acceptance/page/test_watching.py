"""Batches go on before one's eyes, say what they wait for, and are paused, resumed, cancelled and retried."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts
from stage.browser import needs_chromium
from stage.gateway import gateway
from stage.gateway_page import ONCOLOGY, Open
from stage.screened import Place, write_batch, write_review
from tamis_producer import Client
from tamis_review import decide, submit_review
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import Filter, ReviewPlan, ReviewStage
from tamis_schemas.ledger import batches

pytestmark = needs_chromium

StartWorker = Callable[..., WorkerProcess]


@pytest.mark.night
def test_while_the_gateway_is_away_the_page_says_so_and_goes_on_when_it_is_back(
    client: Client, key: str, opened: Open
) -> None:
    browser = opened()
    with gateway(client) as base:
        browser.base = base
        page = browser.sign_in(key)
        expect(page.get_by_text("There is no batch yet.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("The gateway does not answer.")
    client.submit(ONCOLOGY, abstracts(3), label="meanwhile")
    with gateway(client, port=urlsplit(base).port or 0):
        expect(page.get_by_role("link", name="meanwhile")).to_be_visible(timeout=20_000)
        expect(page.get_by_role("alert")).to_be_hidden()
        page.goto("about:blank")


@pytest.mark.night
def test_where_no_worker_runs_a_batch_says_what_it_waits_for_and_who_submitted_it(
    client: Client, key: str, opened: Open
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3), api_key_id=key.split("_")[1])
    page = opened().batch(key, batch.id)
    expect(page.locator("#pace")).to_have_text("cost $0.00 · submitted by Reviewer A")
    expect(page.locator("#waits")).to_contain_text("no worker is running")
    expect(page.locator("#waits code")).to_have_text(["tamis up", "tamis worker"])


def test_a_batch_that_paused_itself_says_why_and_is_seen_to_go_on_when_it_is_resumed_elsewhere(
    client: Client, key: str, opened: Open
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3))
    reason = {"kind": "budget", "message": "$1.00 of $1.00 is spent"}
    with client.engine.begin() as connection:
        connection.execute(update(batches).values(state="paused", pause=reason))
    page = opened().batch(key, batch.id)
    expect(page.locator("#waits")).to_have_text(
        "Paused by itself, budget: $1.00 of $1.00 is spent. Resume it with a larger budget."
    )
    batch.resume()
    expect(page.locator("#state")).to_have_text("running", timeout=15_000)
    reason = {"kind": "rate_limited", "message": "429: later", "until": "2027-01-02T03:04:00Z"}
    with client.engine.begin() as connection:
        connection.execute(update(batches).values(state="paused", pause=reason))
    words = re.compile(r"Paused by itself until .*2027.*, rate limited: 429: later\. It resumes by itself; Resume asks")
    expect(page.locator("#waits")).to_have_text(words, timeout=15_000)


@pytest.mark.night
def test_flower_is_a_link_away_where_its_address_is_known(client: Client, key: str, opened: Open) -> None:
    browser = opened()
    expect(browser.sign_in(key).get_by_role("link", name="Flower")).to_be_hidden()
    told = Client(client.settings.model_copy(update={"flower_url": "http://tamis:s3cret@flower.example:5555"}))
    with told, gateway(told) as browser.base:
        link = browser.sign_in(key).get_by_role("link", name="Flower")
        expect(link).to_have_attribute("href", "http://flower.example:5555")
        browser.page.goto("about:blank")


@pytest.mark.night
def test_batches_go_on_in_the_list_by_themselves(client: Client, key: str, opened: Open) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3), label="spring update", api_key_id=key.split("_")[1])
    page = opened().sign_in(key)
    row = page.get_by_role("row", name=re.compile("spring update"))
    expect(row).to_contain_text("0 of 3")
    expect(row).to_contain_text("by Reviewer A")
    page.get_by_role("link", name="spring update").focus()
    client.submit(ONCOLOGY, abstracts(2), label="another")
    expect(page.locator("#batch-rows tr")).to_have_count(2)
    expect(page.locator("#batch-rows tr").first).to_contain_text("another")
    expect(page.get_by_role("link", name="spring update")).to_be_focused()
    batch.cancel()
    expect(row).to_contain_text("3 of 3")
    expect(page.locator("#said")).to_have_text("spring update is cancelled")
    page.get_by_role("link", name="spring update").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("spring update")


@pytest.mark.night
def test_a_batch_is_paused_resumed_and_cancelled(
    client: Client, key: str, opened: Open, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.5)
    start_worker(concurrency="2")
    batch = client.submit(ONCOLOGY, abstracts(200))
    page = opened().batch(key, batch.id)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#waits")).to_contain_text("Paused")
    assert client.batch(batch.id).status().state == "paused"
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#waits")).to_be_hidden()
    page.get_by_role("button", name="Cancel …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Do not cancel")).to_be_focused()
    expect(dialog).to_contain_text(re.compile(r"Cancelled without a decision: \d+ records?\."))
    expect(dialog).to_contain_text(re.compile(r"Kept: \d+ decided and 0 failed"))
    dialog.get_by_role("button", name=re.compile(r"^Cancel \d+ records$")).click()
    expect(page.locator("#state")).to_have_text("cancelled")
    expect(page.locator("#done")).to_have_text("model: 200 of 200 done", timeout=30_000)


@pytest.mark.night
def test_failed_records_are_asked_about_again(
    client: Client, key: str, opened: Open, start_worker: StartWorker, double: Double
) -> None:
    double.script(faults=[Fault(Kind.CONTEXT_LENGTH, limit=3)])
    start_worker()
    batch = client.submit(ONCOLOGY, abstracts(10))
    assert batch.wait(timeout=60).failed == 3
    page = opened().batch(key, batch.id)
    expect(page.locator("#rows .badge.failed")).to_have_count(3)
    expect(page.locator("#state")).to_have_text("ended, 3 failed")
    expect(page.locator("#state")).to_have_class("badge uncertain")
    page.get_by_role("button", name="Retry failed").click()
    expect(page.locator("#pace")).to_contain_text("round 2")
    expect(page.locator("#state")).to_have_text("waits for people", timeout=60_000)
    expect(page.locator("#rows .badge.failed")).to_have_count(0, timeout=30_000)
    expect(page.get_by_role("button", name="Retry failed")).to_be_hidden()
    assert batch.status().counts.failed == 0


@pytest.mark.night
def test_reviews_come_first_with_their_stages_and_what_is_left_for_whoever_looks(
    client: Client, key: str, opened: Open
) -> None:
    plan = ReviewPlan(stages=(ReviewStage(operation=ONCOLOGY), ReviewStage(operation=Filter(criteria="A trial?"))))
    review = submit_review(client, plan, abstracts(4), label="Sieves in adults")
    client.submit(ONCOLOGY, abstracts(2), label="a plain batch")
    (stage,) = review.stages()
    decide(stage, [HumanDecision(0, True, "Reviewer A"), HumanDecision(1, True, "Reviewer A")])
    page = opened().sign_in(key)
    shown = page.get_by_role("article", name="Sieves in adults")
    expect(shown.get_by_role("listitem")).to_have_count(2)
    expect(shown.get_by_role("listitem").first).to_contain_text("0 of 4")
    expect(shown.get_by_role("listitem").first).to_contain_text("2 records left for you")
    expect(shown.get_by_role("listitem").last).to_contain_text("not started")
    expect(shown).to_contain_text("runs")
    link = shown.get_by_role("link", name="1. filter")
    expect(link).to_have_attribute("href", f"/?batch={stage.id}&view=work")
    expect(page.locator("#batch-rows tr")).to_have_count(1)
    expect(page.locator("#batch-rows")).to_contain_text("a plain batch")
    decide(stage, [HumanDecision(1, False, "Reviewer B")])
    client.submit(ONCOLOGY, abstracts(3), label="another")  # something to look again for
    expect(shown).to_contain_text("1 conflict to settle", timeout=15_000)


@pytest.mark.night
def test_no_batch_is_out_of_reach_and_new_ones_push_none_out_of_the_list(
    client: Client, key: str, opened: Open
) -> None:
    with client.engine.begin() as connection:
        review = write_review(connection, "A review", ONCOLOGY)
        for n in range(45):
            write_batch(connection, [], label=f"batch {n}", place=Place(review, n // 15) if n % 15 == 0 else None)
    page = opened().sign_in(key)
    rows = page.locator("#batch-rows tr")
    expect(rows).to_have_count(20)
    page.get_by_role("button", name="Earlier batches").click()
    expect(rows).to_have_count(40)
    expect(rows.nth(20).get_by_role("link")).to_be_focused()
    client.submit(ONCOLOGY, abstracts(2), label="another")
    expect(rows.first).to_contain_text("another")
    expect(rows).to_have_count(41)
    page.get_by_role("button", name="Earlier batches").click()
    expect(rows).to_have_count(43)
    expect(page.get_by_role("button", name="Earlier batches")).to_be_hidden()
    assert len(set(rows.get_by_role("link").all_inner_texts())) == 43


@pytest.mark.night
def test_where_there_is_no_review_batches_stand_alone(client: Client, key: str, opened: Open) -> None:
    client.submit(ONCOLOGY, abstracts(2), label="a plain batch")
    page = opened().sign_in(key)
    expect(page.get_by_role("link", name="a plain batch")).to_be_visible()
    expect(page.locator("#reviews")).to_be_hidden()
