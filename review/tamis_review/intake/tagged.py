"""The reader of tagged formats: a record is a sequence of fields, each a tag and the lines of its text.

A `Scheme` describes a format by tables, for example from tags to canonical fields. `placed` assigns a record's fields
by these tables. Other texts are kept under the name of their tag (`_ris_N1`). `Ended` describes a format in which a tag
ends each record. The fields of EndNote XML are assigned in the same way.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tamis_producer.files.decode import LINE_END

from .decision import DECISION_FIELDS, decision_value
from .fields import FieldPlace
from .notes import Notes
from .recognise import WRITABLE, Format
from .record import assemble, is_bare_year, split_keywords, year_of
from .source import Field, remember

CONTENT = ("title", "authors", "abstract")  # text without any of these fields does not count as a lost record
LISTS = frozenset(("authors", "keywords"))
IN_PUBMED = re.compile(r"\b(?:nlm|pubmed|medline)\b", re.IGNORECASE)  # databases whose numbers are PubMed ids
# A copyright notice. EBSCO writes "Copyright of Walks is the property of ..." as a second abstract.
COPYRIGHT = re.compile(r"©|(?:crown )?copyright *(?:©|\(c\)|:|\d{4}|of .+ property)|\(c\) ?\d{4}|published by ", re.I)
INDENT = "   "  # indent of a continuation line, in formats with a tag at the end of each record


@dataclass(frozen=True)
class Tagged:
    """A field of a tagged format: its tag, and the lines of its text."""

    tag: str
    lines: list[str]


@dataclass(frozen=True)
class TaggedRecord:
    """The fields of one record, as in the file."""

    line: int
    number: int  # number among the file's records, from 1; lost records count too
    fields: list[Tagged] = field(default_factory=list)


@dataclass(frozen=True)
class Pattern:
    """A canonical field, and the regular expressions that find it within the values of some tags."""

    name: str
    tags: tuple[str, ...]
    forms: tuple[re.Pattern[str], ...]  # the first match decides; its group 1 is the field
    repeated: bool = False  # a second value that equals the first is not kept under its tag


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """The description of a tagged format: which tags fill which fields of a record."""

    form: Format
    prefix: str  # for the names of kept tags: `wos` gives `_wos_CR`
    begins: str  # beginning of a record's first line, for messages
    joined: Callable[[Sequence[str]], str] = "\n".join  # the lines of a field as one text
    sources: Mapping[str, tuple[str, ...]]  # canonical name -> the tags that may have its value, best first
    serves: Mapping[str, re.Pattern[str]] = field(default_factory=dict)  # tag -> required beginning of its value
    dated_first: bool = False  # the best value for the year is the first that begins with a year
    value_a_line: frozenset[str] = frozenset()  # tags with a value on each line
    all_joined: Mapping[str, str] = field(default_factory=dict)  # canonical name -> separator of its tag's values
    all_tags: frozenset[str] = frozenset()  # canonical names of lists with the values of all their tags, in file order
    keywords_split: bool = False  # semicolons separate keywords within a value
    one_line: frozenset[str] = frozenset(("title",))  # canonical names whose line breaks become spaces
    repeated: frozenset[str] = frozenset()  # canonical names whose repeated values are not kept
    types: Mapping[str, str] = field(default_factory=dict)  # code of a type -> RIS's code
    databases: tuple[str, ...] = ()  # tags, or canonical names, of a record's database
    pmids: Mapping[str, re.Pattern[str]] = field(default_factory=dict)  # tag of PubMed ids -> databases that use it so
    patterns: tuple[Pattern, ...] = ()
    # Tag of the database's own number -> the databases that use the tag so; None: all databases.
    accessions: Mapping[str, re.Pattern[str] | None] = field(default_factory=dict)
    note: str = ""  # tag of notes
    notes: Mapping[str, FieldPlace] = field(default_factory=dict)  # key -> the note with only this value
    note_patterns: tuple[Pattern, ...] = ()  # patterns for the other notes
    kept_as_written: bool = False  # kept texts keep the white space around them

    def has_content(self, fields: Sequence[Tagged], *names: str) -> bool:
        """Return whether the fields have a value for one of these canonical names.

        Without `names`: a title, an author or an abstract.
        """
        tags = {tag for name in names or CONTENT for tag in self.sources[name]}
        return any(tagged.tag in tags and any(map(str.strip, tagged.lines)) for tagged in fields)


@dataclass(frozen=True)
class Ended:
    """A format with a tag at the end of each record: the form of lines with tags, and the last line of a record."""

    tagged: re.Pattern[str]  # a line with a tag: the groups `tag`, `text`, and `gap` (spaces after the tag)
    ends: str  # the last line of a record, for messages
    gap: str = ""  # the usual gap; if a record begins with a narrower gap, all its gaps may be narrower
    of_the_file: frozenset[str] = frozenset()  # tags outside of records


Blocks: TypeAlias = Callable[[Scheme, str, Notes], Iterator[TaggedRecord]]  # the records of a text


def read_tagged(scheme: Scheme, blocks: Blocks, text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`.

    `scheme`: the description of the format. `blocks`: a function that splits the text into records.

    Raises `InputError` if no record can be read. With strict `notes`, a lost record is an error too.
    """
    records = [record_of(scheme, block) for block in blocks(scheme, text, notes)]
    if not records:
        raise notes.nothing_read(f"no record: no line begins with `{scheme.begins}`")
    return records


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without byte order marks. A file of joined exports may have several such marks."""
    return [line.removeprefix("\ufeff") for line in LINE_END.split(text)]


class Outside:
    """The lines outside of any record: skipped text, a lost record, or fields above the next record's first line."""

    def __init__(self, scheme: Scheme, notes: Notes, *, joins_content: bool) -> None:
        self._scheme, self._notes, self._joins_content = scheme, notes, joins_content
        self._begun = 0  # records so far, including lost records
        self._lines: list[tuple[int, str]] = []  # from a line with a tag on
        self._fields: list[Tagged] = []
        self._is_parted = False  # an empty line follows the fields in `_fields`
        self._is_foreign = False  # within a record in another format

    @property
    def is_open(self) -> bool:
        """Return True if the last lines were fields that belong to no record of this format."""
        return self._is_foreign or bool(self._lines)

    def add(self, line: str, number: int, tagged: Tagged | None = None) -> None:
        """Add a line outside of any record. `tagged`: the line's field, if the line begins with a tag.

        An empty line ends the fields so far, unless they have a title, an author or an abstract.
        """
        is_lost = self.is_open
        if not line.strip():
            self._is_parted = True
            if not self._scheme.has_content(self._fields) and not self._is_foreign:
                self.end()
        elif tagged is None and self._notes.between(line, number, self._scheme.form, of_lost=is_lost):
            self.end()
            self._begun += not is_lost
            self._is_foreign = True
        elif tagged is not None and not self._is_foreign:
            self._lines.append((number, line))
            self._fields.append(tagged)
        elif self._lines:
            self._lines.append((number, line))
            self._fields[-1].lines.append(line)

    def end(self) -> None:
        """Add notes on the lines so far. Lines with a title, an author or an abstract count as a lost record."""
        if self._scheme.has_content(self._fields):
            self.lost(self._lines[0][0])
            self._begun += 1
        else:
            for number, line in self._lines:
                self._notes.between(line, number, self._scheme.form)
        self._lines, self._fields, self._is_parted, self._is_foreign = [], [], False, False

    def lost(self, line: int) -> None:
        """Add a note on a lost record: fields without the first line of a record. `line`: where these fields begin."""
        self._notes.lost(f"a record without its beginning: no `{self._scheme.begins}` before this line", line)

    def begin(self, number: int) -> TaggedRecord:
        """Return a new record. Fields directly above its first line belong to it, if the format has such fields.

        `number`: the number of this line. Other lines so far get notes.
        """
        fields: list[Tagged] = []
        if self._lines and not self._is_parted and self._scheme.has_content(self._fields) is self._joins_content:
            number, fields = self._lines[0][0], self._fields
            self._lines, self._fields = [], []
        self.end()
        self._begun += 1
        return TaggedRecord(number, self._begun, fields)


def ended_blocks(ended: Ended, scheme: Scheme, text: str, notes: Notes) -> Iterator[TaggedRecord]:
    """Yield the records of a format with a first and a last tag in each record.

    A record without its beginning or end is lost, with a note in `notes`.
    """
    lines = lines_of(text)
    begin, end = scheme.begins[:2], ended.ends[:2]
    matches = map(ended.tagged.fullmatch, lines)
    gap = next((match["gap"] for match in matches if match and match["tag"] == begin), ended.gap)
    block: TaggedRecord | None = None
    outside = Outside(scheme, notes, joins_content=True)
    empty = 0  # empty lines since the last text; they belong to the value if the value continues after them
    for number, line in enumerate(lines, 1):
        match = ended.tagged.fullmatch(line)
        if match and len(match["gap"]) < len(gap) and (block is not None or match["tag"] != begin):
            match = None
        tag = match["tag"] if match else None
        tagged = Tagged(match["tag"], [match["text"] or ""]) if match else None
        if match and tag == begin:
            if block is not None:
                _note_unended(scheme, block, notes, f"no `{ended.ends}` before the next one, in line {number}")
            gap = match["gap"]
            block = outside.begin(number)
        elif block is None:
            if tag in ended.of_the_file or (tag == end and outside.is_open):
                outside.end()
            else:
                outside.add(line, number, None if tag == end else tagged)
            continue
        if tag == end:
            yield _without_another(scheme, block, outside)
            block = None
        elif tagged is not None:
            block.fields.append(tagged)
        elif not line.strip() and not line.startswith(INDENT):
            empty += 1
            continue
        else:
            block.fields[-1].lines.extend([*[""] * empty, line.removeprefix(INDENT)])
        empty = 0
    outside.end()
    if block is not None:
        _note_unended(scheme, block, notes, f"no `{ended.ends}` before the end of the file; is it cut off?")


def _note_unended(scheme: Scheme, block: TaggedRecord, notes: Notes, why: str) -> None:
    if scheme.has_content(block.fields):
        notes.lost(f"a record without its end: {why}", block.line)
    else:
        notes.skipped("a record without its end, title, author and abstract", block.line)


def _without_another(scheme: Scheme, block: TaggedRecord, outside: Outside) -> TaggedRecord:
    """Return the record. Omit the fields above its first line if these fields are another record.

    The fields are another record, which is lost, if both the fields and the record have a title.
    """
    at = next(at for at, tagged in enumerate(block.fields) if tagged.tag == scheme.begins[:2])
    above, own = block.fields[:at], block.fields[at:]
    if not (scheme.has_content(above, "title") and scheme.has_content(own, "title")):
        return block
    outside.lost(block.line)
    return TaggedRecord(block.line + sum(len(tagged.lines) for tagged in above), block.number, own)


def record_of(scheme: Scheme, block: TaggedRecord) -> dict[str, Any]:
    """Return a record from its fields in the file. `_source` of the record has these if Tamis writes the format."""
    placing = placed(scheme, block.fields)
    kept = {**placing.kept(), **placing.decision}
    record = assemble(placing.canonical, kept, accession=placing.accession, line=block.line, number=block.number)
    if scheme.form not in WRITABLE:
        return record
    fields = enumerate(zip(block.fields, placing.texts, strict=True))
    return remember(record, scheme.form, [Field(f.tag, text, placing.key_of.get(at)) for at, (f, text) in fields])


def placed(scheme: Scheme, fields: Sequence[Tagged]) -> "Placing":
    """Assign the fields of a record in the file to canonical fields, decision, accession number and other texts."""
    placing = Placing(scheme, fields)
    for name, tags in scheme.sources.items():
        placing.take(name, tags)
    placing.take_pmid()
    for pattern in scheme.patterns:
        placing.take_pattern(pattern)
    placing.take_notes()
    for pattern in scheme.note_patterns:
        placing.take_pattern(pattern)
    placing.take_accession()
    return placing


@dataclass(frozen=True, eq=False)
class _Value:
    """A value of a tag as in the file. `at`: the index of its field in the record."""

    tag: str
    written: str
    at: int

    @property
    def text(self) -> str:
        return self.written.strip()


class Placing:
    """A record under construction: the values assigned so far, and the values not yet assigned.

    `key_of`: index of a field in the file's record -> the key that has the field's text in the new record.
    """

    def __init__(self, scheme: Scheme, fields: Sequence[Tagged]) -> None:
        self.canonical: dict[str, Any] = {}
        self.decision: dict[str, Any] = {}
        self.accession = ""
        self.key_of: dict[int, str] = {}
        self.texts = [scheme.joined(tagged.lines) for tagged in fields]
        self._scheme = scheme
        self._left: dict[str, list[_Value]] = {}  # tag -> unused values
        for at, (tagged, text) in enumerate(zip(fields, self.texts, strict=True)):
            texts = tagged.lines if tagged.tag in scheme.value_a_line else [text]
            if values := [_Value(tagged.tag, text, at) for text in texts if text.strip()]:
                self._left.setdefault(tagged.tag, []).extend(values)
                self.key_of[at] = f"_{scheme.prefix}_{tagged.tag}"

    def take(self, name: str, tags: Sequence[str]) -> None:
        """Assign the values of the best tag to the canonical field `name`. Excess values stay under their tag.

        `tags`: the tags that may have the field's value, best first.
        """
        scheme = self._scheme
        held = [values for tag in tags if (values := self._left.get(tag)) and self._serves(tag, values[0])]
        if not held:
            return
        values = held[0]
        if name in scheme.all_tags:
            values = sorted((value for values in held for value in values), key=lambda value: value.at)
        elif name == "year" and scheme.dated_first:
            values = sorted((value for values in held for value in values), key=lambda value: not year_of(value.text))
        if name == "abstract":  # a copyright notice stays under its tag
            values = [value for value in values if not COPYRIGHT.match(value.text)] or values
        texts = [value.text.replace("\n", " ") if name in scheme.one_line else value.text for value in values]
        content: Any = texts[0]
        if name in LISTS:
            split = name == "keywords" and scheme.keywords_split
            content = [word for text in texts for word in (split_keywords(f"{text};") if split else [text])]
        elif name in scheme.all_joined:
            content = scheme.all_joined[name].join(texts)
        elif name in scheme.repeated:
            values = [value for values in held for value in values if value.written == held[0][0].written]
        else:
            values = values[:1]
        if name == "type":
            content = scheme.types.get(content, content)
        elif name == "year" and (year := year_of(texts[0])) is not None:
            content = year
        self.canonical[name] = content
        self._place(name, values, also_kept=name == "year" and content != texts[0] and not is_bare_year(texts[0]))

    def take_pmid(self) -> None:
        """Read the PubMed id from a tag that contains PubMed ids only in exports of certain databases."""
        for tag, database in self._scheme.pmids.items():
            value = next((value for value in self._left.get(tag, ()) if value.text.isdigit()), None)
            if value is not None and database.search(self._databases()):
                self.canonical["pmid"] = value.text
                self._place("pmid", [value])
                return

    def take_pattern(self, pattern: Pattern) -> None:
        """Read a canonical field from a part of a value.

        If the value has other text too, the whole value also stays under its tag.
        """
        for form in pattern.forms:
            alone: list[_Value] = []
            for value in [value for tag in pattern.tags for value in self._left.get(tag, ())]:
                match = form.search(value.written)
                if match is None or (pattern.name in self.canonical and not pattern.repeated):
                    continue
                if self.canonical.setdefault(pattern.name, match[1]) == match[1]:
                    self.key_of[value.at] = pattern.name
                    alone += [value] if match[0] == value.written else []
            self._place(pattern.name, alone)
            if pattern.name in self.canonical:
                return

    def take_notes(self) -> None:
        """Read the notes that contain Tamis's decision, or a value that has no tag in the format."""
        notes = self._scheme.notes
        for note in self._left.get(self._scheme.note, ()):
            key = next((key for key, place in notes.items() if place.holds(note.written)), None)
            if key is None or key in self.canonical or key in self.decision or (key == "id" and self._is_identified()):
                continue
            text = notes[key].value(note.written)
            if key in DECISION_FIELDS:
                self.decision[key] = decision_value(key, text)
            elif key == "id":
                self.accession = text.strip()
            else:
                self.canonical[key] = text.strip()
            self._place(key, [note])

    def take_accession(self) -> None:
        """Read the database's own number, unless a better identifier exists."""
        for tag, database in self._scheme.accessions.items():
            values = self._left.get(tag)
            if not self._is_identified() and values and (database is None or database.search(self._databases())):
                self.accession = values[0].text
                self._place("id", values[:1])

    def kept(self) -> dict[str, Any]:
        """Return the texts that are in no canonical field. Keys have the format and the tag, as in "ris_N1"."""
        as_written = self._scheme.kept_as_written
        return {
            f"{self._scheme.prefix}_{tag}": [value.written if as_written else value.text for value in values]
            for tag, values in self._left.items()
            if values
        }

    def _serves(self, tag: str, first: _Value) -> bool:
        form = self._scheme.serves.get(tag)
        return form is None or form.match(first.text) is not None

    def _place(self, key: str, values: Sequence[_Value], *, also_kept: bool = False) -> None:
        self.key_of.update((value.at, key) for value in values)
        placed_now = set() if also_kept else set(values)
        for tag in {value.tag for value in placed_now}:
            self._left[tag] = [value for value in self._left[tag] if value not in placed_now]

    def _databases(self) -> str:
        names = [value.text for tag in self._scheme.databases for value in self._left.get(tag, ())]
        return " ".join([*names, *(str(self.canonical.get(name, "")) for name in self._scheme.databases)])

    def _is_identified(self) -> bool:
        return bool(self.accession) or not self.canonical.keys().isdisjoint(("pmid", "nct_id"))
