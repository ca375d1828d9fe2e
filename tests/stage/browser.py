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


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; its sandbox is off, because tests may run as root and open no page but their own."""
    assert CHROMIUM is not None, "no chromium on the path: apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
