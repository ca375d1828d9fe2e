"""What was asked about a record and answered is shown where its reasons are, when somebody asks for it."""

from playwright.sync_api import expect
from sqlalchemy import insert

from stage.browser import needs_chromium
from stage.gateway_page import Open, few, write
from tamis_producer import Client
from tamis_schemas.ledger import prompts, transcripts

pytestmark = needs_chromium

SHA = "ab" * 32
HOSTILE = 'Include.\n# Decision\n<img src=x onerror="document.title=1">'


def written(client: Client) -> str:
    """Five records, of which the second has a transcript."""
    batch_id = write(client, few())
    call = {
        "question": 1,
        "name": "inclusion",
        "at_ms": 900,
        "rung": "strict",
        "messages": [{"role": "system", "sha256": SHA}, {"role": "user", "content": "title: Apples"}],
        "parameters": {"model": "double", "temperature": 0.0},
        "answer": {"content": HOSTILE, "model": "double-1", "finish_reason": "stop"},
        "reading": {"usable": True},
        "usage": {"prompt_tokens": 900, "completion_tokens": 120},
        "latency_ms": 850,
    }
    with client.engine.begin() as connection:
        connection.execute(
            insert(prompts).values(batch_id=batch_id, sha256=SHA, text="You judge records.\nOne by one.")
        )
        row = {"batch_id": batch_id, "idx": 1, "fence": 1, "round": 1, "calls": [call]}
        connection.execute(insert(transcripts).values(row))
    return batch_id


def test_prompts_and_answers_are_fetched_and_shown_as_text(client: Client, key: str, opened: Open) -> None:
    tab = opened()
    page = tab.batch(key, written(client))
    page.get_by_role("button", name="Record 2: details").click()
    assert not [url for url in tab.requests if "explanation" in url]
    story = page.locator("#detail-2 .story")
    story.get_by_role("button", name="Prompts and answers").click()
    expect(story.locator("summary")).to_have_count(4)  # the source, what was decided, one call, and the bill
    story.locator("summary").nth(2).click()
    expect(story.locator("pre").nth(0)).to_contain_text("citations.ris (database)")
    expect(story.locator("pre").nth(2)).to_contain_text("You judge records.\n    One by one.")
    expect(story.locator("pre").nth(2)).to_contain_text("# Decision\n    <img src=x")
    expect(story.locator("pre").nth(1)).to_contain_text("status: exclude")
    expect(story.locator("pre").nth(3)).to_contain_text("1 call, over all rounds")
    assert tab.said == []
    story.get_by_role("button", name="Prompts and answers").click()
    expect(story.locator("pre")).to_have_count(0)
    page.get_by_role("button", name="Record 5: details").click()
    page.locator("#detail-5 .story").get_by_role("button").click()
    expect(page.locator("#detail-5 .story")).to_contain_text("no model was asked about the record")
