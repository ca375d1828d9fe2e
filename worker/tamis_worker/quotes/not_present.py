"""The words that models write for "not in the source data" instead of null.

Whole values only, in any case, without outer space and a final full stop. Possible findings are not in the list:
"unclear" is a judgement (of a risk of bias), "0" a number, "no" an answer. If an enum lists such a value, it is an
answer.
"""

_LONGEST = 40  # characters; a longer value is not checked


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")


NOT_PRESENT = frozenset(
    _bare(text)
    for text in (
        *("", "-", "--", "\N{EN DASH}", "\N{EM DASH}"),
        *("N/A", "NA", "n.a.", "none", "null", "nil", "unknown"),
        *("not applicable", "not available", "not found", "not mentioned", "not present", "not provided"),
        *("not reported", "not specified", "not stated"),
    )
)


def means_not_present(value: object) -> bool:
    """Return whether a whole value means that the source data does not contain it."""
    return isinstance(value, str) and (value.isspace() or (len(value) <= _LONGEST and _bare(value) in NOT_PRESENT))
