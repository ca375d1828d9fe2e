"""A batch that a panel of two models has judged, as it would stand in a ledger."""

from dataclasses import replace

from stage.gateway_page import decision, record
from stage.screened import CRITERIA, Ledgered, decided
from tamis_schemas import Inclusion, Panel, PanelPolicy, PanelResult, PanelVerdict

MODELS = ("small", "large")
PANELLED = Inclusion(criteria=CRITERIA, panel=Panel(models=MODELS, policy=PanelPolicy.ANY))
SAID = (("include", "include"), ("include", "include"), ("exclude", "include"), ("exclude", "include"))


def of_a_panel() -> list[Ledgered]:
    """Six records: two that both include, two that one of them excludes, two that both exclude."""
    return [_judged(n, *said) for n, said in enumerate((*SAID, ("exclude", "exclude"), ("exclude", "exclude")))]


def _judged(n: int, *said: str) -> Ledgered:
    verdicts = [
        PanelVerdict.model_validate({"model": model, "status": status, "confidence": 0.9})
        for model, status in zip(MODELS, said, strict=True)
    ]
    words = PanelResult(policy="any", verdicts=tuple(verdicts), score=0.5, disagreement=float(said[0] != said[1]))
    one = decided(record(n), decision("include" if "include" in said else "exclude"))
    return replace(one, detail=(one.detail or {}) | {"panel": words.model_dump(mode="json")})
