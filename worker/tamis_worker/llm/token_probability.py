"""The probability of inclusion, from the probabilities of an answer's tokens. Pure.

An endpoint that is asked for `logprobs` gives each token of its answer with the natural logarithm of its probability,
and with the likeliest tokens that could have stood in its place. The decision is one value in the answer's JSON; where
its tokens part (`inc` or `ex`, `true` or ` false`) the alternatives say what else the model might have decided:

    P(v) = sum over the alternatives that begin the value v of their probability
    probability = (P(include) + P(uncertain) / 2) / (P(include) + P(exclude) + P(uncertain))

An uncertain answer counts half: it leaves the two open and leans to neither. So the probability rises whenever the
model moves from exclude to uncertain, or from there to include, and no model that is uncertain is without one.

A value that no alternative begins is less likely than each that is listed. Where that leaves more than 0.05 open, the
probability is not known. Nor is it where the tokens do not spell the answer or their numbers are no probabilities:
whatever is odd gives None, and never an error, because the answer itself is good.

Source: the response of chat completions (`choices[].logprobs.content[]`: token, logprob, bytes, top_logprobs), as
OpenAI describes it and llama.cpp's server and vLLM give it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PARAMETERS = ("logprobs", "top_logprobs")  # of a request; neither changes the answer
ALTERNATIVES = 5  # to each token: the most that all endpoints give
OPEN = 0.05  # by which a probability may be wrong at most, for what the alternatives do not list
ROUNDING = 0.01  # by which the probabilities of one place may exceed 1 in sum
SCRAPS = ' \t\r\n":'  # may stand before a value's first letter; how many of them a token takes says nothing

_STRING = r'"(?:[^"\\]|\\.)*"'
_NAME_OR_BRACE = re.compile(rf"({_STRING})\s*:\s*|{_STRING}|[{{}}]", re.DOTALL)
_VALUE = re.compile(rf"{_STRING}|[^\s,}}\]]+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DecisionField:
    """The field of an answer that holds its decision, and what each of its values says of inclusion."""

    name: str
    inclusion: Mapping[str, float]  # value in small letters -> 1 includes, 0 excludes, 0.5 leaves it open


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a value in a content, in characters."""

    colon: int  # behind it; blanks may follow
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Token:
    text: bytes
    probability: float


@dataclass(slots=True)
class _Shares:
    """The probability of each value so far, and what is open besides."""

    of_value: dict[str, float] = field(default_factory=dict)
    weight: float = 1.0  # the probability of the tokens that were chosen before
    open: float = 0.0  # that values may have without being listed

    def add(self, value: str, probability: float) -> None:
        self.of_value[value] = self.of_value.get(value, 0.0) + self.weight * probability


class _Odd(ValueError):
    """Something that is no list of tokens with probabilities."""


def options(of_caller: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that ask for the tokens' probabilities; none where the caller's own say that none are wanted."""
    if of_caller.get(PARAMETERS[0], True) is not True:
        return {}
    return {PARAMETERS[0]: True, PARAMETERS[1]: ALTERNATIVES}


def probability_of(content: str, tokens: object, decision: DecisionField) -> float | None:
    """The probability of inclusion that the tokens of an answer give, from 0 to 1; None where they give none.

    Args:
        content: the answer's text.
        tokens: `logprobs.content` of the answer's choice, as it came.
        decision: where the decision stands.
    """
    try:
        return _probability(content, tokens, decision)
    except _Odd:
        return None


def _probability(content: str, tokens: object, decision: DecisionField) -> float | None:
    place = _place_of_value(content, decision.name)
    if not isinstance(tokens, Sequence) or isinstance(tokens, str | bytes) or place is None:
        return None
    if content[place.start : place.end].strip('"').lower() not in decision.inclusion:
        return None
    written = content.encode("utf-8", "replace")
    colon, start, end = (len(content[:at].encode("utf-8", "replace")) for at in (place.colon, place.start, place.end))
    texts = [_text(_object(token)) for token in tokens]
    spelled = b"".join(texts)
    offset = spelled.rfind(written)  # thoughts may stand before the answer, and the sign of its end behind it
    if offset < 0:
        return None
    shares, before = _Shares(), 0
    for token, text in zip(tokens, texts, strict=True):
        begins, before = before - offset, before + len(text)
        if before - offset <= colon or begins >= end:
            continue
        lead, said = written[max(0, begins) : start], written[start : max(start, begins)]
        if _take(shares, _alternatives(_object(token), text), text, lead, said, decision):
            return _normalised(shares, decision)
    return None


def _take(
    shares: _Shares,
    alternatives: Sequence[_Token],
    chosen: bytes,
    lead: bytes,
    said: bytes,
    decision: DecisionField,
) -> bool:
    """Add what the alternatives of one token say; True where the token that was chosen settles the value."""
    settled = False
    for alternative in alternatives:
        begun = _begun(alternative.text, lead, said, decision.inclusion)
        if len(begun) == 1:
            shares.add(begun[0], alternative.probability)
            settled = settled or alternative.text == chosen
        elif begun and alternative.text != chosen:  # which of them would have followed, nobody knows
            shares.open += shares.weight * alternative.probability
    listed = sum(one.probability for one in alternatives)
    missing = len(decision.inclusion) - len(shares.of_value)
    shares.open += shares.weight * min(missing * min(one.probability for one in alternatives), max(0.0, 1 - listed))
    shares.weight *= next(one.probability for one in alternatives if one.text == chosen)
    return settled


def _begun(text: bytes, lead: bytes, said: bytes, values: Mapping[str, float]) -> list[str]:
    """The values that may follow where a token stands: those that it begins, goes on with, or ends."""
    if not text:  # the end of the answer
        return []
    text = text.removeprefix(lead)
    letters = said.decode("utf-8", "replace").lstrip(SCRAPS).lower()
    if not letters:
        text = text.lstrip(SCRAPS.encode())
    whole = letters + text.decode("utf-8", "replace").lower()
    return [value for value in values if value.startswith(whole) or _ends(whole, value)]


def _ends(whole: str, value: str) -> bool:
    """True where a text is a value and what stands behind it: a quote, a comma, no further letter."""
    return whole.startswith(value) and not whole[len(value) :][:1].isalnum()


def _normalised(shares: _Shares, decision: DecisionField) -> float | None:
    named = sum(shares.of_value.values())
    if named <= 0 or shares.open > OPEN * (named + shares.open):
        return None
    included = sum(decision.inclusion[value] * share for value, share in shares.of_value.items())
    return min(1.0, max(0.0, included / named))


def _place_of_value(content: str, name: str) -> _Place | None:
    """The place of a name's value; None where the name has none.

    The answer is the last JSON object of a content, and its decision lies less deep than any field of a part of it.
    """
    wanted = f'"{name}"'
    found: _Place | None = None
    depth, last_depth = 0, math.inf
    for match in _NAME_OR_BRACE.finditer(content):
        if match[0] == "{":
            if depth == 0:
                found, last_depth = None, math.inf  # another object begins: what stood before it was a draft
            depth += 1
        elif match[0] == "}":
            depth = max(0, depth - 1)
        elif match[1] is not None and match[1].lower() == wanted and depth <= last_depth:
            value = _VALUE.match(content, match.end())
            if value is not None:
                colon = content.rindex(":", match.start(), match.end()) + 1
                found, last_depth = _Place(colon, *value.span()), depth
    return found


def _alternatives(token: Mapping[str, Any], chosen: bytes) -> list[_Token]:
    """The token that was chosen, and those that could have stood in its place; each once. Raises `_Odd`."""
    listed = token.get("top_logprobs") or ()
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise _Odd
    found: dict[bytes, float] = {}
    for alternative in map(_object, listed):
        text = _text(alternative)
        found[text] = max(_probability_in(alternative), found.get(text, 0.0))
    found.setdefault(chosen, _probability_in(token))
    if sum(found.values()) > 1 + ROUNDING:
        raise _Odd
    return [_Token(text, probability) for text, probability in found.items()]


def _object(token: object) -> Mapping[str, Any]:
    if not isinstance(token, Mapping):
        raise _Odd
    return token


def _text(token: Mapping[str, Any]) -> bytes:
    """The bytes that a token stands for: a letter of several may lie in several tokens."""
    given = token.get("bytes")
    if isinstance(given, list):
        try:
            return bytes(given)
        except (TypeError, ValueError):
            raise _Odd from None
    text = token.get("token")
    if not isinstance(text, str):
        raise _Odd
    return text.encode("utf-8", "replace")


def _probability_in(token: Mapping[str, Any]) -> float:
    """The probability of a token: OpenAI says -9999.0 of one that is as good as impossible, others -Infinity."""
    logarithm = token.get("logprob")
    if isinstance(logarithm, bool) or not isinstance(logarithm, int | float) or not logarithm <= ROUNDING:
        raise _Odd  # not <= : NaN too
    return min(1.0, math.exp(logarithm))
