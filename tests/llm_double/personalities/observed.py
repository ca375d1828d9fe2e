"""Odd habits of real endpoints: each is an answer in place of the usual one, or a change of it.

The tables at the end list the habits by name. `When` says which calls a habit concerns. The endpoint answers all other
calls as usual, so a question about no record, such as a probe, is answered unless the habit concerns every call.
"""

import gzip
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from enum import StrEnum
from typing import Any, TypeAlias

from .. import errors
from ..asked import Asked
from ..connection import Manner, Response
from ..errors import Problem
from ..script import Kind
from .behaviour import Behaviour, JsonObject
from .thinks import THOUGHT

Refusal: TypeAlias = Callable[[Asked], Response | Problem | None]
Change: TypeAlias = Callable[[JsonObject], JsonObject]
Sent: TypeAlias = Callable[[Response], Response]

EVERY = 4  # SOME and ONCE concern the last of so many records
_RECORD = re.compile(r"record number (\d+)\.")  # in the records of `stage.items`

EXTRA = "Extra inputs are not permitted"
# The parameters of Mistral's chat completions.
TAKEN_BY_MISTRAL = frozenset(
    {"model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "response_format"}
    | {"tools", "tool_choice", "presence_penalty", "frequency_penalty", "n", "prediction", "parallel_tool_calls"}
    | {"prompt_mode", "safe_prompt", "metadata"}
)


class When(StrEnum):
    """The calls that a habit concerns."""

    ALWAYS = "always"
    SOME = "some"  # every call about each fourth record
    ONCE = "once"  # the first call about each fourth record


@dataclass
class Observed(Behaviour):
    """An endpoint with one habit. Raises ValueError for an unknown habit, or for an unknown `when`."""

    habit: str
    when: str = When.ALWAYS
    _met: set[str] = field(init=False, default_factory=set)  # numbers of records
    _concerned: set[int] = field(init=False, default_factory=set)  # numbers of calls

    def __post_init__(self) -> None:
        self.when = When(self.when)
        if self.habit not in HABITS:
            raise ValueError(f"no endpoint has the habit {self.habit!r}; there are {', '.join(HABITS)}")

    def refusal(self, asked: Asked) -> Response | Problem | None:
        """Return the answer in place of the usual one; None for the usual answer, changed or not."""
        if not self._concerns(asked):
            return None
        self._concerned.add(asked.number)
        return REFUSALS[self.habit](asked) if self.habit in REFUSALS else None

    def response(self, asked: Asked, response: Response, completion: JsonObject) -> Response:
        """Return the response, changed if the habit concerns this call."""
        if asked.number not in self._concerned:
            return response
        if self.habit in CHANGES:
            return replace(response, body=json.dumps(CHANGES[self.habit](completion)).encode())
        return SENT[self.habit](response) if self.habit in SENT else response

    def _concerns(self, asked: Asked) -> bool:
        if self.when == When.ALWAYS:
            return True
        record = _RECORD.search(asked.prompt)
        if record is None or int(record[1]) % EVERY != EVERY - 1:
            return False
        again = record[1] in self._met
        self._met.add(record[1])
        return self.when == When.SOME or not again


def _answer(status: int, body: object, **headers: str) -> Refusal:
    response = Response(json.dumps(body).encode(), status, {name.replace("_", "-"): headers[name] for name in headers})
    return lambda asked: response


def _error(status: int, message: str, /, **more: object) -> Refusal:
    return _answer(status, {"error": {"message": message, "type": None, "param": None, **more}})


def _page(status: int, title: str) -> Refusal:
    body = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return lambda asked: Response(body.encode(), status, content_type="text/html")


def _text(status: int, text: str) -> Refusal:
    return lambda asked: Response(text.encode(), status, content_type="text/plain; charset=utf-8")


def _without_logprobs(asked: Asked) -> Response | None:
    """Fail on probabilities of minus infinity, which JSON cannot express."""
    if asked.body.get("logprobs") is None:
        return None
    return Response(b"Internal Server Error", 500, content_type="text/plain; charset=utf-8")


def _extra_inputs(asked: Asked) -> list[JsonObject]:
    extra = {name: value for name, value in asked.body.items() if name not in TAKEN_BY_MISTRAL}
    return [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": EXTRA, "input": value}
        for name, value in extra.items()
    ]


def _mistral(asked: Asked) -> Response | None:
    extra = _extra_inputs(asked)
    told = {"object": "error", "message": {"detail": extra}, "type": "invalid_request_error", "code": None}
    return Response(json.dumps(told).encode(), 422) if extra else None


def _mistral_list(asked: Asked) -> Response | None:
    extra = _extra_inputs(asked)
    told = {"object": "Error", "detail": extra, "message": extra, "type": "invalid_request_error", "code": 3001}
    return Response(json.dumps(told).encode(), 422) if extra else None


def _reasoning_model(asked: Asked) -> Problem | None:
    for name in ("max_tokens", "temperature"):
        if name in asked.body:
            return errors.of_parameter(name, asked.body[name])
    if asked.body.get("logprobs"):
        return Problem(403, "You are not allowed to request logprobs from this model.")
    return None


def _older_server(asked: Asked) -> Problem | None:
    name = "max_completion_tokens"
    return errors.of_parameter(name, asked.body[name]) if name in asked.body else None


def _retry_at(seconds: float) -> Refusal:
    def limited(asked: Asked) -> Problem:
        date = formatdate(time.time() + seconds, usegmt=True)
        return Problem(429, "Rate limit exceeded", "requests", None, None, {"retry-after": date})

    return limited


def _choice(change: Callable[[JsonObject], Mapping[str, Any]]) -> Change:
    """Return the change of a completion that changes its choice."""
    return lambda completion: completion | {"choices": [{**completion["choices"][0], **change(completion)}]}


def _message(change: Callable[[str], Mapping[str, Any]], finish: str = "stop") -> Change:
    """Return the change of a completion that replaces fields of its message, made from the content."""

    def changed(completion: JsonObject) -> JsonObject:
        message = completion["choices"][0]["message"]
        return {"message": {**message, **change(message["content"])}, "finish_reason": finish}

    return _choice(changed)


def _half(content: str) -> str:
    return content[: len(content) // 2]


def _usage(**counts: int) -> Change:
    return lambda completion: completion | {"usage": completion["usage"] | counts}


_FILTERED = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
    "Please modify your prompt and retry."
)
_DECLINED = "I'm sorry, but I can't assist with that request."

# The answer to a request, in place of the usual one; None: the usual one.
REFUSALS: Mapping[str, Refusal] = {
    "azure_filter": _error(
        400,
        _FILTERED,
        param="prompt",
        code="content_filter",
        status=400,
        innererror={
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
        },
    ),
    "litellm_filter": _error(
        400,
        f"litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - {_FILTERED}",
        code="400",
    ),
    "context_openai": lambda asked: errors.USUAL[Kind.CONTEXT_LENGTH],
    "context_vllm": _answer(
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5201 tokens (4177 "
            "in the messages, 1024 in the completion). Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "context_llamacpp": _error(
        400,
        "request (5201 tokens) exceeds the available context size (4096 tokens), try increasing it",
        code=400,
        type="exceed_context_size_error",
        n_prompt_tokens=5201,
        n_ctx=4096,
    ),
    "groq_json": _error(
        400,
        "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
        type="invalid_request_error",
        code="json_validate_failed",
        failed_generation='{"value": ',
    ),
    "mistral": _mistral,
    "mistral_list": _mistral_list,
    "reasoning_model": _reasoning_model,
    "older_server": _older_server,
    "logprobs_500": _without_logprobs,
    "error_502_in_200": _error(200, "Provider returned error", code=502, metadata={"raw": "upstream connect error"}),
    "error_429_in_200": _error(200, "Rate limit exceeded: free-models-per-min", code=429),
    "litellm_500_for_429": _error(
        500,
        "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for requests",
        type="throttling_error",
        code="500",
    ),
    "engine_dead": _answer(
        500,
        {
            "object": "error",
            "message": "EngineCore encountered an issue. See stack trace (above) for the root cause.",
            "type": "InternalServerError",
            "param": None,
            "code": 500,
        },
    ),
    "unavailable_page": _page(503, "503 Service Temporarily Unavailable"),
    "timeout_524": _page(524, "524: A timeout occurred"),
    "overloaded_529": _answer(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "breaks_the_connection": lambda asked: Response(manner=Manner.DROPPED),
    "limited_until_date": _retry_at(1.0),
    "limited_until_past_date": _retry_at(-60.0),
    "limited_in_list": _answer(
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": "Resource has been exhausted (e.g. check quota).",
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}],
                }
            }
        ],
    ),
    "no_model_openai": lambda asked: errors.USUAL[Kind.NOT_FOUND],
    "no_model_vllm": lambda asked: _answer(
        404,
        {
            "object": "error",
            "message": f"The model `{asked.model}` does not exist.",
            "type": "NotFoundError",
            "param": None,
            "code": 404,
        },
    )(asked),
    "no_model_ollama": lambda asked: Problem(404, f"model '{asked.model}' not found", "not_found_error"),
    "no_model_openrouter": _error(400, "double/one is not a valid model ID", code=400),
    "no_path": _text(404, "404 page not found"),
    "no_credits": _error(402, "Insufficient credits. Add more to your account.", code=402),
    "no_quota": lambda asked: errors.USUAL[Kind.QUOTA],
}

# The change of a completion.
CHANGES: Mapping[str, Change] = {
    "safety": _message(lambda content: {"content": ""}, "SAFETY"),
    "recitation": _message(lambda content: {"content": None}, "RECITATION"),
    "filter_cuts": _message(lambda content: {"content": _half(content)}, "content_filter"),
    "refuses": _message(lambda content: {"content": None, "refusal": _DECLINED}),
    "refuses_in_prose": _message(lambda content: {"content": _DECLINED}),
    "reads_little": _usage(prompt_tokens=3, total_tokens=20),
    "null_choices": lambda completion: completion | {"choices": None},
    "no_choices": lambda completion: completion | {"choices": []},
    "error_in_choice": _choice(
        lambda completion: {
            "message": {"role": "assistant", "content": ""},
            "finish_reason": "error",
            "error": {"code": 502, "message": "Upstream error: connection reset"},
        }
    ),
    "loads": _message(lambda content: {"content": ""}, "load"),
    "null_content": lambda completion: _usage(prompt_tokens=0, completion_tokens=0, total_tokens=0)(
        _message(lambda content: {"content": None})(completion)
    ),
    "answers_in_thought": _message(lambda content: {"content": None, "reasoning_content": content}),
    "thinks_too_long": _message(lambda content: {"content": "", "reasoning_content": THOUGHT}, "length"),
    "cuts": _message(lambda content: {"content": _half(content)}, "MAX_TOKENS"),
    "cuts_silently": _message(lambda content: {"content": _half(content)}),
    "calls_it_cut": _message(lambda content: {"content": content}, "length"),
    "blanks_behind": _message(lambda content: {"content": content + " \n" * 200}, "length"),
    "double_encoded": _message(lambda content: {"content": json.dumps(content)}),
    "object": _message(lambda content: {"content": json.loads(content)}),
    "function_call": _message(
        lambda content: {"content": None, "function_call": {"name": "answer", "arguments": content}}, "function_call"
    ),
    "wrapped": _message(lambda content: {"content": f'{{"result": {content}}}'}),
    "trailing_comma": _message(lambda content: {"content": f"{content.rstrip()[:-1]},}}"}),
    "yes_and_no": _message(
        lambda content: {
            "content": re.sub(r": (true|false)", lambda read: f': "{"Yes" if read[1] == "true" else "No"}"', content)
        }
    ),
    "empty_thought": _message(lambda content: {"content": f"<think>\n\n</think>\n\n{content}"}),
    "unopened_thought": _message(lambda content: {"content": f"{THOUGHT}\n</think>\n\n{content}"}),
    "other_finish": _message(lambda content: {"content": content}, "eos"),
    "two_choices": lambda completion: completion | {"choices": completion["choices"] * 2},
    "nan": lambda completion: completion | {"prompt_logprobs": float("nan")},
}

# The change of an HTTP answer.
SENT: Mapping[str, Sent] = {
    "byte_order_mark": lambda response: replace(response, body=b"\xef\xbb\xbf" + response.body),
    "latin_1": lambda response: replace(response, body=response.body[:-1] + ', "région": "é"}'.encode("latin-1")),
    "gzip": lambda response: replace(
        response, body=gzip.compress(response.body), headers={**response.headers, "content-encoding": "gzip"}
    ),
    "breaks_off": lambda response: replace(response, manner=Manner.CUT),
    "plain_text": lambda response: replace(response, content_type="text/plain"),
    "odd_limits": lambda response: replace(
        response,
        headers={
            **response.headers,
            "x-ratelimit-limit-requests": "0",
            "x-ratelimit-remaining-requests": "many",
            "x-ratelimit-reset-requests": "-1",
        },
    ),
}

HABITS = (*REFUSALS, *CHANGES, *SENT)
