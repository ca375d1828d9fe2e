"""The methods of a screening in sentences, for a paper or its appendix.

The text uses only the ledger's contents, and says which information is missing.
"""

from collections.abc import Iterator, Sequence

from tamis_schemas import HumanStage, Source, SourceFile, SourceKind
from tamis_schemas.batches.flow import BY_HUMAN, FlowSource, total
from tamis_schemas.operations import kind_of

from ..decisions.human_agreement import PairAgreement, two_places
from ..decisions.stopping import ESTIMATOR, methods_sentence, percent
from ..quality.sampling_frame import SPENDING
from .figures import BatchFigures, Figures, OrderFigures, ReadingFigures
from .sections import range_words
from .stage_methods import Paragraph, stage_paragraphs
from .wording import day, listed, moment, records_n, small, spaced, tallied, were, with_verb


def disclosure(figures: Figures) -> str:
    """Return sentences on how many records the model and people decided, and on facts that the ledger lacks."""
    flow = figures.flow
    first, quotes = flow.stages[0], figures.screening.quotes
    removed = flow.duplicates - figures.called + total(flow.ineligible)
    referred = sum(stage.referred for stage in flow.stages)
    sentences = [f"{were(removed)} removed by software before screening (duplicates and the initial filter)."]
    if figures.called:
        sentences.append(f"{were(figures.called)} removed before screening as copies, by a human's verdict.")
    humans = list(_humans(figures))
    if kind_of(first.operation).decides():
        sentences += (
            f"A language model alone excluded {records_n(stage.excluded_alone)} and included "
            f"{records_n(stage.passed - stage.passed_by_human)}{place}."
            for (place, _), stage in zip(figures.staged(" in stage {}"), flow.stages, strict=False)
            if stage.decides
        )
        if not any(batch.humans.decided for batch in figures.batches):
            verb = "counts yet" if any(batch.humans.reviewers for batch in figures.batches) else "is recorded"
            humans.insert(0, f"No human decision {verb}, so the number of records excluded by a human is 0.")
        sentences += humans
        if referred:
            causes = (
                (any(stage.uncertain for stage in flow.stages), "the decision was unclear"),
                (any(stage.conflicts for stage in flow.stages), "reviewers disagreed"),
                (any(stage.failed for stage in flow.stages), "an error occurred"),
            )
            why = " or ".join(cause for applies, cause in causes if applies)
            sentences.append(f"{were(referred)} neither included nor excluded, because {why}: a human must decide.")
        if unverified := sum(stage.unverified for stage in flow.stages):
            sentences.append(f"Of these, the model excluded {records_n(unverified)} without a verified quote.")
        other = "other " if any(batch.humans.decided or batch.humans.audits for batch in figures.batches) else ""
        sentences.append(
            f"The software does not record whether and how reviewers checked the model's {other}inclusions and "
            "exclusions; the authors have to report it."
        )
    else:
        none = "" if humans else " No human decision is recorded."
        sentences += [f"A language model gave the results.{none}", *humans]
    if quotes.given:
        sentences.append(
            f"{were(quotes.given, 'quote')} compared with the records: {quotes.found:,} found, {quotes.altered:,} "
            f"altered, {quotes.missing:,} not found. {were(quotes.flagged)} flagged for an unverified quote."
        )
    return " ".join(sentences)


def _humans(figures: Figures) -> Iterator[str]:
    """Yield sentences on people's decisions and on the findings of audits of exclusions, stage by stage."""
    for (place, batch), stage in zip(figures.staged(" in stage {}"), figures.flow.stages, strict=False):
        humans = batch.humans
        if humans.decided:
            yield (
                f"{were(humans.decided)} decided by {listed(humans.reviewers)}{place}. The software's decision was "
                f"confirmed for {humans.confirmed:,} and changed for {humans.reversed:,}; "
                f"{humans.settled:,} had no decision by the software. The flow counts the human decisions; the "
                "software's decisions remain recorded."
            )
            if kind_of(batch.operation).decides():
                yield (
                    f"By these decisions, {were(stage.excluded_by_human)} excluded by a human, and "
                    f"{records_n(stage.passed_by_human)} included. {BY_HUMAN}"
                )
        yield from _between_people(batch, HumanStage.OWN, place)
        if humans.resolved:
            who = listed(humans.resolvers)
            yield f"For {records_n(humans.resolved)}{place}, the decision of {who} overrode those of other reviewers."
        if humans.conflicts:
            yield f"Reviewers disagreed on {records_n(humans.conflicts)}{place}; these conflicts are not resolved yet."
        yield from (audit.verdict.sentence for audit in humans.audits)


def _between_people(batch: BatchFigures, stage: HumanStage, place: str = "") -> list[str]:
    """Return a sentence for each pair of reviewers: how far they agree on the same records of a stage."""
    people = () if batch.humans.agreement is None else batch.humans.agreement.people
    return [_agree(pair, place) for pair in people if pair.stage is stage]


def _agree(pair: PairAgreement, place: str) -> str:
    agreement = pair.agreement
    same = round(agreement.n * (agreement.observed or 0))
    kappa = ""
    if agreement.kappa is not None:
        between = range_words(agreement.kappa_low, agreement.kappa_high)
        interval = f", {agreement.level:.0%} interval {between}" if between else ""
        kappa = f" (Cohen's kappa {two_places(agreement.kappa)}{interval})"
    both = f"{pair.first} and {pair.second} both decided {records_n(agreement.n)}{place} and agreed on {same:,}{kappa}."
    return f"{both} Later changes do not count."


def full_texts(figures: Figures) -> tuple[Paragraph, ...]:
    """Return the paragraph on the reports (full texts) that people sought and assessed, or () if there are none."""
    reports = figures.flow.reports
    if reports is None:
        return ()
    people = listed(figures.report_reviewers)
    what = "Retrieval and full texts were" if reports.assessed else "Retrieval was"
    sought = were(reports.sought, "report")
    sentences = [f"{sought} sought for retrieval. {what} assessed by {people}, without a language model."]
    if lost := total(reports.not_retrieved):
        sentences.append(f"{were(lost, 'report')} not retrieved ({tallied(reports.not_retrieved)}).")
    sentences.append(f"{were(reports.assessed, 'report')} assessed for eligibility.")
    sentences += _between_people(figures.batches[figures.flow.screening or 0], HumanStage.FULL_TEXT)
    if excluded := total(reports.excluded):
        sentences.append(f"{were(excluded, 'report')} excluded: {tallied(reports.excluded)}.")
    if reports.included:
        sentences.append(
            f"{small(reports.studies, 'study', 'studies').capitalize()} with {small(reports.included, 'report')} "
            f"{'was' if reports.studies == 1 else 'were'} included."
        )
    else:
        sentences.append("No study was included.")
    if reports.open:
        parts = (
            (reports.awaited, "without a retrieval decision"),
            (reports.unassessed, "retrieved but not assessed"),
            (reports.conflicts, "with a conflict between reviewers"),
            (reports.uncertain, "left uncertain by a reviewer"),
        )
        still = with_verb(reports.open, "report", "is", "are")
        sentences.append(f"{still} not decided yet: {listed([f'{n:,} {what}' for n, what in parts if n])}.")
    return (Paragraph("Retrieval and full texts", " ".join(sentences)),)


STRATEGIES = "Search strategies"
_NOUNS = {
    SourceKind.DATABASE: ("database", "databases"),
    SourceKind.REGISTER: ("register", "registers"),
    SourceKind.OTHER: ("other source", "other sources"),
}


def identification(figures: Figures) -> Paragraph:
    """Return the paragraph on the sources: names, search dates, counts, and files read."""
    batch, flow = figures.screening, figures.flow
    replaced = _replaced(batch.sources)
    if flow.previous is not None:
        replaced.append(
            f"This is an update of an earlier version of the review, for which {were(flow.previous.identified)} "
            "identified. The records and decisions of that version were kept; copies of its records were counted as "
            "duplicates."
        )
    if not flow.sources:
        return Paragraph("Records", " ".join([_files(batch, flow.n_identified), *replaced]))
    sentences = [
        f"{were(flow.n_identified)} identified from {listed([*_groups(flow.sources)])}.",
        *_dates(batch.sources),
        *_strategies_told(batch.sources),
        *replaced,
    ]
    lines = [_line(source, counted) for source, counted in zip(batch.sources, flow.sources, strict=True)]
    return Paragraph("Records", " ".join(sentences), tuple(lines))


def before_screening(figures: Figures) -> Paragraph:
    """Return the paragraph on duplicates and the initial filter."""
    flow, batch = figures.flow, figures.screening
    source = batch.sources[0] if batch.sources else None  # the steps before screening are the same for all sources
    sentences = []
    if source is not None and source.duplicates_kept:
        sentences.append("Duplicate records were not removed; copies were screened as well.")
    elif software := flow.duplicates - figures.called:
        sentences.append(f"{were(software, 'duplicate record')} removed; one copy of each record was kept.")
        sentences += _how_copies_were_found(batch.sources)
    else:
        sentences.append(f"No duplicate record was removed{' by software' if figures.called else ''}.")
    if judged := sum(pair.verdict is not None for pair in batch.copies):
        sentences.append(f"Reviewers judged {judged:,} of {len(batch.copies):,} doubtful pairs.")
        sentences.append(f"By these verdicts, {were(figures.called)} removed as copies.")
    ineligible = total(flow.ineligible)
    if ineligible or (source is not None and source.initial_filter):
        which = f": {tallied(flow.ineligible)}" if ineligible else ""
        sentences.append(
            "An initial filter with fixed rules on titles, abstracts and dates (no language model) marked "
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
    """Return an appendix with each search query as sent to its source, or () if no query is recorded."""
    lines = tuple(f"{source.name}: {source.query}" for source in figures.screening.sources if source.query)
    return (Paragraph(STRATEGIES, "The queries as sent to each source:", lines),) if lines else ()


def _files(batch: BatchFigures, n: int) -> str:
    if not batch.sources:
        name = f" under the name “{batch.label}”" if batch.label else ""
        return f"{were(n)} submitted{name}. Their source file is not recorded."
    files = batch.sources[0].files
    which = "the file" if len(files) == 1 else f"{len(files)} files:"
    return f"{were(n)} read from {which} {listed([_read(file) for file in files])}."


def _read(file: SourceFile) -> str:
    return f"“{file.file}” ({file.format}, read as {file.encoding}; SHA-256 of the file {file.sha256})"


def _replaced(sources: Sequence[Source]) -> list[str]:
    files = [file for source in sources for file in source.files]
    return [
        f"{'' if len(files) == 1 else f'In “{file.file}”, '}{were(file.replaced, 'byte')} invalid in the file's "
        "encoding and read as cp1252."
        for file in files
        if file.replaced
    ]


def _groups(sources: Sequence[FlowSource]) -> Iterator[str]:
    """Yield a text for each kind of source: `two databases (A, n = 12; B, n = 7)`."""
    for kind in SourceKind:
        if names := [f"{source.name}, n = {source.identified:,}" for source in sources if source.kind is kind]:
            yield f"{small(len(names), *_NOUNS[kind])} ({'; '.join(names)})"


def _dates(sources: Sequence[Source]) -> list[str]:
    dates = sorted({source.searched for source in sources if source.searched is not None})
    unknown = [source.name for source in sources if source.searched is None]
    if not dates:
        return ["The search dates are not recorded."]
    when = f"on {day(dates[0])}" if len(dates) == 1 else f"from {day(dates[0])} to {day(dates[-1])}"
    but = f" (date not recorded for {listed(unknown)})" if unknown else ""
    return [f"They were searched {when}{but}."]


def _strategies_told(sources: Sequence[Source]) -> list[str]:
    unknown = [source.name for source in sources if not source.query]
    if len(unknown) == len(sources):
        return ["The search strategies are not recorded."]
    but = f" (not recorded for {listed(unknown)})" if unknown else ""
    return [f"The search strategies are listed under “{STRATEGIES}”{but}."]


def _how_copies_were_found(sources: Sequence[Source]) -> Iterator[str]:
    if sources:  # otherwise a program reported them, and its method is unknown
        yield (
            "Two records were treated as duplicates if their DOI, PubMed id, or title with year and first author "
            "agreed and no other field contradicted this. Doubtful pairs were kept."
        )
    if len(sources) > 1:
        yield "The most complete copy was kept; its missing fields were filled from the others."


def _line(source: Source, counted: FlowSource) -> str:
    """Return a line of text on a source: its kind, its search date, its numbers and its files."""
    when = "" if source.searched is None else f", searched on {day(source.searched)}"
    copies = f", {counted.duplicates:,} of them removed as duplicates" if counted.duplicates else ""
    files = f"read from {listed([_read(file) for file in source.files])}"
    return f"{source.name} ({_NOUNS[source.kind][0]}{when}): {records_n(counted.identified)}{copies}; {files}"


def reading_paragraphs(figures: Figures) -> Iterator[Paragraph]:
    """Yield a paragraph for each stage whose records people read in a reading order, or that has a stop sample."""
    for place, batch in figures.staged(" in stage {}"):
        if batch.reading is not None:
            yield Paragraph(f"Reading order and stop rule{place}", " ".join(_sentences(batch.reading)))


def _sentences(reading: ReadingFigures) -> Iterator[str]:
    if reading.order is not None:
        yield _order(reading.order)
    if reading.stop is None:
        finding = reading.finding
        yield (
            f"Reviewers read {finding.read:,} of {records_n(finding.records)} and included {finding.found:,}. No stop "
            "rule was applied."
        )
        return
    stop = reading.stop
    yield (
        f"The stop rule required a recall of {percent(stop.recall)} with {percent(stop.confidence)} confidence. Its "
        f"result was: {stop.verdict}."
    )
    yield methods_sentence(stop)
    if stop.samples:
        yield SPENDING
    if stop.estimate.p is not None:
        yield (
            f"As an additional estimate, {ESTIMATOR} gave p = {stop.estimate.p:.3f} for the hypothesis that this "
            "recall was not reached."
        )


def _order(order: OrderFigures) -> str:
    if not order.decided:
        basis = "the score for inclusion from the language model's decisions"
    else:
        basis = (
            "the language model's score for inclusion and a text model of titles and abstracts (TF-IDF, two "
            f"alternating linear support vector machines; weight {order.text_weight:.2f}), retrained on the decisions "
            f"so far, most recently on {order.decided:,}"
        )
    chance = f"{percent(order.explore)} of the places were given to records drawn at random" if order.explore else ""
    seed = f"seed {order.seed}{'; ' + chance if chance else ''}"
    return f"{were(order.read)} read in the order of {basis} ({seed})."


# Decisions of the demonstration model are worthless; the report must warn its readers.
DEMONSTRATION_MODEL = "SmolLM2-135M"


def methods(figures: Figures) -> tuple[Paragraph, ...]:
    """Return the paragraphs of a methods section, in order and as plain text."""
    return (
        identification(figures),
        before_screening(figures),
        *(part for number, batch in enumerate(figures.batches) for part in stage_paragraphs(figures, batch, number)),
        *reading_paragraphs(figures),
        *full_texts(figures),
        Paragraph("Use of AI and automation", disclosure(figures)),
        Paragraph(
            "Software",
            f"{figures.software} wrote this report on {moment(figures.read_at)}. All numbers come from one "
            "snapshot of its ledger. The version of the software that asked the model is not recorded.",
        ),
        *search_strategies(figures),
    )


def warnings(figures: Figures) -> tuple[str, ...]:
    """Return the warnings that a reader needs before any number, such as an unfinished batch or a changed model."""
    notes = []
    counts = [batch.counts for batch in figures.batches]
    open_items = sum(count.pending + count.running for count in counts)
    cancelled = sum(count.cancelled for count in counts)
    if open_items:
        notes.append(
            f"This {figures.kind} is not finished: {_have(open_items)} no result yet. All numbers are as of "
            f"{moment(figures.read_at)} and will change."
        )
    elif any(not batch.state.terminal for batch in figures.batches):
        notes.append(f"This {figures.kind} is not finished. All numbers are as of {moment(figures.read_at)}.")
    if cancelled or any(batch.state == "cancelled" for batch in figures.batches):
        notes.append(f"This {figures.kind} was cancelled: {_have(cancelled)} no decision.")
    for file in (file for source in figures.screening.sources for file in source.files if file.lost):
        notes.append(f"{were(file.lost)} lost: “{file.file}” is damaged there. No number of this report counts them.")
    reports = figures.flow.reports
    if reports is not None and reports.open:
        still = with_verb(reports.open, "report", "is", "are")
        notes.append(f"{still} not decided yet: the numbers from retrieval onwards will change.")
    if missing := [kind_of(operation).report_noun for operation in figures.planned[len(figures.batches) :]]:
        why = "that no record reached" if figures.ended else "that have not begun"
        notes.append(f"Planned stages {why}: {', '.join(missing)}.")
    notes += [words for batch in figures.batches if batch.snapshots is not None for words in batch.snapshots.sentences]
    if any(DEMONSTRATION_MODEL.lower() in model.lower() for batch in figures.batches for model in batch.models):
        notes.append(
            "Do not use these decisions. SmolLM2-135M-Instruct is a demonstration model: it shows that the software "
            "works, but cannot judge records."
        )
    return tuple(notes)


def _have(n: int) -> str:
    return with_verb(n, "record", "has", "have")
