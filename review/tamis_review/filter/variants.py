"""The variants of a keyword: British and American, singular and plural, hyphens or spaces between its words."""

import itertools
import re
import unicodedata
from collections.abc import Iterator

from tamis_schemas.extras import needs
from tamis_schemas.values.spelling import SPELLINGS

from .soft_hyphens import without_soft_hyphens

with needs("files"):
    import re2

SEPARATOR = r"[\s\p{Z}\p{Pd}\x{2212}]+"
ARTICLE = rf"(?:(?:the|an?){SEPARATOR})?"  # "letter to editor" is written "letter to the editor"
PREPOSITIONS = frozenset(("at", "by", "for", "from", "in", "of", "on", "to", "with"))
MOST = 64  # variants of one keyword

_BETWEEN_WORDS = re.compile(r"[\s\u2010-\u2015\u2212\ufe58\ufe63\uff0d-]+")
_APOSTROPHES = "'\u2018\u2019\u02bc"


def variants(keyword: str) -> list[str]:
    """Every variant of the keyword, folded; the keyword itself among them. Its last word is taken for the noun."""
    words = folded(keyword).split(" ")
    spelled = [sorted(_spellings(word)) for word in words[:-1]]
    spelled.append(sorted({number for one in _spellings(words[-1]) for number in _numbers(one)}))
    return [" ".join(one) for one in itertools.islice(itertools.product(*spelled), MOST)]


def folded(text: str) -> str:
    """The text as variants are compared: small letters, one space between words, no article after a preposition."""
    # The one letter whose small form is two characters stays as it is: RE2 knows no other case of it.
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
    """Return the pattern that finds the variant as whole words, whatever stands between them."""
    words = variant.split(" ")
    parts: list[str] = []
    for at, word in enumerate(words):
        article = ARTICLE if at > 0 and words[at - 1] in PREPOSITIONS else ""
        parts.append(article + _word(word))
    start = r"\b" if _ascii_word(variant[0]) else ""
    end = r"\b" if _ascii_word(variant[-1]) else ""
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
        for one in tuple(spellings):
            if british in one:
                spellings.add(one.replace(british, american))
            elif american in one:
                spellings.add(one.replace(american, british))
    return spellings


def _numbers(noun: str) -> Iterator[str]:
    """The noun, its plural and its singular, as far as spelling tells."""
    yield noun
    if not noun.isascii() or len(noun) < 3 or not noun[-1].isalpha():
        return
    if noun.endswith("series"):  # one word for both
        return
    if noun.endswith("ies"):
        yield noun[:-3] + "y"
    elif noun.endswith("sis"):
        yield noun[:-2] + "es"
    elif noun.endswith("ses") and len(noun) > 5:
        yield noun[:-2] + "is"
        yield noun[:-1]
    elif noun.endswith(("ches", "shes", "xes", "zes", "sses")):
        yield noun[:-2]
        yield noun[:-1]
    elif noun.endswith("s") and not noun.endswith(("ss", "us", "is")):
        yield noun[:-1]
    elif noun.endswith("y") and noun[-2] not in "aeiou":
        yield noun[:-1] + "ies"
    elif noun.endswith(("ch", "sh", "x", "z", "ss")):
        yield noun + "es"
    elif not noun.endswith("s"):
        yield noun + "s"
