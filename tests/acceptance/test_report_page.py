"""The report in a real browser: nothing runs that is not its own, and a reviewer can work with it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, insert

from stage.browser import CONTRAST, Pages, needs_chromium
from stage.complete_flow import SOURCES
from stage.gateway_page import decision, record
from stage.screened import CRITERIA, Ledgered, decided, failed, kept_out, write_batch
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.decisions.record_overrides import record as record_decisions
from tamis_review.report import ReportForm, write_report
from tamis_schemas import Exclusion, HumanStage, Inclusion, ItemStatus, RemarkKind, SearchCriteria
from tamis_schemas.answers.results import CriterionVerdict, Difference, Quote
from tamis_schemas.ledger import remarks

pytestmark = needs_chromium

ROWS = 10_000
SCRIPT = "window.ran = (window.ran || 0) + 1"
HOSTILE = f'</script><script>{SCRIPT}</script><img src=x onerror="{SCRIPT}"> " \' & <!-- 🏃\u2028'
# The words of a page that stand in two lines, without hyphens. Words over 20 letters may be wider than any column.
BROKEN = """() => {
  const broken = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const words = /(?<![\\p{L}\\p{N}])[\\p{L}\\p{N}]{2,20}(?![\\p{L}\\p{N}])/gu;
  for (let text; (text = texts.nextNode()); ) {
    const above = text.parentElement;
    const unseen = above.closest("thead")?.getBoundingClientRect().width < 2;
    if (unseen || !above.checkVisibility() || above.closest("svg, .hidden")) continue;
    for (const { index, 0: word } of text.data.matchAll(words)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word);
    }
  }
  return broken;
}"""
HOSTILE_CRITERIA = SearchCriteria(
    research_question=HOSTILE, inclusion_criteria=[f"I {HOSTILE}"], exclusion_criteria=[f"E {HOSTILE}"]
)


@dataclass
class Opened:
    """A report in a page, and what the browser said of it."""

    page: Page
    said: list[str] = field(default_factory=list)  # by the console, and errors that nobody caught
    requests: list[str] = field(default_factory=list)


Open = Callable[..., Opened]


@pytest.fixture
def open_report(engine: Engine, pages: Pages, tmp_path: Path) -> Open:
    """Writes these rows into the ledger, reports them, and opens the file."""

    def opened(
        rows: list[Ledgered],
        *,
        anchor: str = "",
        viewport: int = 1280,
        humans: Sequence[HumanDecision] = (),
        notes: Sequence[tuple[int, str]] = (),
        **batch: object,
    ) -> Opened:
        with engine.begin() as connection:
            batch_id = write_batch(connection, rows, **batch)  # type: ignore[arg-type]  # passed on as they were given
            record_decisions(connection, batch_id, humans)
            noted = {"batch_id": batch_id, "kind": RemarkKind.NOTE, "reviewer": "Reviewer A", "removes": False}
            for place, text in notes:
                connection.execute(insert(remarks).values(noted | {"idx": place, "text": text}))
        path = tmp_path / "report.html"
        with path.open("w", encoding="utf-8", newline="") as stream:
            write_report(engine, str(batch_id), ReportForm.HTML, stream)
        opened = Opened(pages.open(viewport=viewport))
        opened.page.on("console", lambda message: opened.said.append(message.text))
        opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto(f"{path.as_uri()}{anchor}")
        return opened

    return opened


def shown(page: Page) -> list[str]:
    """The titles of the rows that stand in the table."""
    return page.locator("#rows .title").all_inner_texts()


def few() -> list[Ledgered]:
    """Six records with six outcomes."""
    animals, trial = CRITERIA.exclusion_criteria[0], CRITERIA.inclusion_criteria[1]
    flagged = {"E1": CriterionVerdict(verdict="met", quote=Quote(text="in rats", found=False, similarity=0.2))}
    exclusion = Exclusion(
        rule="title_pattern", reason="an editorial", confidence=0.95, matched="Editorial", field="title", start=0, end=9
    )
    return [
        decided(record(0, title="Zebra crossing", abstract=None), decision(confidence=0.5)),
        decided(
            record(1, title="Apples", abstract="Résumé of Müller"),
            decision("exclude", 0.7, exclusion_reason=animals, verdicts=flagged, flagged=True, model_confidence=0.9),
        ),
        kept_out(record(2, title="Editorial: walking"), exclusion),
        kept_out(record(3, title="apples again"), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=1)),
        failed(record(4, title="Bananas"), "timeout", "no answer within 120 s"),
        decided(record(5, title="Cherries"), decision("exclude", 0.8, exclusion_reason=trial)),
    ]


def test_nothing_that_a_record_or_a_model_says_is_run(open_report: Open) -> None:
    quote = Quote(text=HOSTILE, found=True, similarity=1.0, field="abstract", start=0, end=len(HOSTILE))
    hostile = {"id": HOSTILE, "title": HOSTILE, "abstract": HOSTILE, "authors": [HOSTILE], "journal": HOSTILE}
    hostile |= {"doi": HOSTILE, "pmid": HOSTILE, HOSTILE: HOSTILE}
    said = {"verdicts": {"I1": CriterionVerdict(verdict="met", quote=quote)}, "flagged": True}
    exclusion = Exclusion(rule=HOSTILE, reason=HOSTILE, matched=HOSTILE, field=HOSTILE, start=0, end=9)
    opened = open_report(
        [
            decided(
                hostile,
                decision("exclude", exclusion_reason=HOSTILE, rationale=HOSTILE, **said),
                model=HOSTILE,
                cut={HOSTILE: [1, 2]},
            ),
            failed(hostile, "timeout", HOSTILE),
            kept_out(hostile, exclusion),
            kept_out(hostile, Exclusion(rule="duplicate", reason=HOSTILE, duplicate_of=0)),
        ],
        operation=Inclusion(criteria=HOSTILE_CRITERIA),
        label=HOSTILE,
    )
    page = opened.page
    page.get_by_role("button", name="Show all details on this page").click()
    page.locator("summary").click()
    expect(page.locator(".detail")).to_have_count(4)
    assert page.evaluate("window.ran") is None
    assert page.locator("img, iframe, object, embed, link").count() == 0
    assert page.locator("script").count() == 3  # its facts, its rows, its code
    assert opened.said == []  # the policy had nothing to forbid
    assert len(opened.requests) == 1  # the file itself
    assert page.locator("h1").text_content() == HOSTILE
    assert page.locator("#record-1 .title").text_content() == HOSTILE
    assert page.locator("#detail-1 mark").evaluate("mark => mark.firstChild.textContent") == HOSTILE


def test_quotes_are_marked_where_they_stand_beyond_the_basic_plane_too(open_report: Open) -> None:
    abstract = "🏃🏃 We trained 𝔸 adults at home."
    start = abstract.index("trained")
    quotes = {
        "I1": Quote(text="trained 𝔸", found=True, similarity=1.0, field="abstract", start=start, end=start + 9),
        "I2": Quote(text="𝔸 adults", found=True, similarity=1.0, field="abstract", start=start + 8, end=start + 16),
        "E1": Quote(text="in rats", found=False, similarity=0.1),
        "E2": Quote(
            text="🏃🏃 We never trained 𝔹 adults",
            state="altered",
            similarity=0.9,
            field="abstract",
            start=0,
            end=start + 16,
            differences=(
                Difference(quoted="never", recorded="", start=6, end=11),
                Difference(quoted="𝔹", recorded="𝔸", start=20, end=21),
            ),
        ),
    }
    verdicts = {label: CriterionVerdict(verdict="met", quote=quote) for label, quote in quotes.items()}
    page = open_report([decided(record(0, abstract=abstract), decision(verdicts=verdicts, flagged=True))]).page
    page.get_by_role("button", name="Record 1: details").click()
    marks = page.locator("#detail-1 mark")
    assert [mark.evaluate("mark => mark.firstChild.textContent") for mark in marks.all()] == [
        "🏃🏃 We ",
        "trained ",
        "𝔸",
        " adults",
    ]
    assert page.locator("#detail-1 mark sup").all_inner_texts() == ["I1", "I2, E2"]
    assert (
        page.locator("#detail-1 .text").evaluate(
            "p => { p.querySelectorAll('sup').forEach(s => s.remove()); return p.textContent }"
        )
        == abstract
    )
    expect(page.locator("#detail-1")).to_contain_text("This quote is not in the record.")
    expect(page.locator("#record-1")).to_contain_text("quote not in the record")
    expect(page.locator("#record-1")).to_contain_text("quote altered")
    expect(page.locator("#detail-1")).to_contain_text("This quote is altered: the marked words differ from abstract.")
    assert page.locator("#detail-1 blockquote del").all_text_contents() == ["[quoted: never]", "[quoted: 𝔹]"]
    assert page.locator("#detail-1 blockquote ins").all_text_contents() == ["[in the record: 𝔸]"]


@pytest.mark.night
def test_a_row_opens_on_why_it_was_decided(open_report: Open) -> None:
    page = open_report(few()).page
    page.get_by_role("button", name="Show all details on this page").click()
    expect(page.locator("#detail-1")).to_contain_text("This record has no abstract.")
    excluded = page.locator("#detail-2")
    expect(excluded).to_contain_text("Exclusion reasonAnimal studies")
    expect(excluded).to_contain_text("confidence 0.90")  # what the model said, before it was lowered
    expect(excluded.locator("td.against")).to_have_text("met")
    filtered = page.locator("#detail-3")
    expect(filtered).to_contain_text("title pattern")
    expect(filtered).to_contain_text("an editorial")
    assert filtered.locator("mark").evaluate("mark => mark.firstChild.textContent") == "Editorial"
    expect(page.locator("#detail-4")).to_contain_text("Record 2: Apples")
    expect(page.locator("#detail-5")).to_contain_text("no answer in time: no answer within 120 s")


@pytest.mark.night
def test_search_finds_words_and_phrases_without_regard_to_case_and_accents(open_report: Open) -> None:
    page = open_report(few()).page
    for typed, found in (
        ("apples", ["Apples", "apples again"]),
        ("resume MULLER", ["Apples"]),
        ('"same doi"', ["apples again"]),
        ("120 bananas", ["Bananas"]),  # in the error and in the title
        ("randomised", ["Cherries"]),  # in the exclusion reason
        ("rats", ["Apples"]),  # in a quote
    ):
        page.fill("#search", typed)
        expect(page.locator("#rows .title")).to_have_text(found)
        expect(page.locator("#status")).to_contain_text(f"{len(found)} of 6 records match.")
    page.fill("#search", "nothing such")
    expect(page.locator("#rows")).to_contain_text("No record matches.")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#status")).to_contain_text("6 records.")


def test_decision_reason_and_flag_filter_and_say_how_many_there_are(open_report: Open) -> None:
    page = open_report(few()).page
    assert page.locator("#by-outcome option").all_inner_texts() == [
        *("all", "include (1)", "failed (1)", "exclude (2)", "initial filter (1)", "duplicate (1)"),
    ]
    page.get_by_label("Decision", exact=True).select_option("exclude (2)")
    assert shown(page) == ["Apples", "Cherries"]
    page.get_by_label("flagged only").check()
    assert shown(page) == ["Apples"]
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Reason", exact=True).select_option("A randomised controlled trial (1)")
    assert shown(page) == ["Cherries"]


def test_headings_sort_both_ways_and_say_so(open_report: Open) -> None:
    page = open_report(few()).page
    heading = page.get_by_role("columnheader", name="Record", exact=True)
    page.get_by_role("button", name="Record", exact=True).click()
    titles = ["Apples", "apples again", "Bananas", "Cherries", "Editorial: walking", "Zebra crossing"]
    assert shown(page) == titles
    assert heading.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Record", exact=True).click()
    assert shown(page) == titles[::-1]
    assert heading.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Confidence", exact=True).click()
    assert page.locator("#rows .sure").all_inner_texts() == ["0.50", "0.70", "0.80", "0.95", "", ""]  # none: last
    page.get_by_role("button", name="Confidence", exact=True).click()
    assert page.locator("#rows .sure").all_inner_texts() == ["0.95", "0.80", "0.70", "0.50", "", ""]
    assert heading.get_attribute("aria-sort") is None


def test_the_keyboard_alone_reaches_a_record_s_details(open_report: Open) -> None:
    page = open_report(few()).page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the first stop leads past the figures
    expect(page).to_have_url(re.compile("#decisions$"))
    page.focus("#search")
    page.keyboard.type("cherries")
    expect(page.locator("#status")).to_contain_text("1 of 6 records match.")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "toggle":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#detail-6")).to_be_visible()
    assert page.locator("#record-6 .toggle").get_attribute("aria-expanded") == "true"
    page.keyboard.press("Space")
    expect(page.locator("#detail-6")).to_have_count(0)


@pytest.mark.night
def test_a_duplicate_leads_to_its_copy_wherever_that_stands(open_report: Open) -> None:
    rows = [decided(record(n), decision()) for n in range(150)]
    rows.append(kept_out(record(150, title="the copy"), Exclusion(rule="duplicate", reason="DOI", duplicate_of=2)))
    page = open_report(rows, anchor="#record-151").page
    expect(page.locator("#detail-151")).to_contain_text("Record 3: Title 2")
    page.fill("#search", "copy")
    expect(page.locator("#status")).to_contain_text("1 of 151")
    page.get_by_role("link", name="Record 3").click()
    expect(page.locator("#detail-3")).to_be_in_viewport()
    assert page.evaluate("document.activeElement.closest('tr').id") == "record-3"


def test_a_screen_reader_finds_a_table_with_headings_a_status_and_a_described_flow(open_report: Open) -> None:
    page = open_report(few()).page
    table = page.get_by_role("table", name=re.compile("Every record of the batch"))
    expect(table.get_by_role("columnheader")).to_have_count(5)
    expect(table.get_by_role("rowheader")).to_have_count(6)
    expect(page.get_by_role("status")).to_contain_text("6 records. Rows 1 to 6 are shown.")
    for label in ("Search", "Decision", "Reason", "flagged only", "Rows"):
        expect(page.get_by_label(label, exact=True)).to_have_count(1)
    flow = page.get_by_role("img", name="PRISMA 2020 flow diagram")
    assert "Records identified: 6 (citations.ris: 6)." in str(flow.locator("desc").text_content())
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"


def test_no_text_of_the_flow_leaves_its_box(open_report: Open) -> None:
    reason = "Longitudinal studies with at least three measurement waves (PTSD) WWW MMM " * 4
    rows = [decided(record(0), decision("exclude", exclusion_reason=reason)), failed(record(1), "context_length")]
    page = open_report(rows, label="x" * 300).page
    outside = page.evaluate(
        """() => {
          const boxes = [...document.querySelectorAll("svg.flow .flow-box")].map((box) => box.getBBox());
          return [...document.querySelectorAll("svg.flow .flow-title, svg.flow .flow-text")].filter((text) => {
            const at = text.getBBox();
            return !boxes.some((box) => at.x >= box.x && at.y >= box.y &&
              at.x + at.width <= box.x + box.width && at.y + at.height <= box.y + box.height);
          }).map((text) => text.textContent);
        }"""
    )
    assert outside == []


@pytest.mark.night
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground_in_light_and_dark(open_report: Open, scheme: str) -> None:
    undecided = [
        decided(record(6), decision("uncertain")),
        Ledgered(record(7), ItemStatus.PENDING),
        Ledgered(record(8), ItemStatus.CANCELLED),
    ]
    page = open_report([*few(), *undecided], state="running").page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.get_by_role("button", name="Show all details on this page").click()
    low = page.evaluate(
        CONTRAST,
        [".badge", ".flag", ".by", ".reason", ".small", ".panel mark", ".panel h3", ".notice", "th", "dt", "dd", "a"],
    )
    assert low == {}
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is (scheme == "light")


def test_a_narrow_window_needs_no_sideways_scrolling(open_report: Open) -> None:
    page = open_report(few(), viewport=360).page
    page.get_by_role("button", name="Show all details on this page").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(page.locator("#record-2 .narrow")).to_have_text("Animal studies")


def reviewed(open_report: Open, **more: object) -> Page:
    """A review from three sources to full texts; two people decided, and one noted where a full text is."""
    title = "Perioperative rehabilitation after arthroplasty: a randomised multicentre noninferiority trial " * 2
    doi = "10.1000/rehabilitation(20)30183-5"
    rows = [decided(record(n, title=title, doi=doi, pmid="123"), decision(), source=n % 3) for n in range(4)]
    rows += [decided(record(4), decision("exclude", exclusion_reason="Wrong population"), source=0)]
    rows += [Ledgered(**vars(kept_out(record(5), Exclusion(rule="animal", reason="in rats"))) | {"source": 0})]
    people = [HumanDecision(n, "include", name) for n in range(4) for name in ("Reviewer A", "Dr Wilhelmina Example")]
    assessed = [
        HumanDecision(0, "not retrieved", "Cy", stage=HumanStage.RETRIEVAL, reason="Interlibrary loan refused"),
        HumanDecision(1, "exclude", "Cy", stage=HumanStage.FULL_TEXT, reason="Wrong age cohort"),
        HumanDecision(2, "retrieved", "Cy", stage=HumanStage.RETRIEVAL),
    ]
    notes = [(2, "full text: old.pdf"), (2, "full text: https://example.org/a.pdf"), (1, "full text: example.pdf")]
    return open_report(rows, humans=[*people, *assessed], notes=notes, source=SOURCES, **more).page


def test_no_word_is_broken_and_nothing_is_wider_than_a_wide_or_a_narrow_window(open_report: Open) -> None:
    page = reviewed(open_report)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BROKEN) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.night
@pytest.mark.parametrize("width", [1024, 800, 640, 360, 320])
def test_no_word_is_broken_in_any_window(open_report: Open, width: int) -> None:
    page = reviewed(open_report, viewport=width)
    page.get_by_role("button", name="Show all details on this page").click()
    assert page.evaluate(BROKEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_shows_every_box_of_the_figure_in_letters_of_a_text(open_report: Open) -> None:
    page = reviewed(open_report, viewport=390)
    boxes = page.locator(".flow-list li")
    expect(page.locator("svg.flow")).to_be_hidden()
    assert boxes.first.inner_text().replace("\u00a0", " ").splitlines() == [
        *("Identification: via databases and registers", "Records identified from (n = 5)"),
        *("Databases (n = 4)", "MEDLINE (n = 4)", "Registers (n = 1)", "Registry (n = 1)"),
    ]
    assert boxes.count() == page.locator("#flow tr.box").count()
    assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('.flow-list')).fontSize)") > 14
    sides = page.locator(".flow-list .side").all_inner_texts()
    assert "Reports not retrieved (n\u00a0=\u00a01)\nInterlibrary loan refused (n\u00a0=\u00a01)" in sides
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".flow-list")).to_be_hidden()
    expect(page.locator("svg.flow")).to_be_visible()


@pytest.mark.night
def test_reports_lead_to_the_resolvers_and_to_the_full_text(open_report: Open) -> None:
    page = reviewed(open_report)
    resolved = ["https://doi.org/10.1000/rehabilitation(20)30183-5", "https://pubmed.ncbi.nlm.nih.gov/123/"]
    third, second = page.locator("#reports tbody tr").nth(2), page.locator("#reports tbody tr").nth(1)
    links = "links => links.map(link => link.href)"
    assert third.locator("a").evaluate_all(links) == [*resolved, "https://example.org/a.pdf"]  # the latest note
    assert second.locator("a").evaluate_all(links) == resolved
    expect(second).to_contain_text("full text: example.pdf")
    page.get_by_role("button", name="Record 3: details").click()
    details = page.locator("#detail-3")
    assert details.locator("a").evaluate_all(links) == [*resolved, "https://example.org/a.pdf"]
    page.fill("#search", "full text old")
    expect(page.locator("#status")).to_contain_text("0 of 6")


@pytest.mark.parametrize("tall", [False, pytest.param(True, marks=pytest.mark.night)])
def test_the_first_printed_page_is_not_left_empty_below_the_heading(open_report: Open, tall: bool) -> None:
    reason = "A reason of the model that is long enough to stand in several lines of a box of the drawing: number {}"
    count = 12 if tall else 9
    wordy = [decided(record(n), decision("exclude", exclusion_reason=reason.format(n) * 2)) for n in range(count)]
    wordy += [kept_out(record(n), Exclusion(rule=f"rule_{n}", reason="why")) for n in range(count, 2 * count)]
    page = open_report(wordy).page
    assert page.locator("svg.flow-tall").count() == int(tall)
    page.set_viewport_size({"width": 688, "height": 1001})  # of A4, between the margins: 182 mm, 265 mm
    page.emulate_media(media="print")
    edge = "part => part.getBoundingClientRect()"
    head, drawing, outcome = (page.locator(part).evaluate(edge) for part in ("header", "#flow figure", "#outcome"))
    if tall:  # the drawing has a page of its own, so another section follows the heading
        assert head["bottom"] <= outcome["top"] < outcome["bottom"] <= drawing["top"]
    else:
        assert head["bottom"] < drawing["bottom"] < 1001


def test_on_paper_there_are_rows_and_no_controls(open_report: Open) -> None:
    page = open_report(few()).page
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in (".tools", ".pager", "#expand", "header nav"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator("#rows .row")).to_have_count(6)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(prefer_css_page_size=True)) > 10_000


@pytest.mark.night
def test_10_000_records_are_sorted_searched_and_paged(open_report: Open) -> None:
    abstract = "Background: a sentence of ordinary length about posttraumatic stress. " * 20  # 1,400 characters
    reasons = [*CRITERIA.inclusion_criteria, *CRITERIA.exclusion_criteria]
    rows = [
        decided(
            record(n, abstract=f"{abstract} Number {n}."),
            decision(
                "exclude" if n % 9 else "include", (n % 100) / 100, exclusion_reason=reasons[n % 3] if n % 9 else None
            ),
        )
        for n in range(ROWS - 1)
    ]
    rows.append(Ledgered(record(ROWS), ItemStatus.PENDING))
    page = open_report(rows, state="running").page
    page.get_by_role("button", name="Confidence", exact=True).click()
    expect(page.locator("#rows .sure").first).to_have_text("0.00")
    page.fill("#search", "number 9998")
    expect(page.locator("#status")).to_contain_text("1 of 10,000 records match.")
    page.fill("#search", "")
    page.get_by_role("button", name="Last page").click()
    expect(page.locator("#page")).to_have_text("Page 100 of 100")
    expect(page.locator(".notice")).to_contain_text("1 record has no result yet")


@pytest.mark.night
def test_a_human_decision_stands_before_the_softwares_with_reviewer_and_note(open_report: Open) -> None:
    opened = open_report(
        few(),
        humans=[
            HumanDecision(1, "include", f"Reviewer A {HOSTILE}", f"note {HOSTILE}"),  # was excluded
            HumanDecision(2, "include", "Reviewer B"),  # was kept out
            HumanDecision(4, "exclude", "Reviewer B"),  # had failed
            HumanDecision(5, "exclude", "Reviewer B", "not randomised"),  # confirmed
        ],
    )
    page = opened.page
    assert page.evaluate("window.ran") is None
    assert opened.said == []
    expect(page.locator("#record-2 .badge")).to_have_text("include")
    expect(page.locator("#record-2 .human")).to_have_text(f"by Reviewer A {HOSTILE.strip()}; software: exclude")
    expect(page.locator("#record-6 .human")).to_have_text("confirmed by Reviewer B")
    expect(page.locator("#record-1 .human")).to_have_count(0)
    page.get_by_role("button", name="Show all details on this page").click()
    second = page.locator("#detail-2")
    assert second.locator(".note").text_content() == f"note {HOSTILE.strip()}"
    expect(second).to_contain_text("Decision of the softwareexclude")
    expect(second).to_contain_text("Reason of the softwareAnimal studies")
    expect(second).to_contain_text("Decision of the softwareexclude confidence 0.70")
    expect(second).to_contain_text("Rationale of the softwarebecause")
    expect(second).to_contain_text("No. 2 · id r1")  # as `tamis override` takes it
    expect(page.locator("#record-2 .sure")).to_have_text("software: 0.70")  # beside the decision, and not as its own
    expect(page.locator("#record-2 .why .by")).to_have_text("software: Animal studies")
    expect(page.locator("#record-5 .sure")).to_be_empty()  # it had failed
    expect(page.locator("#detail-3")).to_contain_text("Decision of the softwareinitial filter")
    expect(page.locator("#detail-5")).to_contain_text("no answer in time: no answer within 120 s")
    page.get_by_label("decided by a human only").check()
    assert shown(page) == ["Apples", "Editorial: walking", "Bananas", "Cherries"]
    page.fill("#search", "randomised reviewer b")
    expect(page.locator("#rows .title")).to_have_text(["Cherries"])
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#rows .title")).to_have_count(6)
    page.select_option("#by-outcome", "passed")
    expect(page.locator("#rows .title")).to_have_text(["Zebra crossing", "Apples", "Editorial: walking"])
    expect(page.locator(".headline")).to_contain_text("overridden by a human")
    expect(page.locator("#humans")).to_contain_text("opposite to the software2")
    expect(page.locator("#outcome")).to_contain_text("Final pass rate, with human decisions")
    assert "of these, by a human" in page.locator("#flow svg").text_content()


def test_without_human_decisions_the_table_offers_no_choice_of_them(open_report: Open) -> None:
    page = open_report(few()).page
    expect(page.locator("#human-field")).to_be_hidden()
    expect(page.locator("#humans")).to_have_count(0)
