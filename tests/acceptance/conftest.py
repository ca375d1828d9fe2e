"""What only whole-system tests need."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from stage.browser import KeptBrowser, Pages

HERE = Path(__file__).parent
KEPT = KeptBrowser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """The browser ends with the last of the tests here, and waits for nobody beside the others."""
    yield
    if nextitem is None or HERE not in nextitem.path.parents:
        KEPT.close()


@pytest.fixture(scope="session")
def kept_browser() -> KeptBrowser:
    """The one of this process, between the modules that have it lent."""
    return KEPT


@pytest.fixture(scope="module")
def _lent(kept_browser: KeptBrowser) -> Iterator[tuple[Browser, Pages]]:
    with kept_browser.lent() as lent:
        yield lent


@pytest.fixture(scope="module")
def browser(_lent: tuple[Browser, Pages]) -> Browser:
    """Chromium; what a module opens in it is closed at its end.

    Beside it no test of asyncio can run: its driver's event loop runs on this thread.
    """
    return _lent[0]


@pytest.fixture
def pages(_lent: tuple[Browser, Pages]) -> Iterator[Pages]:
    """Pages without anything of other tests in them."""
    pages = _lent[1]
    yield pages
    pages.clear()
