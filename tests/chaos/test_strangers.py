"""The gateway among callers who stall, hang up and trickle, over real sockets: others are answered all the while.

The ordinary form has a part of the callers, and grants others two seconds, for it shares its machine; the long one has
all of them, and prints what it measured.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import text

from stage import abstracts, wait_until
from stage.gateway_process import serving
from stage.strangers import Strangers, Waits, first_bytes, somebody_else, status_of, strangers
from tamis_producer import Client, ProducerSettings, api_keys
from tamis_producer.api_keys import Scope
from tamis_schemas import Filter

ONCOLOGY = Filter(criteria="Is this about oncology?")
READERS_OF_A_KEY = 10  # at once; the gateway allows 16
OTHERS_WAIT = 2.0  # s at the most, on a machine that does something else as well
MOST_CONNECTIONS = 3  # of the gateway to the ledger, once the strangers are gone
GONE_WITHIN = 20.0  # s

CALLERS = [
    pytest.param({"stalled": 60, "hang_ups": 60, "slow_headers": 100}, id="short"),
    pytest.param({"stalled": 200, "hang_ups": 200, "slow_headers": 300}, id="long", marks=pytest.mark.slow),
]


@dataclass(frozen=True)
class Scene:
    """A gateway in a process of its own, with a batch whose results no socket takes at once."""

    url: str
    process: "subprocess.Popen[str]"
    client: Client
    batch_id: str
    keys: list[str]

    def key(self, caller: int) -> str:
        return self.keys[caller // READERS_OF_A_KEY]

    def connections(self) -> int:
        """Of the gateway to the ledger, whatever they do."""
        counting = text("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tamis gateway'")
        with self.client.engine.connect() as connection:
            return int(connection.execute(counting).scalar_one())

    def check_connections(self) -> None:
        wait_until(
            lambda: self.connections() <= MOST_CONNECTIONS,
            within=GONE_WITHIN,
            what=f"the gateway holds {MOST_CONNECTIONS} connections at the most; it holds {self.connections()}",
        )


@pytest.fixture
def scene(settings: ProducerSettings, client: Client, tmp_path: Path) -> Iterator[Scene]:
    environment = {"TAMIS_BROKER_URL": settings.broker, "TAMIS_DATABASE_URL": settings.database}
    batch = client.submit(ONCOLOGY, abstracts(3_000, words=300))
    keys = [api_keys.create(client.engine, f"Stranger {n}", [Scope.READ, Scope.SUBMIT]) for n in range(21)]
    with serving(environment, tmp_path) as (url, process):
        yield Scene(url, process, client, batch.id, keys)


def check_others(waits: Waits, limit: float = OTHERS_WAIT) -> None:
    print(f"somebody else: {waits}")  # noqa: T201 - the long form is run for its figures
    assert waits.failures == []
    assert waits.longest <= limit


@pytest.mark.chaos
@pytest.mark.parametrize("callers", CALLERS)
def test_who_stalls_hangs_up_or_never_says_what_it_wants_keeps_nobody_waiting(
    scene: Scene, callers: dict[str, int]
) -> None:
    results = f"/v1/batches/{scene.batch_id}/results"
    with strangers(scene.url) as them, somebody_else_of(scene) as waits:
        stalled = [them.ask(results, scene.key(n)) for n in range(callers["stalled"])]
        assert {status_of(first_bytes(one)) for one in stalled} == {200}
        for n in range(callers["slow_headers"]):
            them.connect(f"GET /v1/batches HTTP/1.1\r\nX-{n}: ".encode())
        hang_up(them, scene, results, callers["hang_ups"])
        streams = [them.ask(f"/v1/batches/{scene.batch_id}/events", scene.keys[20]) for _ in range(15)]
        assert {status_of(first_bytes(one)) for one in streams} == {200}
        # Whoever stalls holds no connection of the ledger, nor does whoever follows.
        scene.check_connections()
    scene.check_connections()
    check_others(waits)


def hang_up(them: Strangers, scene: Scene, path: str, count: int) -> None:
    """As many callers as there are read the beginning, and are gone."""
    for n in range(count):
        caller = them.ask(path, scene.keys[n % 20])
        assert status_of(first_bytes(caller)) in {200, 429}
        caller.close()


def somebody_else_of(scene: Scene):
    return somebody_else(scene.url, ["/healthz", f"/v1/batches/{scene.batch_id}", "/readyz"], scene.keys[-1])
