"""Grounding: is the evidence in the chunk, and does the evidence contain the value?

Before a comparison, texts are folded: letter case, accents and typography are ignored. Numbers are compared by value,
in any notation. The evidence need not contain a boolean, or a value of an enum. For such a value, the chunk need only
contain the evidence.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from tamis_schemas import Chunk, Extraction, Quote

from ..quotes.folded_text import FoldedText
from ..quotes.quote_tokens import NUMBER_WORDS
from ..quotes.quotes import COMPARED, QuotedRecord, QuotePart, exact

READ = 10_000  # characters of a passage that are searched for a value
ALIKE = 200_000  # characters of a value times characters of a passage, up to which similarity is computed
AROUND = 40  # most characters of a word beyond the end of a quote

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)?")
_NUMBER = re.compile(r"(?<![\w.,])-?(?:\d+(?:[.,\u00b7]\d+)*|[.\u00b7]\d+)(?:e[-+]?\d{1,3}(?!\d))?(?: ?(%|percent\b))?")
_SPACED = re.compile(r"(?<![\w.,])-?\d{1,3}(?: \d{3})+(?![\d])")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?")

_BEGUN = re.compile(r"(?:\d+[.,\u00b7])*\w*$")  # the start of a word or number that a quote cuts
_ENDED = re.compile(r"\w*(?:[.,\u00b7]\d+)*")


class Passages:
    """The chunks of one item. The evidence of one answer is looked up in them, with a limited number of comparisons."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._records: dict[int, QuotedRecord] = {}
        self._left = COMPARED

    def validated(self, extraction: Extraction, *, by_value: bool = True) -> Extraction:
        """Return the extraction with the verdict `validated`. Without evidence, return the extraction unchanged.

        The verdict is True if the chunk contains the evidence, and the evidence contains the value. The value must be
        in the chunk's own words, not only in the model's copy of these words. If `by_value` is False, the value is not
        checked.
        """
        number, evidence = extraction.chunk_number, (extraction.evidence or "").strip()
        if number is None or not 1 <= number <= len(self._chunks) or not evidence:
            return extraction
        quote = self._quote(number, evidence)
        if quote is None:
            return extraction
        holds = quote.found and (not by_value or says(self._words(number, quote), extraction.value))
        return extraction.model_copy(update={"quote": quote, "validated": holds})

    def _quote(self, number: int, evidence: str) -> Quote | None:
        record = self._records.get(number)
        if record is None:
            record = self._records[number] = QuotedRecord({f"chunk {number}": self._chunks[number - 1].text})
        record.left = self._left
        quote = record.find(evidence)
        self._left = record.left
        return quote

    def _words(self, number: int, quote: Quote) -> str:
        """Return the chunk's text where a quote was found, extended to whole words: "1,250" for the quote "12"."""
        text = self._chunks[number - 1].text
        start, end = quote.start or 0, len(text) if quote.end is None else quote.end
        before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
        if text[start : start + 1].isalnum() and (begun := _BEGUN.search(before)):
            start -= len(begun[0])
        if text[end - 1 : end].isalnum() and (ended := _ENDED.match(after)):
            end += len(ended[0])
        return text[start:end]


def says(passage: str, value: Any) -> bool:
    """Return True if a passage contains a value, or all values of a list or object. A boolean or None always passes."""
    match value:
        case None | bool():
            return True
        case int() | float():
            return Decimal(str(value)) in set(numbers_in(passage))
        case str():
            return _says_text(passage[:READ], value)
        case list() | tuple():
            return all(says(passage, part) for part in value)
        case dict():
            return all(says(passage, part) for part in value.values())
    return False


def numbers_in(passage: str) -> Iterator[Decimal]:
    """Yield every number that a passage may contain: "1,250" is 1250 or 1.25, and "5 %" is 5 or 0.05.

    English number words up to 99 count too.
    """
    folded = FoldedText(passage[:READ]).folded
    for match in _NUMBER.finditer(folded):
        written = match[0].removesuffix(match[1] or "").strip()
        for number in _readings(written):
            yield number
            if match[1]:
                yield number / 100
    for match in _SPACED.finditer(folded):
        yield Decimal(match[0].replace(" ", ""))
    for match in _WORD.finditer(folded):
        for word in {match[0], *match[0].split("-")}:
            if word in NUMBER_WORDS:
                yield Decimal(NUMBER_WORDS[word])


def _readings(written: str) -> Iterator[Decimal]:
    plain = written.replace("\u00b7", ".")
    if grouped := _THOUSANDS.fullmatch(plain):
        mark = grouped[1]
        yield Decimal(plain.replace(mark, "").replace(",", "."))
    if plain.count(".") + plain.count(",") <= 1:
        yield Decimal(plain.replace(",", "."))


def _says_text(passage: str, value: str) -> bool:
    words = FoldedText(value).folded.strip()
    if words and exact(FoldedText(passage).folded, QuotePart(0, words), 0):  # also behind a negation: "without aspirin"
        return True
    record = QuotedRecord({"evidence": passage})
    record.left = ALIKE
    quote = record.find(value)
    return quote is not None and quote.found
