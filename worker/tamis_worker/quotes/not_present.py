"""The words that models write for "not in the source data" instead of null.

The words count only as a whole value. Letter case, outer space and a final full stop do not matter. Possible findings
are not in the list: "unclear" is a judgement (of a risk of bias), "0" a number, "no" an answer. A word that an enum
lists is an answer, too.
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
    """Return whether a value is a text that means "not in the source data"."""
    return isinstance(value, str) and (value.isspace() or (len(value) <= _LONGEST and _bare(value) in NOT_PRESENT))
