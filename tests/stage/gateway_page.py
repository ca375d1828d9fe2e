"""The gateway's page in a browser, and a ledger with something to show there."""

from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Page, expect

from stage.screened import CRITERIA, Ledgered, decided, failed, kept_out, written_batch
from tamis_producer import Client
from tamis_schemas import Exclusion, Filter, InclusionDecision, Judgement
from tamis_schemas.answers.judgement import EvidenceType
from tamis_schemas.answers.results import CriterionVerdict, Quote

ONCOLOGY = Filter(criteria="Is this about oncology?")


@dataclass
class Opened:
    """The gateway's page, and what the browser said and asked for."""

    page: Page
    base: str
    said: list[str] = field(default_factory=list)  # by the console, and errors that nobody caught
    requests: list[str] = field(default_factory=list)

    def sign_in(self, key: str, path: str = "/") -> Page:
        """Open an address of the page and sign in there."""
        self.page.goto(f"{self.base}{path}")
        self.page.get_by_label("API key").fill(key)
        self.page.keyboard.press("Enter")
        expect(self.page.get_by_role("navigation", name="Tamis")).to_be_visible()
        return self.page

    def batch(self, key: str, batch_id: object) -> Page:
        """Sign in at a batch, and wait until its table is there."""
        page = self.sign_in(key, f"/?batch={batch_id}")
        expect(page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
        return page


Open = Callable[..., Opened]


def send_again(page: Page) -> None:
    """Let the page send now what waits: it does so by itself too, after a while that grows, and may have been first."""
    page.evaluate("dispatchEvent(new Event('online'))")


def everything_is_sent(page: Page) -> None:
    expect(page.locator("#unsent")).to_have_attribute("data-waiting", "0", timeout=30_000)


def record(n: int, **changes: object) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"Title {n}", "abstract": f"Abstract {n}.", "year": 2000 + n % 20, **changes}


def decision(status: str = "include", confidence: float = 0.9, **more: object) -> InclusionDecision:
    return InclusionDecision.model_validate(
        {"status": status, "confidence": confidence, "rationale": "because", **more}
    )


def few() -> list[Ledgered]:
    """Five records with five outcomes."""
    animals = CRITERIA.exclusion_criteria[0]
    quote = Quote(text="Abstract 1", found=True, similarity=1.0, field="abstract", start=0, end=10)
    verdicts = {"E1": CriterionVerdict(verdict="met", quote=quote)}
    return [
        decided(record(0, title="Zebra crossing"), decision()),
        decided(record(1, title="Apples"), decision("exclude", 0.7, exclusion_reason=animals, verdicts=verdicts)),
        decided(record(2, title="Bananas"), decision("uncertain", 0.4)),
        failed(record(3, title="Cherries"), "timeout", "no answer within 120 s"),
        kept_out(record(4, title="apples again"), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=1)),
    ]


def judged(abstract: str = "In rats.") -> list[Ledgered]:
    """Two judgements: of a decision whose reasoning is evidence, and of one that should not be kept."""
    kinds = {"contextual": (0.7, 0.765, None), "inappropriate": (0.1, 0.09, "It names the journal alone.")}
    classified = {"value": "exclude", "confidence": 0.9, "reasoning": "Animals were studied."}
    return [
        Ledgered(
            {"id": f"r{n}", "title": f"Title {n}", **classified, "context": f"title: Title {n}\nabstract: {abstract}"},
            value=kind,
            confidence=left,
            reasoning=issue,
            detail=Judgement(
                is_valid=issue is None,
                quality_score=quality,
                evidence_type=EvidenceType(kind),
                issue=issue,
                original_confidence=0.9,
                adjusted_confidence=left,
                blocked=issue is not None,
            ).model_dump(mode="json"),
        )
        for n, (kind, (quality, left, issue)) in enumerate(kinds.items())
    ]


def write(client: Client, rows: list[Ledgered], **batch: object) -> str:
    return written_batch(client, rows, **batch).id
