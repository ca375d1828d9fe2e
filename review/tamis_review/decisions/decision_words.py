"""The words of a file of decisions, and what each of them means: known, or said by the caller."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tamis_schemas import HumanStage, InvalidParameters
from tamis_schemas.values.frozen import Frozen

SHOWN = 20  # words in a message
LONGEST = 60  # characters of each


class Meaning(StrEnum):
    """What a word decides."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    UNCERTAIN = "uncertain"
    RETRIEVED = "retrieved"
    NOT_RETRIEVED = "not retrieved"
    NOTHING = "no decision"


_YES = ("1", "1.0", "yes", "y", "true")
_NO = ("0", "0.0", "no", "n", "false")
_NOTHING = ("", "na", "n/a", "none", "null", "nan", "-", "undecided", "not screened", "-1", "-1.0")
_ABSENT = ("not retrieved", "no full text", "unavailable", "not available", "not found", "could not retrieve")
_DECISIONS: Mapping[str, Meaning] = {
    **dict.fromkeys((*_YES, "include", "included", "relevant", "accept", "accepted", "in"), Meaning.INCLUDE),
    **dict.fromkeys((*_NO, "exclude", "excluded", "irrelevant", "reject", "rejected", "out"), Meaning.EXCLUDE),
    **dict.fromkeys(("maybe", "uncertain", "unsure", "unclear"), Meaning.UNCERTAIN),
    **dict.fromkeys(_NOTHING, Meaning.NOTHING),
}
_RETRIEVAL: Mapping[str, Meaning] = {
    **dict.fromkeys((*_YES, "retrieved", "available", "found", "full text"), Meaning.RETRIEVED),
    **dict.fromkeys((*_NO, *_ABSENT), Meaning.NOT_RETRIEVED),
    **dict.fromkeys(_NOTHING, Meaning.NOTHING),
}
_FULL_TEXT = {**_DECISIONS, **dict.fromkeys(_ABSENT, Meaning.NOT_RETRIEVED)}
# Forms that number their answers: 1 is the first one, include. With a 0 or a 3 beside them 2 may be anything.
_ONE_AND_TWO = {"1": Meaning.INCLUDE, "2": Meaning.EXCLUDE}


@dataclass(frozen=True)
class NamedWords:
    """Words whose meaning the caller says, in any case; they count before what is known."""

    include: Collection[str] = ()
    exclude: Collection[str] = ()
    uncertain: Collection[str] = ()

    @property
    def meanings(self) -> dict[str, Meaning]:
        """Word -> meaning. Raises `InvalidParameters` where one word is given two."""
        named: dict[str, Meaning] = {}
        for words, meaning in (
            (self.include, Meaning.INCLUDE),
            (self.exclude, Meaning.EXCLUDE),
            (self.uncertain, Meaning.UNCERTAIN),
        ):
            for word in words:
                if named.setdefault(_plain(word), meaning) is not meaning:
                    raise InvalidParameters(f"{word!r} cannot mean both {named[_plain(word)]} and {meaning}")
        return named


class WordCount(Frozen):
    """A word of a file: what it is taken for, and how often it stands there."""

    word: str
    meaning: Meaning
    n: int

    @property
    def shown(self) -> str:
        """For people: `2 = exclude (1,481)`."""
        return f"{self.word[:LONGEST] or '(empty)'} = {self.meaning.value} ({self.n:,})"


def meanings_of(words: Iterable[str], stage: HumanStage, named: NamedWords) -> tuple[WordCount, ...]:
    """Each word with its meaning, the most frequent first. Raises `InvalidParameters` naming those without one."""
    counts = Counter(word.strip() for word in words)
    known = dict({HumanStage.RETRIEVAL: _RETRIEVAL, HumanStage.FULL_TEXT: _FULL_TEXT}.get(stage, _DECISIONS))
    said = {_plain(word) for word in counts} - {word for word, meaning in known.items() if meaning is Meaning.NOTHING}
    if stage is not HumanStage.RETRIEVAL and not named.meanings and said == set(_ONE_AND_TWO):
        known |= _ONE_AND_TWO
    known |= named.meanings
    found = tuple(
        WordCount(word=word, meaning=known[_plain(word)], n=n)
        for word, n in counts.most_common()
        if _plain(word) in known
    )
    unknown = [(word, n) for word, n in counts.most_common() if _plain(word) not in known]
    if unknown:
        listed = ", ".join(f"{word[:LONGEST]!r} ({n:,})" for word, n in unknown[:SHOWN])
        more = f" and {len(unknown) - SHOWN:,} more" if len(unknown) > SHOWN else ""
        others = f"; known are {', '.join(one.shown for one in found)}" if found else ""
        raise InvalidParameters(
            f"what does this mean? {listed}{more}{others}: say it with --include VALUE, --exclude VALUE or --uncertain "
            "VALUE, or name another column with --decision-column"
        )
    return found


def meaning_by_word(counts: Iterable[WordCount]) -> dict[str, Meaning]:
    """Return the meaning of each word as it stands in the file."""
    return {one.word: one.meaning for one in counts}


def _plain(word: str) -> str:
    return " ".join(word.split()).casefold()
