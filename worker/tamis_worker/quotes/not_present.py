"""The words that models write for "the source data does not hold it", where null was asked for.

Whole values only, in any case, outer space and a final full stop aside. What can be a finding of its own is not among
them: "unclear" is a judgement (of a risk of bias), "0" a number, "no" an answer. An enum that lists one of these values
means it.
"""

_LONGEST = 40  # characters; a longer value is not looked at


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
    """Whether a value as a whole says that the source data does not hold it."""
    return isinstance(value, str) and (value.isspace() or (len(value) <= _LONGEST and _bare(value) in NOT_PRESENT))
