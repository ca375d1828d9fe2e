"""docs/page.md says of every command where it is on the page and which route does the same, or that none does."""

import re
from pathlib import Path

from tamis_cli.commands.command_list import COMMANDS

DOCS = Path(__file__).parents[4] / "docs"
TERMINAL_ONLY = "terminal only"
ROW = re.compile(r"^\| (`tamis [^|]*)\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
COMMAND = re.compile(r"`tamis ([a-z-]+)`")
ROUTE = re.compile(r"`([A-Z]+ /[^`]*)`")


def rows() -> list[tuple[str, str, str]]:
    """Return each command with the place on the page and the routes of its row in the table."""
    section = (DOCS / "page.md").read_text("utf-8").split("\n## Terminal and page\n")[1].split("\n## ")[0]
    return [
        (name, place.strip(), routes.strip())
        for commands, place, routes in ROW.findall(section)
        for name in COMMAND.findall(commands)
    ]


def test_every_command_is_in_one_row() -> None:
    assert sorted(name for name, _, _ in rows()) == sorted(one.name for one in COMMANDS)


def test_a_command_has_a_route_or_is_said_to_be_of_the_terminal_alone() -> None:
    for name, place, route in rows():
        assert place.startswith(TERMINAL_ONLY) is not bool(ROUTE.search(route)), name


def test_every_route_that_is_named_is_one_of_the_gateways() -> None:
    there = set(ROUTE.findall((DOCS / "http.md").read_text("utf-8")))
    assert {route for _, _, routes in rows() for route in ROUTE.findall(routes)} <= there
