"""What models without a strict mode write otherwise than asked for, and mean only one thing by: all of it is read."""

import json

import pytest

from seven_operations import SEVEN, Asked
from tamis_worker.llm.answer_reading import WRAPPERS


def deviating(asked: Asked) -> dict[str, str]:
    """The sound answer of an operation, harmlessly otherwise in one way after the other."""
    sound, text = asked.sound, asked.text()
    number = sound[asked.number]
    made = {
        "a number as text": asked.text(**{asked.number: str(number)}),
        "a number as text with space": asked.text(**{asked.number: f" {number} "}),
        "an extra key": asked.text(notes="none"),
        "extra keys": asked.text(notes="none", model="m", usage={"tokens": 12}),
        "an array of one": f"[{text}]",
        "the object in a string": json.dumps(text),
        "the object in a string in a fence": f"```json\n{json.dumps(text)}\n```",
        "an array of one around a wrapper": json.dumps([{"answer": sound}]),
        "keys in capitals": json.dumps({name.upper(): value for name, value in sound.items()}),
        "keys as titles": json.dumps({name.title(): value for name, value in sound.items()}),
        "keys with space": json.dumps({f" {name} ": value for name, value in sound.items()}),
        "a wrapper in a fence": f'```json\n{{"result": {text}}}\n```',
        "a wrapper behind a thought": f'<think>Perhaps.</think>\n{{"Answer": {text}}}',
        "several at once": json.dumps(
            {"Response": {f"{name} ".title(): value for name, value in sound.items()} | {"more": 1}}
        ),
    }
    wrappers = sorted(WRAPPERS - sound.keys())
    made |= {f"wrapper: {name}": json.dumps({name.replace(" ", "_"): sound}) for name in wrappers}
    return made | {what: json.dumps(sound | changes) for what, changes in asked.deviating.items()}


@pytest.mark.spec("1.13")
@pytest.mark.parametrize("asked", SEVEN, ids=lambda asked: asked.name)
def test_what_is_harmlessly_otherwise_is_read_and_noted(asked: Asked) -> None:
    sound = asked.decide(asked.text())
    for what, text in deviating(asked).items():
        assert asked.decide(text) == sound, what
        deviations = asked.read(text).deviations
        assert deviations, what
        assert all(0 < len(note) < 200 for note in deviations), what


LENIENT = {
    "a fence": "```json\n{}\n```",
    "a byte order mark": "\ufeff{}",
    "a thought": "<think>Perhaps.</think>\n{}",
    "a final channel": "<|channel|>analysis<|message|>Is it?<|end|><|start|>assistant<|channel|>final<|message|>{}",
}


@pytest.mark.parametrize("around", LENIENT.values(), ids=LENIENT.keys())
@pytest.mark.parametrize("asked", SEVEN, ids=lambda asked: asked.name)
def test_what_stands_around_an_object_that_stands_alone_is_no_deviation(asked: Asked, around: str) -> None:
    text = around.replace("{}", asked.text())
    assert asked.decide(text) == asked.decide(asked.text())
    assert asked.read(text).deviations == ()


def test_every_operation_deviates_in_a_way_of_its_own() -> None:
    for asked in SEVEN:
        assert asked.deviating
        assert all(json.loads(asked.text(**changes)) != asked.sound for changes in asked.deviating.values())
