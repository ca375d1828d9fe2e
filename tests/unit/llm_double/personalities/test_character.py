"""Personalities together: in order, for their share, with what they remember."""

import json
from functools import partial
from inspect import signature

import pytest

from llm_double import Options, Personality
from llm_double.personalities.behaviour import Behaviour
from llm_double.personalities.character import Character
from llm_double.personalities.expiring_key import ExpiringKey
from llm_double.personalities.registry import NAMES, behaviour_of
from stage.asking import SCHEMA, asked


def character(*told: Personality | str) -> Character:
    return Character([Personality.of(one) for one in told])


def test_the_options_with_personalities_survive_the_way_as_json() -> None:
    options = Options(personalities=("talks", Personality("expiring_key", after_calls=5, keys=["a", "b"])))  # type: ignore[arg-type]
    assert Options.from_json(json.loads(json.dumps(options.to_json()))) == options
    assert options.personalities[1].parameters == {"after_calls": 5, "keys": ("a", "b")}


@pytest.mark.parametrize("name", NAMES)
def test_every_personality_of_the_registry_says_what_it_is(name: str) -> None:
    made = behaviour_of(name)
    assert (getattr(made, "func", made).__doc__ or "").strip()


@pytest.mark.parametrize(
    ("told", "reason"),
    [("talkative", "'talkative'"), (Personality("talks", loudly=True), "'talks'.*loudly")],
)
def test_a_name_or_a_parameter_that_does_not_exist_is_an_error(told: Personality | str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        character(told)


def test_each_takes_what_the_one_before_has_made() -> None:
    once, twice = character("always_talks"), character("always_talks", "always_talks")
    alone = once.content(asked("x"), "{}")
    assert alone != "{}"
    assert twice.content(asked("x"), "{}") == once.content(asked("x"), alone)


def test_a_share_of_the_calls_is_drawn_by_prompt_whatever_their_order() -> None:
    some = character(Personality("always_talks", share=0.25, seed=3))
    hit = [n for n in range(1000) if some.content(asked(f"prompt {n}"), "{}") != "{}"]
    assert 200 < len(hit) < 300  # 250 expected, 14 the standard deviation
    assert hit == [n for n in range(1000) if some.content(asked(f"prompt {n}", number=9), "{}") != "{}"]


def test_a_personality_can_be_that_of_some_models() -> None:
    some = character(Personality("always_talks", models=["m"]))
    assert some.content(asked("x"), "{}") != "{}"
    assert some.content(asked("x", model="n"), "{}") == "{}"


def test_who_stays_as_it_was_keeps_what_it_remembers() -> None:
    key = Personality("expiring_key", after_calls=1, keys=("a", "b"))
    first = character("talks", key)
    first.refusal(asked("x", key="a"))
    kept, new = Character([key], first).find(ExpiringKey), Character([key]).find(ExpiringKey)
    assert kept is not None
    assert new is not None
    assert (kept.valid(0.0), new.valid(0.0)) == ("b", "a")


def test_a_schema_is_seen_in_the_format_or_else_in_the_messages() -> None:
    written_out = f"answer by {json.dumps(SCHEMA)}"
    other = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert character().shape(asked("x", schema=SCHEMA)).shown == SCHEMA
    assert character().shape(asked(written_out, "x")).shown == SCHEMA
    assert character().shape(asked("x")).shown is None
    blind = character("ignores_format").shape(asked("x", schema=SCHEMA))
    assert (blind.shown, blind.enforced) == (None, None)
    told = character("ignores_format").shape(asked(written_out, "x", schema=other))
    assert (told.shown, told.enforced) == (SCHEMA, None)


def test_no_parameter_stands_in_the_place_of_a_hook() -> None:
    for name in NAMES:
        made = behaviour_of(name)
        kind = made.func if isinstance(made, partial) else made
        parameters = set(signature(kind).parameters) if "__init__" in vars(kind) else set()
        assert not parameters & {hook for hook in vars(Behaviour) if not hook.startswith("_")}, name


def test_who_is_there_twice_remembers_twice() -> None:
    key = Personality("expiring_key", after_calls=2, keys=("a", "b"))
    twice = Character([key, key], Character([key, key]))
    assert twice.refusal(asked("x", key="a")) is None
    assert twice.refusal(asked("x", key="a")) is None  # one memory of both would have counted four calls
    assert twice.refusal(asked("x", key="a")) is not None
