"""Forks: a child must not use its parent's connections, nor wait for locks that the parent's other threads held.

The parent's objects are kept untouched: closing them would end the parent's sessions on the servers.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """An owner of connections or locks."""

    def forget(self) -> object:
        """Start with new connections and locks in a child process. Return the parent's connections, which stay open."""


_living: WeakSet[Forked] = WeakSet()
_of_the_parent: list[object] = []


def begin_anew_after_a_fork(one: Forked) -> None:
    """Call the object's `forget` in every child of this process."""
    _living.add(one)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _of_the_parent.extend([owner.forget() for owner in list(_living)]))
