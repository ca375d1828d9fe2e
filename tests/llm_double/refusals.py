"""What is wrong with a request itself, by the double's options."""

from . import errors, strictness
from .asked import Asked, tokens_of
from .errors import Problem
from .script import Kind, Options


def refusal(asked: Asked, options: Options, in_flight: int) -> Problem | None:
    """The first objection, in the order in which a real server finds it; None takes the request."""
    if options.api_key is not None and asked.key != options.api_key:
        return errors.USUAL[Kind.UNAUTHORIZED]
    if options.models and asked.model not in options.models:
        message = f"The model `{asked.model}` does not exist or you do not have access to it."
        return Problem(404, message, code="model_not_found")
    if options.concurrency is not None and in_flight > options.concurrency:
        return errors.of_concurrency(options.concurrency)
    for name in options.refuses:
        if name in asked.body:
            return errors.of_parameter(name, asked.body[name])
    objection = _format_objection(asked, options)
    if objection is not None:
        return Problem(400, objection, param="response_format")
    if options.max_context is not None and tokens_of(asked.prompt) > options.max_context:
        message = (
            f"This model's maximum context length is {options.max_context} tokens. However, your messages "
            f"resulted in {tokens_of(asked.prompt)} tokens. Please reduce the length of the messages."
        )
        return Problem(400, message, param="messages", code="context_length_exceeded")
    return None


def _format_objection(asked: Asked, options: Options) -> str | None:
    if asked.format == "text":
        return None
    if asked.format not in options.response_formats:
        return f"Invalid parameter: 'response_format' of type '{asked.format}' is not supported with this model."
    if asked.schema is not None and options.strict_openai:
        part = asked.body["response_format"]["json_schema"]
        reason = strictness.objection(asked.schema) if part.get("strict") else None
        return reason and f"Invalid schema for response_format '{part.get('name')}': {reason}"
    return None
