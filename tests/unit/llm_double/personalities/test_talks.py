"""Prose around the object."""

import json

from llm_double.personalities.talks import Talks
from stage.asking import asked

OBJECT = '{"decision": "include"}'


def test_it_talks_around_its_object() -> None:
    content = Talks().content(asked("a JSON object, please", "the record"), OBJECT)
    before, _, behind = content.partition(OBJECT)
    assert before.strip()
    assert behind.strip()


def test_it_obeys_a_last_message_that_asks_for_the_object_alone() -> None:
    request = asked("x", "Answer with one JSON object and nothing else.")
    assert json.loads(Talks().content(request, OBJECT)) == {"decision": "include"}
    assert Talks(obeys=False).content(request, OBJECT) != OBJECT
