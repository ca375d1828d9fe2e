"""The asynchronous classes against the synchronous ones: neither can lag behind the other."""

import inspect
from collections.abc import Callable

import pytest

from tamis_producer import AsyncBatch, AsyncClient, Batch, Client

# What a fork calls, and what packages above the producer build on, which `run_sync` and `run_on_thread` run.
INNER = {"forget", "reading", "writing", "attached", "write", "first_batch", "run_sync", "run_on_thread"}
INNER |= {"seen_by", "check_whole"}  # of the gateway


def methods(kind: type) -> dict[str, Callable[..., object]]:
    found = inspect.getmembers(kind, inspect.isroutine)
    return {name: method for name, method in found if not name.startswith("_") and name not in INNER}


@pytest.mark.parametrize(("kind", "mirror"), [(Client, AsyncClient), (Batch, AsyncBatch)])
def test_the_asynchronous_class_has_the_methods_of_the_synchronous_one_with_the_same_parameters(
    kind: type, mirror: type
) -> None:
    assert methods(mirror).keys() == methods(kind).keys()
    for name, method in methods(kind).items():
        parameters = inspect.signature(method).parameters
        assert inspect.signature(methods(mirror)[name]).parameters == parameters, name


@pytest.mark.parametrize(("kind", "mirror"), [(Client, AsyncClient), (Batch, AsyncBatch)])
def test_every_method_is_awaited_or_iterated_over_and_says_what_it_does(kind: type, mirror: type) -> None:
    for name, method in methods(mirror).items():
        told = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(inspect.unwrap(method))
        if name != "snapshot":
            iterated = str(inspect.signature(methods(kind)[name]).return_annotation).startswith("Iterator[")
            assert inspect.isasyncgenfunction(method) if iterated else told, name
        assert method.__doc__, name
