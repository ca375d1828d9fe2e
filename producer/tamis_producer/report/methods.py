"""The methods of a screening in sentences, for a paper or its appendix: what was done, by what, and who decides.

Only what the ledger holds is said; what it does not hold is named as missing.
"""

from dataclasses import dataclass
from datetime import datetime

from tamis_schemas import Criterion, Filter, SearchCriteria, dollars
from tamis_schemas.batches.flow import Tally, total
from tamis_schemas.operations import kind_of, operation_name
from tamis_schemas.records.item import shown_text

from .figures import BatchCosts, BatchFigures, Figures

# What the model of the demonstration decides is worth nothing, and whoever reads its report must know.
DEMONSTRATION_MODEL = "SmolLM2-135M"
LONGEST = 2_000  # characters of one parameter; the hash is of all
_POLICIES = {
    "include": "A criterion on which the record is unclear neither excluded a record nor stopped its inclusion "
    "(recall first).",
    "refer": "A criterion on which the record is unclear made the record uncertain: it was referred to a human.",
    "exclude": "An inclusion criterion on which the record is unclear counted as not met (precision first).",
}
_UNVERIFIED = {
    "refer": "A record was excluded only by a criterion whose quote the software found in it, or whose verdict needs "
    "no quote; where the model excluded it without such a one, it was referred to a human.",
    "exclude": "An exclusion stood also where no quote for it was found in the record.",
}


@dataclass(frozen=True)
class Paragraph:
    """A paragraph under a heading, with the lists that belong to it."""

    heading: str
    text: str
    listed: tuple[str, ...] = ()


def methods(figures: Figures) -> tuple[Paragraph, ...]:
    """The paragraphs, in the order of a methods section; plain text."""
    first = figures.screening
    parts = [
        Paragraph("Records", _records(figures, first)),
        _before_screening(figures, first),
        *(part for number, batch in enumerate(figures.batches) for part in _stage(figures, batch, number)),
        Paragraph("Use of AI and automation", _disclosure(figures)),
        Paragraph("Software", _software(figures)),
    ]
    return tuple(parts)


def warnings(figures: Figures) -> tuple[str, ...]:
    """Return the notes to read before any number: an unfinished batch, a model that only demonstrates."""
    notes = []
    counts = [batch.counts for batch in figures.batches]
    open_items = sum(count.pending + count.running for count in counts)
    cancelled = sum(count.cancelled for count in counts)
    if open_items:
        notes.append(
            f"This {figures.kind} is not finished: {_records_have(open_items)} no result yet. All numbers are those of "
            f"{_moment(figures.read_at)} and will change."
        )
    elif any(not batch.state.terminal for batch in figures.batches):
        notes.append(f"This {figures.kind} is not finished. All numbers are those of {_moment(figures.read_at)}.")
    if cancelled or any(batch.state == "cancelled" for batch in figures.batches):
        notes.append(f"This {figures.kind} was cancelled: {_records_have(cancelled)} no decision.")
    missing = [kind_of(operation).report_noun for operation in figures.planned[len(figures.batches) :]]
    if missing:
        why = "no record passed on to them" if figures.ended else "they have not begun"
        notes.append(f"Planned stages without a batch, because {why}: {', '.join(missing)}.")
    if any(DEMONSTRATION_MODEL.lower() in model.lower() for batch in figures.batches for model in batch.models):
        notes.append(
            "These decisions are worth nothing. SmolLM2-135M-Instruct is small enough to run anywhere: it shows that "
            "the software works, not what a record is about."
        )
    return tuple(notes)


def costs(spending: BatchCosts) -> str:
    """Return the cost of the answers in a sentence, and in another what may be missing."""
    unbilled = f" Possibly unbilled: {spending.unbilled_words}." if spending.possibly_unbilled else ""
    return _paid(spending) + unbilled


def _paid(spending: BatchCosts) -> str:
    if not spending.calls:
        return "No call was paid for."
    if spending.unpriced and not spending.cost:
        return "What the calls cost is not known to the software."
    missing = f"; {_records_n(spending.unpriced)} without a known price not counted" if spending.unpriced else ""
    return f"By the prices known to the software the calls cost {dollars(spending.cost)} (US dollars){missing}."


def _records(figures: Figures, batch: BatchFigures) -> str:
    n = figures.flow.n_identified
    if not batch.sources:
        name = f" under the name “{batch.label}”" if batch.label else ""
        return f"{_were(n)} submitted{name}. The ledger names no file from which they were read."
    files = [file for source in batch.sources for file in source.files]
    read = [
        f"“{file.file}” ({file.format}, read as {file.encoding}; SHA-256 of the file {file.sha256})" for file in files
    ]
    replaced = [
        f" {file.replaced:,} bytes{'' if len(files) == 1 else f' of “{file.file}”'} were not valid in that encoding "
        "and were read as cp1252."
        for file in files
        if file.replaced
    ]
    which = "the file " if len(files) == 1 else f"{len(files)} files: "
    return f"{_were(n)} read from {which}{', '.join(read)}.{''.join(replaced)}"


def _before_screening(figures: Figures, batch: BatchFigures) -> Paragraph:
    flow, source = figures.flow, next(iter(batch.sources), None)  # what was done before screening, all agree on
    sentences = []
    if source is not None and source.duplicates_kept:
        sentences.append("Duplicate records were not removed: copies of a record were screened as well.")
    elif flow.duplicates:
        what = "a copy" if flow.duplicates == 1 else "copies"
        sentences.append(f"{_were(flow.duplicates)} removed as {what} of another record, of which one stayed.")
    else:
        sentences.append("No record was removed as a duplicate.")
    ineligible = total(flow.ineligible)
    if ineligible or (source is not None and source.initial_filter):
        which = f", under these rules: {_tallied(flow.ineligible)}" if ineligible else ""
        sentences.append(
            "An initial filter of fixed rules on titles, abstracts and dates, which asks no language model, marked "
            f"{_records_n(ineligible)} as ineligible{which}."
        )
    else:
        sentences.append("No initial filter was used.")
    if flow.removed_otherwise:
        sentences.append(f"{_were(flow.removed_otherwise)} removed without a recorded reason.")
    off = () if source is None else tuple(f"{_spaced(rule)}: {why}" for rule, why in source.switched_off.items())
    if off:
        sentences.append("These rules of the initial filter were switched off:")
    return Paragraph("Before screening", " ".join(sentences), off)


def _stage(figures: Figures, batch: BatchFigures, number: int) -> tuple[Paragraph, Paragraph]:
    """Return the paragraphs on the questions, the model, the prompts and the dates."""
    stage = figures.flow.stages[number]
    noun = kind_of(batch.operation).report_noun
    sentences = [f"{_were(stage.entered)} put to a language model, each on its own."]
    if stage.admitted:
        sentences.append(f"Of these, {_records_n(stage.admitted)} had not passed the stage before.")
    if stage.held_back:
        sentences.append(f"{_records_n(stage.held_back)} passed the stage before and did not enter this one.")
    if batch.criteria is not None:
        questions, listed = _screening(batch, batch.criteria)
        sentences += questions
    elif batch.operation == operation_name(Filter):
        listed = []
        sentences.append(f"It answered one question with yes or no: “{batch.parameters.get('criteria', '')}”")
    else:
        sentences.append(f"The operation was the {noun}; its parameters:")
        parameters = {
            name: value for name, value in batch.parameters.items() if name != "operation" and value is not None
        }
        listed = [f"{_spaced(name)}: {_plain(value)}" for name, value in parameters.items()]
    heading = "Screening" if kind_of(batch.operation).decides() else noun[0].upper() + noun[1:]
    place = f" (stage {number + 1})" if len(figures.batches) > 1 else ""
    how = " ".join([_model(batch), _cache(batch), *_cut(batch), _period(batch), costs(batch.spending), _prompts(batch)])
    return Paragraph(f"{heading}{place}", " ".join(sentences), tuple(listed)), Paragraph(
        f"Model and prompts{place}", how
    )


def _screening(batch: BatchFigures, criteria: SearchCriteria) -> tuple[list[str], list[str]]:
    """Sentences and criteria of an inclusion."""
    sentences = [
        f"The research question was: “{criteria.research_question}” For each criterion below the model gave a verdict "
        "(met, not met, not met by silence or unclear) with a quote from the record where one speaks to it, and then a "
        "decision: include, exclude or uncertain. "
        "The software looked for each quote in the record and compared it word by word; a quote that is not there, or "
        "that differs in a number, a unit, a negation or another word of content (altered), flags the record and "
        "lowers its confidence. The exclusion reason is the first criterion that excluded the record."
    ]
    for policies, name in ((_POLICIES, "unclear"), (_UNVERIFIED, "unverified")):
        policy = policies.get(str(batch.parameters.get(name)))
        if policy is not None:
            sentences.append(policy)
    if criteria.examples:
        sentences.append(_examples(criteria, batch.parameters.get("examples_from")))
    listed = [_criterion(one) for one in criteria.labelled()]
    if criteria.purpose:
        listed.append(f"Purpose: {criteria.purpose}")
    if criteria.date_range is not None:
        listed.append(f"Publication years: {criteria.date_range[0]} to {criteria.date_range[1]}")
    if criteria.custom_keywords:
        listed.append(
            f"Keywords that the initial filter excludes besides its own: {', '.join(criteria.custom_keywords)}"
        )
    return sentences, listed


def _criterion(one: Criterion) -> str:
    worded = f" [excludes as: {one.exclude_as}]" if one.exclude_as else ""
    return f"{one.label}{' (excludes)' if one.excludes else ''}: {one.text}{worded}"


def _examples(criteria: SearchCriteria, chosen_from: object) -> str:
    decisions = [example.decision for example in criteria.examples]
    source = "of the criteria" if chosen_from is None else f"of what people decided in batch {chosen_from}"
    return (
        f"With every record the model was shown the same {len(decisions)} worked examples {source}: "
        f"{decisions.count('include')} included, {decisions.count('exclude')} excluded."
    )


def _model(batch: BatchFigures) -> str:
    wanted = "none by name (the workers' own)" if batch.model_asked is None else f"“{batch.model_asked}”"
    if not batch.models:
        return f"The model asked for was {wanted}; no answer names a model yet."
    named = ", ".join(f"“{model}” ({_records_n(n)})" for model, n in batch.models.items())
    return f"The model, as the endpoint named it in its answers, was {named}; the model asked for was {wanted}."


def _cache(batch: BatchFigures) -> str:
    if not batch.use_cache:
        return "Every question was asked anew."
    return (
        "A question identical to one answered before was not asked again; its earlier answer was taken "
        f"({_records_n(batch.spending.cached)})."
    )


def _cut(batch: BatchFigures) -> list[str]:
    if not batch.spending.cut:
        return []
    return [
        f"{_records_n(batch.spending.cut).capitalize()} were too long to be sent whole: the model was shown the "
        "beginning of their longest fields, was told so, and each of them names what was left out."
    ]


def _period(batch: BatchFigures) -> str:
    sent = f"Batch {batch.id} was submitted on {_moment(batch.created_at)}"
    if batch.first_result_at is None or batch.last_result_at is None:
        return f"{sent}; no result is recorded yet."
    first, last = _moment(batch.first_result_at), _moment(batch.last_result_at)
    again = f" in {batch.round} rounds" if batch.round > 1 else ""
    return f"{sent}; results were recorded from {first} to {last}{again}."


def _prompts(batch: BatchFigures) -> str:
    hashed = (
        "The SHA-256 of the operation's parameters (as JSON with sorted names, without spaces, in UTF-8) is "
        f"{batch.prompts.parameters_sha256}."
    )
    if batch.prompts.sha256 is None:
        return hashed
    return (
        f"{hashed} The SHA-256 of the prompts is {batch.prompts.sha256}: it is taken over the own prompt hashes of "
        f"{_records_n(batch.prompts.records)}, one a line in the order of the records, and each of those is the "
        "SHA-256 of model, messages (the system message among them), response schema and sampling parameters as they "
        "were sent. Temperature and the other sampling parameters are settings of the workers; the ledger holds them "
        "in these hashes, and in the transcript of each record where transcripts were kept."
    )


def _disclosure(figures: Figures) -> str:
    flow = figures.flow
    stage, quotes = flow.stages[0], figures.screening.quotes
    removed = flow.duplicates + total(flow.ineligible)
    excluded = sum(total(each.excluded) for each in flow.stages)
    referred = sum(each.referred for each in flow.stages)
    sentences = [f"{_were(removed)} removed by software before screening (duplicates and the initial filter)."]
    if kind_of(stage.operation).decides():
        alone = stage.passed - stage.passed_by_human
        sentences.append(f"A language model alone excluded {_records_n(excluded)} and included {_records_n(alone)}.")
        humans = _humans(figures)
        if not any(batch.humans.decided for batch in figures.batches):
            humans.insert(0, "No human decision is recorded here, so the number of records excluded by a human is 0.")
        sentences += humans
        if referred:
            sentences.append(
                f"{_were(referred)} neither included nor excluded, because the decision was not clear or because of an "
                "error: a human has to decide."
            )
        if unverified := sum(each.unverified for each in flow.stages):
            sentences.append(f"Of these, the model excluded {_records_n(unverified)} without a verified quote.")
        other = "other " if any(batch.humans.decided or batch.humans.audits for batch in figures.batches) else ""
        sentences.append(
            f"Whether and how reviewers checked the model's {other}decisions, those to include and those to exclude "
            "alike, is not known to the software and has to be reported beside this text."
        )
    else:
        humans = _humans(figures)
        none = "" if humans else "; no human decision is recorded here"
        sentences += [f"Results were given by a language model{none}.", *humans]
    if quotes.given:
        sentences.append(
            f"Quotes that the model gave: {quotes.given:,}; found in the record: {quotes.found:,}, altered: "
            f"{quotes.altered:,}, not found: {quotes.missing:,}; "
            f"{_were(quotes.flagged)} flagged for it."
        )
    return " ".join(sentences)


def _humans(figures: Figures) -> list[str]:
    """Return people's decisions, stage by stage, and the findings of audits of exclusions."""
    sentences = []
    for number, batch in enumerate(figures.batches, 1):
        humans, stage = batch.humans, figures.flow.stages[number - 1]
        place = f" of stage {number}" if len(figures.batches) > 1 else ""
        if humans.decided:
            sentences.append(
                f"Humans ({', '.join(humans.reviewers)}) decided about {_records_n(humans.decided)}{place}: they "
                f"confirmed the software in {humans.confirmed:,}, decided otherwise in {humans.reversed:,}, and "
                f"decided {humans.settled:,} that it had not. Their decisions count in the flow, and the software's "
                "stand beside them."
            )
            if kind_of(batch.operation).decides():
                sentences.append(
                    f"By these decisions {_were(stage.excluded_by_human)} excluded by a human, and "
                    f"{_records_n(stage.passed_by_human)} included."
                )
        sentences += [audit.verdict.sentence for audit in humans.audits]
    return sentences


def _software(figures: Figures) -> str:
    return (
        f"{figures.software} wrote this report on {_moment(figures.read_at)}; all numbers are counted from one "
        "snapshot of its ledger. The version of the software that asked the model is not recorded."
    )


def _records_n(n: int) -> str:
    return "1 record" if n == 1 else f"{n:,} records"


def _were(n: int) -> str:
    return "1 record was" if n == 1 else f"{n:,} records were"


def _records_have(n: int) -> str:
    return "1 record has" if n == 1 else f"{n:,} records have"


def _tallied(tallies: tuple[Tally, ...]) -> str:
    return ", ".join(f"{_spaced(tally.name)} ({tally.n:,})" for tally in tallies)


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} {moment:%Z}".strip()


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: object) -> str:
    """A parameter in a line: text as it is, anything else as JSON."""
    text = shown_text(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
