"""A browser that is lent to one module of tests after the other is to each of them as a new one."""

import asyncio

import pytest

from stage.browser import KeptBrowser, needs_chromium


@needs_chromium
def test_the_next_module_has_the_same_browser_without_what_was_opened_and_between_them_asyncio_runs(
    kept_browser: KeptBrowser,
) -> None:
    heard: list[str] = []
    with kept_browser.lent() as (first, pages):
        page = pages.open(viewport=800)
        page.on("console", lambda message: heard.append(message.text))
        page.goto("data:text/html,<title>of the first</title>")
        page.evaluate("console.log(document.title)")
        pages.open(viewport=800)
        first.new_page()
        assert len(first.contexts) == 3
        assert asyncio.get_running_loop()
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()
    assert asyncio.run(asyncio.sleep(0, "it ran")) == "it ran"
    with kept_browser.lent() as (second, pages):
        assert second is first
        (left,) = second.contexts
        page = pages.open(viewport=800)
        assert page.context == left
        assert (page.url, page.title()) == ("about:blank", "")
        page.evaluate("console.log('to nobody')")
    assert heard == ["of the first"]
