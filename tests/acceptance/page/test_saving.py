"""What of a batch can be saved as a file, each with what it holds."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from stage.browser import needs_chromium
from stage.gateway_page import Open, few, write
from tamis_producer import Client

pytestmark = needs_chromium


@pytest.mark.night
def test_every_format_is_offered_in_one_group_with_what_it_holds(client: Client, key: str, opened: Open) -> None:
    batch_id = write(client, few())
    browser = opened()
    page = browser.batch(key, batch_id)
    files = page.get_by_role("region", name="Files to save")
    which, save = files.get_by_label("File", exact=True), files.get_by_role("button", name="Save")
    expect(which.locator("option")).to_have_count(15)
    which.select_option("Figure (SVG)")
    expect(files.locator("#saving-holds")).to_contain_text("as a drawing for a manuscript")
    which.select_option("RIS")
    files.get_by_label("Records", exact=True).select_option("included and uncertain")
    with page.expect_download() as saved:
        save.click()
    expect(page.locator("#said")).to_have_text(f"citations.ris-{batch_id[:8]}.ris is saved.")
    text = Path(saved.value.path()).read_text("utf-8")
    assert ("Zebra crossing" in text, "Bananas" in text, "Apples" in text) == (True, True, False)
    which.select_option("Original format")
    save.click()  # nothing says what they came in
    expect(page.get_by_role("alert")).to_contain_text("choose one of RIS")
    assert [said for said in browser.said if "422" not in said] == []
