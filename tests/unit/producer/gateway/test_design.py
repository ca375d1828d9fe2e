"""The contrasts that docs/design.md names are those of the style sheet, and enough."""

import re
from pathlib import Path

import pytest

import tamis_review.report

ROOT = Path(__file__).parents[4]
CSS = (Path(tamis_review.report.__file__).parent / "assets" / "page.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6}|var\(--[\w-]+\));", found))
    for found in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[:2]
)
PAGE = (ROOT / "docs" / "design.md").read_text("utf-8")
ROW = r"^\| `--([\w-]+)` on `--([\w-]+)` \| ([\d.]+) \| ([\d.]+) \|$"
TABLE = [
    (*row, least)
    for least, section in re.findall(
        r"^### [^\n]*: at least ([\d.]+)\n(.*?)(?=^#)", f"{PAGE}#", re.MULTILINE | re.DOTALL
    )
    for row in re.findall(ROW, section, re.MULTILINE)
]


def luminance(palette: dict[str, str], name: str) -> float:
    """WCAG 2.2's relative luminance of sRGB."""
    colour = palette[name]
    if colour.startswith("var"):
        return luminance(palette, colour[6:-1])
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(palette: dict[str, str], colour: str, ground: str) -> float:
    darker, lighter = sorted((luminance(palette, colour), luminance(palette, ground)))
    return (lighter + 0.05) / (darker + 0.05)


def test_black_on_white_has_the_largest_contrast() -> None:
    assert contrast({"ink": "#000000", "paper": "#ffffff"}, "ink", "paper") == pytest.approx(21)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]} on {row[1]}")
def test_a_colour_has_the_contrast_that_is_named_and_that_it_needs(row: tuple[str, ...]) -> None:
    colour, ground, *named, least = row
    found = [contrast(palette, colour, ground) for palette in (LIGHT, LIGHT | DARK)]
    assert [f"{int(10 * one) / 10}" for one in found] == named
    assert min(found) >= float(least)


def test_every_colour_of_the_style_sheet_is_named() -> None:
    assert {name for name in LIGHT if f"`--{name}`" not in PAGE} == set()
    assert [least for *_, least in TABLE] == ["4.5"] * 24 + ["3"] * 4
