"""PubMed's "Abstract (text)": numbered records. A paragraph's position or beginning shows its part of the record.

The first paragraph is like `1. J Walks. 2021 May;3(2):10-9. doi: 10.1000/1.` Title, authors and abstract follow. Then
one paragraph has `DOI:`, `PMCID:` and `PMID:`. Only the authors' statement of interests may follow it. Two empty lines
separate records. PubMed breaks a long line after a space, and the space stays at the line's end. A line that does not
end with a space ends a part of the abstract.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .notes import Notes
from .recognise import Format
from .record import assemble
from .tagged import COPYRIGHT, lines_of

# The beginning of a paragraph -> its name in the record.
KEPT: Mapping[str, re.Pattern[str]] = {
    "pubmed_affiliations": re.compile(r"Author information:\s*"),
    "pubmed_collaborators": re.compile(r"Collaborators?:\s*"),
    "pubmed_conflict_of_interest": re.compile(r"Conflict of interest statement:\s*"),
    "pubmed_language_note": re.compile(r"(?=\[Article in )"),
    # The first line names the relation to the other paper. The second line is indented.
    "pubmed_related": re.compile(
        r"(?=(?:Comment|Update|Erratum|Retraction|Partial retraction|(?:(?:Retracted|Corrected) and r|R)epublished"
        r"|Summary for patients|Expression of concern|Original report|Reprint|Associated|Dataset|Preprint)[^\n]{0,40}"
        r"\b(?:in|on|of|for|from|with|by)\s*:?\s*\n {4})"
    ),
    # Another abstract: from the publisher in another language, or from a specialised collection.
    "pubmed_other_abstract": re.compile(
        r"(?=(?:Publisher|PIP|AIDSHA|KIE|NASA|AAMC|HMD|IND|SPACELINE|plain-language-summary|Plain Language Summary"
        r"|Publisher-provided[^:\n]*): ?)"
    ),
}
OTHER_ABSTRACT, AFFILIATIONS = "pubmed_other_abstract", "pubmed_affiliations"
# The signs of a copyright notice anywhere in a paragraph. `COPYRIGHT` has those at its beginning.
RIGHTS = re.compile(r"©|copyright|\(c\) ?\d{4}|published by |rights reserved|licen[cs]e", re.IGNORECASE)
LONGEST_COPYRIGHT = 800  # characters
LONGEST_OWNER = 60  # characters; a paragraph this short after the abstract is the owner's name

LANGUAGE = re.compile(r"\[Article in ([^;\]]+)")

_STATEMENT = KEPT["pubmed_conflict_of_interest"]
_BEGIN = re.compile(r"(\d+)\. (?=\S)")
_IDS = re.compile(r"(DOI|PMCID|PMID): ?(\S+)")
_NOTICE = re.compile(r"[A-Z][A-Z ,:-]+")  # RETRACTED ARTICLE
_CITATION = re.compile(
    r"(?P<journal>.+?)\. (?P<date>(?P<year>\d{4})\b[^;:.]*)"
    r"(?:;\s*(?P<volume>[^(:;.]*?)\s*(?:\((?P<issue>[^:]*?)\))?)?(?::(?P<pages>(?:[^.; ]|\.(?=\d))+))?(?:[.;]|$)"
)
_YEAR = re.compile(r"\b(?P<year>1[89]\d\d|20\d\d)\b")
_MARKS = re.compile(r"(?:\((?:\d+|#|\*|[a-z])\))+")  # of affiliations and equal contributions
_NAME = re.compile(r"\S.{0,80} [A-Z][A-Za-z]{0,4}(?: (?:Jr|Sr|\dnd|\drd|\dth|I{1,3}|IV))?")
_BROKEN = re.compile(r"\n(?![A-Z][A-Z ,/&'-]{2,40}: )")  # except before the label of an abstract's next part


@dataclass
class _Block:
    """The lines of a record, without the record's number, or the lines between two records."""

    line: int  # number of the first line in the file
    numbered: bool  # the first line had a record's number
    lines: list[str]
    is_whole: bool = False  # the block has a PMID


def read_pubmed_text(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`. `notes` gets a note on each record without its number or PMID, which is lost.

    Text between records is skipped. Raises `InputError` if no record can be read. With strict `notes`, a lost record is
    an error too.
    """
    line_break = "" if re.search(r"\S (?:\r\n|\r|\n)", text) else " "  # some programs cut the space at a line's end
    records: list[dict[str, Any]] = []
    begun = 0  # records, including lost ones
    for block in _blocks(text):
        if block.numbered or block.is_whole:
            begun += 1
        if block.numbered and block.is_whole:
            records.append(_record(block, number=begun, line_break=line_break))
        elif block.is_whole:
            notes.lost("a record without its beginning: no number before it", block.line)
        elif block.numbered:
            notes.lost("a record without its end: no `PMID: ` before the next one; is the file cut off?", block.line)
        else:
            lost = False
            for at, line in enumerate(block.lines):
                if line:
                    lost |= notes.between(line, block.line + at, Format.PUBMED_TEXT, of_lost=lost)
    if not records:
        raise notes.nothing_read("no record: none begins with a number and ends with `PMID: `")
    return records


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    empty = 2  # empty lines since the last line with text
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip():
            empty += 1
            if block is not None:
                block.lines.append("")
            continue
        begun = _BEGIN.match(line)
        is_between = block is None or block.is_whole or not block.numbered
        # After its PMID, a record may have only the statement of interests.
        is_other = is_between and not (block and block.numbered and empty == 1 and _STATEMENT.match(line))
        if empty and (
            (begun and (empty > 1 or is_between)) or (is_other and (empty > 1 or (block and block.numbered)))
        ):
            if block is not None:
                yield block
            block = _Block(number, begun is not None, [line[begun.end() :] if begun else line])
        elif block is not None:
            block.lines.append(line)
        if block is not None and _IDS.match(line) and line.startswith("PMID"):
            block.is_whole = True
        empty = 0
    if block is not None:
        yield block


def _record(block: _Block, *, number: int, line_break: str) -> dict[str, Any]:
    paragraphs = [text for text in re.split(r"\n{2,}", "\n".join(block.lines).strip("\n")) if text]
    reading = _Reading(line_break)
    for at, text in enumerate(paragraphs):
        reading.take(text, paragraphs[at + 1] if at + 1 < len(paragraphs) else "")
    reading.part_with_copyright()
    abstract = list(map(reading.unbroken, reading.body)) or reading.kept.pop(OTHER_ABSTRACT, [])
    fields = {**reading.fields, "abstract": "\n".join(abstract)}
    return assemble(fields, reading.kept, line=block.line, number=number)


class _Reading:
    """A record under construction, from its paragraphs in order."""

    def __init__(self, line_break: str) -> None:
        self.fields: dict[str, Any] = {}
        self.kept: dict[str, list[str]] = {}
        self.body: list[str] = []  # paragraphs of the abstract
        self._line_break = line_break

    def take(self, text: str, following: str) -> None:
        """Store a paragraph as the part of the record that its beginning names, otherwise as the next missing part.

        `following`: the next paragraph. Author information at its beginning shows that `text` lists the authors.
        """
        name = next((name for name, sign in KEPT.items() if sign.match(text)), None)
        if _IDS.match(text):
            self._take_ids(text)
        elif "pubmed_citation" not in self.kept:
            self._take_citation(_one_line(text))
        elif "title" not in self.fields:
            self.fields["title"] = _one_line(text)
        elif name is not None:
            self._keep(name, self.unbroken(KEPT[name].sub("", text, count=1)))
            if name == "pubmed_language_note" and (language := LANGUAGE.match(text)):
                self.fields["language"] = language[1].strip()
        elif (
            "authors" not in self.fields and not self.body and (KEPT[AFFILIATIONS].match(following) or _are_names(text))
        ):
            self.fields["authors"] = _names(text)
        elif OTHER_ABSTRACT in self.kept and not COPYRIGHT.match(text):
            self._keep(OTHER_ABSTRACT, self.unbroken(text))
        else:
            self.body.append(text)

    def part_with_copyright(self) -> None:
        """Move the abstract's last paragraph to a separate field if it is a copyright notice."""
        if not self.body:
            return
        last = self.body[-1]
        is_short = len(self.body) > 1 and len(last) <= LONGEST_OWNER
        says_so = RIGHTS.search(last) if len(self.body) > 1 else COPYRIGHT.match(last)
        if (is_short or says_so) and len(last) <= LONGEST_COPYRIGHT:
            self._keep("pubmed_copyright", self.unbroken(self.body.pop()))

    def unbroken(self, text: str) -> str:
        """Return a paragraph without the line breaks that PubMed puts into long lines."""
        return (_BROKEN.sub(self._line_break, text) if self._line_break else text.replace(" \n", " ")).strip()

    def _keep(self, name: str, text: str) -> None:
        self.kept.setdefault(name, []).append(text)

    def _take_ids(self, text: str) -> None:
        for line in text.split("\n"):
            match = _IDS.match(line)
            if match and match[1] == "PMCID":
                self._keep("pubmed_pmcid", match[2])
            elif match:
                self.fields.setdefault(match[1].lower(), match[2])

    def _take_citation(self, text: str) -> None:
        if _NOTICE.fullmatch(text):
            self._keep("pubmed_notice", text)
            return
        self._keep("pubmed_citation", text)
        match = _CITATION.match(text)
        year = match or _YEAR.search(text)
        if match:
            self.fields["journal"] = match["journal"].removesuffix(" [Preprint]")
            for name in ("date", "volume", "issue", "pages"):
                if match[name]:
                    self._keep(f"pubmed_{name}", match[name].strip())
        if year:
            self.fields["year"] = int(year["year"])


def _one_line(text: str) -> str:
    return re.sub(r"[ \t\n]+", " ", text).strip()  # a no-break space is part of a title


def _names(text: str) -> list[str]:
    plain = _MARKS.sub("", _one_line(text)).strip().removesuffix(".")
    return [name for part in re.split(r"[,;]", plain) if (name := part.strip())]


def _are_names(text: str) -> bool:
    """Return True if most parts between commas are names with initials, as in `Rossi A, Ekholm BC.`"""
    names = _names(text)
    return sum(_NAME.fullmatch(name) is not None for name in names) * 2 > len(names)
