"""Before anything runs the page shows what was read, what is doubtful, and what it would take; then it sends it."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import text

from stage.browser import needs_chromium
from stage.gateway_page import Open
from stage.searches import write_searches
from tamis_producer import Client
from tamis_review import get_screening_mode, list_reviews
from tamis_schemas import (
    Extract,
    Inclusion,
    InclusionStatus,
    Judge,
    PanelPolicy,
    ReviewPlan,
    ReviewStage,
    Score,
    ScreeningMode,
)

pytestmark = needs_chromium


@pytest.mark.night
def test_what_was_read_and_what_it_would_take_are_shown_before_a_review_begins_in_pairs(
    client: Client, key: str, opened: Open, tmp_path: Path
) -> None:
    browser = opened()
    page = browser.sign_in(key, "/?new")
    page.get_by_label("Files of records").set_input_files([*write_searches(tmp_path).values()])
    preview = page.locator("#preview")
    expect(preview).to_contain_text("12 records were read. 3 are copies of another record.")
    files = preview.locator(".new-file")
    expect(files.nth(0).get_by_label("Database or register")).to_have_value("PubMed")
    expect(files.nth(1)).to_contain_text("it completes medline.csv")
    expect(files.nth(3)).to_contain_text("Not named in the file")
    files.nth(3).get_by_label("Database or register").fill("ClinicalTrials.gov")
    files.nth(3).get_by_label("Searched on").fill("2024-03-01")
    preview.get_by_text("3 copies removed").click()
    expect(preview.locator(".new-pairs > li").first).to_contain_text("the same title, year, first author and journal")
    with page.expect_download() as pairs:
        preview.get_by_role("button", name="Save all pairs (CSV)").click()
    assert len(Path(pairs.value.path()).read_text("utf-8").splitlines()) == 4

    expect(page.locator("#dry-run")).to_contain_text("Choose files and write the criteria")
    page.get_by_label("Title of the review").fill("Walking after hip replacement")
    page.get_by_label("Research question").fill("Does walking help?")
    page.get_by_label("Inclusion criteria").fill("Adults")
    page.get_by_label("Reasoning effort").fill("low")
    page.get_by_label("Tier", exact=True).select_option("flex")
    page.get_by_label("Screening mode").select_option("In pairs, blind")
    page.get_by_text("Panel of models, doubtful decisions").click()
    page.get_by_label("Panel: several models").fill("gpt-5-mini, gpt-5")
    page.get_by_label("How the panel decides").select_option("include if any includes")
    submit = page.get_by_role("button", name="Screen these 9 records")
    expect(submit).to_be_visible()
    facts = page.locator("#dry-run .headline div")
    expect(facts.nth(1)).to_contain_text("18")  # calls: each of two models is asked about each record
    expect(facts.nth(3)).to_contain_text(re.compile(r"\$0\.\d+"))
    page.locator("#dry-run summary").first.click()
    expect(page.locator("#dry-run pre").nth(1)).to_contain_text("Supervised walking at home")
    assert client.batches() == []
    assert browser.said == []

    submit.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Walking after hip replacement: inclusion")
    (review,) = list_reviews(client)
    batch = client.batch(review.stages[0].id)
    operation = batch.operation()
    assert isinstance(operation, Inclusion)
    assert operation.panel is not None
    assert (operation.panel.models, operation.panel.policy) == (("gpt-5-mini", "gpt-5"), PanelPolicy.ANY)
    assert get_screening_mode(batch).mode is ScreeningMode.PAIR
    assert {row.source for row in batch.results()} == {"PubMed", "Embase", "ClinicalTrials.gov"}


@pytest.mark.night
def test_what_is_doubtful_in_criteria_is_said_while_they_are_typed_and_nothing_is_lost(key: str, opened: Open) -> None:
    page = opened().sign_in(key, "/?new")
    page.get_by_label("Research question").fill("Does walking help?")
    page.get_by_label("Exclusion criteria").press_sequentially("animals\nanimals")
    doubts = page.locator("#doubts li")
    expect(doubts.first).to_contain_text("E1 and E2 say the same")
    expect(page.get_by_label("Exclusion criteria")).to_be_focused()
    page.get_by_label("First year of publication").press_sequentially("2001")
    expect(doubts).to_contain_text(["Name the first and the last year of publication, or neither."])
    page.get_by_label("Last year of publication").press_sequentially("2020")
    page.get_by_label("Exclusion criteria").fill("animals")
    page.get_by_label("Inclusion criteria").fill("adults")
    expect(doubts.filter(has_text="say the same")).to_have_count(0)
    expect(page.get_by_label("First year of publication")).to_have_value("2001")
    panel = page.locator("#panel")
    panel.evaluate("field => field.setCustomValidity('no such model')")
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Screen these records").click()
    expect(panel).to_be_visible()  # what is wrong is not left folded away


@pytest.mark.night
def test_further_stages_are_added_put_in_order_and_begun_with_the_review(
    client: Client, key: str, opened: Open, tmp_path: Path
) -> None:
    page = opened().sign_in(key, "/?new")
    records = tmp_path / "records.csv"
    records.write_text("id,title\n1,Sieves and their meshes\n", "utf-8")
    page.get_by_label("Files of records").set_input_files(records)
    page.get_by_label("Research question").fill("Does it sieve?")
    page.get_by_label("Inclusion criteria").fill("sieves")
    expect(page.locator("#preview")).to_contain_text("1 record was read")  # what is below moves until then
    stage_2, stage_3, stage_4 = (page.get_by_role("group", name=f"Stage {n}") for n in (2, 3, 4))
    page.get_by_role("button", name="Add a stage").click()
    expect(stage_2.get_by_label("Operation")).to_be_focused()
    stage_2.get_by_label("Operation").select_option("score")
    stage_2.get_by_label("What to rate").fill("The mesh")
    stage_2.get_by_label("Highest score").fill("-1")
    page.get_by_role("button", name="Add another stage").click()
    stage_3.get_by_label("What to extract").fill("Which mesh?")
    stage_3.get_by_label("Model (empty").fill("gpt-5-mini")
    stage_3.get_by_label("Budget in dollars").fill("0.0001")
    stage_2.get_by_label("Lowest score that passes").fill("0.5")
    stage_3.get_by_role("button", name="Earlier").click()
    expect(stage_2.get_by_label("What to extract")).to_have_value("Which mesh?")
    expect(stage_3.get_by_label("Lowest score that passes")).to_have_count(0)  # nothing follows
    page.get_by_role("button", name="Add another stage").click()
    page.get_by_role("button", name="Remove stage 4").click()
    expect(page.get_by_role("button", name="Add another stage")).to_be_focused()
    page.get_by_role("button", name="Add another stage").click()
    stage_4.get_by_label("Operation").select_option("judge")
    stage_4.get_by_label("Guidelines").fill("Only what it says.")
    expect(page.get_by_role("button", name="Add another stage")).to_have_count(0)  # a judge is the last
    page.get_by_label("Records that pass screening").select_option("included or uncertain")
    expect(page.locator("#dry-run")).to_contain_text("A review of several stages needs a title.")
    page.get_by_label("Title of the review").fill("Sieves")
    expect(page.locator("#dry-run")).to_contain_text("Stage 3: max_value -1.0 is below min_value 0.0")
    stage_3.get_by_label("Highest score").fill("10")
    further = page.locator(".dry-run-stage")
    expect(further).to_have_count(3)
    expect(page.locator("#dry-run > h2")).to_have_text("1. inclusion")
    expect(further.nth(0)).to_contain_text("2. extract")
    expect(further.nth(0)).to_contain_text("1 call, about $0.")
    expect(further.nth(2)).to_contain_text("not known before the earlier stages end")
    for stage in (page.get_by_role("group", name="3. Model"), stage_3):
        stage.get_by_label("Model (empty").fill("gpt-5-mini")
        stage.get_by_label("Budget in dollars").fill("0.0001")
    expect(page.get_by_text("All stages cost at most $0.0003, plus the judge’s unknown cost.")).to_be_visible()
    page.get_by_role("button", name="Screen these 1 record").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sieves")
    expect(page.locator(".stages .ahead h2")).to_have_text(["2. extract", "3. score", "4. judge"])
    with client.engine.connect() as connection:
        kept = ReviewPlan.model_validate(connection.execute(text("SELECT plan FROM reviews")).scalar_one())
    assert kept.stages[0].passes == (InclusionStatus.INCLUDE, InclusionStatus.UNCERTAIN)
    assert kept.stages[1:] == (
        ReviewStage(operation=Extract(instruction="Which mesh?"), model="gpt-5-mini", max_cost=Decimal("0.0001")),
        ReviewStage(
            operation=Score(criteria="The mesh", max_value=10),
            at_least=0.5,
            model="gpt-5-mini",
            max_cost=Decimal("0.0001"),
        ),
        ReviewStage(operation=Judge(guidelines="Only what it says.", noun="Abstract")),
    )


@pytest.mark.night
def test_the_same_files_on_the_same_terms_are_the_review_that_is_there_and_the_page_says_so(
    client: Client, key: str, opened: Open, tmp_path: Path
) -> None:
    page = opened().sign_in(key, "/?new")
    records = tmp_path / "records.csv"
    records.write_text("id,title\n1,Sieves and their meshes\n", "utf-8")
    for title in ("Spring", "Autumn"):
        page.get_by_label("Title of the review").fill(title)
        page.get_by_label("Files of records").set_input_files(records)
        page.get_by_label("Research question").fill("Does it sieve?")
        page.get_by_label("Inclusion criteria").fill("sieves")
        page.get_by_role("button", name="Screen these 1 record").click()
        if title == "Spring":
            expect(page.get_by_role("heading", level=1)).to_have_text("Spring: inclusion")
            page.goto(page.url.partition("?")[0] + "?new")
    expect(page.get_by_role("alert")).to_contain_text("submitted with the same settings: Spring: inclusion")
    assert [review.label for review in list_reviews(client)] == ["Spring"]
