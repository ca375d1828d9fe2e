"""The tokens of a folded text, which are compared to find a quote in a record.

In a folded text, letter case, accents, quotation marks, dashes and white space are unified (`folded_text.py`).

A token is a word, a number or a sign with a meaning. Its canonical form is the same for all spellings: American
spelling, singular, no hyphen at a line's end, numbers as digits. Function words have no canonical form, so a quote may
differ in them, and in punctuation. Words that change the meaning are not function words: negations, "or", pronouns,
comparisons, words of time or place ("before", "without", "under"), and prepositions that say who acts on whom, or from
where to where ("by", "from", "to", "with"). A dash between numbers counts as "to".
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from tamis_schemas.values.spelling import american

REMEMBERED = 50_000  # tokens whose canonical form is kept
LONGEST = 64  # characters; a longer word is compared unchanged
PLURAL = 4  # letters that a plural has at least: "ms" is not the plural of "m"
TRIED = 1_000  # most places in a field that are tried for a match of whole tokens

FUNCTION_WORDS = frozenset(
    (
        *("a", "an", "the"),
        *("among", "amongst", "at", "during", "for", "in", "of", "on", "onto", "per", "upon"),
        *("am", "are", "be", "been", "being", "did", "do", "does", "had", "has", "have", "having", "is", "was", "were"),
        *("and", "but", "that", "which", "who", "whom", "whose", "such", "there", "these", "this", "those"),
    )
)
NEGATIONS = frozenset(("no", "not", "never", "neither", "nor", "none", "nothing", "without"))
NEGATING = ("non", "un", "anti")  # before a hyphen: "non-smokers" do not smoke
TURNING = NEGATIONS | {
    *("or", "before", "after", "until", "since", "within", "outside", "between", "under", "over", "above", "below"),
    *("against", "except", "despite", "beyond", "versus", "as", "by", "from", "than", "to", "with"),
}
_VERBS = {"can't": "can", "cannot": "can", "won't": "will"}
_SAME = dict(
    pair.split(" ")
    for pair in (
        *("percent %", "&lt; <", "&gt; >", "<= \u2264", ">= \u2265", "+/- \u00b1", "vs versus"),
        *("into to", "toward to", "towards to", "via by", "through by", "their they", "them they", "its it", "our we"),
        *("mcg \u03bcg", "ug \u03bcg", "alpha \u03b1", "beta \u03b2", "gamma \u03b3", "delta \u03b4", "kappa \u03ba"),
    )
)

# Mainly letters of scripts that separate words by spaces; spelt out, which is three times as fast as "a letter".
_LETTERS = (
    "[a-z\u00aa\u00b5\u00ba\u00df-\u00f6\u00f8-\u02af\u0370-\u0373\u0376-\u037d"
    "\u0386-\u0481\u048a-\u0559\u0561-\u1fff\u2c00-\u2dff]+"
)
_RANGE = "-"  # between numbers: "10-20"
_NUMBER = r"\d+(?:[.,\u00b7]\d+)*(?:e[-+]?\d{1,3}(?!\w))?"
_FRACTION = r"\d+(?:e[-+]?\d{1,3}(?!\w))?"

UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS_IN_ORDER = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
TENS = {word: 10 * n for n, word in enumerate(_TENS_IN_ORDER, 2)}
NUMBER_WORDS = {
    **{word: n for n, word in enumerate(UNITS)},
    **TENS,
    **{f"{ten}-{UNITS[unit]}": tens + unit for ten, tens in TENS.items() for unit in range(1, 10)},
}
_TOKEN = re.compile(
    "(?![ ,;()\\]'])(?:"  # most characters between two tokens
    rf"{_LETTERS}(?:'{_LETTERS}"
    # A word broken at a line's end, unlike "short- and long-term".
    rf"|(?:-\ (?!(?:and|or|to|vs|versus|but|as)\b){_LETTERS})+(?:'{_LETTERS})?"
    rf"|(?<=ty)[- ](?:{'|'.join(UNITS[1:10])})\b|(?<=per)\ cent\b)?"
    rf"|{_NUMBER}"
    rf"|{_RANGE}(?:(?<=[\d%]-)|(?<=[\d%] -)(?=\ ))(?=\ ?\d)"
    rf"|[.\u00b7](?<![\w.].){_FRACTION}"
    # A minus: neither in "10-20" nor in "IL-6"; before a space only after "=" and the like.
    rf"|-(?:(?<![^\s(\[{{=<>:;,~]-)|(?<=[=<>(]-)\ |(?<=[=<>(]\ -)\ )(?:{_NUMBER}|[.\u00b7]{_FRACTION})"
    r"|</?(?:jats:)?(?:sup|sub|inf|i|b|u|p|br|em|strong|bold|italic|span|div|title|sec|h\d|li|ul)\ ?/?>"
    r"|&(?:lt|gt|amp|nbsp);"
    r"|[\u2e80-\U0010ffff](?<=\w)"  # scripts without spaces: every character
    r"|<=|>=|\+/-|[/:](?<=\d.)(?=\d)"
    r"|[%\u2030<>\u2264\u2265+\u00b1\u00b0$\u20ac\u00a3\u00a5\u00d7\u2191\u2193\u221e])"
)
_MARKUP = re.compile(r"</?[a-z:]+\d? ?/?>|&amp;|&nbsp;")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NO_LETTERS = re.compile(r"[\W_]+")


class Tokens:
    """The tokens of a folded text.

    `words` has the canonical form of each token, which is empty for function words and markup. The form of a number or
    sign has a space at both ends (`" 5 "`), and the form of a negation ends with a space (`"not "`). So none of these
    joins a neighbouring word in `joined`.
    """

    def __init__(self, folded: str, *, every_word: bool = False) -> None:
        self._folded = folded
        self.raw: list[str] = _TOKEN.findall(folded)
        self.words: list[str] = [_CANONICAL[token] for token in self.raw]
        if every_word:  # function words must agree too
            self.words = [word or self.squeezed(place) for place, word in enumerate(self.words)]

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The start and the end of each token in the folded text."""
        return [match.span() for match in _TOKEN.finditer(self._folded)]

    @cached_property
    def content(self) -> list[int]:
        """The indexes of the tokens that must agree: all tokens except function words and markup."""
        return [place for place, word in enumerate(self.words) if word]

    @cached_property
    def joined(self) -> str:
        """The canonical forms, without a space between words: "home-based", "home based" and "homebased" agree."""
        return "".join(self.words)

    @cached_property
    def _begins(self) -> list[int]:
        return [0, *accumulate(len(self.words[place]) for place in self.content)]

    def find(self, sought: "Tokens", begin: int) -> Iterator[range]:
        """Yield each run of this text's tokens that has the same content as `sought`, from the character `begin` on."""
        content, begins = self.content, self._begins
        first = bisect_left(content, bisect_left(self.spans, (begin, 0))) if begin else 0
        offset = self.joined.find(sought.joined, begins[first])
        for _ in range(TRIED):
            if offset < 0:
                return
            start, end = bisect_left(begins, offset), bisect_left(begins, offset + len(sought.joined))
            if begins[start] == offset and begins[end] == offset + len(sought.joined):
                yield range(content[start], content[end - 1] + 1)
            offset = self.joined.find(sought.joined, offset + 1)

    def is_marked(self, place: int) -> bool:
        """Return whether a token is a number, a sign or a negation. A final space marks these tokens."""
        return self.words[place][-1:] == " "

    def is_turning(self, place: int) -> bool:
        return self.words[place].strip().rpartition(" ")[2] in TURNING

    def squeezed(self, place: int) -> str:
        """Return only the letters and digits of a token; empty for markup."""
        token = self.raw[place]
        return "" if _MARKUP.fullmatch(token) else american(_NO_LETTERS.sub("", token))


class _Canonical(dict[str, str]):
    """The canonical form of each token, computed at first use."""

    def __missing__(self, token: str) -> str:
        canonical = _canonical(token)
        if len(self) < REMEMBERED and len(token) <= LONGEST:
            self[token] = canonical
        return canonical


def _canonical(token: str) -> str:
    if len(token) > LONGEST:
        return token
    if _MARKUP.fullmatch(token):
        return ""
    if token == _RANGE:
        return "to"
    if token.lstrip("- .\u00b7")[:1].isdigit():
        return f" {_number(token)} "
    if (number := NUMBER_WORDS.get(token.replace(" ", "-"))) is not None:
        return f" {number} "
    word = "percent" if token == "per cent" else token.replace("- ", "").replace(" ", "").replace("-", "")  # noqa: S105
    if word.endswith(("n't", "cannot")):
        verb = _VERBS.get(word, word.removesuffix("n't"))
        return " not " if verb in FUNCTION_WORDS else f"{verb} not "
    word = word.removesuffix("'s")
    if word in FUNCTION_WORDS:
        return ""
    word = _SAME.get(word, word)
    if word in NEGATIONS or not word[0].isalpha():
        return f" {word} "
    return _singular(american(word))


def _number(token: str) -> str:
    """Return the canonical form of a number: -1,250.50 becomes -1250.5."""
    written = token.replace(" ", "").replace("\u00b7", ".")
    sign, written = ("-", written[1:]) if written[0] == "-" else ("", written)
    written, mark, exponent = written.partition("e")
    if _THOUSANDS.fullmatch(written):
        written = written.replace(",", "")
    elif written.count(",") == 1 and "." not in written:
        written = written.replace(",", ".")
    whole, point, fraction = written.partition(".")
    if "." not in fraction and "," not in whole + fraction:
        whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
        point = "." if fraction else ""
    return f"{sign}{whole}{point}{fraction}{mark}{exponent}"


def _singular(word: str) -> str:
    """Return the word without a plural ending. Only the spelling is judged, so the result may not be a word."""
    if len(word) < PLURAL or word.endswith(("ss", "us", "series")) or not word.endswith("s"):
        return word
    if word.endswith("sis"):
        return word[:-2] + "e"
    if word.endswith("is"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word[:-1]


_CANONICAL = _Canonical()
