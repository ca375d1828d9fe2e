"""The options of a panel on a command line."""

from dataclasses import replace

import pytest

from tamis_cli.commands.panel import panel_of_options
from tamis_cli.commands.submission import Submission
from tamis_schemas import InvalidParameters, PanelPolicy

SUBMISSION = Submission()


def test_several_models_are_a_panel_under_the_policy_named() -> None:
    panel, submission = panel_of_options(SUBMISSION, "a, b,c", PanelPolicy.ANY, None, None)
    assert panel is not None
    assert (panel.models, panel.policy) == (("a", "b", "c"), PanelPolicy.ANY)
    assert submission is SUBMISSION
    default, _ = panel_of_options(SUBMISSION, "a,b", None, None, None)
    assert default is not None
    assert default.policy is PanelPolicy.UNANIMOUS_EXCLUDE
    cascade, _ = panel_of_options(SUBMISSION, "a,b", PanelPolicy.CASCADE, 0.9, None)
    assert cascade is not None
    assert cascade.sure == 0.9
    assert panel_of_options(SUBMISSION, None, None, None, None) == (None, SUBMISSION)


def test_one_model_is_repeated_whether_it_is_named_as_model_or_as_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    named = replace(SUBMISSION, model="a")
    panel, submission = panel_of_options(named, None, None, None, 3)
    assert panel is not None
    assert (panel.models, panel.repeat, panel.policy) == (("a",), 3, PanelPolicy.MAJORITY)
    assert submission.model is None  # it is in the panel
    assert panel_of_options(SUBMISSION, "a", None, None, 3)[0] == panel
    monkeypatch.setenv("TAMIS_MODEL", "usual")
    usual, _ = panel_of_options(SUBMISSION, None, None, None, 2)
    assert usual is not None
    assert usual.models == ("usual",)


@pytest.mark.parametrize(
    ("models", "policy", "sure", "repeat", "complaint"),
    [
        (None, PanelPolicy.ANY, None, None, "--policy: it says how a panel decides; name its models with --panel"),
        (None, None, 0.5, None, "--sure: "),
        (None, None, None, 3, "--repeat: say which model with --model"),
        ("a,b,a", None, None, None, "'a' stands there twice, which is no panel"),
        ("a", None, None, None, "one model is no panel"),
        ("a,", None, None, None, r"models\.1"),
        ("a,b", None, None, 2, "repeat: it measures how stable one model is"),
        ("a,b", PanelPolicy.ANY, 0.5, None, "sure: it belongs to the policy cascade"),
    ],
)
def test_what_makes_no_panel_is_refused(
    models: str | None,
    policy: PanelPolicy | None,
    sure: float | None,
    repeat: int | None,
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TAMIS_MODEL", raising=False)
    with pytest.raises(InvalidParameters, match=complaint):
        panel_of_options(SUBMISSION, models, policy, sure, repeat)
