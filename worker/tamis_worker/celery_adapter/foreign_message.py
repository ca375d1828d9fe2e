"""What is told of a message that nobody understands: its parts as text, within bounds and without secrets.

Nothing in it is loaded or run, whatever it says that it is. Whoever sent it may have put anything anywhere, so nothing
here takes a part to be of the type that it should be.
"""

import base64
import codecs
import json
from collections.abc import Callable, Mapping
from typing import Any

from tamis_producer.config.redaction import HIDDEN, SECRET_NAMES
from tamis_schemas.values.unstorable import UNSTORABLE, to_json

from ..ledger.dead_letters import DeadLetter
from ..ledger.storable import storable

BODY_MOST = 10_000  # bytes that are kept
HEADERS_MOST = 8_000  # characters of JSON that are kept; and of the properties as many
VALUE_MOST = 1_000  # characters of a header's value that is not kept as it came
NAME_MOST = 200  # characters of a name, an id or a type
# A secret that is cut in two is not recognised. So some more is read than is kept: longer than any key, in any form.
BEYOND = 4_096
SECRET_HEADERS = ("authorization", "cookie")
# The others are the broker's own, or said elsewhere.
PROPERTIES = ("correlation_id", "reply_to", "priority", "delivery_mode", "message_id", "type", "app_id")

Redact = Callable[[str], str]


def dead_letter(message: Any, why: str, redact: Redact) -> DeadLetter:
    """Return what is kept of a message of kombu's."""
    headers, properties = _mapping(message.headers), _mapping(message.properties)
    delivery_info = _mapping(message.delivery_info)
    raw = _raw(message.body)
    body, in_base64, whole_body = _body(raw, redact)
    kept_headers, whole_headers = _kept(headers, redact)
    own = {name: properties[name] for name in PROPERTIES if properties.get(name) is not None}
    kept_properties, whole_properties = _kept(own, redact)
    return DeadLetter(
        why=_line(why, redact, most=VALUE_MOST) or "",
        queue=_line(delivery_info.get("routing_key"), redact),
        task=_line(headers.get("task"), redact),
        task_id=_line(headers.get("id"), redact),
        content_type=_line(message.content_type, redact),
        content_encoding=_line(message.content_encoding, redact),
        headers=kept_headers,
        properties=kept_properties,
        body=body,
        in_base64=in_base64,
        body_bytes=len(raw),
        whole=whole_body and whole_headers and whole_properties,
    )


def raw_letter(queue: str, raw: bytes, why: str, redact: Redact) -> DeadLetter:
    """Return what is kept of bytes that are not even a message."""
    body, in_base64, _ = _body(raw, redact)
    return DeadLetter(
        why=_line(why, redact, most=VALUE_MOST) or "",
        queue=_line(queue, redact),
        task=None,
        task_id=None,
        content_type=None,
        content_encoding=None,
        headers={},
        properties={},
        body=body,
        in_base64=in_base64,
        body_bytes=len(raw),
        whole=False,  # it cannot be sent again as it came: the broker's client wraps what it sends
    )


def _body(raw: bytes, redact: Redact) -> tuple[str, bool, bool]:
    """Return a body as text, whether it is in base64 there, and whether it is whole."""
    window = raw[: BODY_MOST + BEYOND]
    cut = len(raw) > len(window)
    text = _text(window, cut=cut)
    readable = window.decode("latin-1") if text is None else text
    redacted = redact(readable)
    kept = redacted.encode() if text is not None else redacted.encode("latin-1", "replace")
    whole = not cut and redacted == readable and len(kept) <= BODY_MOST
    if cut:  # its end may be the beginning of a secret
        kept = kept[: max(0, len(kept) - BEYOND)]
    kept = kept[:BODY_MOST]
    if text is None:
        return base64.b64encode(kept).decode("ascii"), True, whole
    return kept.decode(errors="ignore"), False, whole


def _text(raw: bytes, *, cut: bool) -> str | None:
    """Return the text that these bytes are; None where they are none that the ledger could hold."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(raw, final=not cut)
    except UnicodeDecodeError:
        return None
    return None if UNSTORABLE.search(text) else text


def _kept(values: Mapping[Any, Any], redact: Redact) -> tuple[dict[str, Any], bool]:
    """Return as many of the values as there is room for, and whether those are all of them as they came."""
    kept: dict[str, Any] = {}
    whole, room = True, HEADERS_MOST
    for key, value in values.items():
        name = _line(key, redact) or ""
        plain, as_it_came = _plain(name, value, redact)
        room -= len(name) + len(json.dumps(plain))
        if room < 0:
            return kept, False
        kept[name] = plain
        whole = whole and as_it_came and name == key
    return kept, whole


def _plain(name: str, value: Any, redact: Redact) -> tuple[Any, bool]:
    """Return a value that JSON and the ledger can hold, and whether it is as it came."""
    if SECRET_NAMES.search(name) or name.lower() in SECRET_HEADERS:
        return HIDDEN, False
    try:
        text = to_json(value)
    except (ValueError, TypeError, RecursionError):  # bytes, times, NaN, NUL, a depth without end
        return storable(_beginning(_shown(value), VALUE_MOST, redact)), False
    if len(text) <= HEADERS_MOST and redact(text) == text:
        return value, True
    return _beginning(text, VALUE_MOST, redact), False


def _beginning(text: str, most: int, redact: Redact) -> str:
    """Return how a text begins, without secrets."""
    redacted = redact(text[: most + BEYOND])
    if len(text) > most + BEYOND:  # its end may be the beginning of a secret
        redacted = redacted[: max(0, len(redacted) - BEYOND)]
    return redacted[:most]


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except RecursionError:
        return type(value).__name__


def _line(value: Any, redact: Redact, *, most: int = NAME_MOST) -> str | None:
    """Return a name as the ledger can hold it; None where there is none."""
    if value is None:
        return None
    text = value if isinstance(value, str) else _shown(value)
    return str(storable(_beginning(text, most, redact)))


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _raw(body: Any) -> bytes:
    match body:
        case bytes():
            return body
        case str():
            return body.encode("utf-8", "surrogatepass")
        case None:
            return b""
        case memoryview() | bytearray():
            return bytes(body)
        case _:
            return _shown(body).encode("utf-8", "replace")
