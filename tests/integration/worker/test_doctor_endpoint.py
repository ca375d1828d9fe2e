"""The doctor at the endpoint: real questions over the workers' own seam, and nothing else that runs."""

import base64
import json
import time
from pathlib import Path

import pytest

from llm_double import Double, Fault, Kind
from stage import tamis
from tamis_cli.doctor.examination import examine
from tamis_cli.doctor.finding import Finding, Level
from tamis_producer.config.stack_file import StackFile
from tamis_worker.config.settings import WorkerSettings

KEY = "sk-a-key-that-nobody-may-see"


@pytest.fixture
def double(kept_double: Double) -> Double:
    return kept_double


@pytest.fixture
def laptop(double: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    """No servers are named and no stack runs."""
    monkeypatch.chdir(tmp_path)
    named = {"LLM_BASE_URL": double.base_url, "LLM_API_KEY": KEY, "MODEL": "gpt-5-mini"}
    for name, value in named.items():
        monkeypatch.setenv(f"TAMIS_{name}", value)
    return WorkerSettings.load()


def found(settings: WorkerSettings, *, call: bool = True, **changes: object) -> dict[str, list[Finding]]:
    """What is said, by subject; no secret is in it."""
    findings = list(examine(settings.model_copy(update=changes), call=call, endpoint_only=True))
    assert KEY not in repr(findings)
    assert "s3cret" not in repr(findings)
    by_subject: dict[str, list[Finding]] = {}
    for finding in findings:
        by_subject.setdefault(finding.subject, []).append(finding)
    return by_subject


def levels(findings: dict[str, list[Finding]]) -> set[Level]:
    return {one.level for same in findings.values() for one in same}


def test_each_operation_asks_one_question_and_is_told_with_what_all_cost(
    laptop: WorkerSettings, double: Double
) -> None:
    said = found(laptop)
    assert levels(said) == {Level.OK}
    paid = double.count(status=200)
    assert 7 <= paid <= 7 + 3  # the double answers out of bounds until it is told them: three wasted calls at most
    schemas = {(call.response_format or {})["json_schema"]["name"] for call in double.calls()}
    assert schemas == {"filter", "score", "extract", "extract_fields", "judge", "inclusion", "answer"}
    assert said["answers"][0].what.startswith("filter, score, extract, extract_fields, judge, inclusion, answer: the")
    # The double counts a token for each four characters of prompt and answer; $0.25 and $2.00 per million.
    assert said["bill"][0].what.startswith(f"{paid} calls cost $0.00")
    assert set(said) == {"LLM", "answers", "shape", "parameters", "model", "limits", "probability", "bill", "LLM key"}


def test_without_a_call_nothing_is_paid_and_key_and_model_are_checked_by_the_list(
    laptop: WorkerSettings, double: Double
) -> None:
    double.script(models=["gpt-5-mini"], api_key=KEY)
    assert levels(found(laptop, call=False)) == {Level.OK}
    double.script(models=["other"])
    (listed,) = found(laptop, call=False)["LLM"]
    assert (listed.level, "does not list the model 'gpt-5-mini'; it lists other" in listed.what) == (
        Level.WARNING,
        True,
    )
    double.script(api_key="another")
    (refused,) = found(laptop, call=False)["LLM"]
    assert "refuses the key (401)" in refused.what
    assert double.count() == 0


@pytest.mark.parametrize(
    ("options", "says", "calls"),
    [
        ({"api_key": "another"}, "refuses the key (401)", 0),  # the list says so, before any question
        ({"models": ["other"]}, "has no model 'gpt-5-mini' (404)", 1),
        ({"faults": [Fault(Kind.FORBIDDEN)]}, "denies this key access (403)", 7),
        ({"faults": [Fault(Kind.QUOTA)]}, "requires payment", 1),
        ({"faults": [Fault(Kind.BAD_GATEWAY)]}, "reports a server error", 7),
        ({"faults": [Fault(Kind.NOT_JSON)]}, "gives no usable answer", 7),
        ({"faults": [Fault(Kind.DROPPED)]}, "drops the connection", 1),
    ],
)
def test_why_nothing_is_answered_is_told_once(
    laptop: WorkerSettings, double: Double, options: dict[str, object], says: str, calls: int
) -> None:
    double.script(**options)  # type: ignore[arg-type] # options
    said = found(laptop)
    failures = [one for one in said["LLM"] if one.level is Level.FAILURE]
    assert [says in one.what for one in failures] == [True], said
    assert double.count() == calls
    assert "shape" not in said


def test_a_rate_limit_is_a_warning_after_one_call(laptop: WorkerSettings, double: Double) -> None:
    double.script(faults=[Fault(Kind.RATE_LIMITED)])
    assert found(laptop)["LLM"][-1].level is Level.WARNING
    assert double.count() == 1


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:1/v1", "no server listens at http://127.0.0.1:1/v1"),
        ("http://user:s3cret@127.0.0.1:1/v1", "user and password in the URL of http://127.0.0.1:1/v1 cannot be sent"),
        ("http://nobody.invalid/v1", "the host of http://nobody.invalid/v1 is unknown"),
        ("ftp://127.0.0.1/v1", "does not begin with http:// or https://"),
    ],
)
def test_an_endpoint_that_is_not_there_is_told_by_why(laptop: WorkerSettings, url: str, says: str) -> None:
    (only,) = found(laptop, llm_base_url=url)["LLM"]
    assert (only.level, says in only.what) == (Level.FAILURE, True), only


def test_an_endpoint_that_ignores_the_schema_is_found_out_by_its_answers(
    laptop: WorkerSettings, double: Double
) -> None:
    double.script(personalities=["ignores_format"])
    said = found(laptop)
    assert said["answers"][0].level is Level.OK
    (shape,) = said["shape"]
    assert shape.level is Level.WARNING
    assert "accepts a schema but does not enforce it" in shape.what
    assert "of it to learn the format" in said["bill"][0].what
    assert double.count(status=200) <= 7 + 3


def test_what_the_endpoint_refuses_is_named(laptop: WorkerSettings, double: Double) -> None:
    double.script(response_formats=["json_object"], refuses=["temperature", "max_tokens"])
    said = found(laptop)
    assert levels(said) == {Level.OK}
    assert "(json_object): the endpoint refuses strict schemas, at no cost" in said["shape"][0].what
    assert "accepted: max_completion_tokens" in said["parameters"][0].what
    assert "omitted: max_tokens, temperature (" in said["parameters"][0].what


def test_an_endpoint_that_cuts_long_prompts_is_found_out_by_its_count_of_tokens(
    laptop: WorkerSettings, double: Double
) -> None:
    double.script(personalities=["usage_of_cut_prompts"])
    (cut,) = [one for one in found(laptop)["answers"] if one.level is Level.FAILURE]
    assert cut.what.startswith("extract: the endpoint has read only 1000 tokens of a record with ")
    assert "num_ctx" in cut.what


def test_a_model_that_only_talks_is_a_failure_and_its_answer_is_shown(laptop: WorkerSettings, double: Double) -> None:
    double.script(faults=[Fault(Kind.MALFORMED)])
    (only,) = found(laptop)["answers"]
    assert only.level is Level.FAILURE
    assert "the answer to filter: 'The record should be included, with high confidence.'" in only.what


def test_a_key_that_says_when_it_expires_is_told(laptop: WorkerSettings) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 1800}).encode()).decode().rstrip("=")
    said = found(WorkerSettings.model_validate({**laptop.model_dump(), "llm_api_key": f"e30.{claims}.c2ln"}))
    (key,) = said["LLM key"]
    assert key.level is Level.WARNING
    assert "it expires in 29 minutes" in key.what or "it expires in 30 minutes" in key.what


def test_where_this_terminal_names_no_llm_that_of_the_running_stack_is_asked(
    laptop: WorkerSettings, double: Double, tmp_path: Path
) -> None:
    stack = StackFile(broker_url="redis://x", database_url="x", llm_base_url=double.base_url, model="m-of-stack")
    (tmp_path / ".tamis").mkdir()
    stack.write(tmp_path / ".tamis")
    here: dict[str, object] = {"llm_base_url": None, "llm_api_key": None, "model": None}
    assert found(laptop, **here)["model"][0].what.startswith("m-of-stack answers")
    double.script(api_key="of-the-stack")
    said = found(laptop, **here)
    assert "LLM key" not in said  # there is none
    (keyless,) = said["LLM"]
    assert keyless.level is Level.WARNING
    assert "the running stack's workers have one" in keyless.what
    first = found(laptop, llm_base_url="http://127.0.0.1:1/v1")["LLM"][0]
    assert first.level is Level.WARNING
    assert f"the workers of the running stack ask m-of-stack at {double.base_url}" in first.what


def test_a_key_of_this_terminal_goes_to_no_endpoint_that_only_the_stack_names(
    laptop: WorkerSettings, double: Double, tmp_path: Path
) -> None:
    stack = StackFile(broker_url="redis://x", database_url="x", llm_base_url=double.base_url, model="m-of-stack")
    (tmp_path / ".tamis").mkdir()
    stack.write(tmp_path / ".tamis")
    found(laptop, llm_base_url="http://127.0.0.1:1/v1")
    assert double.count() == 0


def test_a_printed_key_is_used_and_its_end_is_told_without_saying_it(laptop: WorkerSettings, double: Double) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 1800}).encode()).decode().rstrip("=")
    key = f"e30.{claims}.c2ln"
    double.script(api_key=key)
    said = found(laptop, llm_api_key=None, llm_api_key_command=f"echo {key}")
    assert levels(said) == {Level.OK}
    assert "TAMIS_LLM_API_KEY_COMMAND prints a fresh key" in said["LLM key"][0].what
    assert "it expires in" in said["LLM key"][0].what
    double.script(faults=[Fault(Kind.UNAUTHORIZED, message="no: {authorization}")])
    assert key not in repr(found(laptop, llm_api_key=None, llm_api_key_command=f"echo {key}"))


def test_a_command_that_prints_no_key_is_told(laptop: WorkerSettings, double: Double) -> None:
    (only,) = found(laptop, llm_api_key=None, llm_api_key_command="false")["LLM"]
    assert (only.level, "TAMIS_LLM_API_KEY_COMMAND ended with exit status 1" in only.what) == (Level.FAILURE, True)
    assert double.count() == 0


def test_what_the_settings_steer_is_asked_for_and_what_is_refused_of_it_is_a_warning(
    laptop: WorkerSettings, double: Double
) -> None:
    double.script(refuses=["reasoning_effort"])
    said = found(laptop, reasoning_effort="low", extra_body={"top_k": 1})
    taken, refused = said["parameters"]
    assert "top_k" in taken.what
    assert (refused.level, refused.what) == (
        Level.WARNING,
        "the endpoint refuses reasoning_effort: it is omitted and has no effect",
    )


def test_the_command_needs_two_variables_and_an_endpoint(double: Double, tmp_path: Path) -> None:
    env = {"TAMIS_LLM_BASE_URL": double.base_url, "TAMIS_MODEL": "gpt-5-mini"}
    well = tamis("doctor", "--endpoint", "--json", env=env, cwd=tmp_path)
    assert well.code == 0, well.out + well.err
    assert {one["level"] for one in json.loads(well.out)} == {"ok"}
    double.script(models=["other"])
    broken = tamis("doctor", "--endpoint", "--call", env=env, cwd=tmp_path)
    assert (broken.code, broken.err) == (1, "")
    assert "has no model 'gpt-5-mini' (404)" in broken.out
    assert list(tmp_path.iterdir()) == []
