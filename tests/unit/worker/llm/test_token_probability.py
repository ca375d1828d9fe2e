"""The probability of inclusion from the tokens of an answer."""

from math import log
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_worker.llm.token_probability import DecisionField, options, probability_of

STATUS = DecisionField("status", {"include": 1.0, "exclude": 0.0, "uncertain": 0.5})
VALUE = DecisionField("value", {"true": 1.0, "false": 0.0})


def token(text: str, p: float = 1.0, **others: float) -> dict[str, Any]:
    """A token as OpenAI gives it: itself among the alternatives, `others` beside it (`_` for a quote)."""
    listed = {text: p} | {name.replace("_", '"'): share for name, share in others.items()}
    return {
        "token": text,
        "bytes": list(text.encode()),
        "logprob": log(p),
        "top_logprobs": [
            {"token": name, "bytes": list(name.encode()), "logprob": log(share)} for name, share in listed.items()
        ],
    }


def spelled(*tokens: dict[str, Any]) -> str:
    return b"".join(bytes(one["bytes"]) for one in tokens).decode()


def found(*tokens: dict[str, Any], field: DecisionField = STATUS) -> float | None:
    return probability_of(spelled(*tokens), list(tokens), field)


BEFORE = (token("{"), token('"status'), token('":'))
BEHIND = (token('",'), token(' "confidence": 0.9'), token("}"))


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        # exclude 0.7, include 0.2, uncertain 0.1: (0.2 + 0.05) / 1
        ((token(' "'), token("exclude", 0.7, include=0.2, uncertain=0.1)), 0.25),
        # the same, split: only the first piece decides; what follows it is certain
        ((token(' "'), token("ex", 0.7, inc=0.2, un=0.1), token("clude")), 0.25),
        # the quote and the letters in one token, and the blank in another
        ((token(" "), token('"ex', 0.7, _inc=0.2, _uncertain=0.1), token("clude")), 0.25),
        # several tokens begin one value: include 0.3 + 0.2 + 0.1 of 1, exclude 0.4
        ((token(' "'), token("inc", 0.3, include=0.2, Include=0.1, exclude=0.4), token("lude")), 0.6),
        # what begins no value is left out: 0.6 / (0.6 + 0.2)
        ((token(' "'), token("include", 0.6, exclude=0.2, maybe=0.1, unclear=0.1)), 0.75),
        # two ways to begin: `"` (0.6) and then exclude for sure, or `"inc` at once (0.4)
        ((token(" "), token('"', 0.6, _inc=0.4), token("exclude")), 0.4),
        # the same twice: include 0.5, or 0.5 x 0.5, or exclude 0.5 x 0.5
        ((token(" ", 0.5, **{' "in': 0.5}), token('"', 0.5, _in=0.5), token("exclude")), 0.75),
        # "included" is no value: 0.5 / (0.5 + 0.3)
        ((token(' "'), token("include", 0.5, exclude=0.3, included=0.2)), 0.625),
        # uncertain for sure is half
        (
            (
                token(' "'),
                token("uncertain", 0.999),
            ),
            0.5,
        ),
    ],
)
def test_alternatives_are_summed_over_the_values_that_they_begin(
    between: tuple[dict[str, Any], ...], expected: float
) -> None:
    assert found(*BEFORE, *between, *BEHIND) == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("tokens", [(" true", " false", " True"), ("true", "false", '"false')])
def test_booleans_are_read_in_any_case_with_quotes_and_without(tokens: tuple[str, str, str]) -> None:
    chosen, other, third = tokens
    told = token(chosen, 0.8, **{other: 0.15, third.replace('"', "_"): 0.05})
    expected = 0.8 + (0.05 if "True" in third else 0.0)
    assert found(token('{"value":'), told, token(',"x":1}'), field=VALUE) == pytest.approx(expected)


def test_an_answer_may_stand_behind_thoughts_in_a_fence_or_in_a_wrapper() -> None:
    decided = token("false", 0.9, true=0.1)
    for before, behind in (
        ('<think>{"value": true}? No.</think>{"value":', "}"),
        ('```json\n{"value": ', "}\n```"),
        ('{"result": {"value": ', "}}"),
        ('{"reasoning": "\\"value\\": true, and so on {", "Value":', ', "parts": {"value": true}}'),
    ):
        assert found(token(before), decided, token(behind), field=VALUE) == pytest.approx(0.1), before


def test_thoughts_that_the_content_leaves_out_are_passed_over() -> None:
    thought = [token("I think"), token(' {"value": true}')]
    answer = [token('{"value": '), token("false", 0.9, true=0.1), token("}"), token("<|end|>")]
    content = '{"value": false}'
    assert probability_of(content, thought + answer, VALUE) == pytest.approx(0.1)


def test_a_token_may_begin_in_the_name_of_the_field() -> None:
    decided = token('us": "inc', 0.7, **{'us": "exc': 0.3})
    assert found(token('{"stat'), decided, token('lude"}')) == pytest.approx(0.7)


def test_of_thoughts_that_end_in_the_very_same_words_the_answer_counts() -> None:
    draft, answer = ([token('{"value": '), token("true", p, false=1 - p), token("}")] for p in (0.6, 0.9))
    assert probability_of('{"value": true}', draft + answer, VALUE) == pytest.approx(0.9)


def test_the_end_of_the_answer_and_a_token_listed_twice_leave_nothing_open() -> None:
    decided = token("true", 0.6, false=0.1)
    decided["top_logprobs"] += [
        {"token": "<|end|>", "bytes": [], "logprob": log(0.3)},
        {"token": "true", "bytes": list(b"true"), "logprob": log(0.01)},
    ]
    assert found(token('{"value":'), decided, token("}"), field=VALUE) == pytest.approx(0.6 / 0.7)


def test_letters_in_several_tokens_are_put_together_by_their_bytes() -> None:
    first, second = "ä".encode()[:1], "ä".encode()[1:]
    parts = [{"token": "\ufffd", "bytes": list(part), "logprob": 0.0, "top_logprobs": []} for part in (first, second)]
    tokens = [token('{"reasoning": "'), *parts, token('", "value": '), token("true", 0.9, false=0.1), token("}")]
    assert probability_of('{"reasoning": "ä", "value": true}', tokens, VALUE) == pytest.approx(0.9)
    for one in tokens:  # as servers do that give no bytes
        one["bytes"] = None
    assert probability_of('{"reasoning": "ä", "value": true}', tokens, VALUE) is None
    assert probability_of('{"reasoning": "\ufffd\ufffd", "value": true}', tokens, VALUE) == pytest.approx(0.9)


def test_what_the_alternatives_leave_open_is_not_guessed() -> None:
    alone = {**token("true", 0.6), "top_logprobs": []}  # false may have all the rest
    assert found(token('{"value":'), alone, token("}"), field=VALUE) is None
    sure = {**token("true", 0.99), "top_logprobs": []}
    assert found(token('{"value":'), sure, token("}"), field=VALUE) == 1.0
    # exclude may be as likely as the last that is listed, beside 0.3 for include
    unlisted = token("include", 0.3, maybe=0.3, perhaps=0.2)
    assert found(*BEFORE, token(' "'), unlisted, *BEHIND) is None
    # a quote instead of the letters: nobody knows what it would have begun
    assert found(*BEFORE, token(' "in', 0.6, _=0.3, _ex=0.1), token("clude"), *BEHIND) is None


@pytest.mark.parametrize(
    "tokens",
    [
        None,
        [],
        {},
        "true",
        [None],
        [{"token": "true"}],
        [{"token": '{"value": true}', "logprob": "0"}],
        [{"token": '{"value": true}', "logprob": float("nan")}],
        [{"token": '{"value": true}', "logprob": 0.7}],
        [{"token": '{"value": true}', "logprob": True}],
        [{"token": '{"value": true}', "logprob": False}],
        [{"token": '{"value": true}', "logprob": -9999.0}],
        [{"token": '{"value": true}', "logprob": float("-inf"), "top_logprobs": None}],
        [{"token": '{"value": true}', "logprob": -0.1, "top_logprobs": [7]}],
        [{"token": '{"value": true}', "logprob": -0.1, "top_logprobs": {"a": 1}}],
        [{"token": '{"value": true}', "logprob": 0, "top_logprobs": [{"token": "x", "logprob": 0}]}],
        [{"token": '{"value": true}', "logprob": 0, "bytes": [256]}],
        [{"token": '{"value": true}', "logprob": 0, "bytes": ["a"]}],
        [token('{"value": '), token("true")],  # it spells a part of it
        [token('{"value": '), token("false"), token("}")],  # or something else
    ],
)
def test_whatever_is_no_list_of_tokens_with_probabilities_gives_none(tokens: object) -> None:
    assert probability_of('{"value": true}', tokens, VALUE) is None


def test_an_answer_without_the_field_or_with_another_value_gives_none() -> None:
    drafted = '{"value": true} or rather {"values": true}'
    for content in (
        drafted,
        '{"value": "true-ish"}',
        "",
        "{}",
        '{"value"',
        '{"value": ',
        '{"value": null}',
        '{"value": "yes"}',
        '"value": 1',
        "}{",
    ):
        assert probability_of(content, [token(content)] if content else [], VALUE) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3), st.integers(1, 7), st.floats(0, 1))
def test_moving_mass_towards_inclusion_never_lowers_the_probability(
    weights: list[float], letters: int, moved: float
) -> None:
    total = sum(weights)
    include, exclude, uncertain = (weight / total for weight in weights)

    def probability(p: float, q: float, r: float) -> float:
        shares = {"include"[:letters]: p, "exclude"[:letters]: q, "uncertain"[:letters]: r}
        shares = {text: share for text, share in shares.items() if share > 1e-9}
        (text, share), *others = sorted(shares.items(), key=lambda one: -one[1])
        word = next(value for value in STATUS.inclusion if value.startswith(text))
        rest = [token(word[letters:])] if word[letters:] else []
        result = found(*BEFORE, token(' "'), token(text, share, **dict(others)), *rest, *BEHIND)
        assert result is not None
        return result

    usual = probability(include, exclude, uncertain)
    assert usual == pytest.approx(include + uncertain / 2)  # the three are all that there is
    assert probability(include, exclude * (1 - moved), uncertain + exclude * moved) >= usual - 1e-6
    assert probability(include + uncertain * moved, exclude, uncertain * (1 - moved)) >= usual - 1e-6


def test_the_parameters_are_left_to_whoever_says_their_own() -> None:
    assert options({}) == {"logprobs": True, "top_logprobs": 5}
    assert options({"logprobs": True, "top_logprobs": 20}) == {"logprobs": True, "top_logprobs": 5}
    assert options({"logprobs": False}) == {}
    assert options({"logprobs": 5}) == {}
