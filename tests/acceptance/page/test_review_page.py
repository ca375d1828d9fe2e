"""One review as one page: its stages, what is left in each, the figure of all, and the way back from each stage."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from stage.browser import CONTRAST, needs_chromium
from stage.gateway_page import Open, few
from stage.screened import SCREENING, Place, write_batch, write_review
from tamis_producer import Client

pytestmark = needs_chromium


@pytest.mark.night
def test_a_review_leads_to_its_stages_and_each_stage_back(client: Client, key: str, opened: Open) -> None:
    with client.engine.begin() as connection:
        review = write_review(connection, "Sieves in adults", SCREENING, SCREENING)
        first = write_batch(connection, few(), place=Place(review, 0))
    browser = opened()
    page = browser.sign_in(key, "/")
    page.get_by_role("link", name="Sieves in adults").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sieves in adults")
    stages = page.get_by_role("main").get_by_role("list").first.get_by_role("listitem")
    expect(stages).to_have_count(2)
    expect(stages.nth(0)).to_contain_text("model finished: 5 of 5 done")
    expect(stages.nth(1)).to_contain_text("not started")
    expect(page.locator("#drawing svg")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save report of all stages").click()
    assert "Sieves in adults" in Path(saved.value.path()).read_text("utf-8")
    assert page.evaluate(CONTRAST, ["h2", "p", "a", "button", ".badge"]) == {}
    page.get_by_role("link", name="Run, 1.").click()
    expect(page).to_have_url(re.compile(f"batch={first}&view=run"))
    page.locator("#eyebrow").get_by_role("link", name="Sieves in adults").click()
    expect(page).to_have_url(re.compile(f"review={review}"))
    assert browser.said == []
