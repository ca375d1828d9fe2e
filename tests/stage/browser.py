"""A real browser without a window: the distribution's Chromium, driven by playwright.

Its shell without a window draws and runs the same pages with a fifth less CPU than the whole program.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)

# Without Chromium these tests are left out; in CI its absence is a failure.
MISSING = "no chromium on the path: apt-get install chromium-headless-shell"
needs_chromium = pytest.mark.skipif(CHROMIUM is None and not os.environ.get("CI"), reason=MISSING)

ITS_OWN = {"close", "crash"}  # events to which playwright itself listens

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
    """A browser; its sandbox is off, because tests may run as root and open no page but their own.

    Its pages share one process, as long as they can: to start a new one for each view takes CPU, too.
    """
    assert CHROMIUM is not None, MISSING
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--renderer-process-limit=1"])
        yield browser
        browser.close()


class KeptBrowser:
    """One Chromium for the modules of a process that ask for it in turn: to start it takes three seconds of CPU.

    Its driver has an event loop that runs on this thread for as long as the driver does. Between modules the loop is
    put aside, so that tests of asyncio have loops of their own.
    """

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._browser: Browser | None = None
        self._pages: Pages | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hooks = sys.get_asyncgen_hooks()

    @contextmanager
    def lent(self) -> Iterator[tuple[Browser, "Pages"]]:
        """The browser and its pages, without anything that another module opened."""
        if self._browser is not None and not self._browser.is_connected():
            self.close()  # it crashed: a new one
        if self._browser is None:
            before = sys.get_asyncgen_hooks()
            self._browser = self._exits.enter_context(chromium())
            self._pages = Pages(self._browser)
            self._loop, self._hooks = asyncio.get_running_loop(), sys.get_asyncgen_hooks()
            sys.set_asyncgen_hooks(*before)
        assert self._pages is not None
        with self._at_work():
            yield self._browser, self._pages
            self._pages.clear()
            for context in self._browser.contexts:
                if not self._pages.has(context):
                    context.close()

    def close(self) -> None:
        """End it; the next who asks has another."""
        if self._browser is not None:
            with self._at_work():
                self._exits.close()
            self._browser = self._pages = self._loop = None

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        before = sys.get_asyncgen_hooks()
        asyncio._set_running_loop(self._loop)
        sys.set_asyncgen_hooks(*self._hooks)
        try:
            yield
        finally:
            sys.set_asyncgen_hooks(*before)
            asyncio._set_running_loop(None)


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

    def has(self, context: BrowserContext) -> bool:
        """Whether it is that of the page which is every test's."""
        return self._everybodys is not None and self._everybodys.context == context

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
    # Whoever listened would be told of all that later tests do, and each time the driver looks at what it takes.
    known = page._impl_obj  # the page itself removes only a listener that it is shown
    for event in set(known.event_names()) - ITS_OWN:
        for listener in known.listeners(event):
            known.remove_listener(event, listener)
    page.unroute_all()
    page.evaluate("() => { try { sessionStorage.clear(); localStorage.clear() } catch {} }")
    page.context.clear_cookies()
    page.goto("about:blank")
