"""The page for every eye, ear and window, and for nobody's scripts."""

import re

import pytest
from playwright.sync_api import expect

from stage.browser import CONTRAST, needs_chromium
from stage.gateway_page import Open, decision, few, write
from stage.screened import decided, failed
from tamis_producer import Client
from tamis_schemas import Inclusion, SearchCriteria
from tamis_schemas.answers.results import CriterionVerdict, Quote

pytestmark = needs_chromium

SCRIPT = "window.ran = (window.ran || 0) + 1"
HOSTILE = f'</script><script>{SCRIPT}</script><img src=x onerror="{SCRIPT}"> " \' & <!-- 🏃\u2028'


def test_a_screen_reader_finds_landmarks_headings_labels_and_news(client: Client, key: str, opened: Open) -> None:
    browser = opened()
    page = browser.batch(key, write(client, few()))
    expect(page.get_by_role("banner")).to_have_count(1)
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("navigation", name="Tamis")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for region in ("Progress", "Flow of records", "Decisions"):
        expect(page.get_by_role("region", name=region)).to_be_visible()
    expect(page.get_by_role("progressbar", name="model finished: 5 of 5 done")).to_be_visible()
    expect(page.get_by_role("table", name=re.compile("Every record of the batch"))).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.title() == "citations.ris – Tamis"
    page.goto(f"{browser.base}/?new")
    expect(page.locator("#new-batch")).to_be_visible()
    unnamed = "[...document.querySelectorAll('#new-batch :is(input, select, textarea)')].filter(f => !f.labels.length)"
    assert page.evaluate(f"{unnamed}.length") == 0


def test_nothing_that_a_record_a_file_or_a_model_says_is_run(client: Client, key: str, opened: Open) -> None:
    quote = Quote(text=HOSTILE, found=True, similarity=1.0, field="abstract", start=0, end=len(HOSTILE))
    hostile: dict[str, object] = dict.fromkeys(("id", "title", "abstract", "journal", "doi", "pmid", HOSTILE), HOSTILE)
    verdicts = {"I1": CriterionVerdict(verdict="met", quote=quote)}
    said = decision("exclude", exclusion_reason=HOSTILE, rationale=HOSTILE, verdicts=verdicts, flagged=True)
    criteria = SearchCriteria(research_question=HOSTILE, inclusion_criteria=[HOSTILE], exclusion_criteria=[HOSTILE])
    rows = [decided(hostile, said, model=HOSTILE), failed(hostile, "timeout", HOSTILE)]
    batch_id = write(client, rows, operation=Inclusion(criteria=criteria), label=HOSTILE)
    browser = opened()
    page = browser.batch(key, batch_id)
    page.get_by_role("button", name="Show all details on this page").click()
    expect(page.locator(".detail")).to_have_count(2)
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, iframe, object, embed").count() == 0
    assert page.locator("h1").text_content() == HOSTILE
    assert browser.said == []
    page.get_by_role("link", name="Reviews and batches").click()
    expect(page.locator("#batch-rows a")).to_have_count(1)
    assert page.locator("#batch-rows a").text_content() == HOSTILE
    assert page.evaluate("window.ran") is None


@pytest.mark.night
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground_in_light_and_dark(client: Client, key: str, opened: Open, scheme: str) -> None:
    batch_id = write(client, few())
    browser = opened(scheme=scheme)
    page = browser.batch(key, batch_id)
    page.get_by_role("button", name="Show all details on this page").click()
    page.locator("#record-1 .toggle").focus()
    page.keyboard.press("e")
    expect(page.locator("#record-1 .human")).to_be_visible()
    texts = [".badge", ".flag", ".by", ".human", ".small", ".panel h3", ".said", "#pace", "kbd", "th", "dt", "dd", "a"]
    assert page.evaluate(CONTRAST, [*texts, "button"]) == {}
    page.goto(f"{browser.base}/?new")
    expect(page.locator("#new-batch")).to_be_visible()
    assert page.evaluate(CONTRAST, ["label", "legend", ".small", "button", "a"]) == {}
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is (scheme == "light")


@pytest.mark.night
def test_a_narrow_window_needs_no_sideways_scrolling(client: Client, key: str, opened: Open) -> None:
    browser = opened(viewport=360)
    page = browser.batch(key, write(client, few()))
    page.get_by_role("button", name="Show all details on this page").click()
    for path in ("", "/", "/?new"):
        if path:
            page.goto(f"{browser.base}{path}")
            expect(page.locator("#whose")).to_contain_text("Reviewer A")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
