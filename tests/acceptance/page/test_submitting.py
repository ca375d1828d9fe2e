"""With the page alone a review can be done: submitted, watched, decided, reported."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from llm_double import Double, Quotes
from stage import WorkerProcess
from stage.browser import needs_chromium
from stage.gateway_page import Open
from stage.searches import write_searches
from tamis_producer import Client
from tamis_review import find_review, list_overrides, list_reviews
from tamis_review.example import CITATIONS
from tamis_review.example import CRITERIA as EXAMPLE_CRITERIA
from tamis_schemas import Inclusion, InclusionStatus

pytestmark = needs_chromium

SCREENED_WITHIN = 90_000  # ms
SCREEN = re.compile(r"Screen these ([\d,]+ )?records?")
StartWorker = Callable[..., WorkerProcess]


@pytest.mark.night
def test_with_a_browser_alone_the_example_is_screened_overridden_and_reported(
    client: Client, key: str, opened: Open, start_worker: StartWorker, double: Double, tmp_path: Path
) -> None:
    double.script(latency=0.5, quotes=Quotes.VERBATIM)
    start_worker(concurrency="2")
    browser = opened()
    page = browser.sign_in(key)
    expect(page.get_by_text("There is no batch yet.")).to_be_visible()
    page.get_by_role("link", name="New review").click()
    expect(page.get_by_label("Files of records")).to_be_visible()
    page.get_by_label("Files of records").set_input_files(CITATIONS)
    page.get_by_label("File of criteria").set_input_files(EXAMPLE_CRITERIA)
    expect(page.get_by_label("Research question")).to_have_value(re.compile("hip"))
    assert len(page.get_by_label("Inclusion criteria").input_value().splitlines()) == 3
    page.get_by_role("button", name=SCREEN).click()

    expect(page.get_by_role("heading", level=1)).to_have_text("citations.ris")
    expect(page.locator("#pace")).to_contain_text("to go", timeout=SCREENED_WITHIN)  # while it runs
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#done")).to_have_text("model finished: 24 of 24 done", timeout=SCREENED_WITHIN)
    expect(page.locator("#state")).to_have_text("waits for people")
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    expect(page.locator("#rows tr.row")).to_have_count(24)
    expect(page.locator("#rows .badge.open")).to_have_count(0, timeout=30_000)
    expect(page.get_by_role("img", name=re.compile("PRISMA 2020 flow diagram"))).to_be_visible()

    page.locator("#record-1 .toggle").focus()
    page.keyboard.press("e")
    expect(page.locator("#record-1 .badge")).to_have_text("exclude")
    expect(page.locator("#record-1 .human")).to_contain_text("Reviewer A")
    page.keyboard.press("j")
    page.keyboard.press("i")
    expect(page.locator("#record-2 .badge")).to_have_text("include")
    expect(page.locator("#said")).to_contain_text("Record 2: “include” by you.")

    with page.expect_download() as report:
        page.get_by_role("button", name="Save").click()
    assert report.value.suggested_filename.startswith("citations.ris-")
    text = Path(report.value.path()).read_text("utf-8")
    assert "PRISMA 2020" in text
    assert text.count('"by":"Reviewer A"') == 2
    page.get_by_label("File", exact=True).select_option("Results (CSV)")
    with page.expect_download() as results:
        page.get_by_role("button", name="Save").click()
    assert len(Path(results.value.path()).read_text("utf-8").splitlines()) >= 25

    (view,) = client.batches()
    assert [(one.index, one.value, one.reviewer) for one in list_overrides(client.batch(view.id))] == [
        (0, "exclude", "Reviewer A"),
        (1, "include", "Reviewer A"),
    ]
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert (tmp_path / "page.png").stat().st_size > 20_000
    assert browser.said == []  # the policy had nothing to forbid
    assert all(url.startswith((browser.base, f"blob:{browser.base}")) for url in browser.requests)
    assert not any(key in url for url in browser.requests)


@pytest.mark.night
def test_a_review_of_two_stages_is_begun_in_a_browser_and_home_shows_both_complete(
    client: Client, key: str, opened: Open, start_worker: StartWorker, double: Double, tmp_path: Path
) -> None:
    browser = opened()
    page = browser.sign_in(key, "/?new")
    records = tmp_path / "records.csv"
    lines = [f"{n},Sieve {n},In adults a mesh of {n} mm was used." for n in range(6)]
    records.write_text("\n".join(["id,title,abstract", *lines]), "utf-8")
    page.get_by_label("Title of the review").fill("Sieves")
    page.get_by_label("Files of records").set_input_files(records)
    page.get_by_label("Research question").fill("Does it sieve?")
    page.get_by_label("Inclusion criteria").fill("adults")
    expect(page.locator("#preview")).to_contain_text("6 records were read")
    page.get_by_role("button", name="Add a stage").click()
    page.get_by_role("group", name="Stage 2").get_by_label("What to extract").fill("Which mesh?")
    page.get_by_label("Records that pass screening").select_option("included or uncertain")
    expect(page.locator(".dry-run-stage")).to_contain_text(
        "At most, if every record passes the earlier stages: 6 calls"
    )
    assert (list_reviews(client), double.count()) == ([], 0)
    start_worker(concurrency="2")
    page.get_by_role("button", name="Screen these 6 records").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sieves")
    expect(page.locator(".stages progress")).to_have_count(3, timeout=SCREENED_WITHIN)  # with the second stage
    (view,) = list_reviews(client)
    first, second = find_review(client, view.id).wait(timeout=60).stages
    passed = [
        row.index
        for row in client.batch(first.id).results()
        if row.final_value in (InclusionStatus.INCLUDE, InclusionStatus.UNCERTAIN)
    ]
    assert passed
    assert [row.origin for row in client.batch(second.id).results()] == passed

    page.get_by_role("link", name="Batches").click()
    review = page.get_by_role("article", name="Sieves")
    for name, model, n in (("1. inclusion", "model finished: ", 6), ("2. extract", "", len(passed))):
        bar = review.get_by_role("progressbar", name=f"{name}, Sieves: {model}{n} of {n} done")
        expect(bar).to_have_js_property("value", n)
        expect(bar).to_have_js_property("max", n)
    expect(review.locator(".ahead")).to_have_count(0)
    assert browser.said == []


@pytest.mark.night
def test_the_example_is_a_button_away(key: str, opened: Open) -> None:
    page = opened().sign_in(key, "/?new")
    page.get_by_role("button", name="Fill in the example").click()
    expect(page.get_by_label("Research question")).to_have_value(re.compile("hip"))
    assert page.evaluate("document.getElementById('records-file').files[0].name") == "citations.ris"
    page.get_by_role("button", name=SCREEN).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("citations.ris")
    expect(page.locator("#done")).to_contain_text("of 24 done")


@pytest.mark.night
def test_what_is_sent_again_after_a_lost_answer_is_the_same_attempt_until_something_is_changed(
    key: str, opened: Open
) -> None:
    page = opened().sign_in(key, "/?new")
    page.get_by_role("button", name="Fill in the example").click()
    expect(page.get_by_label("Research question")).to_have_value(re.compile("hip"))
    attempts = []

    def lose(route: Route) -> None:
        attempts.append(route.request.headers["idempotency-key"])
        route.abort()

    page.route("**/v1/files", lose)
    for change in (False, False, True):
        if change:
            page.get_by_label("Budget in dollars (empty: no limit)").fill("5")
        with page.expect_event("requestfailed"):
            page.get_by_role("button", name=SCREEN).click()
        expect(page.get_by_role("alert")).to_contain_text("The gateway does not answer.")
    first, again, changed = attempts
    assert first == again != changed


def test_several_files_are_screened_as_the_sources_that_they_are(
    client: Client, key: str, opened: Open, tmp_path: Path
) -> None:
    page = opened().sign_in(key, "/?new")
    page.get_by_label("Files of records").set_input_files([*write_searches(tmp_path).values()])
    page.get_by_label("Research question").fill("Does walking help?")
    page.get_by_label("Inclusion criteria").fill("Adults")
    page.get_by_role("button", name=SCREEN).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("medline.csv and 3 more files")
    expect(page.locator("#done")).to_contain_text("of 12 done")
    batch = client.batch(client.batches()[0].id)
    assert [row.source for row in batch.results()] == ["PubMed"] * 6 + ["Embase"] * 4 + ["trials.csv"] * 2
    page.locator("#record-4 .toggle").click()
    page.locator("#detail-4 .story").get_by_role("button", name="Prompts and answers").click()
    expect(page.get_by_text("year is contradicted: its duplicate No. 8 of Embase has 2017")).to_be_visible()


@pytest.mark.night
def test_what_is_wrong_with_a_file_is_said_and_what_was_typed_stays(key: str, opened: Open, tmp_path: Path) -> None:
    page = opened().sign_in(key, "/?new")
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"%PDF-1.7")
    page.get_by_label("Files of records").set_input_files(broken)
    page.get_by_label("Research question").fill("Does it work?")
    page.get_by_label("Inclusion criteria").fill("Adults")
    page.get_by_role("button", name=SCREEN).click()
    expect(page.get_by_role("alert")).to_contain_text("broken.csv: this is a PDF")
    expect(page.get_by_label("Research question")).to_have_value("Does it work?")
    broken.write_text("id,title\n1,A trial\n2,Another one\n", "utf-8")
    page.get_by_label("Files of records").set_input_files(broken)  # the same one, put right
    button = page.get_by_role("button", name="Screen these 2 records")
    expect(button).to_be_visible()
    broken.unlink()
    button.click()
    expect(page.get_by_role("alert")).to_contain_text("broken.csv was changed, moved or deleted after it was chosen")


@pytest.mark.night
def test_worked_examples_and_wordings_of_a_file_of_criteria_are_submitted_with_them(
    client: Client, key: str, opened: Open, tmp_path: Path
) -> None:
    page = opened().sign_in(key, "/?new")
    criteria = tmp_path / "criteria.yaml"
    example = "examples:\n  - {title: A trial, decision: include}\n"
    listed = "inclusion_criteria: [children, {criterion: adults, exclude_as: Wrong age}]\nstudy_types: [RCT]\n"
    worded = "exclude_as: {S1: Wrong design}\n"
    criteria.write_text(f"research_question: Does it?\n{listed}{worded}{example}", "utf-8")
    page.get_by_label("Files of records").set_input_files(CITATIONS)
    page.get_by_label("File of criteria").set_input_files(criteria)
    expect(page.get_by_text("The criteria are filled in, with 1 worked example from the file.")).to_be_visible()
    page.get_by_label("Inclusion criteria").fill("adults")  # I2 is I1 now
    page.get_by_text("Panel of models, doubtful decisions").click()
    page.get_by_label("If no quote in the record supports an exclusion").select_option("exclude the record")
    page.get_by_role("link", name="Other operations").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Filter, score, extract, answer")
    page.go_back()
    expect(page.get_by_text("24 records were read.")).to_be_visible()
    expect(page.get_by_role("button", name="Screen these 21 records")).to_be_visible()
    page.get_by_role("button", name=SCREEN).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("citations.ris")
    operation = client.batch(client.batches()[0].id).operation()
    assert isinstance(operation, Inclusion)
    assert [(one.title, one.decision) for one in operation.criteria.examples] == [("A trial", "include")]
    assert operation.criteria.exclude_as == {"I1": "Wrong age", "S1": "Wrong design"}
    assert operation.unverified == "exclude"
