"""The mentions of keywords in a text: which keyword, and where it stands; whole words only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from tamis_schemas import InvalidParameters

from . import compiled
from .rules import Meaning
from .variants import folded, pattern, variants

# A text with more mentions than this is no abstract; the rest is not looked at, and so rejects nothing.
MOST_MENTIONS = 64
LONGEST = 300  # characters of one keyword


@dataclass(frozen=True)
class Mention:
    """The place of a mention in a text, in bytes of its UTF-8."""

    start: int
    end: int
    meaning: Meaning


@dataclass(frozen=True)
class Keyword:
    """A keyword, what it means, and where a caller gave it."""

    text: object  # a text, as a caller should have given it
    meaning: Meaning
    place: str


class Keywords:
    """Finds every mention of some keywords in one linear pass.

    Raises `InvalidParameters` naming the place of a keyword that is none.
    """

    def __init__(self, keywords: Iterable[Keyword]) -> None:
        """Take the keywords; the first of two with the same variant counts."""
        self._meaning_of: dict[str, Meaning] = {}
        for keyword in keywords:
            for variant in variants(_checked(keyword)):
                self._meaning_of.setdefault(variant, keyword.meaning)
        # The longer one first: of "animal model" and "animal model study", the whole is the mention.
        ordered = sorted(self._meaning_of, key=lambda variant: (-len(variant), variant))
        self._any = compiled.compile_trusted("|".join(map(pattern, ordered))) if ordered else None

    def may_occur(self, text: bytes) -> bool:
        """False for a text without any mention."""
        return self._any is not None and self._any.search(text) is not None

    def mentions(self, text: bytes) -> Iterator[Mention]:
        """Yield at most `MOST_MENTIONS`, in the text's order, none within another."""
        if self._any is None:
            return
        for match in islice(self._any.finditer(text), MOST_MENTIONS):
            start, end = match.span()
            meaning = self._meaning_of.get(folded(text[start:end].decode("utf-8")))
            if meaning is not None and _stands_alone(text, start, end):
                yield Mention(start, end, meaning)


def _checked(keyword: Keyword) -> str:
    text, place = keyword.text, keyword.place
    if not isinstance(text, str):
        raise InvalidParameters(f"{place}: a keyword is a text, not a {type(text).__name__}")
    if not any(map(str.isalnum, text)):
        raise InvalidParameters(f"{place}: {text!r} holds no word")
    if len(text) > LONGEST:
        raise InvalidParameters(f"{place}: a keyword of {len(text)} characters; at most {LONGEST} are looked for")
    if "\\" in text:
        raise InvalidParameters(
            f"{place}: {text!r} is looked for as it stands; a pattern belongs to DEFINITIVE_TITLE_PATTERNS"
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidParameters(f"{place}: {text!r} holds half of a character, at {error.start + 1}") from error
    return text


def _stands_alone(text: bytes, start: int, end: int) -> bool:
    """Also where letters beyond ASCII stand around it; scripts without spaces have no such rule."""
    first, last = text[start : start + 4].decode("utf-8", "ignore")[:1], text[max(0, end - 4) : end]
    before = text[max(0, start - 4) : start].decode("utf-8", "ignore")[-1:]
    after = text[end : end + 4].decode("utf-8", "ignore")[:1]
    return not (_joins(before, first) or _joins(last.decode("utf-8", "ignore")[-1:], after))


def _joins(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and not (_without_spaces(left) or _without_spaces(right))


def _without_spaces(char: str) -> bool:
    """Return whether the char's script writes words without spaces: Thai to Khmer, Chinese, Japanese."""
    return (
        "\u0e00" <= char <= "\u0eff"
        or "\u1780" <= char <= "\u17ff"
        or (char >= "\u2e80" and not "\uac00" <= char <= "\ud7a3")
    )
