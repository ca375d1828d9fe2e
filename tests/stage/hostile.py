"""Texts that may harm a file: line ends of all kinds, blanks at any end, the marks of every format."""

from typing import Any

from hypothesis import strategies as st

BLANKS = ["\n", "\n\n", "\r\n", "\r", " ", "   ", "\t", "\u2028", "\x0b", "\x1c", "\x85", "\xa0"]
MARKS = [
    *["ER  - ", "TY  - JOUR", "PMID- 1", "@article{a,", "@", "{", "}", "\\", '"', "'", "$", "%", "&", "#", "_", "^"],
    *["~", "--", "``", "''", '\\"o', "{\\ss}", "\\alpha ", "a and b", " and ", "others", ",", ";", "|", "=", "+"],
    *["<b>", "</record>", "&amp;", "&#xD;", "]]>", "<!--", "Tamis decision: ", "Tamis reason: x", "NCT ID: ", "\t="],
    *["doi:10.1/a", "word", "long words " * 12, "ß", "日本", ""],
]  # fmt: skip
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
TEXT = st.lists(st.sampled_from([*BLANKS, *MARKS]) | ANY, max_size=8).map("".join)


def records() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Records under their canonical names, with a decision, that come from no file."""
    texts = dict.fromkeys(("title", "abstract", "journal", "language", "doi", "pmid", "nct_id", "type", "url"), TEXT)
    lists = {name: st.lists(TEXT, max_size=3) for name in ("authors", "keywords")}
    decision = {"_tamis_decision": TEXT, "_tamis_reason": TEXT, "_tamis_confidence": st.floats(0, 1)}
    optional = {**texts, **lists, **decision, "year": st.integers(1000, 9999) | TEXT}
    return st.lists(st.fixed_dictionaries({"id": TEXT}, optional=optional), min_size=1, max_size=3)


def without_source(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records but for where in a file they stood, and as what."""
    return [{name: value for name, value in own.items() if name not in ("_line", "_source")} for own in read]
