"""Each part of Typer that is used without its promise does what the command line needs of it."""

import pytest

from internals import imported, on_the_page, read
from internals.typer_parts import TYPER

PROMISED = {"typer", "typer.core.TyperCommand", "typer.core.TyperGroup"}


@pytest.mark.parametrize("name", TYPER)
def test_typer_has(name: str) -> None:
    TYPER[name]()


def test_the_page_names_exactly_these_and_where_they_are_used() -> None:
    assert set(on_the_page("Typer")) == set(TYPER)
    for name, files in on_the_page("Typer").items():
        for file in files:
            assert name.split(".")[-1] in read(file), f"{name} is not used in {file}"


def test_whatever_else_of_typer_is_imported_is_in_the_contract() -> None:
    names = {name for _, name in imported("typer")}
    assert "typer" in names
    assert names - PROMISED <= set(TYPER)
