"""Fitting: an item as it is sent to a model, cut where it is too long, and a record of what was cut. Pure.

The longest fields give way first: a title stays whole as long as there is a full text to shorten. A cut field ends at
the end of a word, with a note that tells the model that text is missing. Quotes are looked up in
the item itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis_schemas import Cut, Item, Judge, Operation
from tamis_schemas.records.item import shown_fields

from ..quotes.one_line import shown_value
from .citing import chunks_as_fields, retrieved_for

LAST_WORD = 200  # characters from the end of a cut in which the end of a word is looked for; CJK text has none
BETWEEN = len(": ") + len("\n")  # characters around a field's name on its line
LEFT_OUT = "fields left out"  # under this name the model is told of fields that were left out wholly
JUDGED = frozenset({"value", "reasoning"})  # of a classification; its context is always shown as spec 5 has it


@dataclass(frozen=True)
class Fitted:
    """One item, and how it is sent."""

    item: Item  # all of it
    shown: Item
    cut: Mapping[str, Cut] = field(default_factory=dict)  # by field; empty: nothing was cut


def fitted(operation: Operation, item: Item, limit: int) -> Fitted:
    """The item with at most `limit` characters of the fields that a prompt shows, names included.

    Characters are counted as they are sent, each field on one line. The notes of what was cut come on top. Not shown,
    and so not counted, are what `shown_fields` leaves out, and of an item to judge all but its value and reasoning.
    The chunks of an item to extract from are fields of their own, each shown once.
    """
    retrieved = retrieved_for(operation, item)
    whole = item if retrieved is None else chunks_as_fields(item, retrieved)
    fields = shown_fields(whole)
    if isinstance(operation, Judge):
        fields = {name: value for name, value in fields.items() if name in JUDGED}
    if _surely_fits(fields, limit):
        return Fitted(item, whole)
    texts = {name: shown_value(value) for name, value in fields.items()}
    named = {name: len(name) + BETWEEN for name in texts}
    left_out = _beyond(named, limit)
    lengths = [len(text) for name, text in texts.items() if name not in left_out]
    level = _level(lengths, limit - sum(length for name, length in named.items() if name not in left_out))
    shown, cut = dict(whole), {}
    for name, text in texts.items():
        if name in left_out:
            del shown[name]
            cut[name] = Cut(0, len(text))
        elif len(text) > level:
            kept = _to_a_word(text, level)
            shown[name] = f"{kept} [cut here: {len(kept)} of {len(text)} characters are shown]".lstrip()
            cut[name] = Cut(len(kept), len(text))
    if left_out:
        shown[_free_name(whole)] = f"{len(left_out)}, for want of room"
    return Fitted(item, shown, cut)


def _surely_fits(fields: Mapping[str, Any], limit: int) -> bool:
    """True where the texts fit even before white space is folded: nearly all items, at the cost of a few additions."""
    taken = 0
    for name, value in fields.items():
        text = value if isinstance(value, str) else shown_value(value)
        taken += len(name) + BETWEEN + len(text)
    return taken <= limit


def _beyond(named: Mapping[str, int], limit: int) -> frozenset[str]:
    """The fields, from the end, for whose very names there is no room."""
    taken, out = 0, set()
    for name, length in named.items():
        if taken + length > limit:
            out.add(name)
        else:
            taken += length
    return frozenset(out)


def _level(lengths: list[int], room: int) -> int:
    """The length to which all longer texts are cut, so that all together have room."""
    left = room
    for done, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - done)
        if length > share:
            return share
        left -= length
    return max(lengths, default=0)


def _to_a_word(text: str, length: int) -> str:
    """The beginning of a text of at most so many characters, without a part of a word where that can be avoided."""
    if length <= 0:
        return ""
    if text[length] == " ":
        return text[:length].rstrip()
    end = text.rfind(" ", max(0, length - LAST_WORD), length)
    return text[: end if end > 0 else length].rstrip()


def _free_name(item: Item) -> str:
    name = LEFT_OUT
    while name in item:
        name += " "
    return name
