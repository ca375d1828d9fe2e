"""What stands around the answer in the content, or instead of it."""

import json

import pytest

from llm_double.personalities.behaviour import Behaviour
from llm_double.personalities.fenced import Fenced, FencedInProse
from llm_double.personalities.streams import RunsToWhitespace
from llm_double.personalities.thinks import DRAFT, LeaksChannels, Thinks
from stage.asking import asked

OBJECT = '{"decision": "include"}'


@pytest.mark.parametrize(
    ("behaviour", "begins", "ends"),
    [
        (Fenced(), "```json\n", f"{OBJECT}\n```"),
        (Thinks(), "<think>\n", f"\n</think>\n\n{OBJECT}"),
        (Thinks(tag="<THINK>"), "<THINK>\n", f"\n</THINK>\n\n{OBJECT}"),
        (Thinks(tag="[THINK]"), "[THINK]\n", f"\n[/THINK]\n\n{OBJECT}"),
        (Thinks(opens=False), "\nThe question", f"\n</think>\n\n{OBJECT}"),
        (Thinks(closes=False), "<think>\n", OBJECT),
        (LeaksChannels(), "<|channel|>analysis<|message|>", f"final<|message|>{OBJECT}<|return|>"),
    ],
)
def test_the_answer_stands_between(behaviour: Behaviour, begins: str, ends: str) -> None:
    content = behaviour.content(asked("x"), OBJECT)
    assert content.startswith(begins)
    assert content.endswith(ends)
    assert content.count(OBJECT) == 1


@pytest.mark.parametrize(("thoughts", "opened"), [(1, 1), (2, 2)])
def test_thoughts_are_closed_one_by_one(thoughts: int, opened: int) -> None:
    content = Thinks(thoughts=thoughts).content(asked("x"), OBJECT)
    assert (content.count("<think>"), content.count("</think>")) == (opened, opened)


def test_a_thought_that_never_closes_holds_the_answer() -> None:
    assert "</think>" not in Thinks(closes=False).content(asked("x"), OBJECT)


def test_drafts_are_objects_inside_the_thought_that_are_not_the_answer() -> None:
    thought, _, answer = Thinks(drafts=True).content(asked("x"), OBJECT).partition("</think>")
    assert json.dumps(DRAFT) in thought
    assert '{"decision": null}' in thought
    assert answer.strip() == OBJECT
    assert '{"answer": null}' in Thinks(drafts=True).content(asked("x"), "no JSON")


def test_a_fence_in_prose_obeys_the_last_message() -> None:
    content = FencedInProse().content(asked("x"), OBJECT)
    before, _, behind = content.partition(f"```json\n{OBJECT}\n```")
    assert before.strip()
    assert behind.strip()
    request = asked("the JSON object, please")
    assert FencedInProse().content(request, OBJECT) == OBJECT
    assert FencedInProse(obeys=False).content(request, OBJECT) == content


def test_white_space_fills_more_than_the_budget() -> None:
    inside = RunsToWhitespace().content(asked("x", max_tokens=50), OBJECT)
    assert len(inside) > 50 * 4
    assert inside.strip() == OBJECT[: len(OBJECT) // 2]
    assert RunsToWhitespace(inside=False).content(asked("x"), OBJECT).strip() == OBJECT
