"""The nursery has what it is there for: a module that has moved would be imported by each process again, unnoticed."""

from importlib.util import find_spec

from nursery.__main__ import IMPORTED


def test_every_module_that_the_nursery_imports_is_there() -> None:
    assert [name for name in IMPORTED if find_spec(name) is None] == []
