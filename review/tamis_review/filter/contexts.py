"""Contexts: phrases around a keyword that protect a paper from rejection, or apply the keyword to the paper itself.

Each mention of a keyword is judged separately. The filter replaces the mention with a unique word. So a context with
`{keyword}` matches only this mention.
"""

import unicodedata
from collections.abc import Iterable

from tamis_schemas import InvalidParameters

from . import compiled
from .keywords import Mention
from .patterns import GAP_WORDS

PLACEHOLDER = "{keyword}"
REACH = 600  # bytes to read on either side of a mention; the rest of a longer sentence is ignored

_MENTION = "xqthementionqx"
_PLACEHOLDER_WORD = "keyword"
_SPEC_GAP = r"(?:\w+\s+)*"
_BOUNDED_GAP = rf"(?:[\w'-]+\s+){{0,{GAP_WORDS}}}"
_SENTENCE_END = compiled.compile_trusted(r"[.!?][\"')\]]*\s+[\"'(\[]*(?-i:[A-Z])|\n\s*\n")
_ABBREVIATION = compiled.compile_trusted(
    r"(?:\b(?:e\.?g|i\.?e|vs|al|cf|etc|approx|resp|no|fig|dr|ref|refs|incl)|\b[a-z])$"
)
_DASHES = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019", "-------''")

# An abstract's statements about its own paper.
_NUMBER = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+)"
THIS = (r"\b(?:this|the present|the current)\s+(?:[\w-]+\s+){0,2}{keyword}",)
SELF_DESCRIPTIONS = (
    *THIS,
    r"^\W*{keyword}\W*$",
    r"{keyword}\s*:",
    r"^\W*(?:an?\s+)?{keyword}\s+(?:on|to|for|by|about|regarding)\b",
    r"\b(?:is|as|was)\s+an?\s+(?:[\w-]+\s+){0,3}{keyword}",
    r"\b(?:we|i|authors?|paper|article|study|here|herein)\s+(?:[\w-]+\s+){0,4}"
    r"(?:report|present|describ|discuss|perform|conduct|publish|provid)\w*\s+"
    rf"(?:(?:{_NUMBER}|the|our|this)\s+(?:[\w-]+\s+){{0,2}}|(?:[\w-]+\s+)?){{keyword}}",
    r"\bdesign\W+(?:[\w-]+\s+){0,4}{keyword}",
    rf"{{keyword}}\s+(?:of|with|on|involving|comprising)\s+{_NUMBER}\b",
    r"{keyword}\s+(?:[\w-]+\s+){0,6}(?:is|are)\s+presented\b",
)
# An abstract's statements about the paper's own work. Sentences that name a review are about others' work.
_TRIED = (
    r"(?:employ|establish|develop|creat|generat|induc|test|examin|investigat|evaluat|assess|stud(?:y|ied)|analy[sz]|"
    r"compar|measur|characteri[sz]|construct|engineer|introduc|describ|report|perform|conduct|treat|determin)\w*"
)
_DID = rf"(?:us(?:e|ed|ing)|{_TRIED})"
OWN_WORK = (
    r"\b(?:this|our|the present|the current)\s+(?:[\w-]*[^\Ws]\s+){0,2}{keyword}",  # not "this suggests ..."
    rf"\b(?:we|here|herein|authors?|study|paper)\s+(?:[\w-]+,?\s+){{0,4}}{_DID}\s+(?:[\w-]+,?\s+){{0,8}}{{keyword}}",
    rf"\b(?:aims?|aimed|objectives?|purposes?)\s+(?:[\w-]+\s+){{0,8}}to\s+{_DID}\s+(?:[\w-]+,?\s+){{0,12}}{{keyword}}",
    rf"\b(?:was|were)\s+(?:[\w-]+\s+){{0,3}}(?:cultured|incubated|grown|{_TRIED})\s+(?:[\w-]+\s+){{0,4}}{{keyword}}",
    rf"{{keyword}}\S*\s+(?:[\w-]+\s+){{0,6}}(?:(?:was|were)\s+{_DID}|(?:is|are)\s+{_DID}\s+(?:here|herein|for\s+the\s+first)\b)",
)
# Measurements and treatments "in vivo" that may also be of people.
IN_PEOPLE = (
    r"{keyword}\s+(?:[\w-]+\s+){0,3}(?:exposure|flooding|desensiti|dosimetr|imag|microscop|spectroscop|tomograph|resonance|"
    r"kinematic|biomechanic|mechanic|measure|assessment|monitor|confocal|occupancy|binding|availability)\w*",
)
# The kinds of work of an animal study. Without such a word, an animal's name may belong to a reagent.
_KIND_OF_WORK = r"\s+(?:[\w-]+\s+)?(?:models?|stud(?:y|ies)|experiments?|trials?|cadavers?|clinics?|hospitals?)\b"
OWN_ANIMALS = tuple(context.replace("{keyword}", "{keyword}" + _KIND_OF_WORK) for context in OWN_WORK)
A_REVIEW = (r"\b(?:review|summari[sz])\w*.*{keyword}", r"{keyword}.*\b(?:review|summari[sz])\w*")
STATUS_IN_ABSTRACT = (
    r"\b(?:this|the|article|paper)\s+(?:article|paper|publication|study|chapter)?\s*(?:has|have|was|is|were)\s+"
    r"(?:been\s+)?(?:\w+\s+)?{keyword}",
    r"\bthis\s+{keyword}\s+(?:article|paper|publication|study|chapter)",
)
# A title's statements about its paper's status: at its beginning or end, or in brackets.
STATUS_IN_TITLE = (
    r"^\W*{keyword}(?:\s+(?:article|paper|chapter|publication))?\s*[:\])-]",
    r"[\[(]\s*{keyword}",
    r"{keyword}\W*$",
)
TYPE_IN_TITLE = (
    r"^\W*(?:(?:guest|invited|an?|brief|short)\s+){0,2}{keyword}",
    r"{keyword}\W*$",
    r"[\[(]{keyword}[\])]",
)


class Contexts:
    """A set of contexts: regular expressions with a placeholder for the mention of a keyword."""

    def __init__(self, templates: Iterable[object], place: str = "context") -> None:
        """Compile the templates. Raise `InvalidParameters` if a template is invalid.

        `place`: the name of the list of templates, for the message.
        """
        ready: list[str] = []
        for at, template in enumerate(templates):
            where = f"{place}[{at}]"
            if not isinstance(template, str):
                raise InvalidParameters(f"{where}: a context must be a text, not a {type(template).__name__}")
            if PLACEHOLDER not in template:
                raise InvalidParameters(f"{where}: {template!r} has no {PLACEHOLDER}: it refers to no mention")
            compiled.compile_untrusted(template.replace(PLACEHOLDER, _PLACEHOLDER_WORD), where)
            ready.append(template.replace(_SPEC_GAP, _BOUNDED_GAP).replace(PLACEHOLDER, _MENTION))
        self._any = compiled.compile_trusted("|".join(f"(?:{pattern})" for pattern in ready)) if ready else None

    def hold(self, window: bytes) -> bool:
        """Return whether a context matches the mention. `window`: the mention's sentence, from `window()`."""
        return self._any is not None and self._any.search(window) is not None


def window(text: bytes, mention: Mention) -> bytes:
    """Return the sentence around a mention, in lower case without accents.

    In the result, the word `_MENTION` replaces the mention, and occurs only there.
    """
    left = text[max(0, mention.start - REACH) : mention.start]
    right = text[mention.end : mention.end + REACH]
    begin = max(sentence_ends(left), default=0)
    stop = min(sentence_ends(right), default=len(right))
    return f"{_plain(left[begin:])}{_MENTION}{_plain(right[:stop])}".encode()


def sentence_ends(text: bytes) -> list[int]:
    """Return the byte positions at which the text's sentences end, in order."""
    return [
        match.start() + 1
        for match in _SENTENCE_END.finditer(text)
        if match.group()[:1] != b"." or not _ABBREVIATION.search(text[max(0, match.start() - 6) : match.start()])
    ]


def _plain(text: bytes) -> str:
    """Return the text in lower case without accents, with plain dashes and single spaces."""
    plain = text.decode("utf-8", "ignore")
    if not plain.isascii():
        apart = unicodedata.normalize("NFKD", plain.translate(_DASHES))
        plain = "".join(char for char in apart if not unicodedata.combining(char))
    plain = plain.lower().replace(_MENTION, "")
    return f"{' ' if plain[:1].isspace() else ''}{' '.join(plain.split())}{' ' if plain[-1:].isspace() else ''}"
