"""The error objects that endpoints answer with, and that gateways wrap: their words, codes and names."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress

from .dialect import Refusal

LAYERS = 4  # of errors inside errors
LARGEST_INNER = 10_000  # characters of an error that is held as JSON text


def refusal_of(status: int, error: object, text: str) -> Refusal:
    """An error answer in the words of OpenAI; fields that are missing are None.

    An error that wraps another one, as gateways' do, says the words of both.
    """
    layers = list(layers_of(error))
    words = dict.fromkeys(filter(None, map(_words, layers)))
    codes = [code for layer in layers if (code := text_in(layer, "code")) is not None]
    return Refusal(
        status,
        ": ".join(words) or text,
        param=next((param for layer in layers if (param := text_in(layer, "param")) is not None), None),
        code=next((code for code in codes if not code.isdecimal()), codes[0] if codes else None),
    )


def layers_of(error: object, depth: int = LAYERS) -> Iterator[object]:
    """An error, and what it wraps in its message or metadata, as an object or as JSON text."""
    error = _parsed(error)
    if isinstance(error, Mapping) and "message" not in error and error.get("error"):
        error = _parsed(error["error"])
    yield error
    if isinstance(error, Mapping) and depth > 1:
        inner, raw = _parsed(error.get("message")), _get(error.get("metadata"), "raw")
        if isinstance(inner, Mapping):
            yield from layers_of(inner, depth - 1)
        if raw:
            yield from layers_of(raw, depth - 1)


def _words(layer: object) -> str:
    """The words of a layer itself."""
    if not isinstance(layer, Mapping):
        return layer if isinstance(layer, str) else ""
    message = layer.get("message") or layer.get("detail")
    return "" if message is None or isinstance(_parsed(message), Mapping) else str(message)


def _parsed(held: object) -> object:
    if isinstance(held, str) and held.lstrip()[:1] == "{":
        with suppress(ValueError, RecursionError):
            return json.loads(held[:LARGEST_INNER])
    return held


def _get(error: object, name: str) -> object:
    return error.get(name) if isinstance(error, Mapping) else None


def text_in(error: object, name: str) -> str | None:
    """A field of an error object, as text; None: it is missing, or there is no object."""
    value = _get(error, name)
    return None if value is None else str(value)
