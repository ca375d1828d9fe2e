"""Error answers as OpenAI writes them."""

import json
from dataclasses import dataclass, field

from .limits import Refusal, duration
from .script import Fault, Kind


@dataclass(frozen=True)
class Problem:
    """An answer with an HTTP error status."""

    status: int
    message: str
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        """The error object as JSON."""
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return json.dumps({"error": error}).encode()


USUAL = {
    Kind.RATE_LIMITED: Problem(429, "Rate limit reached for requests", "requests", None, "rate_limit_exceeded"),
    Kind.QUOTA: Problem(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        None,
        "insufficient_quota",
    ),
    Kind.UNAUTHORIZED: Problem(
        401,
        "Incorrect API key provided: sk-doubl********************************3f7A. "
        "You can find your API key at https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
    ),
    Kind.FORBIDDEN: Problem(403, "Project `proj_double` does not have access to this model.", code=None),
    Kind.NOT_FOUND: Problem(
        404, "The model `double` does not exist or you do not have access to it.", code="model_not_found"
    ),
    Kind.CONTEXT_LENGTH: Problem(
        400,
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens. "
        "Please reduce the length of the messages.",
        param="messages",
        code="context_length_exceeded",
    ),
    Kind.RESPONSE_FORMAT: Problem(
        400,
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        param="response_format",
    ),
    Kind.BAD_REQUEST: Problem(
        400, "Invalid value for 'messages[0].role'.", param="messages[0].role", code="invalid_value"
    ),
    Kind.SERVER_ERROR: Problem(500, "The server had an error while processing your request.", "server_error"),
    Kind.UNAVAILABLE: Problem(503, "The engine is currently overloaded, please try again later.", "server_error"),
    Kind.ERROR_IN_200: Problem(200, "Upstream provider failed", "server_error", None, "502"),
}


def of_fault(fault: Fault) -> Problem | None:
    """The error answer of a fault; None for faults that are not told by a status."""
    usual = USUAL.get(fault.kind)
    if usual is None:
        return None
    headers = {}
    if fault.retry_after is not None:
        headers["retry-after"] = fault.retry_after
    if fault.retry_after_ms is not None:
        headers["retry-after-ms"] = str(fault.retry_after_ms)
    return Problem(usual.status, fault.message or usual.message, usual.type, usual.param, usual.code, headers)


def of_limit(model: str, refusal: Refusal) -> Problem:
    """429, with the time to wait where waiting helps."""
    unit = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}[refusal.resource]
    figures = f"for {model} in organization org-double on {unit}: Limit {refusal.limit}, Requested {refusal.asked}."
    if refusal.wait is None:
        message = f"Request too large {figures} The input or output tokens must be reduced in order to run."
        return Problem(429, message, refusal.resource, None, "rate_limit_exceeded")
    headers = {
        "retry-after": str(max(1, round(refusal.wait + 0.5))),
        "retry-after-ms": str(int(refusal.wait * 1000) + 1),
    }
    message = f"Rate limit reached {figures} Please try again in {duration(refusal.wait)}."
    return Problem(429, message, refusal.resource, None, "rate_limit_exceeded", headers)


def of_concurrency(limit: int) -> Problem:
    """429 without a time to wait: nobody knows when a slot falls free."""
    return Problem(429, f"Too many concurrent requests: limit {limit}", "requests", None, "concurrency_limit_exceeded")


def of_parameter(name: str, value: object) -> Problem:
    """400 for a parameter that the model does not take."""
    if name == "temperature":
        message = (
            f"Unsupported value: 'temperature' does not support {value} with this model. "
            "Only the default (1) value is supported."
        )
        return Problem(400, message, param=name, code="unsupported_value")
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(name)
    advice = f" Use '{other}' instead." if other else ""
    message = f"Unsupported parameter: '{name}' is not supported with this model.{advice}"
    return Problem(400, message, param=name, code="unsupported_parameter")
