"""Writes `recorded.txt` from the code as it stands."""

from .surface import RECORDED, surface

RECORDED.write_text("\n".join(surface()) + "\n", "utf-8")
print(RECORDED)  # noqa: T201 - a command
