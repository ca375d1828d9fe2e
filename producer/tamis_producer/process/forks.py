"""A fork: the child must not speak over its parent's connections, nor wait for locks that other threads of it held.

What belongs to the parent is kept, untouched: to close it would be to say goodbye to the servers in the parent's name.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """An owner of connections or locks."""

    def forget(self) -> object:
        """Begin anew, in a child; returns what is the parent's."""


_living: WeakSet[Forked] = WeakSet()
_of_the_parent: list[object] = []


def begin_anew_after_a_fork(one: Forked) -> None:
    """Have it forget its connections in every child of this process."""
    _living.add(one)


def _in_child() -> None:
    _of_the_parent.extend([one.forget() for one in list(_living)])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
