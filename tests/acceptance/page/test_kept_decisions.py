"""Decisions of one person, while worker, gateway and network fail one after the other: each is in the ledger once."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect
from sqlalchemy import text

from llm_double import Double
from stage import TcpProxy, WorkerProcess, abstracts, wait_until
from stage.browser import needs_chromium
from stage.gateway_page import Open, everything_is_sent
from stage.gateway_process import serving
from stage.screened import CRITERIA, SCREENING
from tamis_cli.embedded.ports import free_port
from tamis_producer import Client
from tamis_review import list_overrides

pytestmark = [needs_chromium, pytest.mark.chaos]

COUNT = 30
VALUES = ("include", "uncertain", "exclude")  # in turn
KEYS = {"include": ("i",), "uncertain": ("u",), "exclude": ("e", "3")}
ROWS = """
SELECT count(*), count(DISTINCT decision_id) FROM overrides WHERE batch_id = :id
UNION ALL SELECT count(*), count(DISTINCT idx) FROM results WHERE batch_id = :id
"""


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def network(port: int) -> Iterator[TcpProxy]:
    with TcpProxy(("127.0.0.1", port)) as network:
        yield network


@pytest.fixture
def base(network: TcpProxy) -> str:
    """The gateway's address, through the network that is cut."""
    return f"http://127.0.0.1:{network.port}"


def _decide(page: Page, first: int, last: int) -> None:
    """By the keyboard, on the records of these numbers."""
    for number in range(first, last + 1):
        expect(page.locator(".work-card .eyebrow")).to_have_text(f"Record {number}", timeout=30_000)
        for key in KEYS[VALUES[number % 3]]:
            page.keyboard.press(key)


@pytest.mark.night
def test_each_decision_is_written_once_in_order_though_worker_gateway_and_network_fail(
    client: Client,
    key: str,
    opened: Open,
    network: TcpProxy,
    port: int,
    environment: dict[str, str],
    tmp_path: Path,
    start_worker: Callable[..., WorkerProcess],
    double: Double,
) -> None:
    double.script(latency=0.3)
    given = {"lease_seconds": "2", "sweep_interval": "1", "concurrency": "2"}
    worker = start_worker(**given)
    batch = client.submit(SCREENING, abstracts(COUNT))
    with ExitStack() as gateways:
        gateway = gateways.enter_context(serving(environment, tmp_path, port=port)).process
        page = opened().sign_in(key, f"/?batch={batch.id}&view=work")
        waiting = page.locator("#unsent")
        page.on("dialog", lambda asked: asked.accept())
        _decide(page, 1, 4)
        wait_until(lambda: batch.status().counts.decided > 0, within=60, what="the model has decided, too")
        worker.kill()
        _decide(page, 5, 10)

        gateway.kill()
        gateway.wait()
        _decide(page, 11, 16)
        expect(waiting).to_contain_text("decisions are unsent. The gateway does not answer.")
        with pytest.raises(Error, match="ERR_"):
            page.reload()
        start_worker(**given)
        gateways.enter_context(serving(environment, tmp_path, port=port))
        page.reload()
        _decide(page, 17, 20)
        everything_is_sent(page)

        arrived = network.hold_replies_to(b"/override")
        _decide(page, 21, 24)
        assert arrived.wait(30)
        wait_until(
            lambda: len(list_overrides(client.batch(batch.id))) > 20, within=30, what="what is not answered is written"
        )
        again = network.hold_replies_to(b"/override")
        network.cut()
        assert again.wait(30)  # the browser itself asks once more, where a connection that it had used before is gone
        network.cut()
        expect(waiting).to_contain_text("4 decisions are unsent. The gateway does not answer.")
        network.let_go()
        _decide(page, 25, COUNT)
        everything_is_sent(page)
        expect(page.locator(".work-counts")).to_contain_text(f"0 to do, {COUNT} decided by me")
        page.goto("about:blank")
    assert batch.wait(timeout=60).decided == COUNT
    history = list_overrides(client.batch(batch.id), history=True)
    assert [(one.index, one.value, one.reviewer) for one in history] == [
        (place, VALUES[(place + 1) % 3], "Reviewer A") for place in range(COUNT)
    ]
    assert {one.reason for one in history if one.value == "exclude"} == {CRITERIA.exclusion_criteria[0]}
    with client.engine.connect() as connection:
        assert connection.execute(text(ROWS), {"id": batch.id}).all() == [(COUNT, COUNT), (COUNT, COUNT)]
