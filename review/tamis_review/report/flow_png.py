"""The flow's drawing as a PNG, for whoever's manuscript takes no SVG."""

import struct
import zlib

from tamis_schemas import ConfigurationError
from tamis_schemas.extras import needs

DPI = 300  # what journals ask for; the drawing's own units are of 1/96 inch
_INCH = 0.0254  # m
_HEAD = 33  # bytes of a PNG's signature and of its first chunk, behind which the resolution stands
_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="8" font-family="{}">n</text></svg>'
_FAMILIES = "Arial,Helvetica,'Liberation Sans',sans-serif"


def draw_png(svg: str) -> bytes:
    """The drawing in pixels, `DPI` of them an inch.

    Raises `ConfigurationError`: the extra `png` is missing, or there is no font to write with.
    """
    with needs("png"):
        from resvg_py import svg_to_bytes

    if bytes(svg_to_bytes(_PROBE.format(_FAMILIES))) == bytes(
        svg_to_bytes(_PROBE.format(_FAMILIES).replace("n</", "</"))
    ):
        raise ConfigurationError(
            "this machine has no font to write a PNG with: install Liberation Sans (Debian: fonts-liberation), or take "
            "the SVG, which brings its text as text"
        )
    drawn = bytes(svg_to_bytes(svg, zoom=DPI / 96))
    return drawn[:_HEAD] + _resolution() + drawn[_HEAD:]


def _resolution() -> bytes:
    """Return the chunk that says how large the picture is on paper."""
    a_metre = round(DPI / _INCH)
    body = b"pHYs" + struct.pack(">IIB", a_metre, a_metre, 1)
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
