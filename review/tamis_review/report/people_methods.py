"""What people and what software decided, in sentences: for the disclosure that reporting guidelines ask for."""

from tamis_schemas import HumanStage
from tamis_schemas.batches.flow import total
from tamis_schemas.operations import kind_of

from ..decisions.human_agreement import PairAgreement, two_places
from .figures import BatchFigures, Figures, HumanFigures
from .paragraph import Paragraph
from .wording import listed, records_n, small, tallied, were


def disclosure(figures: Figures) -> str:
    """Who decided about how many records, and what is not known of that."""
    flow = figures.flow
    stage, quotes = flow.stages[0], figures.screening.quotes
    removed = flow.duplicates + total(flow.ineligible)
    excluded = sum(total(each.excluded) - each.excluded_confirmed for each in flow.stages)
    referred = sum(each.referred for each in flow.stages)
    sentences = [f"{were(removed)} removed by software before screening (duplicates and the initial filter)."]
    if kind_of(stage.operation).decides():
        alone = stage.passed - stage.passed_by_human - stage.passed_confirmed
        sentences.append(f"A language model alone excluded {records_n(excluded)} and included {records_n(alone)}.")
        humans = _humans(figures)
        if not any(batch.humans.decided for batch in figures.batches):
            humans.insert(0, "No human decision is recorded here, so the number of records excluded by a human is 0.")
        sentences += humans
        if referred:
            sentences.append(
                f"{were(referred)} neither included nor excluded, because the decision was not clear or because of an "
                "error: a human has to decide."
            )
        if unverified := sum(each.unverified for each in flow.stages):
            sentences.append(f"Of these, the model excluded {records_n(unverified)} without a verified quote.")
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
            f"{were(quotes.flagged)} flagged for it."
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
                f"Humans ({', '.join(humans.reviewers)}) decided about {records_n(humans.decided)}{place}: they "
                f"confirmed the software in {humans.confirmed:,}, decided otherwise in {humans.reversed:,}, and "
                f"decided {humans.settled:,} that it had not. Their decisions count in the flow, and the software's "
                "stand beside them."
            )
            if kind_of(batch.operation).decides():
                sentences.append(
                    f"By these decisions {were(stage.excluded_by_human)} excluded by a human, and "
                    f"{records_n(stage.passed_by_human)} included."
                )
        sentences += [*_between_people(batch, HumanStage.OWN), *_conflicts(humans)]
        sentences += [audit.verdict.sentence for audit in humans.audits]
    return sentences


def _between_people(batch: BatchFigures, stage: HumanStage) -> list[str]:
    """Return how far each two people agree who decided about the same records of a stage."""
    people = () if batch.humans.agreement is None else batch.humans.agreement.people
    return [_agree(pair) for pair in people if pair.stage is stage]


def _agree(pair: PairAgreement) -> str:
    found = pair.agreement
    same = round(found.n * (found.observed or 0))
    kappa = ""
    if found.kappa is not None:
        kappa = f" (Cohen's kappa {two_places(found.kappa)}"
        if found.kappa_low is not None and found.kappa_high is not None:
            low, high = two_places(found.kappa_low), two_places(found.kappa_high)
            kappa += f", {found.level:.0%} interval {low} to {high}"
        kappa += ")"
    return f"{pair.first} and {pair.second} both decided about {records_n(found.n)} and agreed on {same:,}{kappa}."


def _conflicts(humans: HumanFigures) -> list[str]:
    """Return how what people decided differently was settled, and what is open."""
    sentences = []
    if humans.resolved:
        who = listed(humans.resolvers)
        sentences.append(f"On {records_n(humans.resolved)} a decision of {who} counts before those of the others.")
    if humans.conflicts:
        sentences.append(f"On {records_n(humans.conflicts)} people decided differently, and nobody has settled it yet.")
    return sentences


def full_texts(figures: Figures) -> tuple[Paragraph, ...]:
    """The paragraph on the reports that people sought and assessed; none where they have not begun."""
    reports = figures.flow.reports
    if reports is None:
        return ()
    people = listed(figures.report_reviewers)
    sentences = [
        f"{_reports(reports.sought)} sought for retrieval. No language model was asked about retrieval or full texts: "
        f"{people} decided.",
    ]
    if lost := total(reports.not_retrieved):
        sentences.append(f"{_reports(lost)} not retrieved ({tallied(reports.not_retrieved)}).")
    sentences.append(f"{_reports(reports.assessed)} assessed for eligibility.")
    screening = figures.batches[figures.flow.screening or 0]
    sentences += _between_people(screening, HumanStage.FULL_TEXT)
    if excluded := total(reports.excluded):
        sentences.append(f"{_reports(excluded)} excluded: {tallied(reports.excluded)}.")
    if reports.included:
        sentences.append(
            f"{small(reports.studies, 'study', 'studies').capitalize()} with {small(reports.included, 'report')} "
            f"{'was' if reports.studies == 1 else 'were'} included."
        )
    else:
        sentences.append("No study is included.")
    if reports.open:
        parts = (
            (reports.awaited, "of which nobody has said whether they were retrieved"),
            (reports.unassessed, "retrieved and not assessed"),
            (reports.conflicts, "on which reviewers disagree"),
            (reports.uncertain, "left open by a reviewer"),
        )
        still = "1 report is" if reports.open == 1 else f"{reports.open:,} reports are"
        sentences.append(f"{still} not decided about yet: {listed([f'{n:,} {what}' for n, what in parts if n])}.")
    return (Paragraph("Retrieval and full texts", " ".join(sentences)),)


def _reports(n: int) -> str:
    return "1 report was" if n == 1 else f"{n:,} reports were"
