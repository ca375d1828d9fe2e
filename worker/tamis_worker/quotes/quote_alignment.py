"""The alignment of a quote's words with the most similar passage, and the differences between the two."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Indel, Opcode

from .quote_tokens import NEGATING, Tokens

OUTWARD = 30  # tokens of the record that are checked beyond each end of a quote


@dataclass(frozen=True)
class WordDifference:
    """The positions of one difference, in the quote and in the compared passage. One of the two may be empty."""

    quote_start: int
    quote_end: int
    start: int
    end: int


@dataclass(frozen=True)
class Alignment:
    """The part of the passage that matches the quote, in characters, and the differences in order."""

    start: int
    end: int
    differences: tuple[WordDifference, ...]
    shared: float  # the share of the quote's content tokens that agree


@dataclass(frozen=True)
class _Block:
    """Tokens of quote and passage between two agreeing tokens, as ranges of indexes into each `Tokens.content`."""

    quote: range
    passage: range


def aligned(quote: Tokens, passage: Tokens, *, may_break_off: bool) -> Alignment | None:
    """Return the alignment of a quote with a passage, which may be longer; None if no token agrees.

    `may_break_off`: True if the quote may end within a word.
    """
    quoted = [quote.words[place] for place in quote.content]
    recorded = [passage.words[place] for place in passage.content]
    agreeing = _agreeing(quoted, recorded)
    if not agreeing:
        return None
    blocks = [
        block
        for block in _blocks(agreeing, len(quoted), len(recorded))
        if not _same_letters(quote, passage, block, may_break_off=may_break_off)
    ]
    differences = [_difference(quote, passage, pair) for block in blocks for pair in _paired(block)]
    if agreeing[0][0] == 0:
        differences[:0] = _left_out_before(quote, passage, passage.content[agreeing[0][1]])
    if agreeing[-1][0] == len(quoted) - 1:
        differences += _left_out_behind(quote, passage, passage.content[agreeing[-1][1]])
    first, last = _reach(agreeing, len(quoted), len(recorded))
    run = extended(quote, passage, range(passage.content[first], passage.content[last] + 1))
    start, end = passage.spans[run.start][0], passage.spans[run.stop - 1][1]
    return Alignment(start, end, tuple(differences), len(agreeing) / len(quoted))


def _agreeing(quoted: Sequence[str], recorded: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indexes of agreeing tokens in quote and record, in order: the longest common subsequence.

    The first or last run of agreeing tokens is dropped as accidental if a large gap separates it from the other runs:
    within the gap, the record has more additional tokens than the run has tokens.
    """
    runs = [op for op in Indel.opcodes(quoted, recorded) if op.tag == "equal"]
    while len(runs) > 1 and _is_chance(runs[0], runs[0], runs[1]):
        del runs[0]
    while len(runs) > 1 and _is_chance(runs[-1], runs[-2], runs[-1]):
        del runs[-1]
    return [(op.src_start + n, op.dest_start + n) for op in runs for n in range(op.src_end - op.src_start)]


def _is_chance(run: Opcode, before: Opcode, behind: Opcode) -> bool:
    more = (behind.dest_start - before.dest_end) - (behind.src_start - before.src_end)
    return more > run.src_end - run.src_start


def extended(quote: Tokens, record: Tokens, run: range) -> range:
    """Return the run of the record's tokens, extended at both ends by function words that the quote also has there."""
    start, end = run.start, run.stop
    for token in reversed(quote.raw[: quote.content[0]]):
        if not start or record.raw[start - 1] != token:
            break
        start -= 1
    for token in quote.raw[quote.content[-1] + 1 :]:
        if end == len(record.raw) or record.raw[end] != token:
            break
        end += 1
    return range(start, end)


def leaves_out(quote: Tokens, record: Tokens, run: range) -> bool:
    """Return True if the quote omits a word of the record just before or after `run`.

    `run` is the record's tokens that match the quote's content. The function words at the quote's ends show the
    omission: "were mean differences" omits the "no" of "were no mean differences".
    """
    return bool(_left_out_before(quote, record, run.start) or _left_out_behind(quote, record, run.stop - 1))


def _left_out_before(quote: Tokens, record: Tokens, first: int) -> list[WordDifference]:
    if first and record.raw[first - 1] in NEGATING and record.spans[first - 1][1] + 1 == record.spans[first][0]:
        place = quote.spans[quote.content[0]][0]
        return [WordDifference(place, place, *record.spans[first - 1])]
    return _left_out(quote, range(quote.content[0]), record, range(first - 1, -1, -1))


def _left_out_behind(quote: Tokens, record: Tokens, last: int) -> list[WordDifference]:
    return _left_out(quote, range(quote.content[-1] + 1, len(quote.words)), record, range(last + 1, len(record.words)))


def _left_out(quote: Tokens, edge: range, record: Tokens, outward: range) -> list[WordDifference]:
    """Return the difference at one end of the quote, as a list; without a difference, an empty list.

    `edge`: the quote's function words and markup before its first or after its last content token. `outward`: the
    record's tokens from there on, away from the quote. There is a difference if the quote omits the record's next
    content token: `edge` has the same words before and after this token as the record. If the token turns the meaning,
    as "or" does, it also counts as omitted if `edge` has other words in its place.
    """
    outside = outward[: min(len(edge), OUTWARD)]
    content = next((n for n, place in enumerate(outside) if record.words[place]), None)
    if content is None:
        return []
    function_words = [quote.raw[place] for place in (reversed(edge) if edge.start == 0 else edge)]  # outward, too
    around = [record.raw[place] for place in (*outside[:content], *outward[content + 1 : content + 2])]
    if around != function_words[: content + 1] and not record.is_turning(outside[content]):
        return []
    place = quote.spans[edge[-1]][1] if edge.start == 0 else quote.spans[edge[0]][0]
    return [WordDifference(place, place, *record.spans[outside[content]])]


def _reach(agreeing: Sequence[tuple[int, int]], quote_length: int, passage_length: int) -> tuple[int, int]:
    """Return the indexes of the passage's content tokens that match the quote's first and last content token.

    Beyond the agreeing tokens, the passage gets as many further tokens as the quote has.
    """
    (begin, first), (end, last) = agreeing[0], agreeing[-1]
    return max(0, first - begin), min(passage_length - 1, last + quote_length - 1 - end)


def _blocks(agreeing: Sequence[tuple[int, int]], quote_length: int, passage_length: int) -> Iterator[_Block]:
    first, last = _reach(agreeing, quote_length, passage_length)
    edges = [(-1, first - 1), *agreeing, (quote_length, last + 1)]
    for (quote_before, passage_before), (quote_after, passage_after) in pairwise(edges):
        block = _Block(range(quote_before + 1, quote_after), range(passage_before + 1, passage_after))
        if block.quote or (block.passage and quote_before >= 0 and quote_after < quote_length):
            yield block


def _same_letters(quote: Tokens, passage: Tokens, block: _Block, *, may_break_off: bool) -> bool:
    """Return whether a block differs only in the breaks between words, as "in-hospital" and "in hospital" do.

    `may_break_off`: the quote may end within a word of the passage.
    """
    letters = _letters(quote, _between(quote, block.quote))
    if letters is None:
        return False
    places = _between(passage, block.passage)
    if block.quote.start == 0:
        return letters in _growing(passage, reversed(range(places.stop)), len(letters), backwards=True)
    if block.quote.stop == len(quote.content):
        texts = list(_growing(passage, range(places.start, len(passage.words)), len(letters)))
        broken_off = may_break_off and len(block.quote) == 1 and bool(texts) and texts[-1].startswith(letters)
        return broken_off or letters in texts
    return _letters(passage, places) == letters


def _growing(tokens: Tokens, places: Iterable[int], length: int, *, backwards: bool = False) -> Iterator[str]:
    """Yield the letters of the first token, of the first two tokens and so on, until there are `length` letters.

    `backwards`: `places` run from the last token to the first.
    """
    letters = ""
    for place in places:
        if tokens.is_marked(place) or len(letters) >= length:
            return
        letters = tokens.squeezed(place) + letters if backwards else letters + tokens.squeezed(place)
        yield letters


def _between(tokens: Tokens, content: range) -> range:
    """Return all tokens, including function words, between the agreeing tokens before and after `content`."""
    start = tokens.content[content.start - 1] + 1 if content.start else 0
    end = tokens.content[content.stop] if content.stop < len(tokens.content) else len(tokens.words)
    return range(start, end)


def _letters(tokens: Tokens, places: range) -> str | None:
    """Return the letters of some tokens, without spaces.

    Return None if there is no token, or if a token is a number, sign or negation.
    """
    if not places or any(tokens.is_marked(place) for place in places):
        return None
    return "".join(tokens.squeezed(place) for place in places)


def _paired(block: _Block) -> Iterator[_Block]:
    """Yield a block for each pair of tokens. If quote and passage differ in their number of tokens, yield `block`."""
    if len(block.quote) != len(block.passage):
        yield block
        return
    for quote_place, passage_place in zip(block.quote, block.passage, strict=True):
        yield _Block(range(quote_place, quote_place + 1), range(passage_place, passage_place + 1))


def _difference(quote: Tokens, passage: Tokens, block: _Block) -> WordDifference:
    if block.quote:
        quoted = _characters(quote, block.quote)
    else:  # after as many function words as the passage has: in "did not improve", "not" after "did"
        before = passage.content[block.passage.start] - passage.content[block.passage.start - 1] - 1
        reached = quote.content[block.quote.start - 1] + before
        place = quote.spans[min(reached, quote.content[block.quote.start] - 1)][1]
        quoted = place, place
    return WordDifference(*quoted, *_characters(passage, block.passage))


def _characters(tokens: Tokens, content: range) -> tuple[int, int]:
    """Return the start and end of these tokens in characters. Without tokens, both are the preceding token's end."""
    if not content:
        place = tokens.spans[tokens.content[content.start - 1]][1] if content.start else 0
        return place, place
    return tokens.spans[tokens.content[content.start]][0], tokens.spans[tokens.content[content.stop - 1]][1]
