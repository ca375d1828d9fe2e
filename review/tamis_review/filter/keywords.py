"""The search for keywords in a text, as whole words.

All variants of a keyword are found: British and American, singular and plural, with hyphens or spaces between words.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise, product

from tamis_schemas import InvalidParameters
from tamis_schemas.extras import needs
from tamis_schemas.values.spelling import SPELLINGS

from . import compiled
from .rules import KeywordMeaning
from .soft_hyphens import without_soft_hyphens

with needs("files"):
    import re2

# The most mentions to read in one text. No abstract has more. Further mentions are ignored and reject nothing.
MOST_MENTIONS = 64
LONGEST = 300  # characters of one keyword
SEPARATOR = r"[\s\p{Z}\p{Pd}\x{2212}]+"
ARTICLE = rf"(?:(?:the|an?){SEPARATOR})?"  # "letter to editor" is written "letter to the editor"
PREPOSITIONS = frozenset(("at", "by", "for", "from", "in", "of", "on", "to", "with"))
MOST = 64  # variants of one keyword

_BETWEEN_WORDS = re.compile(r"[\s\u2010-\u2015\u2212\ufe58\ufe63\uff0d-]+")
_APOSTROPHES = "'\u2018\u2019\u02bc"
# The ending of a noun -> for each other form (plural or singular), how many letters to cut, and the letters to add. The
# first matching ending counts.
_ENDINGS = [
    (re.compile(ending), numbers)
    for ending, numbers in (
        (r"series$", ()),  # the same in singular and plural
        (r"ies$", ((3, "y"),)),
        (r"sis$", ((2, "es"),)),
        (r"...ses$", ((2, "is"), (1, ""))),
        (r"(?:ch|sh|x|z|ss)es$", ((2, ""), (1, ""))),
        (r"(?:us|is)$", ()),
        (r"(?:ch|sh|x|z|ss)$", ((0, "es"),)),
        (r"s$", ((1, ""),)),
        (r"[^aeiou]y$", ((1, "ies"),)),
        (r"", ((0, "s"),)),
    )
]


@dataclass(frozen=True)
class Mention:
    """A mention of a keyword in a text. `start` and `end` are positions in bytes of UTF-8."""

    start: int
    end: int
    meaning: KeywordMeaning


@dataclass(frozen=True)
class Keyword:
    """A keyword, its meaning, and its name in messages: list and index, such as `custom_keywords[2]`."""

    text: object  # not checked yet; must be a `str`
    meaning: KeywordMeaning
    place: str


class Keywords:
    """The search for every mention of some keywords in one linear pass.

    Raises `InvalidParameters` if a keyword is invalid. The message names the keyword's list and index.
    """

    def __init__(self, keywords: Iterable[Keyword]) -> None:
        """Compile the keywords. If two keywords have the same variant, the first keyword counts."""
        self._meaning_of: dict[str, KeywordMeaning] = {}
        for keyword in keywords:
            for variant in variants(_checked(keyword)):
                self._meaning_of.setdefault(variant, keyword.meaning)
        # Longer variants first: "animal model study" is one mention, not "animal model".
        ordered = sorted(self._meaning_of, key=lambda variant: (-len(variant), variant))
        self._any = compiled.compile_trusted("|".join(map(pattern, ordered))) if ordered else None

    def may_occur(self, text: bytes) -> bool:
        """Return False if the text certainly mentions no keyword, and True if it may mention a keyword."""
        return self._any is not None and self._any.search(text) is not None

    def mentions(self, text: bytes) -> Iterator[Mention]:
        """Yield at most `MOST_MENTIONS` mentions, in the text's order and without overlaps."""
        if self._any is None:
            return
        for match in islice(self._any.finditer(text), MOST_MENTIONS):
            start, end = match.span()
            meaning = self._meaning_of.get(folded(text[start:end].decode("utf-8")))
            if meaning is not None and not (_is_within_word(text, start) or _is_within_word(text, end)):
                yield Mention(start, end, meaning)


def variants(keyword: str) -> list[str]:
    """Return at most `MOST` forms of a keyword, in lower case with single spaces.

    They combine British and American spellings with the plural and the singular of the last word.
    """
    words = folded(keyword).split(" ")
    spelled = [sorted(_spellings(word)) for word in words[:-1]]
    spelled.append(sorted({number for spelling in _spellings(words[-1]) for number in _numbers(spelling)}))
    return [" ".join(combination) for combination in islice(product(*spelled), MOST)]


def folded(text: str) -> str:
    """Return the text normalised for comparison: lower case, single spaces, no article after a preposition."""
    # The letter U+0130 stays, because its lower case has two characters and RE2 knows no other case of this letter.
    plain = "\u0130".join(
        part.lower() for part in unicodedata.normalize("NFC", without_soft_hyphens(text)).split("\u0130")
    )
    for mark in _APOSTROPHES[1:]:
        plain = plain.replace(mark, "'")
    words = [word for word in _BETWEEN_WORDS.split(plain) if word]
    return " ".join(
        word
        for at, word in enumerate(words)
        if not (word in ("the", "a", "an") and at > 0 and words[at - 1] in PREPOSITIONS and at + 1 < len(words))
    )


def pattern(variant: str) -> str:
    """Return the pattern that finds a keyword's form as whole words, with any spaces or hyphens between the words."""
    words = variant.split(" ")
    parts = [(ARTICLE if before in PREPOSITIONS else "") + _word(word) for before, word in pairwise(("", *words))]
    start, end = (r"\b" if _ascii_word(letter) else "" for letter in (variant[0], variant[-1]))
    return start + SEPARATOR.join(parts) + end


def _word(word: str) -> str:
    composed, apart = (_escaped(unicodedata.normalize(form, word)) for form in ("NFC", "NFD"))
    return composed if composed == apart else f"(?:{composed}|{apart})"


def _escaped(word: str) -> str:
    return "".join(f"[{_APOSTROPHES}]" if char == "'" else re2.escape(char) for char in word)


def _ascii_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _spellings(word: str) -> set[str]:
    spellings = {word}
    for british, american in SPELLINGS:
        for spelling in tuple(spellings):
            if british in spelling:
                spellings.add(spelling.replace(british, american))
            elif american in spelling:
                spellings.add(spelling.replace(american, british))
    return spellings


def _numbers(noun: str) -> Iterator[str]:
    """Yield the noun, and its other forms (plural or singular) by the rules of spelling."""
    yield noun
    if noun.isascii() and len(noun) >= 3 and noun[-1].isalpha():
        for cut, added in next(numbers for ending, numbers in _ENDINGS if ending.search(noun)):
            yield noun[: len(noun) - cut] + added


def _checked(keyword: Keyword) -> str:
    text, place = keyword.text, keyword.place
    if not isinstance(text, str):
        raise InvalidParameters(f"{place}: a keyword must be a text, not a {type(text).__name__}")
    if not any(map(str.isalnum, text)):
        raise InvalidParameters(f"{place}: {text!r} contains no word")
    if len(text) > LONGEST:
        raise InvalidParameters(f"{place}: a keyword of {len(text)} characters; the maximum is {LONGEST}")
    if "\\" in text:
        raise InvalidParameters(
            f"{place}: {text!r} is searched for literally; put a pattern in DEFINITIVE_TITLE_PATTERNS"
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidParameters(f"{place}: {text!r} contains an incomplete character, at {error.start + 1}") from error
    return text


def _is_within_word(text: bytes, at: int) -> bool:
    """Return whether the byte position `at` is inside a word: between two letters or digits.

    In scripts without spaces between words, no position is inside a word.
    """
    left = text[max(0, at - 4) : at].decode("utf-8", "ignore")[-1:]
    right = text[at : at + 4].decode("utf-8", "ignore")[:1]
    return left.isalnum() and right.isalnum() and not (_without_spaces(left) or _without_spaces(right))


def _without_spaces(char: str) -> bool:
    """Return whether the character's script writes words without spaces: Thai to Khmer, Chinese, Japanese."""
    return (
        "\u0e00" <= char <= "\u0eff"
        or "\u1780" <= char <= "\u17ff"
        or (char >= "\u2e80" and not "\uac00" <= char <= "\ud7a3")
    )
