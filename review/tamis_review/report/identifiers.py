"""A record's identifiers and its full text, with addresses that are safe to follow."""

import re
from collections.abc import Iterable
from typing import TypeAlias
from urllib.parse import quote

from ..intake.record import bare_doi

# The words for people, and the address. None: no safe address is known.
Identifier: TypeAlias = tuple[str, str | None]

_DOI = re.compile(r"10\.\d{4,9}/\S+")
_PMID = re.compile(r"[1-9]\d{0,8}")
_OF_ADDRESSES = "%/:?#[]@!$&'()*+,;=~"  # characters with a meaning in addresses (RFC 3986)
_WEB = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
# A note's line names the full text of a record: "full text: https://example.org/a.pdf", or the name of a file.
_FULL_TEXT = re.compile(r"^\s*full text\s*:\s*(\S.*?)\s*$", re.IGNORECASE | re.MULTILINE)


def identifiers(item_id: str, doi: str, pmid: str, full_text: str | None = None) -> list[Identifier]:
    """Return a record's identifiers. Each is a pair of a text and a safe address; the address may be None.

    Empty identifiers are omitted, and so is an item id that equals the DOI or PMID. `full_text`: an address or a file
    name.
    """
    bare = bare_doi(doi)
    of_doi = f"https://doi.org/{quote(bare, safe='/:;()')}" if _DOI.fullmatch(bare) else None
    of_pmid = f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if _PMID.fullmatch(pmid) else None
    named: list[Identifier] = [(f"id {item_id}", None)] if item_id not in (doi, bare, pmid, "") else []
    named += [(f"DOI {bare}", of_doi)] if bare else []
    named += [(f"PMID {pmid}", of_pmid)] if pmid else []
    if full_text:
        web = _WEB.fullmatch(full_text)
        named.append(("full text", quote(full_text, safe=_OF_ADDRESSES)) if web else (f"full text: {full_text}", None))
    return named


def full_text_of(notes: Iterable[str]) -> str | None:
    """Return the address or file name of a record's full text from the record's notes. The last name in them counts.

    Return None if no note names a full text.
    """
    names = [name for note in notes for name in _FULL_TEXT.findall(note)]
    return names[-1] if names else None
