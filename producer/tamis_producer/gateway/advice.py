"""Advice in HTTP's terms: the commands in an error's message become the routes that do the same."""

import re

_BATCH = "/v1/batches/{batch_id}"
ROUTES = {
    "audit list": f"GET {_BATCH}/audits",
    "batches": "GET /v1/batches",
    "blind": f"PUT {_BATCH}/mode",
    "calibrate": f"POST {_BATCH}/calibration",
    "cancel": f"POST {_BATCH}/cancel",
    "criteria": "POST /v1/criteria",
    "explain": f"GET {_BATCH}/records/{{index}}/explanation",
    "failures": f"GET {_BATCH}/failures",
    "filter": "filter",  # an operation
    "import-decisions": f"POST {_BATCH}/decisions",
    "next": f"GET {_BATCH}/next",
    "override": f"POST {_BATCH}/items/{{index}}/override",
    "pilot": f"POST {_BATCH}/pilots",
    "results": f"GET {_BATCH}/results",
    "resume": f"POST {_BATCH}/resume",
    "retry": f"POST {_BATCH}/retry",
    "review list": "GET /v1/reviews",
    "review status": "GET /v1/reviews/{batch_id}",
    "screen": "inclusion",  # an operation
    "status": f"GET {_BATCH}",
    "stop": f"GET {_BATCH}/stop",
    "stop --close": f"POST {_BATCH}/stop-samples/close",
    "stop --draw": f"POST {_BATCH}/stop-samples",
}
_COMMAND = re.compile(r"`tamis ((?:audit |review )?[a-z-]+)([^`]*)`")


def over_http(message: str) -> str:
    """Return an error message with HTTP routes in place of `tamis` commands. Commands without a route stay."""
    return _COMMAND.sub(_route, message)


def _route(command: re.Match[str]) -> str:
    name, *options = command[1], *(word for word in command[2].split() if word.startswith("--"))
    route = next((ROUTES[key] for key in (*(f"{name} {option}" for option in options), name) if key in ROUTES), None)
    if route is None:
        return command[0]
    ids = [word for word in command[2].split() if re.fullmatch(r"[0-9a-f-]*[0-9a-f]", word)]
    budget = " with `max_cost`" if "--max-cost" in options else ""
    return f"`{route.replace('{batch_id}', ids[0]) if ids else route}`{budget}"
