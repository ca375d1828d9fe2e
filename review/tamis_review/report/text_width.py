"""Text measured without a browser, so that a drawing's boxes are made as large as what stands in them.

The widths are those of Arial and Helvetica, in thousandths of the font's size, rounded up by group; other fonts of a
reader's machine may be a little wider, which `SLACK` allows for.
"""

import unicodedata

SLACK = 1.06
_GROUPS = {
    222: "ijl'|\u2018\u2019",
    278: "ftI.,:;/\\![] \u00a0",
    334: 'r-()`{}"',
    500: "ckvxyzsJ",
    833: "mM%",
    1000: "W@\u2014\u2026",
}
_KNOWN = {character: thousandths for thousandths, group in _GROUPS.items() for character in group}
ELLIPSIS = "\u2026"


def width(text: str, size: float) -> float:
    """Return the width of a line, at most, in the units of `size`."""
    return sum(_thousandths(character) for character in text) * size / 1000 * SLACK


def wrapped(text: str, size: float, room: float, lines: int = 3) -> list[str]:
    """The text in lines that fit into `room`: at most `lines`, the last one cut with an ellipsis where more is left."""
    words = _broken(" ".join(text.split()), size, room)
    wrapped_lines: list[str] = []
    line = ""
    for n, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if not line or width(longer, size) <= room:
            line = longer
            continue
        if len(wrapped_lines) == lines - 1:
            return [*wrapped_lines, _cut(" ".join([line, *words[n:]]), size, room)]
        wrapped_lines.append(line)
        line = word
    return [*wrapped_lines, line]


def _broken(text: str, size: float, room: float) -> list[str]:
    """Words; one that is wider than a line (an address, a script without spaces) is broken where the line ends."""
    pieces: list[str] = []
    for word in text[:2000].split(" "):
        piece = ""
        for character in word:
            if piece and width(piece + character, size) > room:
                pieces.append(piece)
                piece = ""
            piece += character
        pieces.append(piece)
    return pieces


def _cut(text: str, size: float, room: float) -> str:
    kept = ""
    for character in text:
        if width(kept + character + ELLIPSIS, size) > room:
            break
        kept += character
    return kept.rstrip() + ELLIPSIS


def _thousandths(character: str) -> int:
    if character in _KNOWN:
        return _KNOWN[character]
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 1000
    return 722 if character.isupper() or character == "w" else 556
