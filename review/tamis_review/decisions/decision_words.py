"""The words that files use for decisions, with their meanings. A meaning is built in or set by the caller."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tamis_schemas import HumanStage, InvalidParameters
from tamis_schemas.values.frozen import Frozen

SHOWN = 20  # words in a message
LONGEST = 60  # characters of each word


class Meaning(StrEnum):
    """The decision that a word means."""

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
# Some forms number their answers: 1 is include and 2 is exclude. If the column also has a 0 or a 3, 2 is ambiguous.
_ONE_AND_TWO = {"1": Meaning.INCLUDE, "2": Meaning.EXCLUDE}


@dataclass(frozen=True)
class NamedWords:
    """Words whose meanings the caller sets, which override the built-in meanings. Upper and lower case are equal."""

    include: Collection[str] = ()
    exclude: Collection[str] = ()
    uncertain: Collection[str] = ()

    @property
    def meanings(self) -> dict[str, Meaning]:
        """Return a mapping from word to meaning. Raise `InvalidParameters` if a word has two meanings."""
        named: dict[str, Meaning] = {}
        for name, words in vars(self).items():
            meaning = Meaning(name)
            for word in words:
                if named.setdefault(_plain(word), meaning) is not meaning:
                    raise InvalidParameters(f"{word!r} cannot mean both {named[_plain(word)]} and {meaning}")
        return named


class WordCount(Frozen):
    """A word of a file, with its meaning and its number of occurrences."""

    word: str
    meaning: Meaning
    n: int

    @property
    def shown(self) -> str:
        """Return the word, its meaning and its count as text, such as `2 = exclude (1,481)`."""
        return f"{self.word[:LONGEST] or '(empty)'} = {self.meaning.value} ({self.n:,})"


def meanings_of(words: Iterable[str], stage: HumanStage, named: NamedWords) -> tuple[WordCount, ...]:
    """Return each word with its meaning, most frequent first. Raise `InvalidParameters` if a word has no meaning."""
    counts = Counter(word.strip() for word in words)
    table = dict({HumanStage.RETRIEVAL: _RETRIEVAL, HumanStage.FULL_TEXT: _FULL_TEXT}.get(stage, _DECISIONS))
    used = {_plain(word) for word in counts} - {word for word, meaning in table.items() if meaning is Meaning.NOTHING}
    if stage is not HumanStage.RETRIEVAL and not named.meanings and used == set(_ONE_AND_TWO):
        table |= _ONE_AND_TWO
    table |= named.meanings
    result = tuple(
        WordCount(word=word, meaning=table[_plain(word)], n=n)
        for word, n in counts.most_common()
        if _plain(word) in table
    )
    if unknown := [(word, n) for word, n in counts.most_common() if _plain(word) not in table]:
        listed = ", ".join(f"{word[:LONGEST]!r} ({n:,})" for word, n in unknown[:SHOWN])
        more = f" and {len(unknown) - SHOWN:,} more" if len(unknown) > SHOWN else ""
        others = f"; known are {', '.join(word_count.shown for word_count in result)}" if result else ""
        raise InvalidParameters(
            f"unknown decisions: {listed}{more}{others}. Give their meaning with --include VALUE, --exclude VALUE or "
            "--uncertain VALUE, or name another column with --decision-column"
        )
    return result


def meaning_by_word(counts: Iterable[WordCount]) -> dict[str, Meaning]:
    """Return a mapping from each word, as spelt in the file, to its meaning."""
    return {count.word: count.meaning for count in counts}


def _plain(word: str) -> str:
    return " ".join(word.split()).casefold()
