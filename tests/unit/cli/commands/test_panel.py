"""The options of a panel on a command line."""

import pytest

from tamis_cli.commands.submit import panel_of_options
from tamis_schemas import InvalidParameters, PanelPolicy


def test_several_models_are_a_panel_under_the_policy_named() -> None:
    panel = panel_of_options("a, b,c", PanelPolicy.ANY)
    assert panel is not None
    assert (panel.models, panel.policy) == (("a", "b", "c"), PanelPolicy.ANY)
    default = panel_of_options("a,b", None)
    assert default is not None
    assert default.policy is PanelPolicy.UNANIMOUS_EXCLUDE
    assert panel_of_options(None, None) is None


@pytest.mark.parametrize(
    ("models", "policy", "complaint"),
    [
        (None, PanelPolicy.ANY, "--policy needs a panel: name its models with --panel"),
        ("a,b,a", None, "'a' is named twice"),
        ("a", None, "a panel needs several models"),
        ("a,", None, r"models\.1"),
    ],
)
def test_what_makes_no_panel_is_refused(models: str | None, policy: PanelPolicy | None, complaint: str) -> None:
    with pytest.raises(InvalidParameters, match=complaint):
        panel_of_options(models, policy)
