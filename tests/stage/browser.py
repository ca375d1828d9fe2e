"""A real browser without a window: the distribution's Chromium, driven by playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# Without Chromium these tests are left out; in CI its absence is a failure.
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="no chromium on the path (apt-get install chromium)"
)

# The elements under WCAG's 4.5 : 1 (relative luminance of sRGB, WCAG 2.1), by selector.
CONTRAST = """(selectors) => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = {};
  for (const selector of selectors) for (const element of document.querySelectorAll(selector)) {
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found[`${selector} ${element.className}`] = ratio.toFixed(2);
  }
  return found;
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; its sandbox is off, because tests may run as root and open no page but their own."""
    assert CHROMIUM is not None, "no chromium on the path: apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Pages:
    """Pages of one browser: the first that a test opens is every test's, as to make one takes a second of CPU.

    A test finds it empty and with nothing kept. What else it opens has a context of its own, as a second user has.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._everybodys: Page | None = None
        self._lent = False
        self._others: list[BrowserContext] = []

    def open(self, *, viewport: int, scheme: Literal["light", "dark"] = "light") -> Page:
        """A page, so many pixels wide."""
        if self._lent or self._everybodys is None:
            context = self._browser.new_context(accept_downloads=True)
            page = context.new_page()
            if self._lent:
                self._others.append(context)
            else:
                self._everybodys = page
        else:
            page = self._everybodys
        self._lent = True
        page.set_viewport_size({"width": viewport, "height": 900})
        page.emulate_media(media="null", color_scheme=scheme)
        return page

    def clear(self) -> None:
        """Leave nothing of the test behind."""
        for context in self._others:
            context.close()
        self._others.clear()
        if self._everybodys is not None and self._lent:
            try:
                _empty(self._everybodys)
            except Error:  # it is busy, or crashed: the next test has another one
                self._everybodys.context.close()
                self._everybodys = None
        self._lent = False


def _empty(page: Page) -> None:
    page.unroute_all()
    page.evaluate("() => { try { sessionStorage.clear(); localStorage.clear() } catch {} }")
    page.context.clear_cookies()
    page.goto("about:blank")
