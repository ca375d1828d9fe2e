"""What one does now and then stands below a batch's progress: priority, failures, agreement, audits, labels."""

from pathlib import Path

from playwright.sync_api import Page, expect

from stage.browser import needs_chromium
from stage.gateway_page import Open, decision, record
from stage.screened import Ledgered, decided, failed, write_batch
from tamis_producer import Batch, Client
from tamis_producer.decisions.record_overrides import HumanDecision
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Priority

pytestmark = needs_chromium

MORE = "More: priority, failures, agreement, audits, labels"


def screened(client: Client, *, state: str = "completed") -> Batch:
    """Four includes, four excludes, and one that failed."""
    rows: list[Ledgered] = [decided(record(n), decision("include" if n < 4 else "exclude")) for n in range(8)]
    rows.append(failed(record(8), "timeout"))
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, rows, state=state)
    return client.batch(str(batch_id))


def part(page: Page, name: str) -> Page:
    page.get_by_text(MORE).click()
    page.get_by_text(name, exact=True).click()
    return page


def test_an_audit_is_drawn_and_judged_and_says_what_was_missed(client: Client, key: str, opened: Open) -> None:
    batch = screened(client)
    browser = opened()
    page = part(browser.batch(key, batch.id), "Audit of exclusions")
    page.get_by_label("Excluded records to draw at random").fill("4")
    page.get_by_role("button", name="Draw an audit").click()
    expect(page.get_by_text("no decision of a human is recorded yet")).to_be_visible()
    page.get_by_text("Its 4 records").click()
    expect(page.locator("#more ol").get_by_text("Abstract 5.")).to_be_visible()
    page.get_by_role("button", name="Should have been included").first.click()
    expect(page.get_by_text("1 judged by a human: 1 record should have been included")).to_be_visible()
    page.get_by_role("button", name="Rightly excluded").first.click()
    expect(page.get_by_text("2 judged by a human: 1 record should have been included")).to_be_visible()
    (audit,) = batch.audits()
    assert [(item.include, item.reviewer) for item in audit.items[:2]] == [(True, "Reviewer A"), (False, "Reviewer A")]
    assert browser.said == []


def test_labels_are_evaluated_and_lost_records_named(client: Client, key: str, opened: Open, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("id,include\n" + "".join(f"r{n},{int(n < 5)}\n" for n in range(8)), "utf-8")
    page = part(opened().batch(key, screened(client).id), "Evaluate by labels")
    page.get_by_label("File of labels").set_input_files(labels)
    page.get_by_role("button", name="Evaluate").click()
    expect(page.get_by_role("row", name="sensitivity 4 of")).to_contain_text("4 of 5 = 80.0%")
    expect(page.locator("#more li")).to_contain_text("5: Title 4")
    page.get_by_label("Its column of labels").fill("nothing")
    page.get_by_role("button", name="Evaluate").click()
    expect(page.locator("#more").get_by_role("alert")).to_contain_text("labels.csv")


def test_failures_and_agreement_are_told(client: Client, key: str, opened: Open) -> None:
    batch = screened(client)
    batch.decide([HumanDecision(place, "include", "Reviewer A") for place in range(4)])
    page = part(opened().batch(key, batch.id), "What failed")
    expect(page.get_by_text("1 of 9 failed: timeout 1.")).to_be_visible()
    page.get_by_text("Agreement", exact=True).click()
    row = page.get_by_role("row", name="software and people, overridden or confirmed")
    expect(row).to_contain_text("100.0 %")


def test_an_open_batch_gets_another_priority(client: Client, key: str, opened: Open) -> None:
    batch = screened(client, state="running")
    page = part(opened().batch(key, batch.id), "Priority")
    page.get_by_label("Where batches wait for each other").select_option("high")
    page.get_by_role("button", name="Set the priority").click()
    expect(page.get_by_text("Its priority is high.")).to_be_visible()
    assert batch.status().priority is Priority.HIGH


def test_whoever_only_reads_is_offered_neither_priority_nor_a_new_audit(client: Client, opened: Open) -> None:
    reader = api_keys.create(client.engine, "A reader", [Scope.READ])
    page = part(opened().batch(reader, screened(client).id), "Audit of exclusions")
    expect(page.get_by_text("There is no audit yet.")).to_be_visible()
    expect(page.get_by_text("Priority", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Draw an audit")).to_have_count(0)
