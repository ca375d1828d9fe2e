"""Processes of Tamis without the second of CPU that importing costs each of them: forked from one that has imported.

Their code, environment, folder and streams are those of a new interpreter's; what happens at import happened before.
Start-up itself is tested by those that start an interpreter: `tamis up` and its parts, and the README's commands.
"""

from .nursery import Child, Nursery, one_for_all, shared

__all__ = ["Child", "Nursery", "one_for_all", "shared"]
