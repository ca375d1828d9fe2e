"""The formula guard: table text that no spreadsheet reads as a formula."""

# First characters of a formula; such a cell gets an apostrophe in front. The last four are the first four as typed on
# Japanese keyboards.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def guarded(text: str) -> str:
    """Return the text, with an apostrophe in front if it looks like a formula. `unguarded` removes the apostrophe."""
    return f"'{text}" if _looks_like_a_formula(text) else text


def unguarded(text: str) -> str:
    """Undo `guarded`: return the text without the apostrophe that it added."""
    return text[1:] if text.startswith("'") and _looks_like_a_formula(text) else text


def _looks_like_a_formula(text: str) -> bool:
    return text.lstrip("'").startswith(FORMULA_STARTS)  # guarded texts too, so that they survive both ways
