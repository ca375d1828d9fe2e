"""docs/celery.md names every command of Celery's that talks to workers."""

import re
from pathlib import Path

import pytest
from celery.worker.control import Panel

from tamis_worker.celery_adapter.remote_control import REFUSED

PAGE = (Path(__file__).parents[2] / "docs/celery.md").read_text("utf-8")


def rows(section: str) -> list[tuple[str, str]]:
    """The cells of a section's table."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [(row[0], row[1]) for row in re.findall(r"^\| (.+?) \| (.+) \|$", text, re.MULTILINE)][1:]


def named(section: str) -> set[str]:
    return {name for cell, _ in rows(section) for name in re.findall(r"`([a-z_]+)", cell)}


@pytest.mark.parametrize("kind", ["inspect", "control"])
def test_every_remote_control_command_is_on_the_page(kind: str) -> None:
    assert named(f"`celery {kind}`") - {"item"} == {name for name, info in Panel.meta.items() if info.type == kind}


def test_every_command_of_the_command_line_is_on_the_page() -> None:
    from celery.bin.celery import celery  # imports every command: not for whoever only collects

    shown = {
        name
        for cell, _ in rows("`celery` and what it does here")
        for name in re.findall(r"`celery (?:-A app )?(\w+)", cell)
    }
    assert shown == set(celery.commands)


def test_what_is_refused_is_said_to_be() -> None:
    said = {
        name: what.startswith("refused")
        for cell, what in rows("`celery control`")
        for name in re.findall(r"`(\w+)", cell)
    }
    assert {name for name, refused in said.items() if refused} == set(REFUSED)
