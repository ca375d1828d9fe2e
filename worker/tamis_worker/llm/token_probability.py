"""The probability of inclusion, from the probabilities of an answer's tokens.

With `logprobs`, an endpoint sends the natural logarithm of each token's probability, and the likeliest alternatives to
the token. The decision is one value in the answer's JSON. Where the tokens of two values differ (`inc` or `ex`, `true`
or ` false`), the alternatives show the other possible decisions:

    P(v) = sum of the probabilities of all alternatives with which the value v can begin
    probability = (P(include) + P(uncertain) / 2) / (P(include) + P(exclude) + P(uncertain))

An uncertain answer counts half, because it favours neither side. So the probability rises if the model moves from
exclude to uncertain, or from uncertain to include.

If no listed alternative begins a value, that value is less likely than each listed alternative. If such values together
may have a probability above `OPEN`, the probability of inclusion is unknown. It is unknown too if the tokens do not
spell the answer, or have no probabilities. Invalid data gives None, never an error, because the answer itself is good.

Source: the response of chat completions (`choices[].logprobs.content[]`: token, logprob, bytes, top_logprobs), as
OpenAI documents it and llama.cpp's server and vLLM send it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PARAMETERS = ("logprobs", "top_logprobs")  # of a request; neither changes the answer
ALTERNATIVES = 5  # per token: the most that all endpoints send
OPEN = 0.05  # largest error of a probability, from unlisted values
ROUNDING = 0.01  # amount above 1 that the sum of one position's probabilities may have
SCRAPS = ' \t\r\n":'  # may precede a value's first letter; their number in a token means nothing

_STRING = r'"(?:[^"\\]|\\.)*"'
_NAME_OR_BRACE = re.compile(rf"({_STRING})\s*:\s*|{_STRING}|[{{}}]", re.DOTALL)
_VALUE = re.compile(rf"{_STRING}|[^\s,}}\]]+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DecisionField:
    """The field of an answer that holds its decision, and the meaning of each value."""

    name: str
    inclusion: Mapping[str, float]  # value in small letters -> 1 includes, 0 excludes, 0.5 is undecided


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of a value in an answer's text, in characters."""

    colon: int  # the position after the colon; blanks may follow
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Token:
    text: bytes
    probability: float


@dataclass(slots=True)
class _Shares:
    """The probability of each value after the tokens read so far, and of the values that no listed token begins."""

    of_value: dict[str, float] = field(default_factory=dict)
    weight: float = 1.0  # product of the probabilities of the tokens chosen so far
    open: float = 0.0  # largest probability of unlisted values

    def add(self, value: str, probability: float) -> None:
        self.of_value[value] = self.of_value.get(value, 0.0) + self.weight * probability


class _Odd(ValueError):
    """Raised if data is not a list of tokens with probabilities."""


def options(of_caller: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request parameters for token probabilities. If the caller sets `logprobs` to False, return {}."""
    if of_caller.get(PARAMETERS[0], True) is not True:
        return {}
    return {PARAMETERS[0]: True, PARAMETERS[1]: ALTERNATIVES}


def probability_of(content: str, tokens: object, decision: DecisionField) -> float | None:
    """Return the probability of inclusion, from 0 to 1; None if the tokens do not give it.

    Args:
        content: the answer's text.
        tokens: `logprobs.content` of the answer's choice, unchanged.
        decision: the answer's field that holds the decision.
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
    offset = spelled.rfind(written)  # thoughts may precede the answer, and an end mark may follow
    if offset < 0:
        return None
    shares, before = _Shares(), 0
    for token, text in zip(tokens, texts, strict=True):
        begins, before = before - offset, before + len(text)
        if before - offset <= colon or begins >= end:
            continue
        lead, prefix = written[max(0, begins) : start], written[start : max(start, begins)]
        if _take(shares, _alternatives(_object(token), text), text, lead, prefix, decision):
            return _normalised(shares, decision)
    return None


def _take(
    shares: _Shares,
    alternatives: Sequence[_Token],
    chosen: bytes,
    lead: bytes,
    prefix: bytes,
    decision: DecisionField,
) -> bool:
    """Add the probabilities of one token's alternatives to `shares`.

    Return True if the token `chosen` by the model leaves only one possible value. `lead` is the answer's text from the
    token's beginning to the value, and `prefix` is the part of the value in earlier tokens.
    """
    settled = False
    for alternative in alternatives:
        begun = _begun(alternative.text, lead, prefix, decision.inclusion)
        if len(begun) == 1:
            shares.add(begun[0], alternative.probability)
            settled = settled or alternative.text == chosen
        elif begun and alternative.text != chosen:  # the value that would have followed is unknown
            shares.open += shares.weight * alternative.probability
    listed = sum(token.probability for token in alternatives)
    missing = len(decision.inclusion) - len(shares.of_value)
    shares.open += shares.weight * min(missing * min(token.probability for token in alternatives), max(0.0, 1 - listed))
    shares.weight *= next(token.probability for token in alternatives if token.text == chosen)
    return settled


def _begun(text: bytes, lead: bytes, prefix: bytes, values: Mapping[str, float]) -> list[str]:
    """Return the values that are still possible after the token `text`.

    `lead`: the characters of the token before the value begins. `prefix`: the part of the value in earlier tokens.
    """
    if not text:  # the end of the answer
        return []
    text = text.removeprefix(lead)
    letters = prefix.decode("utf-8", "replace").lstrip(SCRAPS).lower()
    if not letters:
        text = text.lstrip(SCRAPS.encode())
    whole = letters + text.decode("utf-8", "replace").lower()
    return [value for value in values if value.startswith(whole) or _ends(whole, value)]


def _ends(whole: str, value: str) -> bool:
    """Return True if a text begins with the value, and no letter or digit follows the value."""
    return whole.startswith(value) and not whole[len(value) :][:1].isalnum()


def _normalised(shares: _Shares, decision: DecisionField) -> float | None:
    named = sum(shares.of_value.values())
    if named <= 0 or shares.open > OPEN * (named + shares.open):
        return None
    included = sum(decision.inclusion[value] * share for value, share in shares.of_value.items())
    return min(1.0, max(0.0, included / named))


def _place_of_value(content: str, name: str) -> _Place | None:
    """Return the position of the value of the field `name`; None if there is no such field.

    The answer is the last JSON object in the content. If several fields have this name, the least nested field counts.
    """
    wanted = f'"{name}"'
    place: _Place | None = None
    depth, last_depth = 0, math.inf
    for match in _NAME_OR_BRACE.finditer(content):
        if match[0] == "{":
            if depth == 0:
                place, last_depth = None, math.inf  # another object begins: the one before was a draft
            depth += 1
        elif match[0] == "}":
            depth = max(0, depth - 1)
        elif match[1] is not None and match[1].lower() == wanted and depth <= last_depth:
            value = _VALUE.match(content, match.end())
            if value is not None:
                colon = content.rindex(":", match.start(), match.end()) + 1
                place, last_depth = _Place(colon, *value.span()), depth
    return place


def _alternatives(token: Mapping[str, Any], chosen: bytes) -> list[_Token]:
    """Return the chosen token and its alternatives, each once. Raise `_Odd` for invalid data."""
    listed = token.get("top_logprobs") or ()
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise _Odd
    probabilities: dict[bytes, float] = {}
    for alternative in map(_object, listed):
        text = _text(alternative)
        probabilities[text] = max(_probability_in(alternative), probabilities.get(text, 0.0))
    probabilities.setdefault(chosen, _probability_in(token))
    if sum(probabilities.values()) > 1 + ROUNDING:
        raise _Odd
    return [_Token(text, probability) for text, probability in probabilities.items()]


def _object(token: object) -> Mapping[str, Any]:
    if not isinstance(token, Mapping):
        raise _Odd
    return token


def _text(token: Mapping[str, Any]) -> bytes:
    """Return the bytes of a token. A token may contain only some of a letter's bytes."""
    raw = token.get("bytes")
    if isinstance(raw, list):
        try:
            return bytes(raw)
        except (TypeError, ValueError):
            raise _Odd from None
    text = token.get("token")
    if not isinstance(text, str):
        raise _Odd
    return text.encode("utf-8", "replace")


def _probability_in(token: Mapping[str, Any]) -> float:
    """Return the probability of a token. Raise `_Odd` if the token has no valid logarithm.

    The logarithm of a nearly impossible token is -9999.0 from OpenAI, and -Infinity from other endpoints.
    """
    logarithm = token.get("logprob")
    if isinstance(logarithm, bool) or not isinstance(logarithm, int | float) or not logarithm <= ROUNDING:
        raise _Odd  # not <= : NaN too
    return min(1.0, math.exp(logarithm))
