"""A batch as its submitter holds it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeAlias
from uuid import UUID

from tamis_schemas import (
    Audit,
    BatchPaused,
    Counts,
    ErrorKind,
    HumanStage,
    InvalidParameters,
    InvalidRequest,
    Item,
    ItemResult,
    NextRecords,
    Operation,
    Override,
    Priority,
    ReadingBy,
    RemarkKind,
    RetryBias,
    ScreeningMode,
    ScreeningModeSet,
    StopAnswer,
    Stratum,
    Summary,
    WaitTimeout,
)
from tamis_schemas.values.checked_generic import V_co

from .. import ledger
from ..ledger.batch_view import BatchView
from ..process.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

    from ..decisions.conflicts import Conflict
    from ..decisions.decision_words import NamedWords
    from ..decisions.foreign_columns import TableColumns
    from ..decisions.human_agreement import AgreementFigures
    from ..decisions.import_decisions import Imported
    from ..decisions.pilot_file import Pilot
    from ..decisions.record_overrides import HumanDecision
    from ..explanation import Explanation
    from ..intake.result_frames import FrameLibrary
    from ..ledger import HumanCounts
    from ..quality.gold_evaluation import GoldEvaluation
    from ..quality.gold_labels import Labels
    from ..quality.matching import Matched
    from ..quality.panel_figures import PanelFigures
    from ..quality.pilot import Calibrated
    from ..report import Figures, ReportForm
    from .session import Session


MaybeNone: TypeAlias = Any  # None before there is one: who has waited need not ask


class Batch(Generic[V_co]):
    """A handle on a batch in the ledger; any number may exist for one batch, in any process.

    A type checker knows what was submitted: a `Filter` makes a `Batch[bool]`, whose rows have a `value` of that type.
    """

    def __init__(self, session: Session, batch_id: UUID, *, replayed: bool = False) -> None:
        self._session = session
        self._id = batch_id
        self.replayed = replayed  # whether its submission found it: the idempotency key was used before

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""
        return str(self._id)

    def operation(self) -> Operation:
        """Return the operation that every item is put to. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_operation(connection, self._id)

    def api_key_id(self) -> str | None:
        """The gateway's key that it was submitted with; None: with none. Raises `LedgerUnavailable`."""
        from sqlalchemy import select

        from tamis_schemas.ledger import batches

        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            key_id: str | None = connection.execute(
                select(batches.c.api_key_id).where(batches.c.id == self._id)
            ).scalar_one()
        return key_id

    def status(self) -> BatchView:
        """Return the batch's present state. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_views(connection, batch_id=self._id)[0]

    def wait(self, timeout: float | None = None) -> Counts:
        """The counts, once the batch is completed, or cancelled and its last call has ended.

        A batch that somebody paused is waited for: somebody will resume it.

        Args:
            timeout: seconds to wait at most; None waits as long as it takes.

        Raises:
            BatchPaused: it cannot go on before somebody puts the reason right: a wrong key, a budget that is used up.
            WaitTimeout: it took longer; the batch goes on.
            LedgerUnavailable: the ledger does not answer.
        """
        return deque(self.watch(timeout), maxlen=1).pop().counts

    def watch(self, timeout: float | None = None) -> Iterator[BatchView]:
        """Yield the batch's state again and again (at first quickly, then every second), until `wait` would return.

        Raises as `wait` does.
        """
        for view in poll(self.status, timeout, self._session.waiting.sleep):
            yield view
            if view.finished:
                return
            if view.stuck is not None:
                raise BatchPaused(self.id, view.stuck)
        raise WaitTimeout(
            f"batch {self.id}: {view.counts.finished} of {view.counts.n_items} items done after {timeout:g} s; it goes "
            f"on: `tamis status {self.id} --watch` follows it"
        )

    def pause(self) -> None:
        """Begin no further item. Calls in flight are finished; what waits is pending again within seconds.

        Raises `IllegalTransition` where the batch is completed or cancelled, and `LedgerUnavailable`.
        """
        from ..runs import control

        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            control.pause(connection, self._id)

    def resume(self, max_cost: Decimal | None = None) -> None:
        """Go on where the batch was paused; a batch that runs goes on as it is.

        Args:
            max_cost: a new budget in dollars, of a batch that has one.

        Raises:
            InvalidParameters: the batch has no budget, or has used it up and gets no larger one; or no amount.
            NotAllowed: the gateway's key that it was submitted with leaves it no larger budget, or not its model.
            IllegalTransition: the batch is completed or cancelled.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..runs import control

        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            control.resume(connection, self._id, max_cost)
        self._session.dispatch(self._id)

    def cancel(self) -> None:
        """End the batch: what is pending is cancelled at once, calls in flight are finished and their results kept.

        Raises `IllegalTransition` where the batch is completed, and `LedgerUnavailable`.
        """
        from ..runs import control

        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            control.cancel(connection, self._id)
        self._session.request_summary(self._id)

    def set_priority(self, priority: Priority | str) -> None:
        """Go before, or behind, other batches from now on; effective on all workers within seconds.

        Raises `InvalidParameters` for a priority that there is not, `IllegalTransition` where the batch is completed or
        cancelled, and `LedgerUnavailable`.
        """
        from ..runs import control
        from ..runs.control import priority_of

        named = priority_of(priority)
        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            control.set_priority(connection, self._id, named)
        self._session.dispatch(self._id)

    def retry(
        self,
        kinds: Collection[ErrorKind | str] | None = None,
        *,
        cancelled: bool = False,
        max_cost: Decimal | None = None,
    ) -> int:
        """Begin a new round with exactly the failed items; how many. What is decided stays as it is.

        Args:
            kinds: only items that failed with one of these kinds of error; None: all.
            cancelled: with the items that were cancelled as well.
            max_cost: a new budget in dollars, of a batch that has one.

        Raises:
            IllegalTransition: the batch is neither completed nor cancelled, or its last calls are still in flight.
            InvalidRequest: there is no such item; the message names what there is.
            InvalidParameters: an unknown kind; or a budget that is none, or used up.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..runs import rounds

        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            count = rounds.retry(connection, self._id, kinds, cancelled, max_cost)
        self._session.dispatch(self._id)
        return count

    def later_stage(self) -> bool:
        """Return whether the next stage of its review has begun, into which the results of a retry do not follow.

        Raises `LedgerUnavailable`.
        """
        from ..runs import rounds

        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return rounds.later_stage(connection, self._id)

    def results(self, places: Collection[int] | None = None) -> Iterator[ItemResult[V_co]]:
        """Every item in item order, or those at some places; an item that is not terminal has no result yet.

        They are read in pages, as the reader comes to them, and nothing is held between two pages: each item is as it
        stands when its page is read, so while a batch runs a later page may be further than an earlier one.

        Raises `LedgerUnavailable`.
        """
        return ledger.page_results(self._session.engine, self._id, places)

    def to_judge(self) -> Iterator[Item]:
        """Yield an item for the `judge` operation for each result that explains itself; the batch must be finished.

        What a person decided, and a value that the record does not hold, is not judged.

        Raises `InvalidRequest` where the batch is not finished or no result has a reasoning, and `LedgerUnavailable`.
        """
        from ..submission.judge_items import judge_item

        view = self.status()
        if not view.finished:
            raise InvalidRequest(
                f"batch {self.id} is {view.state.value}: judge it when it is finished; "
                f"`tamis status {self.id} --watch` follows it"
            )
        found = False
        for row in self.results():
            if (item := judge_item(row)) is not None:
                found = True
                yield item
        if not found:
            raise InvalidRequest(
                f"batch {self.id} has no result with a reasoning: there is nothing to judge; "
                f"`tamis results {self.id}` shows what it has"
            )

    def frame(self, library: FrameLibrary | None = None) -> Any:
        """Every item with its result as a data frame: a row an item, in item order, the columns of `tamis results`.

        `value` and `final_value` have the type of the operation's values, the fields of an extraction are JSON text.
        `library` is `pandas`, `polars` or `arrow` (a `pyarrow.Table`); None: the first of these that is installed.

        Raises `InvalidParameters` for another one, `ConfigurationError` where it is not installed, `LedgerUnavailable`.
        """
        from ..intake.result_frames import frame_of

        return frame_of(self.results(), self.operation(), library)

    def explain(self, index: int) -> Explanation:
        """The whole story of one item: prompts as sent, answers, rules and formulas, human decisions, and the bill.

        Args:
            index: the item's place in the batch, from 0.

        Raises:
            InvalidParameters: the batch has no such place.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..explanation import read_explanation

        with ledger.ledger_errors(), self._session.snapshot() as connection:
            return read_explanation(connection, self._id, index)

    def item_ids(self) -> list[str]:
        """The ids of the items, in their order. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_item_ids(connection, self._id)

    def summary(self, round: int | None = None) -> Summary | MaybeNone:  # noqa: A002 - what it is called everywhere
        """The summary of a round, or of the latest finished one; None before there is one. Raises `LedgerUnavailable`.

        A summary counts the whole batch as it stood when its round ended; its bill is that of all rounds so far.
        """
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_summary(connection, self._id, round)

    def summaries(self) -> list[Summary]:
        """The summaries of all finished rounds, the first one first. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_summaries(connection, self._id)

    def failures(self) -> RetryBias:
        """Return the failures of each round, and their traits; empty where nothing ever failed.

        Raises `LedgerUnavailable`.
        """
        from ..runs.retry_bias import read_retry_bias

        with ledger.ledger_errors(), self._session.snapshot() as connection:
            return read_retry_bias(connection, self._id)

    def override(
        self,
        index: int,
        value: Any,
        *,
        reviewer: str,
        note: str | None = None,
        settles: bool = False,
        stage: HumanStage = HumanStage.OWN,
        reason: str | None = None,
        decision_id: UUID | None = None,
    ) -> Override:
        """Decide about one item, beside the model and never over it; what the reviewer has said of it now.

        It takes the place of the same reviewer's decision, and stands beside those of others: where they say otherwise
        and nobody settles it, none of them counts.

        Args:
            index: the item's place in the batch, from 0.
            value: what the operation would have given: `include`, `exclude` or `uncertain` (looked at, and left to
                others), True or False, a number of the scale, what is extracted (None: the record does not hold it), an
                object of fields. In the other stages one of their own: `retrieved` or `not retrieved`;
                `include`, `exclude` or `uncertain`.
            reviewer: who decides.
            note: why.
            settles: this one counts, whatever others say.
            stage: what is decided about: what the batch asks, whether the report could be had, its full text.
            reason: why it is excluded, or a report could not be had.
            decision_id: the caller's own: the same id again gives the same decision, and writes nothing.

        Raises:
            IdempotencyConflict: this id was another decision's.
            InvalidParameters: a value that the operation could not have given, an item that is not there, or no
                reviewer.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..decisions.record_overrides import HumanDecision

        decision = HumanDecision(
            index, value, reviewer, note, stage=stage, reason=reason, settles=settles, decision_id=decision_id
        )
        return self.decide([decision])[0]

    def withdraw_override(
        self, index: int, *, reviewer: str, note: str | None = None, stage: HumanStage = HumanStage.OWN
    ) -> Override:
        """Take back what a reviewer decided about one item; the software's decision, or others', counts again.

        Raises `InvalidParameters` where nothing of theirs stands, naming who decided; else as `override`.
        """
        from ..decisions.record_overrides import HumanDecision

        return self.decide([HumanDecision(index, None, reviewer, note, withdraw=True, stage=stage)])[0]

    def decide(self, decisions: Sequence[HumanDecision]) -> list[Override]:
        """Many decisions at once, all or none; what each reviewer has said of each item now, in the order given.

        Raises `RefusedDecision`, an `InvalidParameters` that says which one, and `LedgerUnavailable`.
        """
        from ..decisions import record_overrides

        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            return list(record_overrides.record(connection, self._id, decisions).overrides)

    def import_decisions(
        self,
        path: Path | str,
        *,
        reviewer: str | None = None,
        stage: HumanStage = HumanStage.OWN,
        settles: bool = False,
        columns: TableColumns | None = None,
        words: NamedWords | None = None,
        everything: str | None = None,
        dry_run: bool = False,
    ) -> Imported:
        """Record decisions made elsewhere: a table, or an export of Rayyan, Covidence or ASReview; all, or nothing.

        Records are found by id, DOI, PMID and title; what is not found, or might be several, is named and left out.
        The same file a second time adds nothing.

        Args:
            path: the file.
            reviewer: whose decisions they are; of a file that names several people, the one whose are read.
            stage: what they are about: what the batch asks, whether reports could be had, full texts.
            settles: they count, whatever others say.
            columns: names of the table's columns, where they are not to be guessed.
            words: what words of the file mean, besides those that are known.
            everything: include, exclude or uncertain: what every record of the file was decided to be.
            dry_run: say what would be recorded, and record nothing.

        Raises:
            InputError: the file cannot be read, or does not say where its decisions stand or who made them.
            InvalidParameters: a word whose meaning nobody has said.
            InvalidRequest: the operation decides nothing.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..decisions.import_decisions import ImportTerms, import_decisions

        terms = ImportTerms(reviewer, stage, settles, everything=everything, dry_run=dry_run)
        if columns is not None:
            terms = replace(terms, columns=columns)
        if words is not None:
            terms = replace(terms, words=words)
        most = self._session.settings.max_file_bytes
        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            return import_decisions(connection, self._id, path, terms, max_bytes=most)

    def overrides(self, *, history: bool = False) -> list[Override]:
        """Each reviewer's standing decision, in item order; with `history` every one ever made, withdrawals too.

        `ItemResult.override` is the one that counts. Raises `LedgerUnavailable`.
        """
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_overrides(connection, self._id, history=history)

    def remark(
        self,
        indices: Collection[int],
        *,
        labels: Collection[str] = (),
        notes: Collection[str] = (),
        reviewer: str,
        remove: bool = False,
    ) -> int:
        """Put labels and notes on items, or take them off; how many were not so already.

        Raises:
            InvalidParameters: an item that is not there, no reviewer, or a text that is empty or too long. Nothing is
                written.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..decisions.record_remarks import NewRemark, remark

        new = [NewRemark(RemarkKind.LABEL, text, remove) for text in labels]
        new += [NewRemark(RemarkKind.NOTE, text, remove) for text in notes]
        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            return remark(connection, self._id, indices, new, reviewer=reviewer)

    def labels(self) -> Counter[str]:
        """Return how many items bear each label. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_label_counts(connection, self._id)

    def labelled(self, label: str) -> Sequence[int]:
        """Return the places of the items that bear a label, for `results`. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_labelled(connection, self._id, label)

    def human_counts(self) -> HumanCounts | None:
        """How many records people decided about, as the software or otherwise; None where nobody did.

        Raises `LedgerUnavailable`.
        """
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_human_counts(connection, self._id)

    def screening_mode(self) -> ScreeningModeSet:
        """How people read the batch over HTTP, and who set it when; `single` where nobody did.

        Raises `LedgerUnavailable`.
        """
        from ..decisions.screening_mode import read_mode_set

        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return read_mode_set(connection, self._id)

    def set_screening_mode(self, mode: ScreeningMode | str, *, set_by: str) -> ScreeningModeSet:
        """Set how people read the batch over HTTP: a `ScreeningMode`, by its name. Whoever set it is kept.

        Python and the terminal go on reading everything, as the ledger's operator.

        Raises:
            InvalidParameters: no such mode, or nobody is named.
            InvalidRequest: the operation decides nothing.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..decisions.screening_mode import set_mode

        if mode not in [*ScreeningMode]:
            raise InvalidParameters(f"{mode!r} is no screening mode: it is {', '.join(ScreeningMode)}")
        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            return set_mode(connection, self._id, ScreeningMode(mode), set_by=set_by)

    def conflicts(self) -> list[Conflict]:
        """The records on which people decided differently and nobody has settled it, with what everybody said.

        Raises `LedgerUnavailable`.
        """
        from ..decisions.conflicts import read_conflicts

        with ledger.ledger_errors(), self._session.snapshot() as connection:
            return read_conflicts(connection, self._id)

    def draw_audit(self, n: int, *, seed: int, stratum: Stratum = Stratum.ALL) -> Audit:
        """A random sample of `n` excluded records for a human to judge; arguments and errors as `audits.draw`.

        The same seed gives back the same audit.
        """
        from ..decisions import audits

        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            return audits.draw(connection, self._id, n, seed=seed, stratum=stratum)

    def draw_pilot(self, n: int, *, seed: int) -> Pilot:
        """A random sample of `n` records, copies left out, for a human to label; the same seed draws the same.

        Raises `InvalidParameters` for an `n` below 1 or a seed that is none, and `LedgerUnavailable`.
        """
        from ..decisions.pilot_file import draw_pilot  # with the readers of every format behind it

        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            population = ledger.read_originals(connection, self._id)
        return draw_pilot(population, n, seed=seed)

    def next(
        self,
        n: int = 20,
        *,
        reviewer: str | None = None,
        seed: int = 0,
        explore: float | None = None,
        fresh: bool = False,
        by: ReadingBy | str = ReadingBy.ORDER,
        blind: bool = False,
    ) -> NextRecords:
        """The records that a person should read next, the first one first, each with the reason for its place.

        First comes the sample of `stop_sample`, where one is open, then what the model's score and the texts of what
        people decided so far hold most promising, and last what rules of the initial filter excluded. Of up to 5,000
        records the answer follows from seed and
        decisions; of more it is the order that is kept, without what is decided, while the order is brought up to date.

        Args:
            n: how many, 1,000 at most.
            reviewer: the records that this person has not decided on, those that others have coming first: for people
                who read in pairs, and blind. None: those that nobody has decided on.
            seed: draws what chance decides; the same seed and decisions give the same order.
            explore: the share of places that go to records that chance draws; None: a fiftieth.
            fresh: wait until the order knows every decision.
            by: `disagreement`: first come the records on which the models of the batch's panel differ.
            blind: by number, so that neither places nor figures tell what the model or others decided.

        Raises:
            InvalidRequest: the operation includes and excludes nothing; or `by` disagreement, and it asks one model.
            InvalidParameters: an `n`, a seed, a share or a name that is none.
            ConfigurationError: the extra `order` is not installed.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..ledger.stop_samples import read_open_sample
        from ..reading_order.exploration import EXPLORE
        from ..reading_order.next_records import NextQuery, next_records

        query = NextQuery(n, reviewer, seed, EXPLORE if explore is None else explore, fresh, ReadingBy(by), blind)
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            sampled = read_open_sample(connection, self._id)
        return next_records(self._session.engine, self._id, query, self._session.refits, first=sampled)

    def audits(self) -> list[Audit]:
        """The audits of the batch, the first one first. Raises `LedgerUnavailable`."""
        with ledger.ledger_errors(), self._session.engine.connect() as connection:
            return ledger.read_audits(connection, self._id)

    def stop(
        self, recall: float | None = None, confidence: float | None = None, *, human_errors: bool = True
    ) -> StopAnswer:
        """Say whether people may stop reading with a promise, and what it costs; only looks, and draws nothing.

        Args:
            recall: the share of all includes to be found, above 0 and at most 1; None: what the last sample was drawn
                for, else 0.95.
            confidence: of the promise, between 0 and 1; None: likewise.
            human_errors: take in what people overlook, as far as records that two of them read show it.

        Raises:
            InvalidParameters: a recall or a confidence that is none.
            InvalidRequest: the operation decides about no records.
            LedgerUnavailable: the ledger does not answer.
        """
        from ..decisions.stopping import read_stop

        with ledger.ledger_errors(), self._session.snapshot() as connection:
            return read_stop(connection, self._id, recall, confidence, human_errors=human_errors)

    def stop_sample(
        self,
        recall: float | None = None,
        confidence: float | None = None,
        *,
        seed: int | None = None,
        audit: str | None = None,
        human_errors: bool = True,
    ) -> StopAnswer:
        """Draw from what nobody has read as many records as the promise needs; the answer of `stop` with them.

        A sample that is open is extended, else one is opened with this seed (None: any), which draws the same records
        of the same rest. What people decide about its records are decisions as any others. A new one may begin with an
        `audit` of all exclusions, where these are all that nobody has read: what was decided in it counts from then on.

        Raises as `stop`; `InvalidParameters` too for a seed that is none, or not that of the sample that is open, and
        `InvalidRequest` where the batch is not finished, the promise is out of reach, or the audit is of other records.
        """
        from ..decisions.stop_samples import draw_sample

        terms = {"recall": recall, "confidence": confidence}
        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            draw_sample(connection, self._id, **terms, seed=seed, audit=audit, human_errors=human_errors)
        return self.stop(**terms, human_errors=human_errors)

    def close_stop_sample(self) -> StopAnswer:
        """Draw nothing more from the sample that is open; the answer of `stop` without it.

        What was read of it goes on counting. The next sample is another attempt, and may spend less of the doubt.

        Raises `InvalidRequest` where none is open, and `LedgerUnavailable`.
        """
        from ..decisions.stop_samples import close_sample

        with ledger.ledger_errors(), self._session.engine.begin() as connection:
            close_sample(connection, self._id)
        return self.stop()

    def agreement(self) -> AgreementFigures:
        """Return the agreement of the software with the humans who decided about the same records, and of these.

        Raises `InvalidRequest` where the operation decides nothing, and `LedgerUnavailable`.
        """
        from ..decisions.human_agreement import read_agreement

        with ledger.ledger_errors(), self._session.snapshot() as connection:
            return read_agreement(connection, self._id)

    def evaluate(self, labels: Labels, column: str | None = None) -> GoldEvaluation:
        """Compare the batch's decisions with a human's labels: rates, lost evidence, calibration, agreement.

        `labels` is a file as `read_labels` reads it, its `column` as there; or a dict, by item id True for included.

        Raises `InvalidRequest` where the operation decides nothing, there is no label, or labels and records do not fit
        together, `InputError` for a file without, `ConfigurationError` without the extra `files`, `LedgerUnavailable`.
        """
        from ..quality.gold_evaluation import evaluate_matched

        matched = self._labelled(labels, column)
        panel = self._panel({one.index: one.human for one in matched.records if one.human is not None})
        return evaluate_matched(matched).model_copy(update={"panel": panel})

    def panel(self, labels: Labels | None = None, column: str | None = None) -> PanelFigures:
        """Return how far the models of the batch's panel agree, whether they err together, and what each brought.

        Errors are measured by `labels`, as `evaluate` takes them; None: by what people decided about the batch.

        Raises `InvalidRequest` where the batch asks one model alone, else as `evaluate`.
        """
        human = None
        if labels is not None:
            matched = self._labelled(labels, column)
            human = {one.index: one.human for one in matched.records if one.human is not None}
        found = self._panel(human)
        if found is None:
            raise InvalidRequest(f"batch {self.id} asks one model: what several bring is told of a panel alone")
        return found

    def _panel(self, human: Mapping[int, bool] | None) -> PanelFigures | None:
        from ..decisions.panel_reading import read_panel

        with ledger.ledger_errors(), self._session.snapshot() as connection:
            return read_panel(connection, self._id, human)

    def calibrate(
        self, labels: Labels, recall: float = 0.95, delta: float = 0.05, *, column: str | None = None
    ) -> Calibrated:
        """Find the score from which on records are kept, so that `recall` of the includes are, with chance 1 - `delta`.

        The labels are those of a random sample, as `draw_pilot` draws one; `calibration.refusal` says why they allow no
        threshold, where they allow none, and `kept` of each of the batch's `records` whether the threshold keeps it.

        Raises `InvalidParameters` where recall or delta does not lie between 0 and 1, else as `evaluate`.
        """
        from ..quality.pilot import calibrate

        return calibrate(self._labelled(labels, column), recall, delta)

    def report(self, path: Path | str, form: ReportForm | None = None) -> Figures:
        """Write the batch's report to a file, which is replaced when all of it is written; return its figures.

        `form` is `html`, `svg`, `md` or `json`; None: as the file ends.

        Raises `InvalidRequest` where reports do not end so, `InputError` where it cannot be written,
        `ConfigurationError` without the extra `cli`, and `LedgerUnavailable`.
        """
        from ..report import write_report_file

        return write_report_file(self._session.engine, self.id, path, form)

    def _labelled(self, labels: Labels, column: str | None) -> Matched:
        from ..quality.gold_labels import labels_of
        from ..quality.matching import check_decides, match

        check_decides(self.id, self.status().operation)
        return match(self.results(), labels_of(labels, column, max_bytes=self._session.settings.max_file_bytes))

    def __repr__(self) -> str:
        return f"Batch({self.id!r})"
