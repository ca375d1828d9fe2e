"""The methods of one stage in sentences: question, model, prompts and cost."""

from collections.abc import Iterator
from dataclasses import dataclass

from tamis_schemas import Criterion, Filter, SearchCriteria, dollars
from tamis_schemas.operations import kind_of, operation_name

from ..quality.panel_figures import PanelFigures
from ..quality.panel_words import POLICIES
from .figures import BatchCosts, BatchFigures, Figures
from .wording import moment, plain, records_n, spaced, were


@dataclass(frozen=True)
class Paragraph:
    """A paragraph under a heading, followed by a list of lines."""

    heading: str
    text: str
    listed: tuple[str, ...] = ()


_VERDICTS = (
    "For each criterion below, the model gave a verdict (met, not met, not met by silence or unclear), with a quote "
    "from the record if there was one. It then gave a decision: include, exclude or uncertain. The software searched "
    "the record for each quote and compared it word by word. A quote that was not found, or that differed in a number, "
    "unit, negation or other content word (altered), flagged the record and lowered its confidence. The exclusion "
    "reason was the first criterion that excluded the record."
)
_POLICIES = {
    "include": "An unclear criterion neither excluded a record nor prevented its inclusion (recall first).",
    "refer": "A record with an unclear criterion was uncertain and was referred to a human.",
    "exclude": "An unclear inclusion criterion counted as not met (precision first).",
}
_UNVERIFIED = {
    "refer": "A record was excluded only if the quote for the deciding criterion was found in it, or the verdict "
    "needed no quote. Other exclusions by the model were referred to a human.",
    "exclude": "An exclusion counted even if no quote for it was found in the record.",
}


def costs(spending: BatchCosts) -> str:
    """Return a sentence on the cost of the answers. Add a sentence on possibly unbilled costs if there are any."""
    unbilled = f" Possibly unbilled: {spending.unbilled_words}." if spending.possibly_unbilled else ""
    return _paid(spending) + unbilled


def stage_paragraphs(figures: Figures, batch: BatchFigures, number: int) -> tuple[Paragraph, Paragraph]:
    """Return two paragraphs on a stage: one on the questions, and one on the model, the prompts and the dates.

    `batch`: the figures of the stage. `number`: the stage's position among the stages, from 0.
    """
    stage = figures.flow.stages[number]
    noun = kind_of(batch.operation).report_noun
    sentences = [f"{were(batch.counts.decided + batch.counts.failed)} submitted to a language model, each separately."]
    if stage.admitted:
        sentences.append(f"Of these, {records_n(stage.admitted)} had not passed the previous stage.")
    if stage.held_back:
        sentences.append(f"{records_n(stage.held_back)} passed the previous stage but did not enter this one.")
    if batch.criteria is not None:
        questions, listed = _screening(batch, batch.criteria)
        sentences += questions
    elif batch.operation == operation_name(Filter):
        listed = []
        opening = "The model answered one question with yes or no" if batch.counts.decided else "The question was"
        sentences.append(f"{opening}: “{batch.parameters.get('criteria', '')}”")
    else:
        sentences.append(f"The operation was {noun}, with these parameters:")
        listed = [
            f"{spaced(name)}: {plain(value)}"
            for name, value in batch.parameters.items()
            if name != "operation" and value is not None
        ]
    heading = "Screening" if kind_of(batch.operation).decides() else noun[0].upper() + noun[1:]
    place = f" (stage {number + 1})" if len(figures.batches) > 1 else ""
    changed = () if batch.snapshots is None else batch.snapshots.sentences
    how = " ".join(
        [_model(batch), *changed, _cache(batch), *_cut(batch), _period(batch), costs(batch.spending), _prompts(batch)]
    )
    question = Paragraph(f"{heading}{place}", " ".join(sentences), tuple(listed))
    return question, Paragraph(f"Model and prompts{place}", how)


def _paid(spending: BatchCosts) -> str:
    if not spending.calls:
        return "No call was paid for."
    if spending.unpriced and not spending.cost:
        return "The cost of the calls is not known."
    missing = f", without {records_n(spending.unpriced)} of unknown price" if spending.unpriced else ""
    return f"At the prices known to the software, the calls cost {dollars(spending.cost)} (US dollars){missing}."


def _screening(batch: BatchFigures, criteria: SearchCriteria) -> tuple[list[str], list[str]]:
    sentences = [f"The research question was: “{criteria.research_question}”"]
    if batch.counts.decided:
        policies = ((_POLICIES, "unclear"), (_UNVERIFIED, "unverified"))
        sentences += [_VERDICTS, *(words.get(str(batch.parameters.get(name)), "") for words, name in policies)]
        if criteria.examples:
            sentences.append(_examples(criteria, batch.parameters.get("examples_from")))
    listed = [_criterion(criterion) for criterion in criteria.labelled()]
    if criteria.purpose:
        listed.append(f"Purpose: {criteria.purpose}")
    if criteria.date_range is not None:
        listed.append(f"Publication years: {criteria.date_range[0]} to {criteria.date_range[1]}")
    if criteria.custom_keywords:
        listed.append(f"Additional exclusion keywords of the initial filter: {', '.join(criteria.custom_keywords)}")
    return [sentence for sentence in sentences if sentence], listed


def _criterion(criterion: Criterion) -> str:
    worded = f" [exclusion reason: {criterion.exclude_as}]" if criterion.exclude_as else ""
    return f"{criterion.label}{' (excludes)' if criterion.excludes else ''}: {criterion.text}{worded}"


def _examples(criteria: SearchCriteria, chosen_from: object) -> str:
    decisions = [example.decision for example in criteria.examples]
    source = "from the criteria" if chosen_from is None else f"from people's decisions in batch {chosen_from}"
    return (
        f"With each record, the model received the same {len(decisions)} worked examples {source}: "
        f"{decisions.count('include')} included, {decisions.count('exclude')} excluded."
    )


def _model(batch: BatchFigures) -> str:
    if batch.panel is not None:
        return _panel(batch, batch.panel)
    wanted = "The workers' default model" if batch.model_asked is None else f"The model “{batch.model_asked}”"
    if not batch.models:
        return f"{wanted} was requested; no answer names a model yet."
    named = ", ".join(f"“{model}” ({records_n(n)})" for model, n in batch.models.items())
    return f"{wanted} was requested; the endpoint's answers named {named}."


def _panel(batch: BatchFigures, panel: PanelFigures) -> str:
    named = "; ".join(f"“{models}” ({records_n(n)})" for models, n in batch.models.items())
    listed = ", ".join(f"“{model}”" for model in panel.models)
    if not named:
        return f"A panel of {len(panel.models)} models was requested: {listed}; no answer names a model yet."
    judged = f"Each record was judged by a panel of {len(panel.models)} models: {listed}. "
    policy = f"{POLICIES[panel.policy]} A model that failed had no vote and never counted as an exclusion."
    return f"{judged}The endpoint's answers named {named}. {policy}"


def _cache(batch: BatchFigures) -> str:
    if not batch.use_cache:
        return "No cached answer was used."
    return (
        "If an identical question had been answered before, the earlier answer was used "
        f"({records_n(batch.spending.cached)})."
    )


def _cut(batch: BatchFigures) -> Iterator[str]:
    if batch.spending.cut:
        yield (
            f"{were(batch.spending.cut)} too long to be sent in full. The model received the beginning of the longest "
            "fields and was told so; each record names the omitted text."
        )


def _period(batch: BatchFigures) -> str:
    sent = f"Batch {batch.id} was submitted on {moment(batch.created_at)}"
    if batch.first_result_at is None or batch.last_result_at is None:
        return f"{sent}; no result is recorded yet."
    first, last = moment(batch.first_result_at), moment(batch.last_result_at)
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
        f"{hashed} The SHA-256 of the prompts is {batch.prompts.sha256}. It was computed over the prompt hashes of "
        f"{records_n(batch.prompts.records)}, one per line in record order. Each of these is the SHA-256 of model, "
        "messages (including the system message), response schema and sampling parameters as sent. Temperature and "
        "the other sampling parameters are settings of the workers. They are recorded only in these hashes and, if "
        "transcripts were kept, in the transcript of each record."
    )
