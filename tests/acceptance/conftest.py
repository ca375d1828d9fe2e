"""What only whole-system tests need."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from stage.browser import chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the session; each test opens pages of its own."""
    with chromium() as running:
        yield running
