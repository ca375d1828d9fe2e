"""axe finds nothing on any view in any state and window, and every text can be read on its ground."""

from itertools import islice
from pathlib import Path

import pytest
from playwright.sync_api import Page

from stage.accessibility import violations
from stage.browser import CONTRAST, Pages, needs_chromium
from stage.gateway_page import Open
from stage.page_states import VIEWS, Stage
from tamis_producer import Client

pytestmark = needs_chromium

WINDOWS = [(1280, 900), (390, 844), (320, 640), (640, 450)]  # the last is 1280 x 900 at 200 %
COLOURED = (1280, 320)  # a wide window, and one of those that the style sheet calls narrow
# A view in another state, such as "Work, in an audit", is left to the night.
SHOWN = [pytest.param(view, marks=pytest.mark.night if ", " in view else ()) for view in VIEWS]
TEXTS = ["body *:not(svg, svg *, i:empty)"]  # those of figures: tests/unit/producer/gateway/test_design.py


@pytest.mark.parametrize(
    ("windows", "states"),
    [
        pytest.param(WINDOWS[:1], 1, id="wide"),  # the first state of each view
        pytest.param(WINDOWS, None, id="all", marks=pytest.mark.night),
    ],
)
@pytest.mark.parametrize("view", SHOWN)
def test_axe_finds_nothing_and_every_text_can_be_read(
    client: Client,
    key: str,
    opened: Open,
    tmp_path: Path,
    view: str,
    windows: list[tuple[int, int]],
    states: int | None,
) -> None:
    browser = opened()
    stage = Stage(client, key, browser, tmp_path)
    found = {state: wrong for state in islice(VIEWS[view](stage), states) if (wrong := _wrong(browser.page, windows))}
    assert found == {}


def test_axe_is_heard(pages: Pages) -> None:
    page = pages.open(viewport=320)
    page.set_content("<title>A picture</title><img src='data:,'>")
    assert any(one.startswith("image-alt: img") for one in violations(page))


def _wrong(page: Page, windows: list[tuple[int, int]]) -> dict[str, object]:
    """What is wrong with a page as it stands there, by window and scheme; it is left as it was found."""
    found: dict[str, object] = {}
    for width, height in windows:
        page.set_viewport_size({"width": width, "height": height})
        found[f"{width} px"] = violations(
            page, contrast=len(windows) > 1 and width == WINDOWS[0][0]
        )  # else by CONTRAST alone
        found[f"{width} px, wider than the window"] = page.evaluate("document.documentElement.scrollWidth") > width
        for scheme in ("dark", "light") if width in COLOURED else ():
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            found[f"{width} px, contrast, {scheme}"] = page.evaluate(CONTRAST, TEXTS)
    width, height = WINDOWS[0]
    page.set_viewport_size({"width": width, "height": height})
    return {where: what for where, what in found.items() if what}
