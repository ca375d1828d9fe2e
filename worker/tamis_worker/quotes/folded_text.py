"""A text folded for comparison, and the way back to its original characters.

Folding unifies compatibility forms (NFKD), letter case, accents, quotation marks, dashes and white space. Folding
removes invisible characters, and the space that prompts put after `<` or `[`. Every character is folded by itself, so
any position in the folded text has a position in the original text.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

STEP = 256  # characters folded at a time; within a step, places are found character by character
REMEMBERED = 20_000  # characters whose folding is kept; a record may contain any of a million
TRAILING = 32  # accents and invisible characters after the last letter of a span that belong to it, at most

QUOTATION_MARKS = frozenset("'\"`\u00b4\u2032\u2033\u2035\u2036\u300c\u300d\u300e\u300f\u301d\u301e\u301f\uff02\uff07")
DASHES = frozenset("-\u2212\u02d7\u2043")  # in addition to all dashes of Unicode
SWALLOWING = " <["  # a space after these is dropped

_SPACES = re.compile(" {2,}")
_SWALLOWED = re.compile(r"([<\[]) ")


@dataclass(frozen=True)
class TextSpan:
    """A range of characters in a text. `end` is the position after the last character."""

    start: int
    end: int


class FoldedText:
    """A text, and its folded form without differences of case, accents, quotation marks, dashes and white space.

    Compare `folded`, and use `place` to find the original characters of a match.
    """

    def __init__(self, text: str, *, step: int = STEP) -> None:
        self._text = text
        self._step = step
        self._begins: list[int] = []  # per step, its first place in `folded`
        self._origins: dict[int, Sequence[int]] = {}  # per step, the places of its folded characters
        self.folded = text.translate(_FOLDS) if text.isascii() else ""
        # An ASCII character becomes a single character, so each keeps its place unless a space is dropped.
        self._same_places = text.isascii() and not _has_spaces_to_drop(" " + self.folded)
        if not self._same_places:
            self.folded = "".join(self._pieces())

    def _pieces(self) -> Iterator[str]:
        length, last = 0, " "
        for start in range(0, len(self._text), self._step):
            self._begins.append(length)
            piece = self._text[start : start + self._step].translate(_FOLDS)
            if _has_spaces_to_drop(piece):
                piece = _SWALLOWED.sub(r"\1", _SPACES.sub(" ", piece))
            if last in SWALLOWING:
                piece = piece.removeprefix(" ")
            if piece:
                yield piece
                length, last = length + len(piece), piece[-1]

    def place(self, start: int, end: int) -> TextSpan:
        """Return the position, in the original text, of `folded[start:end]`, which must not be empty."""
        if self._same_places:
            return TextSpan(start, end)
        stop = self._origin(end - 1) + 1
        for character in self._text[stop : stop + TRAILING]:
            if _FOLDS[ord(character)]:
                break
            stop += 1
        return TextSpan(self._origin(start), stop)

    def _origin(self, place: int) -> int:
        step = bisect_right(self._begins, place) - 1
        if (origins := self._origins.get(step)) is None:
            origins = self._origins[step] = self._origins_of(step)
        return origins[place - self._begins[step]]

    def _origins_of(self, step: int) -> Sequence[int]:
        reached = self._begins[step]
        end = self._begins[step + 1] if step + 1 < len(self._begins) else len(self.folded)
        start = step * self._step
        text = self._text[start : start + self._step]
        single = text.isascii() or all(len(_FOLDS[ord(character)]) == 1 for character in set(text))
        if single and end - reached == len(text):
            return range(start, start + len(text))  # every character became a single character
        last = self.folded[reached - 1] if reached else " "
        origins = array("L")
        for index, character in enumerate(text, start):
            for folded in _FOLDS[ord(character)]:
                if folded != " " or last not in SWALLOWING:
                    origins.append(index)
                    last = folded
        return origins


class _Folds(dict[int, str]):
    """The folded form of each character, computed at first use."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) < REMEMBERED:
            self[code] = folded
        return folded


def _has_spaces_to_drop(folded: str) -> bool:
    return "  " in folded or "< " in folded or "[ " in folded


def _fold(character: str) -> str:
    if (plain := _mark(character)) is not None:
        return plain
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    kept = (part for part in parts if not unicodedata.combining(part))
    return "".join(part if (plain := _mark(part)) is None else plain for part in kept)


def _mark(character: str) -> str | None:
    """Return the folded form of a quotation mark, dash, space or invisible character; None for any other character."""
    category = unicodedata.category(character)
    if character in QUOTATION_MARKS or category in ("Pi", "Pf"):
        return "'"
    if character in DASHES or category == "Pd":
        return "-"
    if character.isspace():
        return " "
    return "" if category == "Cf" else None


_FOLDS = _Folds()
