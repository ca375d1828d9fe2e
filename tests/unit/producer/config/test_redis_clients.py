"""Which refusals of Redis show that another server is the primary."""

from types import SimpleNamespace
from typing import Any

import pytest
import redis
from redis.exceptions import MasterDownError

from tamis_producer.config.redis_clients import leave_replicas

REFUSED = "You can't write against a read only replica."


class Refusing:
    """A connection whose every answer is an error."""

    _sock = None

    def __init__(self, error: redis.ResponseError) -> None:
        self._error = error
        self.closed = False

    def read_response(self, *args: Any, **options: Any) -> Any:
        raise self._error

    def disconnect(self) -> None:
        self.closed = True


def connection(error: redis.ResponseError) -> Any:
    return leave_replicas(SimpleNamespace(connection_class=Refusing)).connection_class(error)


@pytest.mark.parametrize(
    "error",
    [
        redis.ReadOnlyError(REFUSED),
        MasterDownError("Link with MASTER is down"),
        redis.ResponseError("NOREPLICAS Not enough good replicas to write."),
        redis.ResponseError("UNBLOCKED force unblock from blocking operation, instance state changed"),
        redis.ResponseError(f"Error running script (call to f_1): @user_script:5: -READONLY {REFUSED}"),  # release 6
    ],
)
def test_a_server_that_is_not_the_primary_is_left(error: redis.ResponseError) -> None:
    left = connection(error)
    with pytest.raises(redis.ConnectionError) as lost:
        left.read_response()
    assert lost.value.__cause__ is error
    assert left.closed


@pytest.mark.parametrize(
    "error",
    [
        redis.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
        redis.exceptions.NoScriptError("No matching script."),
        redis.ResponseError("MISCONF Redis is configured to save RDB snapshots"),
        redis.exceptions.NoPermissionError("this user has no permissions"),
    ],
)
def test_a_primary_that_refuses_one_command_is_not_left(error: redis.ResponseError) -> None:
    stays = connection(error)
    with pytest.raises(redis.ResponseError):
        stays.read_response()
    assert not stays.closed
