"""The limiter's formulas as the script has them: its Lua runs in this process, without a server."""

from typing import Any

from lupa.lua51 import LuaRuntime  # the Lua of Redis and Valkey

from tamis_worker.limiter.script import ARITHMETIC

_NAMES = (
    *("request_pace", "token_pace", "due_at", "tat_after", "tat_settled"),
    "adapt_concurrency",
    *("read_usage", "write_usage", "add_usage", "granted_within", "learn_limit", "limit_in_force"),
)
_lua = LuaRuntime()
_formulas = _lua.execute(f"{ARITHMETIC}\nreturn {{{', '.join(f'{name} = {name}' for name in _NAMES)}}}")

request_pace, token_pace = _formulas.request_pace, _formulas.token_pace
due_at, tat_after, tat_settled = _formulas.due_at, _formulas.tat_after, _formulas.tat_settled
adapt_concurrency = _formulas.adapt_concurrency
read_usage, write_usage, add_usage = _formulas.read_usage, _formulas.write_usage, _formulas.add_usage
granted_within = _formulas.granted_within
learn_limit, limit_in_force = _formulas.learn_limit, _formulas.limit_in_force


def table(**fields: float) -> Any:
    """A Lua table, whose fields are attributes."""
    return _lua.table(**fields)
