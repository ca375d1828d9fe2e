"""The events of a worker while its broker is away: a real server, and Celery's own heartbeat."""

from pathlib import Path
from threading import Thread
from typing import Any, cast

from celery.worker.heartbeat import Heart
from kombu.asynchronous.timer import Timer

from tamis_cli.embedded.valkey import Valkey
from tamis_producer import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_worker.celery_adapter.consumer_step import install

BEATS_WITHIN = 20.0  # s


def test_a_heartbeat_waits_for_no_broker_and_is_sent_once_it_is_back(tmp_path: Path) -> None:
    with Valkey(tmp_path / "valkey") as server:
        app = make_app(ProducerSettings(broker_url=server.url, database_url="postgresql+psycopg://h/d"))
        install(app, *cast(Any, (None, None, None)))
        with app.connection_for_write() as connection:
            dispatcher = app.events.Dispatcher(connection, hostname="worker@here")
            heart = Heart(Timer(), dispatcher, 2)
            heart._send("worker-heartbeat")
            assert not dispatcher._outbound_buffer
            server.process.kill()
            beat = Thread(target=heart._send, args=("worker-heartbeat",), daemon=True)
            beat.start()
            beat.join(BEATS_WITHIN)
            assert not beat.is_alive()
            assert len(dispatcher._outbound_buffer) == 1
            server.start()
            dispatcher.flush()
            assert not dispatcher._outbound_buffer
