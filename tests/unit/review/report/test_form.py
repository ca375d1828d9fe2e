"""The figure as a PNG: the same drawing, at the resolution that journals ask for."""

import struct
import sys
from types import SimpleNamespace

import pytest

from stage.complete_flow import COMPLETE
from tamis_review.report.flow_svg import draw
from tamis_review.report.form import DPI, draw_png
from tamis_schemas import ConfigurationError


def chunks(png: bytes) -> dict[bytes, bytes]:
    """The chunks of a PNG by name, the last of each."""
    found, place = {}, 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        found[png[place + 4 : place + 8]] = png[place + 8 : place + 8 + length]
        place += 12 + length
    return found


def test_the_png_is_the_drawing_at_300_dots_an_inch() -> None:
    png = draw_png(draw(COMPLETE))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    found = chunks(png)
    width, height = struct.unpack(">II", found[b"IHDR"][:8])
    # 46 + 2 x (232 + 36 + 262) + 36 + 2 units wide, each 300/96 = 3.125 pixels: 1144 x 3.125 = 3575
    assert width == 3575
    assert 0.4 < height / width < 0.8
    assert struct.unpack(">IIB", found[b"pHYs"]) == (11811, 11811, 1)  # 300 / 0.0254 m
    assert DPI == 300
    assert len(png) > 50_000  # there is text on it
    assert b"IEND" in found


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ConfigurationError, match=r"needs the extra 'png'"):
        draw_png(draw(COMPLETE))


def test_a_machine_without_a_font_is_told_so_and_gets_no_boxes_without_words(monkeypatch: pytest.MonkeyPatch) -> None:
    blank = SimpleNamespace(svg_to_bytes=lambda svg, zoom=1.0: b"the same picture, whatever is written")
    monkeypatch.setitem(sys.modules, "resvg_py", blank)
    with pytest.raises(ConfigurationError, match="no font for a PNG"):
        draw_png(draw(COMPLETE))
