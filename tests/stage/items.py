"""Items made for tests."""

from typing import Any


def abstracts(count: int, *, words: int = 40) -> list[dict[str, Any]]:
    """Distinct items: `id`, `title` and `abstract`; every text names its own number."""
    return [
        {
            "id": f"rec-{n}",
            "title": f"Title of record number {n}.",
            "abstract": f"Abstract of record number {n}. " + "plausible " * words,
        }
        for n in range(count)
    ]
