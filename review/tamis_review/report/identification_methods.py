"""The searches and what was removed before screening, in sentences."""

from collections.abc import Sequence

from tamis_schemas import Source, SourceFile, SourceKind
from tamis_schemas.batches.flow import FlowSource, PreviousVersion, total

from .figures import BatchFigures, Figures
from .paragraph import Paragraph
from .wording import day, listed, records_n, small, spaced, tallied, were

STRATEGIES = "Search strategies"
_NOUNS = {
    SourceKind.DATABASE: ("database", "databases"),
    SourceKind.REGISTER: ("register", "registers"),
    SourceKind.OTHER: ("other source", "other sources"),
}


def identification(figures: Figures) -> Paragraph:
    """The paragraph on the sources: which, when they were searched, what each gave, and the files that were read."""
    batch, flow = figures.screening, figures.flow
    replaced = [*_replaced(batch.sources), *_previous(flow.previous)]
    if not flow.sources:
        return Paragraph("Records", " ".join([_files(batch, flow.n_identified), *replaced]))
    groups = [_group(flow.sources, kind) for kind in SourceKind]
    sentences = [
        f"{were(flow.n_identified)} identified from {listed([group for group in groups if group])}.",
        *_dates(batch.sources),
        *_strategies_told(batch.sources),
        *replaced,
    ]
    lines = [_line(source, counted) for source, counted in zip(batch.sources, flow.sources, strict=True)]
    return Paragraph("Records", " ".join(sentences), tuple(lines))


def before_screening(figures: Figures) -> Paragraph:
    """The paragraph on duplicates and the initial filter."""
    flow, batch = figures.flow, figures.screening
    source = batch.sources[0] if batch.sources else None  # what was done before screening is the same for all
    sentences = []
    if source is not None and source.duplicates_kept:
        sentences.append("Duplicate records were not removed: copies of a record were screened as well.")
    elif flow.duplicates:
        what = "a copy" if flow.duplicates == 1 else "copies"
        sentences.append(f"{were(flow.duplicates)} removed as {what} of another record, of which one stayed.")
        sentences += _how_copies_were_found(batch.sources)
    else:
        sentences.append("No record was removed as a duplicate.")
    ineligible = total(flow.ineligible)
    if ineligible or (source is not None and source.initial_filter):
        which = f", under these rules: {tallied(flow.ineligible)}" if ineligible else ""
        sentences.append(
            "An initial filter of fixed rules on titles, abstracts and dates, which asks no language model, marked "
            f"{records_n(ineligible)} as ineligible{which}."
        )
    else:
        sentences.append("No initial filter was used.")
    if flow.removed_otherwise:
        sentences.append(f"{were(flow.removed_otherwise)} removed without a recorded reason.")
    off = () if source is None else tuple(f"{spaced(rule)}: {why}" for rule, why in source.switched_off.items())
    if off:
        sentences.append("These rules of the initial filter were switched off:")
    return Paragraph("Before screening", " ".join(sentences), off)


def search_strategies(figures: Figures) -> tuple[Paragraph, ...]:
    """An appendix with each query as it was sent, where any is known."""
    lines = tuple(f"{source.name}: {source.query}" for source in figures.screening.sources if source.query)
    return (Paragraph(STRATEGIES, "The queries, as they were sent to each source:", lines),) if lines else ()


def _previous(before: PreviousVersion | None) -> list[str]:
    if before is None:
        return []
    return [
        f"This updates an earlier version of the review, for which {were(before.identified)} identified; what that "
        "version had already, and its decisions, stand as they were, and copies of it count as duplicates here."
    ]


def _files(batch: BatchFigures, n: int) -> str:
    if not batch.sources:
        name = f" under the name “{batch.label}”" if batch.label else ""
        return f"{were(n)} submitted{name}. The ledger names no file from which they were read."
    files = batch.sources[0].files
    which = "the file" if len(files) == 1 else f"{len(files)} files:"
    return f"{were(n)} read from {which} {listed([_read(file) for file in files])}."


def _read(file: SourceFile) -> str:
    return f"“{file.file}” ({file.format}, read as {file.encoding}; SHA-256 of the file {file.sha256})"


def _replaced(sources: Sequence[Source]) -> list[str]:
    files = [file for source in sources for file in source.files]
    return [
        f"{file.replaced:,} bytes{'' if len(files) == 1 else f' of “{file.file}”'} were not valid in that encoding and "
        "were read as cp1252."
        for file in files
        if file.replaced
    ]


def _group(sources: Sequence[FlowSource], kind: SourceKind) -> str:
    """Return the words for the sources of one kind: `two databases (A, 12; B, 7)`; none where there is none."""
    of_kind = [source for source in sources if source.kind is kind]
    if not of_kind:
        return ""
    return (
        f"{small(len(of_kind), *_NOUNS[kind])} ({'; '.join(f'{one.name}, n = {one.identified:,}' for one in of_kind)})"
    )


def _dates(sources: Sequence[Source]) -> list[str]:
    known = sorted({source.searched for source in sources if source.searched is not None})
    unknown = [source.name for source in sources if source.searched is None]
    if not known:
        return ["The dates of the searches are not recorded here."]
    when = f"on {day(known[0])}" if len(known) == 1 else f"from {day(known[0])} to {day(known[-1])}"
    but = f", but for {listed(unknown)}, of which no date is recorded here" if unknown else ""
    return [f"They were searched {when}{but}."]


def _strategies_told(sources: Sequence[Source]) -> list[str]:
    unknown = [source.name for source in sources if not source.query]
    if len(unknown) == len(sources):
        return ["The search strategies are not recorded here."]
    but = f"; those of {listed(unknown)} are not recorded here" if unknown else ""
    return [f"The search strategies stand under “{STRATEGIES}”{but}."]


def _how_copies_were_found(sources: Sequence[Source]) -> list[str]:
    if not sources:  # a program said so, and how it found them is not known
        return []
    found = (
        "Two records counted as copies where their DOI, their PubMed id or their titles (with year and first author) "
        "agreed and nothing else in them contradicted that; doubtful pairs stayed."
    )
    if len(sources) == 1:
        return [found]
    return [found, "Of the copies the most complete one stayed; the fields that it lacked were taken from the others."]


def _line(source: Source, counted: FlowSource) -> str:
    """Return a source in a line: its kind, its date, its numbers and its files."""
    when = "" if source.searched is None else f", searched on {day(source.searched)}"
    copies = f", of which {counted.duplicates:,} removed as copies" if counted.duplicates else ""
    files = f"read from {listed([_read(file) for file in source.files])}"
    return f"{source.name} ({_NOUNS[source.kind][0]}{when}): {records_n(counted.identified)}{copies}; {files}"
