"""Answers each record as a file says."""

import json
import math
from pathlib import Path

import pytest

from llm_double.personalities.character import Character
from llm_double.personalities.personality import Personality
from llm_double.personalities.recorded import Recorded, logprobs
from stage.asking import asked

DATA = "title: Gait after surgery\nabstract: We walked."
PROMPT = f"## Source Data\n{DATA}"
CONTENT = '{"rationale": "no trial", "status": "exclude"}'
TOKENS = {"exclude": 0.75, "include": 0.25, "uncertain": 0.0}


@pytest.fixture
def judge(tmp_path: Path) -> Recorded:
    decision = {"at": CONTENT.index("exclude"), "tokens": TOKENS}
    other = {"data": "title: Another", "content": "{}"}
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, ({"data": DATA, "content": CONTENT, "decision": decision}, other))))
    return Recorded(str(path))


@pytest.mark.parametrize("prompt", [PROMPT, f"{PROMPT}\n\n## Instruction\nIs it a trial?"])
def test_a_record_is_answered_as_the_file_says(judge: Recorded, prompt: str) -> None:
    assert judge.refusal(asked("Judge it.", prompt)) is None
    assert judge.content(asked("Judge it.", prompt), "invented") == CONTENT


def test_a_record_that_is_not_in_the_file_is_refused_and_named(judge: Recorded) -> None:
    problem = judge.refusal(asked("## Source Data\ntitle: Unknown"))
    assert problem is not None
    assert (problem.status, "title: Unknown" in problem.message) == (400, True)


def test_tokens_have_their_probabilities_where_they_are_asked_for(judge: Recorded) -> None:
    plain = {"choices": [{"index": 0, "message": {"content": CONTENT}}]}
    given = judge.completion(asked(PROMPT, logprobs=True, top_logprobs=2), plain)
    tokens = given["choices"][0]["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == CONTENT
    assert b"".join(bytes(token["bytes"]) for token in tokens) == CONTENT.encode()
    (decided,) = [token for token in tokens if token["top_logprobs"]]
    assert (decided["token"], math.exp(decided["logprob"])) == ("exclude", pytest.approx(0.75))
    listed = [(one["token"], math.exp(one["logprob"])) for one in decided["top_logprobs"]]
    assert listed == [("exclude", pytest.approx(0.75)), ("include", pytest.approx(0.25))]
    for body in ({}, {"logprobs": False}):
        assert judge.completion(asked(PROMPT, **body), plain) == plain
    assert judge.completion(asked("## Source Data\ntitle: Another", logprobs=True), plain) == plain


def test_what_cannot_be_is_as_good_as_impossible() -> None:
    tokens = logprobs("exclude", 0, TOKENS, 5)
    assert [one["logprob"] for one in tokens[0]["top_logprobs"]][-1] == -9999.0
    with pytest.raises(ValueError, match="stands at 1"):
        logprobs("exclude", 1, TOKENS, 5)


def test_each_model_of_a_panel_has_a_file_of_its_own(judge: Recorded, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"data": DATA, "content": "other"}))
    character = Character(
        [
            Personality("recorded", file=judge.file, models=("m",)),
            Personality("recorded", file=str(other), models=("n",)),
        ]
    )
    assert character.content(asked(PROMPT), "") == CONTENT
    request = asked(PROMPT)
    request.body["model"] = "n"
    assert character.content(request, "") == "other"
