"""What Schemathesis has to be told of the gateway: how NDJSON is sent, and that the one batch is not to be hidden."""

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
