"""When a pool counts as stuck: a real pool, and a clock that is put forward."""

from sqlalchemy import create_engine
from sqlalchemy.pool import QueuePool

from tamis_producer.gateway.app import STUCK_AFTER, PoolWatch


def test_a_pool_is_stuck_where_everything_is_lent_and_for_a_minute_nothing_came_back() -> None:
    now = 0.0
    engine = create_engine("sqlite://", poolclass=QueuePool, pool_size=1, max_overflow=1, hide_parameters=True)
    watch = PoolWatch(engine, lambda: now)
    now = STUCK_AFTER
    assert not watch.stuck  # nobody asked for one
    one = engine.connect()
    now += STUCK_AFTER
    assert not watch.stuck  # another one is free
    with engine.connect():
        now += STUCK_AFTER - 1
        assert not watch.stuck
        now += 1
        assert watch.stuck
    assert not watch.stuck
    with engine.connect():
        assert not watch.stuck  # it has just been lent
        now += STUCK_AFTER
        assert watch.stuck
        one.close()
        assert not watch.stuck
    engine.dispose()
