r"""The patterns of a caller's JSON schema, matched in linear time by RE2.

A hostile pattern can occupy Python's own matcher for hours. RE2 has no lookaround and no back references, and its `\d`,
`\w` and `\b` are ASCII's.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from ..extras import needs

KEYWORD, OF_NAMES = "pattern", "patternProperties"
LONGEST = 1_000  # characters


def linear(dialect: type[Validator]) -> type[Validator]:
    """Return a validator like `dialect` that matches patterns by RE2, in linear time."""
    validator: type[Validator] = extend(  # type: ignore[no-untyped-call]  # its stubs leave it out
        dialect, {KEYWORD: _judge_text, OF_NAMES: _judge_names}
    )
    return validator


def check_patterns(schema: Mapping[str, Any]) -> None:
    """Raise `ValueError` with the place and the mistake if RE2 rejects a pattern in a schema."""
    open_parts: list[tuple[str, Any]] = [("", schema)]
    while open_parts:
        place, part = open_parts.pop()
        if isinstance(part, list):
            open_parts += [(f"{place}.{n}", inner) for n, inner in enumerate(part)]
        if not isinstance(part, Mapping):
            continue
        open_parts += [(f"{place}.{name}", inner) for name, inner in part.items()]
        names = part.get(OF_NAMES)
        written = [part.get(KEYWORD), *(names if isinstance(names, Mapping) else ())]
        for pattern in written:
            if isinstance(pattern, str):
                _check(pattern, f"{place}.{KEYWORD}".removeprefix("."))


def _check(pattern: str, place: str) -> None:
    if len(pattern) > LONGEST:
        raise ValueError(f"{place}: the pattern is too long: {len(pattern)} characters, at most {LONGEST} are allowed")
    re2 = _re2()
    try:
        _compiled(pattern)
    except re2.error as error:
        words = error.args[0] if error.args else b""
        reason = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        hint = "; RE2 supports no lookaround and no back-references" if "(?" in reason or "escape" in reason else ""
        raise ValueError(f"{place}: {pattern!r:.100} is not a pattern: {reason}{hint}") from error


def _re2() -> Any:
    """Return RE2, imported only for schemas with patterns."""
    with needs("files"):
        import re2
    return re2


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    re2 = _re2()
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _judge_text(
    validator: Validator, pattern: str, instance: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and _compiled(pattern).search(instance) is None:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _judge_names(
    validator: Any, patterns: Mapping[str, Any], instance: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, inner in patterns.items():
        for name, value in instance.items():
            if _compiled(pattern).search(name) is not None:
                yield from validator.descend(value, inner, path=name, schema_path=pattern)
