"""A paper's title: the definitive patterns in it, and what a database appended to it.

PubMed and Ovid append notes in brackets: "[erratum appears in Lancet 2001 ...]", "[published erratum appears in ...]",
"[corrected]", "[see comments]", "[comment in ...]". They tell of other papers, or of a correction, and are no part of
the title. "[retracted]", "[retracted article]", "[retraction in ...]", "[editorial]" tell what the record itself is,
and stay.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from . import compiled
from .keywords import MOST_MENTIONS, Mention
from .rules import OWN_PATTERN, TITLE_MEANINGS

_NOTE = compiled.compile_trusted(
    r"\[[^\[\]]{0,20}\b(?:errat(?:um|a)|corrigend(?:um|a)|corrected|corrections?|see comments?|comments? (?:in|on)|"
    r"comment|(?:corrected and )?republished|appears in|published in|author'?s? (?:reply|transl)|letter; comment|"
    r"discussion)[^\[\]]{0,400}\]"
)
_AFTER_LABEL = b" \t\r\n:"  # no part of a mention: "case report" in "Case report: a fall"
_OPENING = " \t\r\n\u00a0\"'\u201c\u2018\u00ab"
_CLOSING = " \t\r\n.\"'\u201d\u2019\u00bb"


def without_notes(title: str) -> bytes:
    """The title in UTF-8, every other byte where it was: notes are blanks. A whole title in brackets is no note."""
    text = title.encode("utf-8", "replace")
    if b"[" not in text:
        return text
    parts: list[bytes] = []
    done = 0
    for note in islice(_NOTE.finditer(text), MOST_MENTIONS):
        start, end = note.span()
        if text[:start].strip():
            parts += (text[done:start], b" " * (end - start))
            done = end
    return b"".join((*parts, text[done:]))


class TitlePatterns:
    """The definitive title patterns. Raises `InvalidParameters` naming the pattern that RE2 refuses."""

    def __init__(self, patterns: Sequence[object], place: str) -> None:
        self._alone = [compiled.compile_untrusted(pattern, f"{place}[{at}]") for at, pattern in enumerate(patterns)]
        texts = [str(pattern) for pattern in patterns]
        self._meanings = [TITLE_MEANINGS.get(text, OWN_PATTERN) for text in texts]
        self._any = compiled.any_of(texts)

    def mentions(self, title: bytes) -> Iterator[Mention]:
        """Yield the matches, the first pattern first. `^` and `$` look past space, quotes and a closing full stop."""
        if self._any is None:
            return
        core, offset = _core(title)
        for at in self._any.Match(core) or ():
            for match in islice(self._alone[at].finditer(core), MOST_MENTIONS):
                start, end = match.span()
                end = start + len(core[start:end].rstrip(_AFTER_LABEL))
                if start < end:
                    yield Mention(offset + start, offset + end, self._meanings[at])


def _core(title: bytes) -> tuple[bytes, int]:
    """The title without what stands around it, and how many bytes stand before."""
    text = title.decode("utf-8")
    core = text.lstrip(_OPENING)
    ended = core.rstrip(_CLOSING)
    if ended.startswith("[") and ended.find("]") == len(ended) - 1:  # a translated title
        core, ended = core[1:], ended[:-1].rstrip(_CLOSING)
        ended = ended[1:]
    return ended.encode("utf-8"), len(title) - len(core.encode("utf-8"))
