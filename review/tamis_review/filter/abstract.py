"""An abstract, or what a database writes where there is none."""

from . import compiled

_LONGEST_PLACEHOLDER = 80  # characters
_PLACEHOLDER = compiled.compile_trusted(
    r"^[\s\[(<*\"'.-]*(?:(?:there is |the )?(?:no|without)(?: an?)?(?: english)? ?abstracts?(?: is| was)?"
    r"(?: (?:available|provided|given|supplied|found|present|exists))?(?: for this (?:article|paper|record))?|"
    r"(?:the )?abstract(?: is| was)? (?:not|un)[ -]?(?:available|provided|given|supplied|found)(?: \w+){0,4}|abstract|"
    r"abstract missing|missing abstract|not (?:available|applicable|provided|given)|unavailable|missing|unknown|"
    r"n\.?\s?/?\s?a\.?|none|null|nan|nil|no data|tbd|empty)?[\s\])>*\"'.:-]*$"
)


def is_placeholder(abstract: str) -> bool:
    """True where nothing is said: blank, "No abstract available.", "[Abstract not available]", "N/A", "-", ..."""
    if len(abstract) > _LONGEST_PLACEHOLDER:
        return not abstract or abstract.isspace()
    return _PLACEHOLDER.search(abstract.encode("utf-8", "replace")) is not None
