"""The Work view: record by record with the keyboard or by touch, and no decision is lost on its way."""

from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, Route, expect

from stage import one_ledger
from stage.browser import CONTRAST, needs_chromium
from stage.gateway_page import Open, Opened, decision, everything_is_sent, few, record, send_again, write
from stage.screened import CRITERIA, SOURCE, decided
from stage.work_double import REASONS, WorkDouble, work_record
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import list_conflicts, list_overrides, override, set_screening_mode
from tamis_schemas.records.source import Doubt

pytestmark = needs_chromium
client, base = one_ledger.client, one_ledger.base

WAITING = "Object.keys(localStorage).filter(name => name.startsWith('tamis.waiting.')).length"
TARGET = 44  # px high at least, so that a thumb hits it
LINE = 30  # px of an abstract
NARROW = [pytest.param(width, height, marks=pytest.mark.night) for width, height in ((320, 900), (640, 450))]
NARROW += [pytest.param(390, 844)]  # 640 x 450 is 1280 x 900 at 200 %


def work(client: Client, key: str, browser: Opened, double: WorkDouble) -> Page:
    """Return the Work view of a batch over this double, with its first record."""
    double.stand_in(browser.page)
    page = browser.sign_in(key, f"/?batch={write(client, few())}&view=work")
    expect(page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
    return page


def at_record(page: Page, number: int) -> None:
    expect(page.locator(".work-card .eyebrow")).to_have_text(f"Record {number}")


def records(n: int = 6) -> WorkDouble:
    return WorkDouble([work_record(place) for place in range(n)])


def test_one_key_includes_and_two_exclude_for_a_reason(client: Client, key: str, opened: Open) -> None:
    double, browser = records(), opened()
    page = work(client, key, browser, double)
    page.keyboard.press("i")
    at_record(page, 2)
    page.keyboard.press("e")
    expect(page.get_by_role("group", name="Exclude, because …").get_by_role("button")).to_have_count(5)
    page.keyboard.press("3")
    at_record(page, 3)
    expect(page.locator(".work-status")).to_have_text("Record 2: exclude, Animal studies.")
    page.keyboard.press("e")
    page.keyboard.press("Enter")
    at_record(page, 4)
    page.keyboard.press("e")
    page.keyboard.press("e")
    at_record(page, 5)
    page.keyboard.press("u")
    at_record(page, 6)
    everything_is_sent(page)
    assert double.said() == [
        (0, "include", None),
        (1, "exclude", REASONS[2]["text"]),
        (2, "exclude", None),
        (3, "exclude", None),
        (4, "uncertain", None),
    ]
    assert browser.said == []


@pytest.mark.night
def test_the_batch_and_its_work_lead_to_each_other(client: Client, key: str, opened: Open) -> None:
    double, browser = records(), opened()
    double.stand_in(browser.page)
    page = browser.batch(key, write(client, few()))
    page.get_by_role("link", name="Work").click()
    at_record(page, 1)
    page.get_by_role("link", name="Figure and report").click()
    expect(page.get_by_role("region", name="Flow of records")).to_be_visible()


def test_z_takes_the_last_decision_back_and_returns_to_its_record(client: Client, key: str, opened: Open) -> None:
    double = records()
    page = work(client, key, opened(), double)
    page.keyboard.press("i")
    page.keyboard.press("u")
    at_record(page, 3)
    page.keyboard.press("z")
    at_record(page, 2)
    page.keyboard.press("z")
    at_record(page, 1)
    page.keyboard.press("z")
    expect(page.locator(".work-status")).to_contain_text("There is nothing to undo.")
    expect(page.locator(".work-counts")).to_contain_text("6 to do, 0 decided by me")
    everything_is_sent(page)
    assert double.withdrawn == [1, 0]


@pytest.mark.night
def test_a_decision_that_replaced_another_is_taken_back_to_that(client: Client, key: str, opened: Open) -> None:
    double = records(1)
    double.records[0]["mine"] = {
        "value": "uncertain",
        "reason": None,
        "note": "see page 3",
        "at": "2026-01-01T00:00:00Z",
    }
    page = work(client, key, opened(), double)
    page.get_by_label("Show", exact=True).select_option("All records")
    expect(page.locator(".work-mine")).to_contain_text("uncertain")
    page.keyboard.press("i")
    page.keyboard.press("z")
    expect(page.locator(".work-mine")).to_contain_text("uncertain")
    everything_is_sent(page)
    assert double.said() == [(0, "include", None), (0, "uncertain", None)]
    assert double.withdrawn == []


@pytest.mark.night
def test_letters_are_letters_while_a_note_or_a_label_is_written(client: Client, key: str, opened: Open) -> None:
    double = records()
    page = work(client, key, opened(), double)
    page.keyboard.press("n")
    page.keyboard.type("i even read it z 1")
    page.keyboard.press("Enter")
    expect(page.locator(".work-notes")).to_contain_text("i even read it z 1")
    page.keyboard.press("l")
    page.keyboard.type("to discuss")
    page.keyboard.press("Enter")
    expect(page.locator(".work-labels")).to_contain_text("to discuss")
    page.get_by_role("button", name="Remove: to discuss").click()
    expect(page.locator(".work-labels")).to_have_count(0)
    everything_is_sent(page)
    assert double.sent == [
        ("remark", 0, {"notes": ["i even read it z 1"]}),
        ("remark", 0, {"labels": ["to discuss"]}),
        ("remark", 0, {"labels": ["to discuss"], "remove": True}),
    ]


@pytest.mark.night
def test_j_and_k_go_on_and_back_and_what_was_passed_over_comes_again(client: Client, key: str, opened: Open) -> None:
    double = records(3)
    page = work(client, key, opened(), double)
    page.keyboard.press("j")
    at_record(page, 2)
    page.keyboard.press("k")
    at_record(page, 1)
    page.keyboard.press("j")
    page.keyboard.press("i")
    page.keyboard.press("i")
    at_record(page, 1)
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Nothing is left to decide")).to_be_focused()


@pytest.mark.night
def test_the_gateway_searches_filters_and_sorts_and_the_address_keeps_it(
    client: Client, key: str, opened: Open
) -> None:
    double = records()
    page = work(client, key, opened(), double)
    page.keyboard.press("/")
    page.keyboard.type("trial 4")
    at_record(page, 4)
    page.get_by_label("Order").select_option("Disagreement first")
    page.get_by_text("More filters").click()
    page.get_by_role("combobox", name="Reason").select_option("Animal studies")
    at_record(page, 4)
    page.reload()
    at_record(page, 4)
    assert double.asked[-1] == {
        "show": "todo",
        "order": "disagreement",
        "reason": "Animal studies",
        "q": "trial 4",
        "limit": "50",
    }
    page.keyboard.press("/")
    with page.expect_request("**/work?*") as pasted:
        page.keyboard.insert_text("word " * 100)
    assert len(parse_qs(pasted.value.url)["q"][0]) == 199  # as many as the gateway takes, without the last blank


@pytest.mark.night
def test_the_next_records_are_there_before_they_are_needed(client: Client, key: str, opened: Open) -> None:
    double = records(120)
    page = work(client, key, opened(), double)
    for _ in range(31):
        page.keyboard.press("j")
    expect(page.locator(".work-line")).to_have_count(100)
    expect(page.locator(".work-line[aria-current]")).to_be_in_viewport(ratio=1)
    assert [asked.get("after") for asked in double.asked] == [None, "50"]


@pytest.mark.night
def test_a_dialog_lists_the_keys_and_gives_the_focus_back(client: Client, key: str, opened: Open) -> None:
    page = work(client, key, opened(), records())
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog.get_by_role("row")).to_have_count(14)
    page.keyboard.press("i")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    at_record(page, 1)
    expect(page.locator("#work-title")).to_be_focused()


@pytest.mark.night
def test_buttons_keep_the_focus_and_every_key_has_one(client: Client, key: str, opened: Open) -> None:
    double = records()
    page = work(client, key, opened(), double)
    page.get_by_role("button", name="Include", exact=True).focus()
    page.keyboard.press("Enter")
    at_record(page, 2)
    expect(page.get_by_role("button", name="Include", exact=True)).to_be_focused()
    page.get_by_role("button", name="Exclude").click()
    page.get_by_role("button", name="Animal studies").click()
    at_record(page, 3)
    page.get_by_role("button", name="Undo").click()
    at_record(page, 2)
    for name in ("Next", "Previous", "Note", "Label", "Keys"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_enabled()


def test_decisions_outlast_a_gateway_that_is_away_and_a_reload_and_are_written_once(
    client: Client, key: str, opened: Open
) -> None:
    double = records()
    page = work(client, key, opened(), double)
    double.away = True
    page.keyboard.press("i")
    page.keyboard.press("u")
    page.keyboard.press("i")
    expect(page.locator("#unsent")).to_contain_text("3 decisions are unsent")
    page.on("dialog", lambda asked: asked.accept())
    page.reload()
    expect(page.get_by_role("alert").filter(has_text="does not answer")).to_be_visible()
    assert key not in page.evaluate("JSON.stringify({ ...localStorage })")
    double.away = False
    page.get_by_role("button", name="Try again").click()
    at_record(page, 4)  # the three are known, although the gateway has not heard of them
    send_again(page)
    everything_is_sent(page)
    assert double.said() == [(0, "include", None), (1, "uncertain", None), (2, "include", None)]


@pytest.mark.night
def test_a_decision_whose_answer_is_lost_is_sent_again_under_its_id(client: Client, key: str, opened: Open) -> None:
    double = records()
    page = work(client, key, opened(), double)
    double.answers_lost = 1
    with page.expect_event("requestfailed"):
        page.keyboard.press("i")
    send_again(page)
    everything_is_sent(page)
    assert len(double.sent) >= 2
    assert len({body["decision_id"] for _, _, body in double.sent}) == 1
    assert double.said() == [(0, "include", None)]


@pytest.mark.night
def test_after_a_long_outage_a_press_sends_at_once_what_waits(client: Client, key: str, opened: Open) -> None:
    double = records()
    page = work(client, key, opened(), double)
    double.away = True
    with page.expect_event("requestfailed"):
        page.keyboard.press("i")
    for _ in range(6):  # each failure doubles the wait, up to a minute
        with page.expect_event("requestfailed"):
            send_again(page)
    double.away = False
    page.get_by_role("button", name="Send now").click()
    everything_is_sent(page)
    assert double.said() == [(0, "include", None)]


@pytest.mark.night
def test_two_tabs_write_each_decision_once(client: Client, key: str, opened: Open) -> None:
    double = records()
    first = work(client, key, opened(), double)
    double.away = True
    first.keyboard.press("i")
    first.keyboard.press("u")
    expect(first.locator("#unsent")).to_contain_text("2 decisions are unsent")
    address, kept = first.url, first.evaluate("sessionStorage.getItem('tamis.key')")
    second = first.context.new_page()
    double.stand_in(second)
    double.away = False
    second.goto(address)
    second.get_by_label("API key").fill(kept)
    second.keyboard.press("Enter")
    send_again(first)
    everything_is_sent(second)
    everything_is_sent(first)
    second.close()
    assert sorted(double.said()) == [(0, "include", None), (1, "uncertain", None)]


@pytest.mark.night
def test_what_was_decided_in_another_tab_is_seen_once_the_records_are_read_again(
    client: Client, key: str, opened: Open
) -> None:
    double = records()
    page = work(client, key, opened(), double)
    page.keyboard.press("i")
    everything_is_sent(page)
    double.records[0]["mine"] = {"value": "exclude", "reason": None, "note": None, "at": "2026-01-01T00:00:00Z"}
    page.get_by_label("Show", exact=True).select_option("All records")
    at_record(page, 1)
    expect(page.locator(".work-mine")).to_contain_text("exclude")


def test_a_refused_decision_is_shown_with_its_reason_and_sent_again_or_dropped(
    client: Client, key: str, opened: Open
) -> None:
    double = records()
    page = work(client, key, opened(), double)
    double.refusal = "the record is being settled"
    page.keyboard.press("i")
    page.keyboard.press("u")
    refused = page.locator("#unsent p")
    expect(refused).to_have_count(2)
    expect(refused.first).to_contain_text("Record 1, “include”, was not saved: the record is being settled")
    refused.nth(1).get_by_role("button", name="Discard it").click()
    expect(refused).to_have_count(1)
    expect(page.locator(".work-line .badge")).to_have_text(["include"])
    double.refusal = ""
    refused.get_by_role("button", name="Send again").click()
    everything_is_sent(page)
    assert double.said() == [(0, "include", None)]


@pytest.mark.night
def test_whoever_signs_out_while_decisions_wait_is_told(client: Client, key: str, opened: Open) -> None:
    double = records()
    page = work(client, key, opened(), double)
    double.away = True
    page.keyboard.press("i")
    expect(page.locator("#unsent")).to_contain_text("1 decision is unsent")
    page.get_by_role("button", name="Sign out").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 decision is not in the ledger yet.")
    dialog.get_by_role("button", name="Stay").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    dialog.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Tamis")).to_be_visible()
    assert page.evaluate(WAITING) == 1


def test_of_a_hidden_record_only_its_own_text_is_shown(client: Client, key: str, opened: Open) -> None:
    double = WorkDouble([work_record(0, hidden=True)])
    page = work(client, key, opened(), double)
    expect(page.locator(".work-card")).to_contain_text(
        "Decide alone: other decisions appear once two people have decided"
    )
    double.blind = "model_second"
    page.reload()
    expect(page.locator(".work-card")).to_contain_text("the decisions of the model and of others appear after yours")
    expect(page.locator(".work-card mark, .work-said, .work-card .badge")).to_have_count(0)


def test_the_criteria_stand_beside_a_text_that_is_read_alone(client: Client, key: str, opened: Open) -> None:
    double = WorkDouble([work_record(0, hidden=True), work_record(1)])
    page = work(client, key, opened(), double)
    criteria = page.get_by_role("region", name="Criteria")
    expect(criteria.get_by_role("listitem")).to_have_text(
        ["I1 Adults after a total hip replacement", "I2 A randomised controlled trial", "E1 Animal studies"]
    )
    page.keyboard.press("j")
    at_record(page, 2)
    expect(criteria).to_have_count(0)  # the model's verdicts name them


@pytest.mark.night
def test_identifiers_and_addresses_in_notes_are_links_that_leave_the_work_open(
    client: Client, key: str, opened: Open
) -> None:
    double = WorkDouble([work_record(0)])
    double.records[0]["notes"] = ["Reviewer A: full text: https://example.org/a.pdf, see page 3"]
    page = work(client, key, opened(), double)
    links = page.locator(".work-card a")
    expect(links).to_have_text(["DOI 10.1000/example.0", "https://example.org/a.pdf"])
    assert links.evaluate_all("links => links.map(({ href, target, rel }) => [href, target, rel])") == [
        ["https://doi.org/10.1000/example.0", "_blank", "noreferrer"],
        ["https://example.org/a.pdf", "_blank", "noreferrer"],
    ]


@pytest.mark.night
def test_words_of_the_criteria_are_marked_by_shape_and_the_switch_is_remembered(
    client: Client, key: str, opened: Open
) -> None:
    page = work(client, key, opened(), records())
    included, excluded = page.locator(".text .word.include"), page.locator(".text .word.exclude")
    expect(excluded).to_have_text(["rats"])
    expect(included.first).to_have_text("hip replacement")
    expect(included.last).to_have_text("follow-up")
    expect(page.locator(".text b")).to_have_text("METHODS:")
    expect(included.first).to_have_css("text-decoration-style", "solid")
    expect(excluded).to_have_css("text-decoration-style", "dotted")
    assert page.locator(".text mark").evaluate("mark => mark.firstChild.textContent") == "Supervised exercise at home"
    page.get_by_label("Highlight words for").uncheck()
    expect(page.locator(".work-card .word")).to_have_count(0)
    page.reload()
    at_record(page, 1)
    expect(page.locator(".work-card .word")).to_have_count(0)


@pytest.mark.night
def test_a_key_that_reads_alone_is_offered_no_decision(client: Client, opened: Open) -> None:
    key = api_keys.create(client.engine, "Reader", [Scope.READ])
    double = records()
    page = work(client, key, opened(), double)
    page.keyboard.press("i")
    page.keyboard.press("j")
    at_record(page, 2)
    expect(page.get_by_role("button", name="Include", exact=True)).to_have_count(0)
    assert double.sent == []


@pytest.mark.night
def test_quotes_are_marked_where_they_stand_behind_characters_of_two_units(
    client: Client, key: str, opened: Open
) -> None:
    double = records(1)
    field = double.records[0]["row"]["fields"][0]
    field |= {"text": "🏃🏃 Adults ran.", "marks": [[3, 9, "I1"]]}
    page = work(client, key, opened(), double)
    expect(page.locator(".text mark")).to_have_text("AdultsI1")
    expect(page.locator(".text mark .word.include")).to_have_text("Adults")


def test_nothing_that_a_record_or_a_person_says_is_run(client: Client, key: str, opened: Open) -> None:
    double, browser = records(1), opened()
    hostile = '<img src=x onerror="window.ran = 1"><script>window.ran = 1</script>'
    one = double.records[0]
    unsafe = f"javascript:window.ran=1 https://example.org/{hostile}"
    one |= {
        "labels": [hostile],
        "notes": [hostile, unsafe],
        "mine": {"value": hostile, "reason": hostile, "note": hostile},
    }
    one["row"] |= {"title": hostile, "by": hostile, "ids": [[hostile, None]], "why": hostile, "id": hostile}
    one["row"]["fields"] = [{"name": hostile, "text": hostile}]
    page = work(client, key, browser, double)
    page.get_by_label("Show", exact=True).select_option("All records")
    expect(page.locator("#work-title")).to_have_text(hostile)
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, main script, main a[href^=javascript]").count() == 0
    assert browser.said == []


@pytest.mark.night
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(client: Client, key: str, opened: Open, scheme: str) -> None:
    double = records()
    page = work(client, key, opened(scheme=scheme), double)
    page.keyboard.press("i")
    page.keyboard.press("e")
    texts = [".work-card *", ".work-side *", ".work-top *", ".work-panel *", ".work-decide *", ".work-tools *"]
    assert page.evaluate(CONTRAST, [*texts, ".work-status"]) == {}


@pytest.mark.parametrize(("width", "height"), NARROW)
def test_a_small_or_magnified_window_shows_where_the_abstract_begins_and_needs_no_sideways_scrolling(
    client: Client, key: str, opened: Open, width: int, height: int
) -> None:
    browser = opened(viewport=width)
    browser.page.set_viewport_size({"width": width, "height": height})
    page = work(client, key, browser, records())
    top = "element => element.getBoundingClientRect().top"
    assert page.locator(".text").evaluate(top) + LINE < page.locator("#work-bar").evaluate(top)
    lowest = "all => Math.min(...all.map(one => one.getBoundingClientRect().height))"
    assert page.locator(".work-decide button, .work-tools button").evaluate_all(lowest) >= TARGET
    page.keyboard.press("e")
    expect(page.get_by_role("group", name="Exclude, because …")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".work-panel button").evaluate_all(lowest) >= TARGET


@pytest.fixture
def batch_id(client: Client) -> str:
    return write(client, few())


def test_the_ledger_has_what_was_decided_with_its_reason_each_once(
    client: Client, key: str, opened: Open, batch_id: str
) -> None:
    browser = opened()
    page = browser.sign_in(key, f"/?batch={batch_id}&view=work")
    at_record(page, 1)
    page.keyboard.press("i")
    at_record(page, 2)
    expect(page.locator(".text mark")).to_have_text("Abstract 1E1")
    page.keyboard.press("e")
    page.keyboard.press("3")
    at_record(page, 3)
    page.keyboard.press("l")
    page.keyboard.type("to discuss")
    page.keyboard.press("Enter")
    page.keyboard.press("n")
    page.keyboard.type("see page 3")
    page.keyboard.press("Enter")
    page.keyboard.press("u")
    page.keyboard.press("z")
    at_record(page, 3)
    everything_is_sent(page)
    said = [(one.index, one.value, one.reason, one.reviewer) for one in list_overrides(client.batch(batch_id))]
    assert said == [(0, "include", None, "Reviewer A"), (1, "exclude", CRITERIA.exclusion_criteria[0], "Reviewer A")]
    assert (
        len(list_overrides(client.batch(batch_id), history=True)) == 4
    )  # the one that was taken back, and that it was
    page.get_by_label("Show", exact=True).select_option("Decided by me")
    expect(page.locator(".work-line")).to_have_count(2)
    page.get_by_label("Show", exact=True).select_option("All records")
    page.locator(".work-line").nth(2).click()
    expect(page.locator(".work-labels")).to_contain_text("to discuss")
    page.get_by_role("button", name="Remove: see page 3").click()
    expect(page.locator(".work-notes")).to_have_count(0)
    everything_is_sent(page)
    cut: list[str] = []
    page.on("requestfailed", lambda request: cut.append(request.url))
    page.goto(f"{browser.base}/healthz")
    assert [browser.said, cut] == [[], []]  # no answer was left unread, which would end its connection


@pytest.mark.night
def test_the_ledger_has_a_decision_once_although_its_answer_was_lost(
    client: Client, key: str, opened: Open, batch_id: str
) -> None:
    page = opened().sign_in(key, f"/?batch={batch_id}&view=work")
    at_record(page, 1)
    sent = []

    def lose(route: Route) -> None:
        sent.append(route.request.method)
        route.fetch()
        route.abort()

    page.route("**/items/*/override*", lose, times=1)
    with page.expect_event("requestfailed"):
        page.keyboard.press("i")
    send_again(page)
    everything_is_sent(page)
    page.route("**/items/*/override*", lose, times=1)
    with page.expect_event("requestfailed"):
        page.keyboard.press("z")
    send_again(page)
    everything_is_sent(page)
    assert sent == ["POST", "DELETE"]
    assert [one.withdrawn for one in list_overrides(client.batch(batch_id), history=True)] == [False, True]


@pytest.mark.night
def test_the_gateway_searches_for_the_view(client: Client, key: str, opened: Open, batch_id: str) -> None:
    page = opened().sign_in(key, f"/?batch={batch_id}&view=work")
    at_record(page, 1)
    page.keyboard.press("/")
    page.keyboard.type("bananas")
    expect(page.locator(".work-line")).to_have_count(1)
    expect(page.locator("#work-title")).to_have_text("Bananas")
    page.get_by_role("searchbox", name="Search").fill("")
    page.get_by_text("More filters").click()
    page.get_by_role("combobox", name="Decision").select_option("uncertain")
    expect(page.locator("#work-title")).to_have_text("Bananas")


def test_who_reads_in_a_pair_sees_nothing_of_the_other_and_decides_all_the_same(
    client: Client, key: str, opened: Open, batch_id: str
) -> None:
    override(client.batch(batch_id), 0, "exclude", reviewer="Somebody else", note="in rats")
    set_screening_mode(client.batch(batch_id), "pair", set_by="Reviewer A")
    page = opened().sign_in(key, f"/?batch={batch_id}&view=work")
    at_record(page, 1)
    expect(page.locator(".work-card")).to_contain_text("Decide alone")
    expect(page.locator(".work-card")).not_to_contain_text("Somebody else")
    page.keyboard.press("i")
    page.keyboard.press("u")
    page.keyboard.press("z")
    everything_is_sent(page)
    (conflict,) = list_conflicts(client.batch(batch_id))
    assert [(one.reviewer, one.value) for one in conflict.decisions] == [
        ("Somebody else", "exclude"),
        ("Reviewer A", "include"),
    ]


@pytest.mark.night
def test_a_copy_leaves_the_list_and_comes_back(client: Client, key: str, opened: Open) -> None:
    source = SOURCE.model_copy(update={"doubts": (Doubt(3, 1, "the same title, but another year"),)})
    rows = [decided(record(n), decision()) for n in range(4)]
    browser = opened()
    page = browser.sign_in(key, f"/?batch={write(client, rows, source=source)}&view=work")
    counts, copies = page.locator(".work-counts"), page.locator(".work-copies")
    expect(counts).to_contain_text("4 to do")
    copies.get_by_text("Possible copies: 1 of 1 pair to decide").click()
    expect(copies).to_contain_text("the same title, but another year")
    copies.get_by_role("button", name="Remove 4 as a copy").click()
    expect(counts).to_contain_text("3 to do")
    expect(copies).to_contain_text("Decided by Reviewer A: copies")
    copies.get_by_role("button", name="Undo").click()
    expect(counts).to_contain_text("4 to do")
    copies.get_by_role("button", name="Records 4 and 2 are different reports").click()
    expect(copies).to_contain_text("0 of 1 pair to decide")
    assert browser.said == []
