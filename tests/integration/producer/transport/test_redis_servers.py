"""A Redis that Tamis can never use stops a producer and a worker at once, with one line that names the setting."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stage import tamis
from stage.sentinels import PASSWORD, Sentinel, sentinel_url
from tamis_cli.embedded import valkey as valkey_module
from tamis_cli.embedded.ports import free_port
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_producer.transport.broker import make_app, queue_depths
from tamis_producer.transport.redis_servers import check_servers
from tamis_schemas import BrokerUnavailable, ConfigurationError, Filter

CLUSTER = "is a Redis Cluster.* use one primary whose replica takes over"
SETTING = "TAMIS_BROKER_URL"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setitem(valkey_module.PARAMETERS, "cluster-enabled", "yes")
    monkeypatch.setitem(valkey_module.PARAMETERS, "cluster-port", str(free_port()))
    with Valkey(tmp_path / "cluster") as server:
        yield server.url


@pytest.fixture(scope="module")
def sentinel(valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinel]:
    with Sentinel(tmp_path_factory.mktemp("watch") / "sentinel", valkey, quorum=1) as sentinel:
        yield sentinel


def test_a_producer_refuses_a_cluster_before_it_writes_anything(cluster: str, settings: ProducerSettings) -> None:
    with Client(settings.model_copy(update={"broker_url": cluster})) as client:
        with pytest.raises(ConfigurationError, match=f"^{SETTING}: the server at 127.0.0.1:.* {CLUSTER}"):
            client.submit(Filter(criteria="Is it?"), [{"title": "One"}])
        assert client.batches() == []


def test_a_worker_refuses_a_cluster_at_its_start(cluster: str, environment: dict[str, str], tmp_path: Path) -> None:
    done = tamis("worker", env=environment | {"TAMIS_LIMITER_URL": cluster}, cwd=tmp_path)
    assert done.code != 0
    assert "TAMIS_LIMITER_URL: the server at" in done.err
    assert "is a Redis Cluster" in done.err
    assert "Traceback" not in done.err


def test_a_cluster_is_recognised_by_its_lack_of_a_second_database(cluster: str) -> None:
    with pytest.raises(ConfigurationError, match=CLUSTER):
        check_servers({SETTING: cluster.replace("/0", "/1")}, within=5.0)


def test_messages_are_published_and_counted_through_a_sentinel(
    settings: ProducerSettings, sentinel: Sentinel, valkey: Valkey
) -> None:
    with Client(settings.model_copy(update={"broker_url": sentinel_url(valkey, [sentinel])})) as client:
        client.submit(Filter(criteria="Is it?"), [{"title": "One"}, {"title": "Two"}])
    assert sum(queue_depths(make_app(settings)).values()) == 2


@pytest.mark.parametrize(
    ("right", "wrong", "error", "says"),
    [
        ("mymaster", "main", ConfigurationError, f"{SETTING}: the Sentinels do not know 'main', but mymaster"),
        (
            PASSWORD,
            "another",
            ConfigurationError,
            f"{SETTING}: the Sentinel .* denies access: correct sentinel_password",
        ),
        ("127.0.0.1", "127.0.0.9", BrokerUnavailable, "no Sentinel of mymaster .Sentinels 127.0.0.9:.* answers"),
    ],
)
def test_a_wrong_url_of_sentinels_is_explained_in_one_line(
    right: str, wrong: str, error: type[Exception], says: str, sentinel: Sentinel, valkey: Valkey
) -> None:
    url = sentinel_url(valkey, [sentinel])
    check_servers({SETTING: url}, within=5.0)
    with pytest.raises(error, match=f"^{says}") as explained:
        check_servers({SETTING: url.replace(right, wrong)}, within=5.0)
    assert "\n" not in str(explained.value)
