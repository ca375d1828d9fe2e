"""What Schemathesis has to be told of the gateway: how NDJSON is sent, that the one batch is not to be hidden, and that
what it makes of values which are given it need not ask twice."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(_: object, value: object) -> bytes:
    """The description gives it as a text."""
    return str(value).encode("utf-8", "surrogatepass")


@schemathesis.hook
def before_call(_: object, case: Any, __: object) -> None:
    """The batch that all requests ask about stays open: read blind, it would answer them with 403, rightly."""
    sets = case.method == "PUT" and case.path.endswith("/mode") and isinstance(case.body, dict)
    if sets and case.body.get("mode") in ("pair", "model_second", "model_audited"):
        case.body = {**case.body, "mode": "single"}


@schemathesis.hook
def before_add_examples(_: object, examples: list[Any]) -> None:
    """The batch is given in place of each example of an ID: one request is left of ten."""
    examples[:] = dict.fromkeys(examples)


asked: set[Any] = set()


@schemathesis.hook
def filter_case(_: object, case: Any) -> bool:
    """The same of the boundary values of an ID. What is drawn at random may come again: the library counts it."""
    if case.meta.phase.name != "coverage":
        return True
    new = case not in asked
    asked.add(case)
    return new
