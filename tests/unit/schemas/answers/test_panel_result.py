"""A panel's words on one record, as people read them."""

import pytest

from tamis_schemas import ErrorKind, InclusionStatus, PanelResult, PanelVerdict

WORDS = PanelResult(
    policy="any",
    verdicts=(
        PanelVerdict(model="a", status=InclusionStatus.EXCLUDE, confidence=0.8, answered_by="a-2026"),
        PanelVerdict(model="b", status=InclusionStatus.UNCERTAIN, confidence=0.9, answered_by="a-2026"),
        PanelVerdict(model="c", error_kind=ErrorKind.SERVER, error="the key sk-secret is wrong"),
    ),
)


def test_each_model_has_its_word_and_who_answered_is_named_once() -> None:
    assert WORDS.words == "a: exclude 0.80; b: uncertain 0.90; c: server"
    assert WORDS.answered_by == "a-2026"
    assert PanelResult(policy="any", verdicts=WORDS.verdicts[2:]).answered_by is None


def test_a_score_for_inclusion_is_none_where_the_model_failed() -> None:
    assert [one.score for one in WORDS.verdicts] == [pytest.approx(0.2), 0.5, None]


def test_a_secret_in_what_a_model_answered_is_hidden() -> None:
    hidden = WORDS.redacted(lambda text: text.replace("sk-secret", "***"))
    assert hidden.verdicts[2].error == "the key *** is wrong"
    assert hidden.verdicts[:2] == WORDS.verdicts[:2]
