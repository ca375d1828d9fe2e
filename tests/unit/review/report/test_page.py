"""The page as text; tests/acceptance/test_report_page.py opens it in a browser."""

import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from stage.reported import FLOW, batch, figures
from tamis_review.report.figures import Figures
from tamis_review.report.page import write_page
from tamis_review.report.table import MOST_ROWS, Row
from tamis_schemas import BatchStatus, Counts
from tamis_schemas.batches.flow import Flow, Tally

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> \" ' & \u2028"
# What makes a browser fetch something.
LOADING = {"src", "srcset", "href", "data", "action", "poster", "background", "xlink:href"}


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs).get("id") or "code"

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


def page(given: Figures | None = None, rows: list[Row] | None = None) -> str:
    stream = io.StringIO()
    write_page(given or figures(), rows or [], stream)
    return stream.getvalue()


def test_nothing_is_loaded_from_anywhere() -> None:
    read = Page(page())
    for tag, attributes in read.elements:
        for name in LOADING & set(attributes):
            assert str(attributes[name]).startswith("#"), (tag, attributes)
    assert not {"link", "iframe", "object", "embed", "img"} & {tag for tag, _ in read.elements}
    assert not re.search(r"@import|url\(", page())


def test_only_its_own_script_and_style_may_run() -> None:
    policy = next(attributes["content"] for tag, attributes in Page(page()).elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not any("style" in attributes or "onclick" in attributes for _, attributes in Page(page()).elements)


@pytest.mark.parametrize("rows", [[], [{"i": 0, "title": HOSTILE}], [{"i": n, "title": HOSTILE} for n in range(3)]])
def test_rows_are_read_back_as_they_were_whatever_they_hold(rows: list[Row]) -> None:
    read = Page(page(rows=rows))
    assert json.loads(read.scripts["records"]) == rows
    assert sum(tag == "script" for tag, _ in read.elements) == 3


def test_a_name_or_a_criterion_is_text_wherever_it_stands() -> None:
    flow = Flow(identified=(Tally(name=HOSTILE, n=12),), **FLOW.model_dump(exclude={"identified"}))
    parameters = batch().parameters
    criteria = parameters["criteria"] | {"research_question": HOSTILE, "inclusion_criteria": [HOSTILE]}
    given = figures(
        label=HOSTILE,
        flow=flow,
        batches=(
            batch(
                label=HOSTILE,
                model_asked=HOSTILE,
                models={HOSTILE: 7},
                parameters=parameters | {"criteria": criteria},
                reasons=(Tally(name=HOSTILE, n=3),),
                exclusions=(Tally(name=HOSTILE, n=5),),
                errors=(Tally(name=HOSTILE, n=1),),
            ),
        ),
    )
    read = Page(page(given))
    assert sum(tag == "script" for tag, _ in read.elements) == 3
    assert not any(tag == "img" for tag, _ in read.elements)
    assert json.loads(read.scripts["facts"])["criteria"]["I1"]["text"] == HOSTILE.replace("\u2028", "").strip()


def test_rows_are_written_as_they_come() -> None:
    written = io.StringIO()

    def rows() -> Iterator[Row]:
        for n in range(3):
            yield {"i": n}
            assert f'{{"i":{n}}}' in written.getvalue()

    write_page(figures(), rows(), written)


def test_the_page_says_the_figures_without_its_script() -> None:
    text = page()
    for said in (
        "33.3%",
        "2 of 6 decided records",
        "95% interval 9.7% to 70.0%",
        "Animal studies",
        "no answer in time",
        "7,000",
    ):
        assert said in text
    assert "<noscript>" in text


def test_a_batch_that_decides_nothing_has_no_pass_rate() -> None:
    assert "Pass rate" not in page(figures(batches=(batch(operation="score"),)))


def test_an_unfinished_batch_says_so_before_any_number() -> None:
    text = page(figures(batches=(batch(state=BatchStatus.RUNNING),)))
    assert text.index("is not finished") < text.index("records identified")


def test_of_more_records_than_a_browser_takes_the_page_has_the_figures_and_says_where_the_decisions_are() -> None:
    def none() -> Iterator[Row]:
        raise AssertionError("a row was taken")
        yield {}

    stream = io.StringIO()
    counts = Counts(n_items=MOST_ROWS + 1, decided=MOST_ROWS + 1)
    write_page(figures(batches=(batch(counts=counts),)), none(), stream)
    text = stream.getvalue()
    assert Page(text).scripts == {}
    assert "a page shows up to 20,000 records, and this batch has 20,001" in text
    assert "<code>tamis results 0a1b2c3d -o decisions.csv</code>" in text
    assert "Flow of records" in text
    largest = figures(batches=(batch(counts=Counts(n_items=MOST_ROWS, decided=MOST_ROWS)),))
    assert {"facts", "records", "code"} == set(Page(page(largest)).scripts)
