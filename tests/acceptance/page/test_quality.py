"""The Quality view says how far the decisions of a batch can be trusted, with the numbers of the terminal."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stage import one_ledger
from stage.browser import needs_chromium
from stage.gateway_page import Open, Opened, decision, record, write
from stage.panelled import PANELLED, of_a_panel
from stage.screened import Ledgered, decided, failed, written_batch
from tamis_producer import Batch, Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import (
    calibrate,
    decide,
    draw_pilot,
    evaluate,
    list_audits,
    may_stop,
    measure_agreement,
    measure_panel,
    set_screening_mode,
)
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.quality.gold_labels import GoldLabels
from tamis_review.quality.panel_words import panel_sentences
from tamis_review.quality.words import rates
from tamis_schemas import Judge, ScreeningMode

pytestmark = needs_chromium
client, base = one_ledger.client, one_ledger.base


def screened(client: Client) -> Batch:
    """Four includes, four excludes, and one that failed."""
    rows: list[Ledgered] = [decided(record(n), decision("include" if n < 4 else "exclude")) for n in range(8)]
    rows.append(failed(record(8), "timeout"))
    return written_batch(client, rows)


def quality(browser: Opened, key: str, batch: Batch) -> Page:
    page = browser.sign_in(key, f"/?batch={batch.id}&view=quality")
    expect(page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
    return page


@pytest.mark.night
def test_each_number_of_a_table_of_agreement_leads_to_its_records(client: Client, key: str, opened: Open) -> None:
    batch, browser = screened(client), opened()
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in range(5)])
    decide(batch, [HumanDecision(place, "exclude" if place == 1 else "include", "Reviewer B") for place in range(4)])
    page = quality(browser, key, batch)
    section = page.get_by_role("region", name="Agreement", exact=True)
    people = section.get_by_role("row", name="Reviewer A and Reviewer B")
    expect(people).to_contain_text("75.0%")
    row = section.get_by_role("row", name="Software and people, overridden or confirmed")
    told = measure_agreement(batch).overrides
    expect(row).to_contain_text(f"{told.kappa:.2f} ({told.kappa_low:.2f} to {told.kappa_high:.2f})")
    section.get_by_role("button", name="1 record: Software exclude, People include").first.click()
    behind = section.get_by_role("region", name="1 record: Software exclude, People include")
    expect(behind.get_by_role("link", name="5: Title 4")).to_be_visible()
    behind.get_by_role("button", name="Close the list").click()
    expect(behind).to_have_count(0)
    section.get_by_role("button", name="1 record: Reviewer A include, Reviewer B exclude").click()
    section.get_by_role("link", name="2: Title 1").click()
    expect(page.locator("#record-2")).to_contain_text("Title 1")
    assert browser.said == []


def test_an_audit_is_drawn_and_judged_and_says_what_was_missed(client: Client, key: str, opened: Open) -> None:
    batch, browser = screened(client), opened()
    page = quality(browser, key, batch)
    page.get_by_label("Excluded records to draw at random").fill("4")
    page.get_by_role("button", name="Draw an audit").click()
    expect(page.get_by_text("no human decision is recorded yet")).to_be_visible()
    page.get_by_text("Show all 4 records").click()
    expect(page.locator("#quality-audit ol").get_by_text("Abstract 5.")).to_be_visible()
    page.get_by_role("button", name="Should have been included").first.click()
    expect(page.get_by_text("1 judged by a human: 1 record should have been included")).to_be_visible()
    page.get_by_role("button", name="Rightly excluded").first.click()
    expect(page.get_by_text("2 judged by a human: 1 record should have been included")).to_be_visible()
    (audit,) = list_audits(batch)
    assert [(item.include, item.reviewer) for item in audit.items[:2]] == [(True, "Reviewer A"), (False, "Reviewer A")]
    assert browser.said == []


@pytest.mark.night
def test_labels_are_evaluated_and_lost_records_named(client: Client, key: str, opened: Open, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("id,include\n" + "".join(f"r{n},{int(n < 5)}\n" for n in range(8)), "utf-8")
    page = quality(opened(), key, screened(client))
    section = page.get_by_role("region", name="Evaluate by labels")
    section.get_by_label("File of labels").set_input_files(labels)
    section.get_by_role("button", name="Evaluate").click()
    expect(section.get_by_role("row", name="sensitivity 4 of")).to_contain_text("4 of 5 = 80.0%")
    expect(section.locator("li")).to_contain_text("5: Title 4")
    section.get_by_label("Column of labels").fill("nothing")
    section.get_by_role("button", name="Evaluate").click()
    expect(section.get_by_role("alert")).to_contain_text("labels.csv")


@pytest.mark.night
def test_the_stop_rule_says_its_price_draws_a_sample_and_ends_in_a_promise(
    client: Client, key: str, opened: Open
) -> None:
    batch, browser = screened(client), opened()
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in range(4)])
    page = quality(browser, key, batch)
    assert not any("/stop" in address for address in browser.requests)
    section = page.get_by_role("region", name="Stop rule")
    section.get_by_text("Check whether reading may stop").click()
    told = may_stop(batch)
    expect(section.get_by_role("status")).to_have_text(told.headline)
    for figure in told.figures:
        expect(section.get_by_role("row", name=figure.name)).to_contain_text(figure.value)
    price = next(one for one in told.prices if (one.recall, one.confidence) == (0.8, 0.8))
    section.get_by_role("button", name=f"{price.none_found}: 80% recall, 80% sure").click()
    expect(section.get_by_label("Recall: includes to be found")).to_have_value("80")
    expect(section.get_by_role("status")).to_have_text(may_stop(batch, 0.8, 0.8).headline)
    section.get_by_label("Seed").fill("7")
    section.get_by_role("button", name="Draw the sample").click()
    expect(section.get_by_text("to read next, in this order")).to_be_visible()
    sample = may_stop(batch).sample
    assert sample is not None
    assert (sample.seed, sample.recall, sample.confidence) == (7, 0.8, 0.8)
    with page.expect_download() as saved:
        section.get_by_role("button", name="Save as table").click()
    lines = saved.value.path().read_text("utf-8-sig").splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == [str(one.index) for one in sample.waiting]
    work = section.get_by_role("link", name="Read the sample in Work")
    expect(work).to_have_attribute("href", f"/?batch={batch.id}&view=work&order=next")
    decide(batch, [HumanDecision(one.index, "exclude", "Reviewer A") for one in sample.waiting])
    page.reload()
    section.get_by_text("Check whether reading may stop").click()
    expect(section.get_by_role("status")).to_contain_text("Enough: at least 80% of the includes are found")
    expect(section.locator("blockquote")).to_contain_text("With 80% confidence, at most")
    section.get_by_role("button", name="Close the sample …").click()
    expect(section.get_by_role("button", name="Keep it open")).to_be_focused()
    page.keyboard.press("Enter")
    expect(section.get_by_role("button", name="Close the sample …")).to_be_focused()
    page.keyboard.press("Enter")
    section.get_by_role("button", name="Close it").click()
    expect(section.get_by_role("row", name="sample 1 (closed)")).to_be_visible()
    section.get_by_label("Recall: includes to be found").fill("100")
    section.get_by_role("button", name="Check promise", exact=True).click()
    expect(section.get_by_role("status")).to_have_text(may_stop(batch, 1.0, 0.8).headline)
    assert browser.said == []


@pytest.mark.night
def test_labels_give_a_threshold_or_the_reason_why_not(client: Client, key: str, opened: Open, tmp_path: Path) -> None:
    batch, browser = screened(client), opened()
    labels, few = tmp_path / "labels.csv", tmp_path / "few.csv"
    labels.write_text("id,include\n" + "".join(f"r{n},{int(n < 4)}\n" for n in range(9)), "utf-8")
    few.write_text("id,include\nr0,1\n", "utf-8")
    page = quality(browser, key, batch)
    section = page.get_by_role("region", name="Calibrate")
    section.get_by_text("Calibrate with a file of labels").click()
    section.get_by_label("File of labels").set_input_files(few)
    section.get_by_role("button", name="Find the threshold").click()
    expect(section.get_by_role("status")).to_contain_text("No threshold: the pilot is too small: it has 1 labelled")
    section.get_by_label("File of labels").set_input_files(labels)
    section.get_by_label("Recall: includes to keep").fill("50")
    section.get_by_label("Probability of keeping fewer").fill("20")
    section.get_by_role("button", name="Find the threshold").click()
    told = calibrate(batch, labels, 0.5, 0.2).calibration
    expect(section.get_by_role("row", name="threshold")).to_contain_text(f"{told.threshold.value}keep every record")
    expect(section.get_by_role("row", name="below 4 of")).to_contain_text(f"{told.below} of the batch's 9 records")
    expect(section.get_by_text("Every record of the batch has a label")).to_be_visible()
    with page.expect_download() as saved:
        section.get_by_role("button", name="Save which records are kept").click()
    lines = saved.value.path().read_text("utf-8").splitlines()
    assert (len(lines), sum(",false," in line for line in lines)) == (10, told.below)
    assert told.below > 0
    section.get_by_label("Column of labels").fill("nothing")
    section.get_by_role("button", name="Find the threshold").click()
    expect(section.get_by_role("alert")).to_contain_text("labels.csv")
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    section.get_by_role("button", name="Find the threshold").click()
    expect(section.get_by_role("alert")).to_contain_text(
        "9 records are still read blind. A record opens once two people"
    )
    expect(section.get_by_role("row", name="threshold")).to_have_count(0)


@pytest.mark.night
def test_a_pilot_is_labelled_blind_goes_on_after_a_break_and_says_where_people_and_software_differ(
    client: Client, key: str, opened: Open
) -> None:
    batch, browser = screened(client), opened()
    drawn = draw_pilot(batch, 8, seed=0).places
    included = {1, 2, 3, 5}  # the software includes the first four
    page = quality(browser, key, batch)
    section = page.get_by_role("region", name="Pilot")
    section.get_by_text("Draw or continue a pilot").click()
    section.get_by_label("Records to draw at random").fill("8")
    section.get_by_label("Seed").fill("0")
    section.get_by_role("button", name="Draw a pilot").click()
    for n, place in enumerate(drawn):
        card = section.get_by_role("article", name=f"Title {place}")
        expect(card).to_contain_text(f"{n + 1} of 8: record {place + 1}")
        expect(card).to_contain_text(f"Abstract {place}.")
        if n == 2:
            card.get_by_role("button", name="Back").click()
            expect(section.get_by_text("1 labelled")).to_be_visible()
            said = "Include" if drawn[1] in included else "Exclude"
            section.get_by_role("button", name=said).click()
            page.reload()
            section.get_by_text("Draw or continue a pilot").click()
            expect(section.get_by_text("2 labelled")).to_be_visible()
        card.get_by_role("button", name="Include" if place in included else "Exclude").click()
    expect(section.get_by_text("All records have a label.")).to_be_visible()
    expect(section.get_by_role("button", name="Back")).to_be_focused()
    with page.expect_download() as saved:
        section.get_by_role("button", name="Save as table").click()
    rows = saved.value.path().read_text("utf-8-sig").splitlines()[1:]
    assert [int(row.split(",")[1]) for row in rows] == list(drawn)
    section.get_by_role("button", name="Compare with the software").click()
    told = evaluate(batch, GoldLabels.of({f"r{place}": place in included for place in drawn}))
    expect(section.get_by_role("row", name="sensitivity 2 of")).to_contain_text(rates(told)[0].values[0])
    mend = section.get_by_role("region", name="Possible problems in the criteria")
    assert [one.index for one in told.lost] == [5]
    expect(mend).to_contain_text(f"{told.lost[0].reason}: 1 record")
    expect(mend.get_by_role("link")).to_have_text(["1: Title 0"])
    section.get_by_text("Find the threshold with these labels").click()
    section.get_by_label("Recall: includes to keep").fill("50")
    section.get_by_label("Probability of keeping fewer").fill("40")
    section.get_by_role("button", name="Calibrate").click()
    expect(section.get_by_role("row", name="threshold")).to_contain_text("keep every record")
    expect(section.get_by_text("The labelled records were drawn by")).to_be_visible()
    section.get_by_role("button", name="Draw another pilot …").click()
    expect(section.get_by_text("The 8 labels given here will be lost")).to_be_visible()
    section.get_by_role("button", name="Discard labels").click()
    expect(section.get_by_role("button", name="Draw a pilot")).to_be_visible()
    assert browser.said == []


@pytest.mark.night
def test_a_panel_says_what_each_model_brought_and_where_they_differ(client: Client, key: str, opened: Open) -> None:
    browser = opened()
    batch = client.batch(write(client, of_a_panel(), operation=PANELLED, model="small, large"))
    decide(batch, [HumanDecision(n, "include" if n < 3 else "exclude", "Reviewer B") for n in range(6)])
    page = quality(browser, key, batch)
    assert not any(address.endswith("/panel") for address in browser.requests)
    section = page.get_by_role("region", name="Panel")
    section.get_by_text("Show what each model adds").click()
    told = measure_panel(batch)
    for sentence in panel_sentences(told):
        expect(section.get_by_text(sentence)).to_be_visible()
    missed = section.get_by_role("table", name="The models").get_by_role("row", name="small")
    expect(missed).to_contain_text("1 of 3 (33.3%)")
    expect(section.get_by_role("table", name="Pairs of models").get_by_role("row")).to_have_count(2)
    assert [one.index for one in told.differing] == [2, 3]
    expect(section.get_by_role("listitem").filter(has=page.get_by_role("link", name="3: r2"))).to_contain_text(
        "small: exclude; large: include"
    )
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    page.reload()
    section.get_by_text("Show what each model adds").click()
    expect(section.get_by_role("alert")).to_contain_text("still read blind")


@pytest.mark.night
def test_whoever_only_reads_is_offered_nothing_to_draw(client: Client, opened: Open) -> None:
    reader = api_keys.create(client.engine, "A reader", [Scope.READ])
    page = quality(opened(), reader, screened(client))
    expect(page.get_by_text("There is no audit yet.")).to_be_visible()
    expect(page.get_by_role("region", name="Panel")).to_have_count(0)  # one model was asked
    expect(page.get_by_role("button", name="Draw an audit")).to_have_count(0)
    page.get_by_text("Check whether reading may stop").click()
    expect(page.get_by_text("Not yet: only reading all")).to_be_visible()
    expect(page.get_by_role("button", name="Draw the sample")).to_have_count(0)


@pytest.mark.night
def test_the_reasoning_is_judged_as_a_batch_of_its_own_once_a_dry_run_was_seen(
    client: Client, key: str, opened: Open
) -> None:
    batch, browser = screened(client), opened()
    page = quality(browser, key, batch)
    section = page.get_by_role("region", name="Judge the reasoning")
    section.get_by_text("Have a model judge it").click()
    section.get_by_label("Guidelines").fill("Only words of the abstract.")
    section.get_by_label("Noun for numbered references").fill("Abstract 1")
    section.get_by_role("button", name="Dry run").click()
    expect(section.get_by_label("Noun for numbered references")).to_be_focused()
    expect(section.get_by_role("alert")).to_have_text(re.compile("^'Abstract 1' is not a noun for numbered things"))
    section.get_by_label("Noun for numbered references").fill("Abstract")
    section.get_by_label("Evidence below this quality").fill("0.3")
    section.get_by_label("Model (empty").fill("gpt-5-mini")
    section.get_by_role("button", name="Dry run").click()
    expect(section.get_by_role("heading", name="Dry run: nothing was submitted")).to_be_focused(timeout=30_000)
    expect(section.locator(".headline")).to_contain_text("results to judge8")
    expect(section).to_contain_text("Of 9 results, 1 is not judged")
    assert client.batches()[0].id == batch.id  # the newest
    section.get_by_label("Budget in dollars").fill("5")
    expect(section.get_by_role("button", name="Judge 8 results")).to_be_hidden()  # that dry run was of something else
    section.get_by_role("button", name="Dry run").click()
    section.get_by_role("button", name="Judge 8 results").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("judgement of citations.ris")
    made = client.batches()[0]
    assert (made.model, made.budget and made.budget.max_cost, made.counts.n_items) == ("gpt-5-mini", 5, 8)
    assert client.batch(made.id).operation() == Judge(
        guidelines="Only words of the abstract.", noun="Abstract", block_threshold=0.3
    )
    # What decides nothing has this section alone.
    page.get_by_role("link", name="Quality").click()
    expect(page.get_by_role("navigation", name="Sections").get_by_role("link")).to_have_text(["Judge the reasoning"])
    expect(page.get_by_text("once the batch is finished")).to_be_visible()
    assert not [one for one in browser.said if "422" not in one]


@pytest.mark.night
def test_whoever_may_not_submit_is_offered_no_judgement(client: Client, opened: Open) -> None:
    reader = api_keys.create(client.engine, "A reader", [Scope.READ])
    page = quality(opened(), reader, screened(client))
    section = page.get_by_role("region", name="Judge the reasoning")
    expect(section).to_contain_text("a key with the scope submit")
    expect(section.get_by_text("Have a model judge it")).to_have_count(0)
