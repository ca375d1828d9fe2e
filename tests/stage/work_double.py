"""The gateway's routes of the Work view, answered in the browser: what was sent to them is kept in order."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route

QUOTE = "Supervised exercise at home"
ABSTRACT = (
    f"{QUOTE} after a total hip replacement was compared with usual care in adults. METHODS: We ran a randomised "
    "controlled trial with 120 adults in three hospitals. Walking was measured after three months by somebody who did "
    "not know the group. A substudy in rats was left out of this report. The groups differed by 38 metres in six "
    "minutes (95% CI 12 to 64). Home exercise improves walking after hip replacement, and few adults were lost to "
    "follow-up."
)
CRITERIA = {
    "I1": {"text": "Adults after a total hip replacement", "excludes": False},
    "I2": {"text": "A randomised controlled trial", "excludes": False},
    "E1": {"text": "Animal studies", "excludes": True},
}
REASONS = [
    {"label": "I1", "text": "not met: Adults after a total hip replacement"},
    {"label": "I2", "text": "not met: A randomised controlled trial"},
    {"label": "E1", "text": "Animal studies"},
]
NAMES = {"passed": "include", "excluded": "exclude", "uncertain": "uncertain", "conflict": "conflict", "open": "open"}


def work_record(n: int, *, hidden: bool = False) -> dict[str, Any]:
    """One record as the gateway gives it, the model's word with it unless it is hidden."""
    abstract: dict[str, Any] = {"name": "abstract", "text": ABSTRACT}
    row: dict[str, Any] = {
        "i": n,
        "id": f"r{n}",
        "title": f"Home exercise for adults after hip replacement: randomised trial {n + 1}",
        "by": "Berg A, Novak P, Ito K et al. · Journal of Rehabilitation · 2021",
        "ids": [[f"id r{n}", None], [f"DOI 10.1000/example.{n}", f"https://doi.org/10.1000/example.{n}"]],
        "fields": [abstract],
    }
    if not hidden:
        abstract["marks"] = [[0, len(QUOTE), "I1"]]
        verdicts = [["I1", "met", QUOTE, "found", "abstract"], ["I2", "met"], ["E1", "not met"]]
        row |= {"outcome": "passed", "sure": 0.86, "why": "A trial of exercise at home.", "verdicts": verdicts}
    return {"number": n + 1, "index": n, "hidden": hidden, "mine": None, "labels": [], "notes": [], "row": row}


@dataclass
class WorkDouble:
    """A ledger of one reviewer's decisions: `written` has each once, `sent` every request that arrived."""

    records: list[dict[str, Any]]
    away: bool = False  # it answers nothing
    answers_lost: int = 0  # so many of the next requests are written, and their answers do not arrive
    refusal: str = ""
    blind: str = "pair"  # how people read hidden records
    sent: list[tuple[str, int, Any]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    written: dict[str, tuple[int, Any, str | None]] = field(default_factory=dict)
    withdrawn: list[int] = field(default_factory=list)

    def stand_in(self, page: Page) -> None:
        page.route("**/v1/batches/*/work?*", self._work)
        page.route("**/v1/batches/*/items/*/override*", self._override)
        page.route("**/v1/batches/*/items/*/remarks", self._remarks)

    def said(self) -> list[tuple[int, Any, str | None]]:
        return list(self.written.values())

    def _work(self, route: Route) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(route.request.url).query).items()}
        self.asked.append(asked)
        if self.away:
            route.abort()
            return
        after, limit = int(asked.get("after", 0)), int(asked["limit"])
        found = [one for one in self.records if asked.get("q", "").lower() in one["row"]["title"].lower()]
        route.fulfill(
            json={
                **self._facts(found),
                "items": found[after : after + limit],
                "next": None if after + limit >= len(found) else str(after + limit),
            }
        )

    def _facts(self, found: list[dict[str, Any]]) -> dict[str, Any]:
        n = len(self.records)
        return {
            "mode": self.blind if any(one["hidden"] for one in self.records) else "single",
            "me": "Reviewer A",
            "operation": "inclusion",
            "values": {"include": "include", "exclude": "exclude", "uncertain": "uncertain"},
            "reasons": REASONS,
            "marked": {
                "include": ["adult", "hip replacement", "randomised controlled trial", "follow-up"],
                "exclude": ["rat"],
            },
            "criteria": CRITERIA,
            "names": NAMES,
            "counts": {"records": n, "todo": n, "mine": 0, "conflicts": 0, "found": len(found)},
        }

    def _override(self, route: Route) -> None:
        index = int(route.request.url.split("/items/")[1].split("/")[0])
        if route.request.method == "DELETE":
            self._answer(route, "withdraw", index, None)
        else:
            self._answer(route, "decide", index, json.loads(route.request.post_data or ""))

    def _remarks(self, route: Route) -> None:
        index = int(route.request.url.split("/items/")[1].split("/")[0])
        self._answer(route, "remark", index, json.loads(route.request.post_data or ""))

    def _answer(self, route: Route, kind: str, index: int, body: Any) -> None:
        self.sent.append((kind, index, body))
        if self.away:
            route.abort()
            return
        if self.refusal:
            route.fulfill(status=409, json={"detail": self.refusal})
            return
        if kind == "decide":
            self.written.setdefault(body["decision_id"], (index, body["value"], body.get("reason")))
        elif kind == "withdraw":
            self.withdrawn.append(index)
        if self.answers_lost:
            self.answers_lost -= 1
            route.abort()
            return
        route.fulfill(status=201, json={})
