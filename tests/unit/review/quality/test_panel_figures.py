"""The figures of a panel, on records whose words are written out, and on simulated panels whose truth is known."""

from collections.abc import Mapping

import pytest
from benchmarks.panels import simulated

from tamis_review.quality.panel_figures import Brought, panel_figures
from tamis_review.quality.panel_record import PanelRecord, Word, panel_record
from tamis_review.quality.panel_words import NOT_KNOWN, panel_sentences
from tamis_review.quality.shared_errors import Sharing
from tamis_schemas import InclusionStatus, Panel, PanelPolicy, PanelResult, PanelVerdict, Verdict
from tamis_schemas.operations.panel import Vote

SEEDS = range(1, 4)
STATUS = {"i": InclusionStatus.INCLUDE, "e": InclusionStatus.EXCLUDE, "u": InclusionStatus.UNCERTAIN}
SCORE = {"i": 0.9, "e": 0.1, "u": 0.5}


def word(letter: str, tokens: int = 10) -> Word:
    """`i`, `e` and `u` are votes, `!` a failure."""
    vote = None if letter == "!" else Vote(STATUS[letter], SCORE[letter])
    verdicts = {"i": Verdict.MET, "e": Verdict.NOT_MET, "u": Verdict.UNCLEAR}
    return Word(vote, {"I1": verdicts[letter], "I2": Verdict.MET} if vote else {}, tokens)


def records(*letters: str) -> list[PanelRecord]:
    """One text for each record, a letter a model."""
    return [PanelRecord(n, f"r{n}", tuple(map(word, each))) for n, each in enumerate(letters)]


def panel(policy: str, *models: str) -> Panel:
    return Panel.model_validate({"models": models or ("a", "b", "c"), "policy": policy})


def brought(policy: str, letters: list[str], human: Mapping[int, bool]) -> dict[str, Brought]:
    return {one.model: one for one in panel_figures(panel(policy), records(*letters), human).brought}


@pytest.mark.parametrize("seed", SEEDS)
def test_shared_errors_are_told_from_independent_ones(seed: int) -> None:
    shared, independent = simulated(0.9, seed).figures, simulated(0.0, seed).figures
    for figures, sharing in ((shared, Sharing.SHARED), (independent, Sharing.NO_SIGN)):
        assert {
            errors and errors.sharing for pair in figures.pairs for errors in (pair.misses, pair.false_includes)
        } == {sharing}
    # Their rates are the same, and what the panel keeps of the includes is not.
    assert shared.members[1].missed.estimate == pytest.approx(independent.members[1].missed.estimate, abs=0.1)
    kept = [one.brought[0].recall_with.estimate or 0.0 for one in (shared, independent)]
    assert kept[0] < kept[1]
    told = " ".join(panel_sentences(shared))
    assert told.count("They share these errors, so each catches fewer of the other's") == 6
    assert " ".join(panel_sentences(independent)).count("No sign that they share these errors") == 6


def test_a_model_that_says_what_another_says_brought_nothing_and_the_report_says_so() -> None:
    figures = simulated(0.0, 1, repeats_first=True).figures
    one = figures.brought[-1]
    assert (one.model, one.changed, one.nothing) == ("model-4", 0, True)
    assert "model-4 changed nothing: without it, all 1,000 decisions would be the same." in panel_sentences(figures)


def test_what_each_model_brought_is_the_panel_with_it_beside_the_panel_without() -> None:
    letters = ["iie", "eei", "eee", "eie", "eei"]
    human = {0: True, 1: True, 2: False, 3: False, 4: False}
    found = brought("any", letters, human)
    # a: nothing depends on it. b: record 3 is kept because of it alone. c: records 1 and 4, of which people include 1.
    assert [(one.changed, one.kept_with, one.kept_without) for one in found.values()] == [
        (0, 4, 4),
        (1, 4, 3),
        (2, 4, 2),
    ]
    assert [(one.found, one.nothing) for one in found.values()] == [(0, True), (0, True), (1, False)]
    assert (found["c"].recall_with.count, found["c"].recall_without.count, found["c"].recall_with.total) == (2, 1, 2)


def test_a_model_can_lose_what_the_others_keep_or_spare_reading() -> None:
    letters = ["iee", "iie", "eie"]  # by majority: excluded, included, excluded
    found = brought("majority", letters, {0: True, 1: True})
    # Without c: a tie, included, a tie; ties are uncertain, and people read them.
    assert (found["c"].changed, found["c"].lost, found["c"].kept_with, found["c"].kept_without) == (2, 1, 1, 3)
    assert not found["c"].nothing  # it spares reading, and the record that it lost is named
    unlabelled = brought("majority", letters, {})["c"]
    assert (unlabelled.recall_with.total, unlabelled.nothing) == (0, False)


def test_pairs_agree_by_decision_and_by_criterion_on_what_both_decided() -> None:
    figures = panel_figures(panel("any", "a", "b"), records("ii", "ie", "eu", "!e", "ee"), {})
    (pair,) = figures.pairs
    assert (pair.differ, pair.agreement.n, pair.agreement.observed) == (2, 4, 0.5)
    assert (pair.misses, pair.false_includes) == (None, None)  # nobody decided anything
    by_label = {one.label: one.agreement.observed for one in pair.criteria}
    assert by_label == {"I1": 0.5, "I2": 1.0}
    assert (figures.records, figures.complete, figures.unanimous) == (5, 4, 2)
    first = figures.members[0]
    assert (first.include, first.exclude, first.uncertain, first.failed, first.tokens) == (2, 2, 0, 1, 50)
    told = panel_sentences(figures)
    assert told[0].startswith("5 records were given to 2 models (a, b). The models differ on 2 of the 4")
    assert "They differ most on I1, where they agree on 50.0% of records." in told[1]
    assert told[-1].startswith(NOT_KNOWN)


def test_the_records_on_which_models_differ_come_first_and_in_order() -> None:
    figures = panel_figures(panel("any"), records("iii", "iie", "ieu", "eei"), {})
    assert [(one.index, one.disagreement) for one in figures.differing] == [
        (2, 1.0),
        (1, pytest.approx(2 / 3)),
        (3, pytest.approx(2 / 3)),
    ]
    assert figures.differing[0].words == {"a": "include", "b": "exclude", "c": "uncertain"}


def test_too_few_errors_are_named_as_that() -> None:
    figures = panel_figures(panel("any", "a", "b"), records("ii", "ie", "ee"), {0: True, 1: True, 2: False})
    assert "Too few of these errors to judge whether they are shared" in panel_sentences(figures)[1]


def test_a_record_of_the_ledger_has_its_votes_and_silence_as_not_met() -> None:
    silent = {"I1": {"verdict": "not met by silence"}}
    verdict = PanelVerdict.model_validate(
        {"model": "a", "status": "exclude", "confidence": 0.8, "verdicts": silent, "usage": {"prompt_tokens": 7}}
    )
    failed = PanelVerdict(model="b", error_kind="timeout", error="late")
    kept = PanelResult(policy=PanelPolicy.ANY, verdicts=(verdict, failed)).model_dump(mode="json")
    one = panel_record(3, "r3", kept)
    assert one.statuses == (InclusionStatus.EXCLUDE, None)
    assert one.words[0].vote is not None
    assert one.words[0].vote.score == pytest.approx(0.2)
    assert (dict(one.words[0].verdicts), one.words[0].tokens) == ({"I1": Verdict.NOT_MET}, 7)
    assert one.status(panel("any", "a", "b")) is None


def test_an_error_is_to_exclude_what_people_include_or_to_keep_what_they_exclude() -> None:
    human = {0: True, 1: True, 2: True, 3: False, 4: False, 5: False}
    figures = panel_figures(panel("any", "a", "b"), records("ee", "ei", "ui", "ie", "uu", "ee"), human)
    for errors in (figures.pairs[0].misses, figures.pairs[0].false_includes):  # joint: record 0, record 4
        assert errors is not None
        assert (errors.records, errors.first, errors.second, errors.joint) == (3, 2, 1, 1)
        assert errors.expected == pytest.approx(2 * 1 / 3)
    assert [(one.missed.count, one.missed.total) for one in figures.members] == [(2, 3), (1, 3)]
