"""Counts which tokens of a prompt were read from a prefix cache, and which were written to it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..asked import CHARACTERS_PER_TOKEN, Asked, serialised, tokens_of
from .behaviour import Behaviour, JsonObject

Pool: TypeAlias = tuple[str, str | None]  # the model and the prompt_cache_key: another key is another cache


@dataclass(frozen=True)
class Laid:
    """A prompt as it is laid out for the model, and where a prefix of it ends that is worth keeping."""

    text: str
    marked: tuple[int, ...]  # characters before each breakpoint that the request sets
    newest: int | None  # characters up to the end of the newest user message; None: the request sets all itself


def laid_out(asked: Asked, *, with_schema: bool = True) -> Laid:
    """The schema first, as OpenAI counts it, then every message with its role, in order.

    A breakpoint is a part of a content that carries `prompt_cache_breakpoint` (OpenAI) or `cache_control` (gateways).
    """
    text = f"{serialised(asked.schema)}\n" if with_schema and asked.schema is not None else ""
    marked: list[int] = []
    newest: int | None = None
    for message in asked.messages:
        text += f"<|{message['role']}|>\n"
        for part in _parts(message["content"]):
            text += str(part.get("text") or "")
            if part.get("prompt_cache_breakpoint") or part.get("cache_control"):
                marked.append(len(text))
        if message["role"] in ("user", "tool"):
            newest = len(text)
        text += "\n"
    options = asked.body.get("prompt_cache_options") or {}
    return Laid(text, tuple(marked), None if options.get("mode") == "explicit" else newest)


@dataclass
class PrefixCache(Behaviour):
    """Prefix caching by blocks (vLLM 16, DeepSeek 64, OpenAI 128 tokens), or at breakpoints (OpenAI's newest models).

    With `breakpoints` a prefix is found again only where a breakpoint stands in both requests; without any set by the
    request, that is the end of the newest user message: a prompt that ends otherwise finds nothing. A prefix is kept
    from the moment its call is let in; what is kept never ends, as no test lasts half an hour.
    """

    block: int = 128  # tokens
    minimum: int = 1024  # tokens that a prefix must have
    writes: bool = False  # tell the tokens that are newly kept, too
    breakpoints: bool = False
    schema: bool = True  # the schema in response_format is input, and paid for
    deepseek: bool = False  # tell hits and misses in fields of their own, as DeepSeek does, instead of in details
    _kept: dict[Pool, set[bytes]] = field(default_factory=dict, init=False, repr=False)

    def usage(self, asked: Asked, usage: JsonObject | None) -> JsonObject | None:
        """The usage with the tokens of the whole prompt, and what of them came from the cache and went into it."""
        if usage is None:
            return None
        laid = laid_out(asked, with_schema=self.schema)
        kept = self._kept.setdefault((asked.model, asked.body.get("prompt_cache_key")), set())
        prefixes = dict(self._at_breakpoints(laid) if self.breakpoints else self._by_blocks(laid))
        prefixes = {tokens: name for tokens, name in prefixes.items() if tokens >= self.minimum}
        cached = max((tokens for tokens, name in prefixes.items() if name in kept), default=0)
        written = max(prefixes, default=0) - cached
        kept.update(prefixes.values())
        prompt = tokens_of(laid.text)
        usage = usage | {"prompt_tokens": prompt, "total_tokens": prompt + usage["completion_tokens"]}
        if self.deepseek:
            return usage | {"prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": prompt - cached}
        details = dict(usage.get("prompt_tokens_details") or {}) | {"cached_tokens": cached}
        if self.writes:
            details["cache_write_tokens"] = max(0, written)
        return usage | {"prompt_tokens_details": details}

    def _by_blocks(self, laid: Laid) -> Iterator[tuple[int, bytes]]:
        """Every prefix of whole blocks that is kept: its tokens, and a name for its text."""
        end = len(laid.text) if laid.newest is not None else max(laid.marked, default=0)
        step = self.block * CHARACTERS_PER_TOKEN
        digest = hashlib.sha256()
        for place in range(step, end + 1, step):
            digest.update(laid.text[place - step : place].encode("utf-8", "surrogatepass"))
            yield place // CHARACTERS_PER_TOKEN, digest.digest()

    def _at_breakpoints(self, laid: Laid) -> Iterator[tuple[int, bytes]]:
        """The prefix before every breakpoint, to the token."""
        ends = set(laid.marked) | (set() if laid.newest is None else {laid.newest})
        for end in sorted(ends):
            text = laid.text[:end].encode("utf-8", "surrogatepass")
            yield end // CHARACTERS_PER_TOKEN, hashlib.sha256(text).digest()


def _parts(content: object) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else [{"text": str(content)}]
