"""The thoughts that a model wrote before its answer, told apart from the answer.

A server with the right parser keeps thoughts out of the content; others leave them in it:

| written | by |
|---|---|
| `<think>...</think>`, `<thinking>`, `<reasoning>` | DeepSeek R1, Qwen 3, QwQ and models that are told to |
| `[THINK]...[/THINK]` | Magistral, Ministral |
| `...` and `</think>` on a line of its own | DeepSeek R1, QwQ, Qwen 3 Thinking: their chat template opens the thought |
| channels of harmony | gpt-oss |

In a prompt every field of a record is one line (`operations/prompt.py`): a line that holds nothing but a closing tag is
the model's own, and no quotation of a record. A closing tag within a line may be one, and ends no thought there.
"""

import re

_CLOSING = {
    opening: re.compile(re.escape(closing), re.IGNORECASE)
    for opening, closing in (
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<reasoning>", "</reasoning>"),
        ("[think]", "[/think]"),
    )
}
_OPENING = re.compile("|".join(map(re.escape, _CLOSING)), re.IGNORECASE)
_TAG = re.compile(r"</?(?:think|thinking|reasoning)>|\[/?think\]", re.IGNORECASE)
_NO_SPACE = re.compile(r"\S|\Z")

_CHANNELS = ("<|channel|>", "<|start|>assistant<|channel|>")
_CHANNEL = re.compile(
    r"\s*(?:<\|start\|>assistant)?<\|channel\|>\s*(analysis|commentary|final)\s*"
    r"(?:(?:<\|constrain\|>)?\s*json\s*)?<\|message\|>"
)
_END = "<|end|>"
_ENDS = (_END, "<|return|>")


class Malformed(ValueError):
    """The content holds no JSON value that could be taken for the answer; the message says why, in a few words."""


def without_thoughts(text: str) -> str:
    """The text behind the thoughts that it begins with, stripped; the text itself where it begins with none.

    Raises:
        Malformed: where a thought is not closed, or nothing stands behind it.
    """
    if text.startswith(_CHANNELS):
        return _final_channel(text)
    place = _behind_thought_that_the_template_opened(text)
    while opening := _OPENING.match(text, place):
        closing = _CLOSING[opening[0].lower()].search(text, opening.end())
        if closing is None:
            raise Malformed("the thought is not closed")
        place = _behind_space(text, closing.end())
    if place == len(text):
        raise Malformed("nothing stands behind the thought")
    return text[place:]


def _behind_thought_that_the_template_opened(text: str) -> int:
    """Where the text goes on behind its first tag, a closing one on a line of its own; 0 where there is no such tag."""
    tag = _TAG.search(text)
    if tag is None or tag[0][1] != "/":
        return 0
    before = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    line_end = text.find("\n", tag.end())
    behind = text[tag.end() : len(text) if line_end < 0 else line_end]
    return 0 if before.strip() or behind.strip() else _behind_space(text, tag.end())


def _final_channel(text: str) -> str:
    """The message of the final channel, which is the last one."""
    place = 0
    while channel := _CHANNEL.match(text, place):
        begins = channel.end()
        if channel[1] == "final":
            message = text[begins:]
            ended = next((token for token in _ENDS if message.endswith(token)), "")
            return message.removesuffix(ended).strip()
        ends = text.find("<|", begins)
        if ends < 0:
            raise Malformed("the thought is not closed")
        if not text.startswith(_END, ends):
            break
        place = ends + len(_END)
    raise Malformed("no final channel stands behind the thought")


def _behind_space(text: str, place: int) -> int:
    behind = _NO_SPACE.search(text, place)
    return len(text) if behind is None else behind.start()
