"""Titles: the one that a record has, and the other ways in which a database may write it.

Databases add to a title what is no part of it (a remark, the article's language, the next field's tag), put a
translated title in brackets, leave the subtitle out, or write the title in two languages.
"""

import re
from dataclasses import dataclass

_LANGUAGES = (
    "arabic|bulgarian|catalan|chinese|croatian|czech|danish|dutch|english|estonian|farsi|finnish|flemish|french|german"
    "|greek|hebrew|hungarian|icelandic|italian|japanese|korean|lithuanian|norwegian|persian|polish|portuguese"
    "|romanian|russian|serbian|slovak|slovene|slovenian|spanish|swedish|thai|turkish|ukrainian|vietnamese"
)
_SAID_LANGUAGE = (
    rf"(?:(?:article|text|published|original)\s+)?(?:in\s+)?"
    rf"(?:{_LANGUAGES})(?:\s?(?:,|and|/)\s?(?:{_LANGUAGES})){{0,4}}"
)
# In brackets behind a title: PubMed's and Ovid's remarks, the language, whose translation it is.
_NO_PART = re.compile(
    r"\[(?:see comments?|comments?|corrected|published erratum|erratum appears|retraction in|references?|\d+ refs?)"
    rf"[^\[\]]{{0,300}}\]|[\[(]\s?{_SAID_LANGUAGE}\s?[\])]"
    r"|[\[(]\s?(?:title translated|translated title|translation|translated(?: from [a-z ]{1,30})?|author'?s transl\.?"
    r"|transl\.? author'?s)\.?\s?[\])]",
    re.IGNORECASE,
)
# The tag of the next field, run into the title: "mood LA", "in vitro.DP  - Mar 15, 2017".
_TAG = re.compile(r"(?<=[\s.?!\])])(?:LA|[A-Z]{2}\s\s-\s.{0,60})$")
_TAG_READ = 80  # characters at a title's end
_JOINTS = " \t\n\r.;,"
_SUBTITLE = re.compile(r"[:?]\s|\s[-\u2013\u2014]\s|[.;]\s(?=[A-Z])")
# A subtitle that makes another paper of it.
_ANOTHER_PAPER = re.compile(
    r"\b(?:protocols?|comment(?:s|ary|aries)?|repl(?:y|ies)|response|errat\w+|corrig\w+|correction|part|supplement\w*|update"
    r"|pilot|abstract|letter|editorial|[ivx]+|\d+)\b",
    re.IGNORECASE,
)
ENDINGS = 4  # that stand one behind another at most: a language, a remark, a tag


@dataclass(frozen=True)
class Title:
    """A title as its paper has it, and other ways of writing it."""

    main: str
    others: tuple[str, ...]  # without its subtitle, or in one of two languages; only with more evidence a copy
    says_another_paper: bool  # what is left out in `others` names a protocol, a comment, a part, a number


def title_of(text: str) -> Title:
    """The title without what databases add to it, and its other ways."""
    main = text.strip()
    for _ in range(ENDINGS):
        shorter = _without_ending(main)
        if shorter == main or not shorter:
            break
        main = shorter
    before, inside = _bracket_at_end(main)
    if before and inside:
        return Title(
            main, (_without_ending(before), inside), says_another_paper=_ANOTHER_PAPER.search(inside) is not None
        )
    if cut := _SUBTITLE.search(main):
        subtitle = main[cut.end() :]
        return Title(main, (main[: cut.start()],), says_another_paper=_ANOTHER_PAPER.search(subtitle) is not None)
    return Title(main, (), says_another_paper=False)


def _without_ending(text: str) -> str:
    """The text without one thing that stands at its end and is no part of it, and without brackets around it all."""
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
    """Return the text before the last pair of brackets, and in it; empty where the text does not end with one."""
    bare = text.rstrip(_JOINTS)
    opening = {"]": "[", ")": "("}.get(bare[-1:], "")
    at = bare.rfind(opening) if opening else -1
    return ("", "") if at < 0 else (bare[:at].rstrip(_JOINTS), bare[at + 1 : -1])
