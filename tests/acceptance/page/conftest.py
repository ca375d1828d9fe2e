"""The page in a real browser: opened as often as a test likes, over a gateway of its own."""

from collections.abc import Iterator
from typing import Literal

import pytest

from stage.browser import Pages
from stage.gateway import gateway
from stage.gateway_page import Open, Opened
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope


@pytest.fixture
def key(client: Client) -> str:
    return api_keys.create(client.engine, "Reviewer A", list(Scope))


@pytest.fixture
def base(client: Client) -> Iterator[str]:
    with gateway(client) as url:
        yield url


@pytest.fixture
def opened(base: str, pages: Pages) -> Open:
    def opened(*, viewport: int = 1280, scheme: Literal["light", "dark"] = "light") -> Opened:
        opened = Opened(pages.open(viewport=viewport, scheme=scheme), base)
        # Not its advice on forms, which is of lower rank.
        opened.page.on(
            "console", lambda said: opened.said.append(said.text) if said.type in ("error", "warning") else None
        )
        opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        return opened

    return opened
