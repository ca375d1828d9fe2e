"""Words that are searched for in records, as patterns for the database; words of criteria that are marked in them."""

import json
import re
import unicodedata
from collections.abc import Iterable

from tamis_schemas.operations.criteria import reason_of

_LETTERS = "àáâãäåāăąçćčďèéêëēėęěğìíîïīįıłñńňòóôõöøōőřśšşťùúûüūůűųýÿźžż"
_PLAIN = {"ı": "i", "ł": "l", "ø": "o"}  # letters that Unicode does not take apart
_LIKE, _SPECIAL = re.compile(r"([\\%_])"), re.compile(r"([^\w\s])")  # signs of the two kinds of patterns
_PLAIN_RUN = re.compile(r"[A-Za-z0-9]+")
_REWORDED = reason_of("", excludes=False)  # what a release may have put before a criterion
SHORTEST = 4  # letters of a word that is marked
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
COMMON = frozenset(
    WORD.findall(
        "about above after also among and any are been before being below between both but did does during each "
        "either else evidence excluded excludes from had has have having here how include included includes into "
        "its least less more most must neither not only other over per record records reported reporting reports "
        "same should some study studies such than that their them then there these they this those through under "
        "until upon very was were what when where whether which while who whom whose will with within without "
        "would year years"
    )
)


def _bare(letter: str) -> str:
    return _PLAIN.get(letter) or unicodedata.normalize("NFKD", letter)[0]


_FAMILY: dict[str, str] = {}
for _one in _LETTERS:
    _FAMILY[_bare(_one)] = _FAMILY.get(_bare(_one), _bare(_one)) + _one + _one.upper()[0]


def like_pattern(word: str) -> str:
    """Return a pattern for LIKE that the small letters of a record with the word match, where it has no accents."""
    return "%" + "".join(_written(one, _LIKE) for one in _small(word)) + "%"


def exact_pattern(word: str) -> str:
    """Return a regular expression of Postgres for the word in a value of a JSON object, whatever its case and accents.

    A field's name is no part of a record's text: what stands before `":` is left out.
    """
    parts = (f"[{_forms(one)}]" if _varies(one) else _written(one, _SPECIAL) for one in _small(word))
    return "".join(parts) + r'(?![^"\\]*":)'


def probe_of(reason: str) -> str:
    """Return the longest part of a reason that every JSON text with it holds, reworded or not; "" if there is none."""
    bare = reason.removeprefix(_REWORDED).removeprefix(_REWORDED.replace(" ", "_"))
    return max(_PLAIN_RUN.findall(bare), key=len, default="")


def _small(word: str) -> str:
    return "".join(_bare(one) for one in unicodedata.normalize("NFC", word.lower()))


def _varies(letter: str) -> bool:
    return letter in _FAMILY or (letter.isalpha() and not letter.isascii())


def _forms(letter: str) -> str:
    return _FAMILY.get(letter) or letter + letter.upper()[0]


def _written(letter: str, special: re.Pattern[str]) -> str:
    """Return a letter as it stands in JSON, what the pattern would take for its own sign escaped."""
    return special.sub(r"\\\1", json.dumps(letter, ensure_ascii=False)[1:-1])


def marked_words(texts: Iterable[str]) -> list[str]:
    """Return the words of criteria that are worth marking in a record, in small letters, in their order."""
    words = (word for text in texts for word in WORD.findall(text.lower()))
    return list(dict.fromkeys(word for word in words if len(word) >= SHORTEST and word not in COMMON))
