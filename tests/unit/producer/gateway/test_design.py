"""The allowed pairs of text, edge and background colours have enough contrast in the style sheet."""

import re
from pathlib import Path

import pytest

import tamis_review.report

CSS = (Path(tamis_review.report.__file__).parent / "assets" / "page.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6}|var\(--[\w-]+\));", found))
    for found in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[:2]
)
TEXT, EDGE = 4.5, 3.0  # the lowest contrasts of WCAG 2.2: 1.4.3 for text, 1.4.11 for edges, bars and focus
# Text colours by the background that they may have.
TEXTS = {
    "paper": ("ink", "muted", "accent", "failed", "passed", "uncertain"),
    "raised": ("ink", "muted", "accent", "failed"),
    "ink": ("paper",),
    "accent": ("paper",),
    "accent-tint": ("accent", "ink"),
    "notice": ("ink",),
    "mark": ("mark-ink",),
    "passed-tint": ("ink", "passed-text"),
    "uncertain-tint": ("ink", "uncertain-text"),
    "excluded-tint": ("ink",),
    "failed-tint": ("failed-text",),
    "open-tint": ("open-text",),
    "removed-tint": ("muted",),
}
EDGES = {"paper": ("focus", "strong-line", "excluded"), "raised": ("focus",)}
DECORATION = {"line", "notice-line", "open", "removed"}  # these only separate and fill, so they need no contrast
PAIRS = [
    (colour, background, least)
    for pairs, least in ((TEXTS, TEXT), (EDGES, EDGE))
    for background, colours in pairs.items()
    for colour in colours
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


@pytest.mark.parametrize("palette", [LIGHT, LIGHT | DARK], ids=["light", "dark"])
def test_a_colour_has_enough_contrast_on_its_background(palette: dict[str, str]) -> None:
    for colour, background, least in PAIRS:
        assert contrast(palette, colour, background) >= least, (colour, background)


def test_every_colour_of_the_style_sheet_has_a_pair_or_is_decoration() -> None:
    assert set(LIGHT) == DECORATION | {name for colour, background, _ in PAIRS for name in (colour, background)}
