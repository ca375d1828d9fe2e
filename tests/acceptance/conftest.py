"""What only whole-system tests need."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from stage.browser import Pages, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for a module; each test opens pages of its own.

    Not for longer: its driver keeps an event loop on this thread, beside which no test of asyncio could run.
    """
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def _pages_of_the_module(browser: Browser) -> Pages:
    return Pages(browser)


@pytest.fixture
def pages(_pages_of_the_module: Pages) -> Iterator[Pages]:
    """Pages without anything of other tests in them."""
    yield _pages_of_the_module
    _pages_of_the_module.clear()
