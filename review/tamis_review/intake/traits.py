"""The traits of a record: the values that identify its copies in the exports of all programs.

Case, accents, punctuation, white space and markup are ignored, because they differ between exports of a record. A value
that identifies no record (an author "Anonymous", a PMID of 0) is not a trait.

Databases also change titles: they append a remark, the language or the next field's tag, put a translated title in
brackets, write "?" for a letter, or omit a subtitle.
"""

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from .journals import Journal, journal_of
from .record import split_authors, year_of

TITLE_READ = 5_000  # characters to read of a title; a longer text is not a title
ABSTRACT_READ = 800  # letters; enough to distinguish two abstracts
OTHER_TITLE = 20  # minimum letters of another form of a title: without subtitle, or in one language
AN_ABSTRACT = 50  # minimum letters; less is a placeholder such as "No abstract available"

_GREEK = {
    **{letter: unicodedata.name(letter).rpartition(" ")[2].casefold() for letter in map(chr, range(0x3B1, 0x3CA))},
    "λ": "lambda",  # Unicode spells it in another way
}
# Letters that Unicode does not decompose, and signs that databases also write as words.
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ı": "i", "&": "and"} | _GREEK
)
# Some databases write ä, ö, ü, ø, å and đ as two letters, others as the plain letter.
_WRITTEN_OUT_MARK = re.compile(r"(?<=[aou])e|(?<=a)a|(?<=d)j")
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,40}>")
_NO_LETTER = re.compile(r"[\W_]+")
_NOTICE = re.compile(
    r"\W*(?:(?:author|publisher)\W+)?(?:erratum|errata|corrigend\w+|correction|retraction|retracted|addendum"
    r"|expression of concern|reply|replies|response to|comments? on|commentary|re(?=:))\b",
    re.IGNORECASE,
)
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
_DOI_VERSION = re.compile(r"[./_-]v\d{1,3}$")  # version of a preprint or a deposit; its other DOI has no version
_PMID = re.compile(r"(?:(?:pmid|medline|pubmed)\W{0,3})?0*(\d{1,9})(?:\.0)?(?:\s*\[https?:[^\]]*\])?", re.IGNORECASE)
_TRIAL = re.compile(r"NCT\d{8}")
_INITIALS = re.compile(r"(?:[^\W\d_]\.?-?){1,4}")
_AND_OTHERS = re.compile(r"\W+(?:et\.? al\.?|and others)\W*$", re.IGNORECASE)
_SUFFIXES = frozenset(("Jr", "Jr.", "Sr", "Sr.", "II", "III"))
# Names of the fields with names of the journal, its ISSN, volume and pages, by format.
# fmt: off
_JOURNAL_FIELDS = (
    "journal", "_ris_JO", "_ris_J2", "_ris_JA", "_ris_JI", "_ris_NL", "_nbib_TA", "_wos_JI", "_wos_J9",
    "_Abbreviated Source Title",
)
_ISSN_FIELDS = (
    "issn", "_issn", "_ISSN", "_ris_SN", "_nbib_IS", "_nbib_ISSN", "_wos_SN", "_wos_EI", "_enw_@", "_isbn", "_eISSN",
    "_csl_ISSN",
)
_VOLUME_FIELDS = (
    "volume", "_volume", "_Volume", "_endnote_volume", "_ris_VL", "_nbib_VI", "_wos_VL", "_enw_V", "_pubmed_volume",
    "_csl_volume",
)
_PAGE_FIELDS = (
    "pages", "_pages", "_Pages", "_Page start", "_Start Page", "_First Page", "_endnote_pages", "_ris_SP", "_nbib_PG",
    "_wos_BP", "_enw_P", "_pubmed_pages", "_csl_page",
)
# fmt: on
_VOLUME = re.compile(r"[1-9]\d{0,4}")
_PAGE = re.compile(r"[A-Za-z]?[1-9]\d{0,7}")
_PLACE_READ = 40  # characters
_LOST_LETTER = re.compile(r"[?\ufffd]+(?=.*\w)")  # what a program writes for a letter that it does not know
_ANY_LETTER = ".{0,5}"  # up to "alpha"
_MOST_LOST = 6  # the time of a search grows with each lost letter
_MEETING_TYPE = re.compile(r"\b(?:conference|meeting|congress|poster) abstracts?\b", re.IGNORECASE)
_MEETING_SOURCE = re.compile(r"\bconference:", re.IGNORECASE)  # Embase's source, after the journal; Ovid's is `SO`
_NOBODY = frozenset(("", "anonymous", "anon", "unknown", "etal", "noauthorslisted", "noauthor", "none", "na"))


_LANGUAGES = (
    "arabic|bulgarian|catalan|chinese|croatian|czech|danish|dutch|english|estonian|farsi|finnish|flemish|french|german"
    "|greek|hebrew|hungarian|icelandic|italian|japanese|korean|lithuanian|norwegian|persian|polish|portuguese"
    "|romanian|russian|serbian|slovak|slovene|slovenian|spanish|swedish|thai|turkish|ukrainian|vietnamese"
)
_SAID_LANGUAGE = (
    rf"(?:(?:article|text|published|original)\s+)?(?:in\s+)?"
    rf"(?:{_LANGUAGES})(?:\s?(?:,|and|/)\s?(?:{_LANGUAGES})){{0,4}}"
)
# In brackets after a title: PubMed's and Ovid's remarks, and the original language.
_NO_PART = re.compile(
    r"\[(?:see comments?|comments?|corrected|published erratum|erratum appears|retraction in|references?|\d+ refs?)"
    rf"[^\[\]]{{0,300}}\]|[\[(]\s?{_SAID_LANGUAGE}\s?[\])]"
    r"|[\[(]\s?(?:title translated|translated title|translation|translated(?: from [a-z ]{1,30})?|author'?s transl\.?"
    r"|transl\.? author'?s)\.?\s?[\])]",
    re.IGNORECASE,
)
# The tag of the next field, run into the title: "mood LA", "in vitro.DP  - Mar 15, 2017".
_TAG = re.compile(r"(?<=[\s.?!\])])(?:LA(?::\s?[A-Za-z]{2,10}(?:[,;]\s?[A-Za-z]{2,10}){0,3})?|[A-Z]{2}\s\s-\s.{0,60})$")
_TAG_READ = 80  # characters at a title's end
_JOINTS = " \t\n\r.;,"
_SUBTITLE = re.compile(r"[:?]\s|\s[-\u2013\u2014]\s|[.;]\s(?=[A-Z])")
# Words in a subtitle that may mean another paper.
_ANOTHER_PAPER = re.compile(
    r"\b(?:protocols?|comment(?:s|ary|aries)?|repl(?:y|ies)|response|errat\w+|corrig\w+|correction|part|supplement\w*|update"
    r"|pilot|abstract|letter|editorial|[ivx]+|\d+)\b",
    re.IGNORECASE,
)
ENDINGS = 4  # most endings to remove from a title: a language, a remark, a tag


@dataclass(frozen=True)
class Title:
    """A title as in its paper, and its other forms."""

    main: str
    others: tuple[str, ...]  # without subtitle, or in one language; an equal form is weaker evidence of a copy
    says_another_paper: bool  # the part missing from `others` names a protocol, a comment, a part or a number


@dataclass(frozen=True)
class Traits:
    """The values of one record that identify its copies, normalised for comparison."""

    title: str  # only letters and digits; "" if the record has no title
    other_titles: frozenset[str]  # the title without its subtitle, or in a single language
    other_paper: bool  # the part missing in `other_titles` names a protocol, a comment, a part or a number
    year: int | None
    author: frozenset[str]  # spellings of the first author's family name; empty if unknown
    doi: str | None
    pmid: str | None
    trial: str | None  # NCT number
    notice: bool  # a correction, retraction or reply, which is never a copy of its paper
    meeting: bool  # a congress abstract, by its type or its source
    place: str  # volume and first page; "" if either is unknown
    lossy: str  # a pattern of titles, if a question mark within the title may be a lost letter; else ""
    journal_as_written: tuple[str, ...] = field(repr=False)
    issn_as_written: tuple[str, ...] = field(repr=False)
    abstract_as_written: str = field(repr=False)

    @cached_property
    def journal(self) -> Journal:
        """Return the journal with all its names and ISSNs in the record."""
        return journal_of(self.journal_as_written, self.issn_as_written)

    @cached_property
    def abstract(self) -> str:
        """Return the first letters of the abstract, for comparison. Return "" if the abstract is too short."""
        # Reads twice as many characters, because markup and spaces are removed.
        letters = fold(self.abstract_as_written[: 2 * ABSTRACT_READ])[:ABSTRACT_READ]
        return letters if len(letters) >= AN_ABSTRACT else ""

    @property
    def title_weight(self) -> int:
        """Return the title's length in letters; a Chinese, Japanese or Korean character counts as three."""
        return sum(3 if character >= "\u2e80" else 1 for character in self.title)


def traits_of(record: Mapping[str, Any]) -> Traits:
    """Return the traits of a record, which identify its copies. Values of unexpected types are ignored."""
    title = title_of(_text(record.get("title"))[:TITLE_READ])
    main = fold(title.main)
    journal = tuple(filter(None, (_text(record[name]) for name in _JOURNAL_FIELDS if name in record)))
    return Traits(
        title=main,
        other_titles=frozenset(
            other for text in title.others if len(other := fold(text)) >= OTHER_TITLE and other != main
        ),
        other_paper=title.says_another_paper,
        year=year_in(record),
        author=_families(record.get("authors")),
        doi=doi_in(record),
        pmid=pmid_in(record),
        trial=trial_in(record),
        notice=_NOTICE.match(title.main) is not None,
        meeting=bool(
            _MEETING_TYPE.search(_text(record.get("type"))[:TITLE_READ])
            or any(_MEETING_SOURCE.search(name[:TITLE_READ]) for name in (*journal, _text(record.get("_SO"))))
        ),
        place=_place(record),
        lossy=_lossy(title.main) if _LOST_LETTER.search(title.main) else "",
        journal_as_written=journal,
        issn_as_written=tuple(match for name in _ISSN_FIELDS if name in record for match in _texts(record[name])),
        abstract_as_written=_text(record.get("abstract")),
    )


def title_of(text: str) -> Title:
    """Return the title without databases' additions, and its other forms."""
    main = text.strip()
    for _ in range(ENDINGS):
        shorter = _without_ending(main)
        if shorter == main or not shorter:
            break
        main = shorter
    before, inside = _bracket_at_end(main)
    others: tuple[str, ...] = ()
    left_out = ""
    if before and inside:
        others, left_out = (_without_ending(before), inside), inside
    elif cut := _SUBTITLE.search(main):
        others, left_out = (main[: cut.start()],), main[cut.end() :]
    return Title(main, others, says_another_paper=_ANOTHER_PAPER.search(left_out) is not None)


def year_in(record: Mapping[str, Any]) -> int | None:
    """Return the record's year, or None if it is unknown."""
    return year_of(_text(record.get("year")))


def doi_in(record: Mapping[str, Any]) -> str | None:
    """Return the record's DOI in lower case, without surrounding text and version. Return None if there is no DOI."""
    match = _DOI.search(unquote(_text(record.get("doi"))))
    return _DOI_VERSION.sub("", match[0].rstrip(".,;)]}").casefold()) if match else None


def pmid_in(record: Mapping[str, Any]) -> str | None:
    """Return the record's PubMed id without leading zeros, or None if there is no valid id."""
    match = _PMID.fullmatch(_text(record.get("pmid")).strip())
    return match[1] if match and match[1] != "0" else None


def trial_in(record: Mapping[str, Any]) -> str | None:
    """Return the record's ClinicalTrials.gov number (NCT and eight digits), or None."""
    match = _TRIAL.search(_text(record.get("nct_id")).upper())
    return match[0] if match else None


def fold(text: str) -> str:
    """Return the letters and digits of `text`, in lower case, without accents, markup and entities."""
    if "<" in text or "&" in text:
        text = _MARKUP.sub("", html.unescape(text))
    if text.isascii():
        return _NO_LETTER.sub("", text.casefold().replace("&", "and"))
    text = unicodedata.normalize("NFKD", text)  # accents become separate signs, which are not letters
    return _NO_LETTER.sub("", text.casefold().translate(_PLAIN_LETTERS))


def _place(record: Mapping[str, Any]) -> str:
    volume, page = (
        pattern.search("".join([_text(record[name]) for name in names if name in record][:1])[:_PLACE_READ])
        for pattern, names in ((_VOLUME, _VOLUME_FIELDS), (_PAGE, _PAGE_FIELDS))
    )
    return f"{volume[0]}:{page[0].casefold()}" if volume and page else ""


def _lossy(title: str) -> str:
    parts = _LOST_LETTER.split(title)
    return _ANY_LETTER.join(map(fold, parts)) if len(parts) <= _MOST_LOST else ""


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _texts(value: object) -> list[str]:
    return [text for element in (value if isinstance(value, list) else [value]) if (text := _text(element))]


def _families(authors: object) -> frozenset[str]:
    """Return the normalised spellings of the first author's family name. An unknown author has none.

    For example: `Pérez-de la Fuente R.` -> {perezdelafuente, fuente}.
    """
    names = split_authors(authors[:TITLE_READ]) if isinstance(authors, str) else authors
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        return frozenset()
    family, comma, _ = _AND_OTHERS.sub("", names[0][:200]).partition(",")
    words = [word for word in re.split(r"[\s-]+", family) if word and word not in _SUFFIXES]
    if len(words) > 1 and _is_initials(words[-1]):  # Griffin DK
        while len(words) > 1 and _is_initials(words[-1]):
            words.pop()
    elif not comma:  # Scott D. Sampson
        words = words[-1:]
    plain = fold("".join(words))
    if plain in _NOBODY:
        return frozenset()
    return frozenset((plain, _WRITTEN_OUT_MARK.sub("", plain), fold(words[-1]) if len(words) > 1 else plain))


def _is_initials(word: str) -> bool:
    return _INITIALS.fullmatch(word) is not None and word.isupper()


def _without_ending(text: str) -> str:
    """Return a title without its last addition by a database: a remark, a language, a tag, or brackets around it all.

    Return the text unchanged if it has no addition.
    """
    bare = text.rstrip(_JOINTS)
    before, inside = _bracket_at_end(bare)
    if not before and inside and bare.startswith("["):
        return inside
    if before and _NO_PART.fullmatch(bare, len(bare) - len(inside) - 2):
        return before
    if tag := _TAG.search(bare[-_TAG_READ:]):
        return bare[: len(bare) - len(tag[0])].rstrip(_JOINTS)
    return text


def _bracket_at_end(text: str) -> tuple[str, str]:
    """Return the text before a pair of brackets at the end, and the text in the brackets.

    Return ("", "") if the text does not end with brackets.
    """
    bare = text.rstrip(_JOINTS)
    opening = {"]": "[", ")": "("}.get(bare[-1:], "")
    at = bare.rfind(opening) if opening else -1
    return ("", "") if at < 0 else (bare[:at].rstrip(_JOINTS), bare[at + 1 : -1])
