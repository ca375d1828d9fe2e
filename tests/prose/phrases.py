"""Phrases that make a reader read a sentence twice."""

import re

# Each phrase replaces a noun, an actor or a plain verb. STYLE: say the noun, name the actor, write "is" and "says".
PHRASES = {
    "told/tells": r"\b(?:is|are|was|were|be|been) told\b|\btold of\b|\btells?\b",
    "whoever/whatever/whichever": r"\b(?:whoever|whatever|whichever)\b",
    "stands/stood": r"\b(?:stands?|stood)\b",
    "goes before/beside/on": r"\bgo(?:es)? (?:before|beside|on|by)\b",
    "holds back, keeps out, lets go": (
        r"\b(?:holds? back|keeps? out|given? back|gives? back|held back|takes? up|let go)\b"
    ),
    "says of": r"\b(?:says?|said) (?:of|no)\b",
    "of which/of whom": r"\b(?:of which|of whom|of whose|by which|from which|in which|for which)\b",
    "anew/thereby/meanwhile": r"\b(?:anew|thereby|meanwhile|therein|whereby|thereof)\b",
    "nobody/somebody": r"\b(?:nobody|somebody)\b",
    "one that/what is": r"\b(?:one that|one of|those that|those of|what is|what was|what it)\b",
}
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PHRASES.items()}


def phrase_counts(text: str) -> dict[str, int]:
    """Return how often each phrase of `PHRASES` occurs in `text`."""
    return {name: len(pattern.findall(text)) for name, pattern in _PATTERNS.items()}
