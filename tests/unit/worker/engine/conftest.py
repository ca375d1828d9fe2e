"""Time is counted in the modules that ask for it with `LOOPS`."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

LOOPS = {"asyncio": asyncio.new_event_loop}


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = getattr(item.module, "LOOPS", LOOPS)  # type: ignore[attr-defined]
    return loops
