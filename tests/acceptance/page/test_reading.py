"""The table stands in the order in which a person should read, and what is decided makes room."""

import pytest
from playwright.sync_api import expect

from stage.browser import needs_chromium
from stage.gateway_page import Open, few, write
from tamis_producer import Client
from tamis_review import next_records, override

pytestmark = needs_chromium


@pytest.mark.night
def test_the_table_is_put_in_the_reading_order(client: Client, key: str, opened: Open) -> None:
    batch_id = write(client, few())
    override(client.batch(batch_id), 0, "include", reviewer="Reviewer B")
    override(client.batch(batch_id), 1, "exclude", reviewer="Reviewer B")
    order = [one.index for one in next_records(client.batch(batch_id), fresh=True).records]
    assert sorted(order) == [2, 3]
    page = opened().batch(key, batch_id)
    titles = ["Zebra crossing", "Apples", "Bananas", "Cherries", "apples again"]
    expect(page.locator("#rows .title")).to_have_text(titles)
    page.get_by_role("button", name="Read next").click()
    first, second = (titles[index] for index in order)
    expect(page.locator("#rows .title")).to_have_text([first, second, "Zebra crossing", "Apples", "apples again"])
    expect(page.locator("#next-means")).to_contain_text("The order was learned from 2 decisions, 1 of them")
    expect(page.locator("#said")).to_contain_text(f"Record {order[0] + 1} is next: ")
    page.locator(f"#record-{order[0] + 1} .toggle").focus()
    page.keyboard.press("e")
    expect(page.locator(f"#record-{order[0] + 1} .badge")).to_have_text("exclude")
    page.get_by_role("button", name="Read next").click()
    expect(page.locator("#rows .title").first).to_have_text(second)
    page.get_by_role("button", name="No.").click()
    expect(page.locator("#rows .title")).to_have_text(titles)
