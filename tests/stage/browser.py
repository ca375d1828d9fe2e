"""A real browser without a window: the distribution's Chromium, driven by playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

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
