"""The formula guard: text in a table that no spreadsheet takes for a formula."""

# A spreadsheet takes a cell that begins so for a formula; it is written behind an apostrophe. The last four are the
# first four as Japanese keyboards write them.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def guarded(text: str) -> str:
    """The text, behind an apostrophe where it looks like a formula; `unguarded` gives it back."""
    return f"'{text}" if _looks_like_a_formula(text) else text


def unguarded(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if text.startswith("'") and _looks_like_a_formula(text) else text


def _looks_like_a_formula(text: str) -> bool:
    return text.lstrip("'").startswith(FORMULA_STARTS)  # one that is guarded already too: else it would not come back
