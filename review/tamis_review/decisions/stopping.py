"""When people may stop reading: a certificate from random samples, an estimate, and the includes expected next.

This module writes nothing; `stop_samples` draws samples. The answer has a one-line verdict, a sentence for each figure,
and sentences for the methods section.
"""

from collections.abc import Collection, Iterator
from uuid import UUID

from sqlalchemy import Connection, select

from tamis_producer.ledger.overrides import read_operation_name
from tamis_producer.ledger.stop_samples import read_frames
from tamis_schemas import (
    DoubleReading,
    StopAnswer,
    StopEstimate,
    StopFigure,
    StopPrice,
    StopSample,
    StopVerdict,
)
from tamis_schemas.ledger import batches
from tamis_schemas.operations import check_decides

from ..quality.certificate import Reading, certify, price_list
from ..quality.estimates import RECENT, expected_from_yield, missed_recall_p
from .final_outcome import Outcome
from .stop_samples import (
    MEASURABLE,
    next_number,
    promise_of,
    read_reading_state,
    reading_of,
    samples_of,
    seen_audits,
)

ESTIMATOR = "the sequential hypergeometric test of Callaghan and Müller-Hansen (2020)"
# From `python -m benchmarks.certificates`: reviews whose late includes have an area under the ROC curve of 0.2 or 0.3.
DRIFT = "If a tenth of the includes ranks below other records, it is right in only 13 to 53% of simulated reviews."
_CHOSEN = "The first reader's decisions decided which records the second one read."


def in_words(answer: StopAnswer) -> StopAnswer:
    """Return the answer with headline, figures and methods as sentences.

    If the recall is out of reach, `answer.headline` must contain the reason.
    """
    return answer.model_copy(
        update={
            "headline": _headline(answer),
            "figures": tuple(_figures(answer)),
            "methods": methods_sentence(answer) if answer.verdict is StopVerdict.ENOUGH else None,
        }
    )


def methods_sentence(answer: StopAnswer) -> str:
    """Return sentences on the method and the result so far, for a methods section."""
    of_all = f"{answer.read:,} of {records(answer.records)}"
    scope = " Includes of the earlier search do not count in this update." if answer.updates else ""
    if not answer.unread:
        return f"Reviewers read all {records(answer.records)} and included {answer.found:,}.{scope}"
    share = _share(answer.read, answer.records)
    sentences = [f"Reviewers read {of_all} ({share}) and included {answer.found:,}.{scope}"]
    sentences += map(_drawn, answer.samples)
    promise = (
        f"With {percent(answer.confidence)} confidence, at most {answer.missed:,} of the {answer.unread:,} unread "
        "records would be included"
    )
    if answer.promised >= answer.recall:
        promise += f", so at least {percent(answer.promised, down=True)} of all includes were found"
    else:
        promise += f", so the wanted recall of {percent(answer.recall)} was not yet reached"
    basis = "exact hypergeometric bound, valid for repeated looks" if answer.samples else "a count"
    sentences.append(f"{promise} ({basis}).")
    if answer.miss_rate is not None and answer.double_reading is not None:
        sentences.append(_overlooked(answer.double_reading, answer.miss_rate))
    else:
        sentences.append("This figure does not cover includes that reviewers overlooked in records that they read.")
    return " ".join(sentences)


def percent(share: float, *, down: bool = False) -> str:
    """Return a share (0 to 1) as text: `95%`, `97.3%`. `down`: never round up."""
    tenths = share * 1_000
    shown = (int(tenths + 1e-9) if down else round(tenths)) / 10
    return f"{shown:g}%"


def records(n: int) -> str:
    """Return a number of records as text: `1 record`, `2,695 records`."""
    return "1 record" if n == 1 else f"{n:,} records"


def _headline(answer: StopAnswer) -> str:
    wanted = f"{percent(answer.recall)} of the includes"
    if answer.verdict is StopVerdict.IMPOSSIBLE:
        return f"Cannot be promised, because {answer.headline}."
    if answer.verdict is StopVerdict.ENOUGH:
        if not answer.unread:
            return "Enough: every record is read."
        return f"Enough: at least {wanted} are found, with {percent(answer.confidence)} confidence."
    if answer.needed[0] >= answer.unread:
        rest = "the last unread record" if answer.unread == 1 else f"all {answer.unread:,} unread records"
        return f"Not yet: only reading {rest} can promise {wanted}."
    single = answer.needed[0] == 1
    enough = "is enough if it is not an include" if single else "are enough if they contain no further include"
    if answer.sample is None:
        return (
            f"Not yet: draw a random sample of the {answer.unread:,} unread records. {answer.needed[0]:,} of them "
            f"{enough}."
        )
    return f"Not yet: read {answer.needed[0]:,} more of the sample. {'It' if single else 'They'} {enough}."


def _figures(answer: StopAnswer) -> Iterator[StopFigure]:
    rest = f"{answer.unread:,} are unread" if answer.unread > 1 else f"{answer.unread or 'none'} is unread"
    excluded = {"that rules excluded": answer.excluded_by_rules, "that the model excluded": answer.excluded_by_model}
    if left := " and ".join(f"{n:,} {words}" for words, n in excluded.items() if n):
        rest += f", including {left}"
    yield StopFigure(
        name="read by people",
        value=f"{answer.read:,} of {answer.records:,} ({_share(answer.read, answer.records)})",
        meaning=f"Records with a human decision count as read. Without duplicates, {rest}.",
    )
    meaning = "The records that people have included."
    if answer.updates:
        meaning += f" Includes of the updated search (batch {answer.updates}) do not count here."
    yield StopFigure(name="includes found", value=f"{answer.found:,}", meaning=meaning)
    if answer.conflicts or answer.uncertain:
        yield StopFigure(
            name="read and still open",
            value=f"{answer.conflicts:,} in conflict, {answer.uncertain:,} uncertain",
            meaning="They count as unread until a person settles or decides them.",
        )
    yield from map(_sample, answer.samples)
    yield StopFigure(
        name="promised now",
        value=f"at least {percent(answer.promised, down=True)} of the includes are found",
        meaning=f"The certificate, with {percent(answer.confidence)} confidence. It holds for any reading order and "
        "any number of checks.",
    )
    if answer.unread:
        yield StopFigure(
            name="missed",
            value=f"at most {answer.missed:,} of the {answer.unread:,} unread",
            meaning="With the same confidence, no more would be included if you read them all.",
        )
    if answer.needed:
        none, *further = answer.needed
        yield StopFigure(
            name="to read for the promise",
            value=f"{none:,} of the sample; {', '.join(f'{n:,}' for n in further)} if it has one, two, three includes",
            meaning="A further include in the sample counts as found, but there may then be more of them.",
        )
    if answer.double_reading is not None:
        yield _people(answer, answer.double_reading)
    yield _expected_figure(answer)
    yield _estimator_figure(answer.estimate)


def _sample(sample: StopSample) -> StopFigure:
    behind = sample.drawn - sample.read - len(sample.waiting)
    gap = f"; {behind:,} more after the first unread one" if behind else ""
    stale = f" It may be stale: {_changed(sample)} Reread it, or close it and draw another." if sample.changed else ""
    return StopFigure(
        name=f"sample {sample.number}" + ("" if sample.closed_at is None else " (closed)"),
        value=f"{sample.read:,} of {sample.drawn:,} drawn are read{gap}, {sample.found:,} included; drawn from "
        f"{sample.population:,} with seed {sample.seed}",
        meaning="This random sample represents all records unread when it was drawn. Its records count in order, up to "
        f"the first unread one.{stale}",
    )


def _people(answer: StopAnswer, double: DoubleReading) -> StopFigure:
    value = f"{double.missed_by_one:,} of {double.includes:,} includes missed by one"
    why = "" if double.counts else f", by your choice or because fewer than {MEASURABLE} includes of two readers count"
    meaning = f"The promise ignores overlooked includes{why}: it covers records that your reviewers would include."
    if answer.miss_rate is not None:
        meaning = f"The promise allows for up to {percent(answer.miss_rate)} overlooked includes."
    if double.selected:
        value = f"the second reader missed {double.missed_by_one:,} of the first one's {double.includes:,} includes"
        meaning = f"{_CHOSEN} Only the second reader's rate can be measured. {meaning}"
    if double.selected and double.includes < MEASURABLE:
        value = "not measured"
    return StopFigure(name="read by two", value=f"{records(double.records)}; {value}", meaning=meaning)


def _expected_figure(answer: StopAnswer) -> StopFigure:
    expected = answer.expected
    if not expected.records:
        value = "nothing is left to read"
    elif answer.estimate.together:
        value = f"not known: {_unordered(answer.estimate)}"
    elif expected.expected is None:
        value = "unknown until records are read"
    else:
        value = f"about {expected.expected:.1f} ({expected.low:.1f} to {expected.high:.1f}), if the yield stays"
    return StopFigure(
        name=f"includes in the next {expected.records:,}",
        value=value,
        meaning=f"By the yield of the last {RECENT} records read; not a promise. In a good order, the next records "
        "contain fewer.",
    )


def _estimator_figure(estimate: StopEstimate) -> StopFigure:
    value = f"not known: {_unordered(estimate)}"
    if estimate.p is not None:
        value = f"p = {estimate.p:.3f}: it {'would stop' if estimate.stops else 'would read on'}"
    return StopFigure(
        name="estimator",
        value=value,
        meaning=f"An estimate, not a promise, by {ESTIMATOR}. It assumes that the unread records are no richer in "
        f"includes than the records read last. {DRIFT}",
    )


def _unordered(estimate: StopEstimate) -> str:
    return f"{estimate.together:,} decisions were recorded at one moment, so the reading order is not known"


def _changed(sample: StopSample) -> str:
    return f"after it was drawn, people changed their decisions on {records(sample.changed)}."


def _drawn(sample: StopSample) -> str:
    return (
        f"A simple random sample was drawn without replacement from {records(sample.population)} unread on "
        f"{sample.created_at:%Y-%m-%d} (sample {sample.number}, seed {sample.seed}, in the order of the SHA-256 of "
        f"seed and record). Its first {sample.read:,} were read, and {sample.found:,} of them were included."
        + (f" {_changed(sample).capitalize()}" if sample.changed else "")
    )


def _overlooked(double: DoubleReading, rate: float) -> str:
    read, missed = ("two reviewers read independently", "one")
    if double.selected:
        read, missed = ("a first reviewer included and a second one read independently", "the second")
    return (
        f"The bound allows for overlooked includes: of {double.includes:,} includes that {read}, "
        f"{double.missed_by_one:,} were missed by {missed}, so at most {percent(rate)} of the includes were overlooked"
        f"{', if others overlooked no more than the second reviewer' if double.selected else ''}."
    )


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "none"


def read_stop(
    connection: Connection,
    batch_id: UUID,
    recall: float | None = None,
    confidence: float | None = None,
    *,
    human_errors: bool = True,
    priced: bool = True,
    hidden: Collection[int] = frozenset(),
) -> StopAnswer:
    """Return whether people may stop reading with this recall and confidence, or how much they must still read.

    Args:
        recall: the wanted share of all includes. None: as for the last sample, or 0.95 if there is no sample.
        confidence: the wanted confidence. None: as for the last sample, or 0.95 if there is no sample.
        human_errors: also count the includes that people overlook, if two people decided enough of the same records.
        priced: add how many more records people must read for several recalls and confidences. This takes longest.
        hidden: indexes of records whose decisions the caller must not see yet. These records count as unread.

    Raises:
        InvalidParameters: an invalid recall or confidence.
        InvalidRequest: the batch decides about no records.
    """
    operation = read_operation_name(connection, batch_id)
    check_decides(batch_id, operation, "A promise of recall")
    state = read_reading_state(connection, batch_id, operation, hidden)
    frames = read_frames(connection, batch_id)
    promise = promise_of(frames, recall, confidence)
    number = next_number(frames, seen_audits(connection, batch_id, frames))
    reading = reading_of(state, frames, number, human_errors=human_errors)
    certificate = certify(reading, promise.recall, promise.confidence)
    double, in_order = state.double, state.in_order
    p = None if in_order is None else missed_recall_p(in_order, state.records, promise.recall)
    updates = connection.execute(select(batches.c.updates).where(batches.c.id == batch_id)).scalar_one()
    return in_words(
        StopAnswer(
            **certificate.model_dump(exclude={"reason"}),
            batch_id=str(batch_id),
            headline=certificate.reason or "",
            records=state.records,
            read=state.read,
            conflicts=len(state.conflicts),
            uncertain=len(state.uncertain),
            excluded_by_rules=state.unread_by_software[Outcome.INELIGIBLE],
            excluded_by_model=state.unread_by_software[Outcome.EXCLUDED],
            double_reading=double and double.model_copy(update={"counts": double.counts and human_errors}),
            estimate=StopEstimate(p=p, stops=p is not None and p < 1 - promise.confidence, together=state.together),
            expected=expected_from_yield(in_order or (), len(state.unread)),
            prices=_prices(reading) if priced else (),
            samples=samples_of(connection, batch_id, frames, state),
            updates=None if updates is None else str(updates),
        )
    )


def _prices(reading: Reading) -> tuple[StopPrice, ...]:
    """Return how many more records people must read, for several recalls and confidences.

    The newest sample predicts the number of unread includes. The number is unknown until people have read a record of
    this sample.
    """
    frame = reading.frames[-1]
    return price_list(reading, frame.found / frame.read * reading.unread if frame.read else None)
