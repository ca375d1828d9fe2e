"""Every number of decisions, in figure, methods, counts, table and exports, recomputed from the tables themselves."""

import csv
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, insert, text, update

from stage.assessed import A, B, C, figures, record, said
from stage.screened import CRITERIA, Ledgered, decided, failed, kept_out, write_batch
from tamis_producer import Batch, Client
from tamis_review import count_human_decisions, decide, import_decisions
from tamis_review.decisions.blindness import set_mode
from tamis_review.decisions.decided_records import decision_of
from tamis_review.decisions.final_outcome import Outcome
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.report.figures import Figures
from tamis_review.report.flow_template import flow_template
from tamis_review.report.methods import methods
from tamis_review.report.table import record_row
from tamis_review.report.work_filter import WorkQuery, read_kept_out, read_matching, read_said
from tamis_schemas import Exclusion, Filter, Inclusion, ItemStatus, ScreeningMode
from tamis_schemas.batches.flow import BY_HUMAN
from tamis_schemas.ledger import items, results

RECORDS, EVENTS = 10, 40
SCREENING, SECOND = Inclusion(criteria=CRITERIA), Filter(criteria="Is it a trial?")

# Of each record: what the software decided, the last word of each person, and the people who settle, from tables alone.
TABLES = """
SELECT i.idx, i.state, e.rule, r.value #>> '{}' AS model,
       ARRAY(SELECT DISTINCT o.value #>> '{}' FROM overrides o WHERE o.batch_id = i.batch_id AND o.idx = i.idx
             AND o.stage = 'own' AND o.value IS NOT NULL AND o.id IN (
                 SELECT max(id) FROM overrides WHERE batch_id = i.batch_id AND idx = i.idx AND stage = 'own'
                 GROUP BY reviewer)) AS words,
       (SELECT array_agg(o.reviewer || '=' || (o.value #>> '{}') ORDER BY o.id DESC) FROM overrides o
        WHERE o.batch_id = i.batch_id AND o.idx = i.idx AND o.stage = 'own' AND o.value IS NOT NULL AND o.settles
        AND NOT EXISTS (SELECT FROM overrides later WHERE later.batch_id = o.batch_id AND later.idx = o.idx
                        AND later.stage = 'own' AND later.reviewer = o.reviewer AND later.id > o.id)) AS settling,
       (SELECT count(*) FROM (SELECT DISTINCT ON (reviewer) value FROM overrides WHERE batch_id = i.batch_id
        AND idx = i.idx AND stage = 'own' ORDER BY reviewer, id DESC) last WHERE value IS NOT NULL) AS people
FROM item_states i
LEFT JOIN exclusions e ON e.batch_id = i.batch_id AND e.idx = i.idx
LEFT JOIN results r ON r.batch_id = i.batch_id AND r.idx = i.idx
WHERE i.batch_id = :id ORDER BY i.idx
"""
HISTORY = """
SELECT idx, reviewer, value #>> '{}' AS word, settles FROM overrides WHERE batch_id = :id AND stage = 'own' ORDER BY id
"""
YES, NO = ("include", "true"), ("exclude", "false")


@dataclass
class Reckoned:
    """One record, by plain reading of the tables."""

    software: str
    final: str
    by_human: bool = False
    settler: str | None = None
    word: str | None = None  # people's decision that counts


def reckoned(connection: Connection, batch_id: UUID) -> list[Reckoned]:
    """Each record of a batch, in order."""
    found = []
    for row in connection.execute(text(TABLES), {"id": batch_id}):
        kept = {"duplicate": "duplicate", None: "removed"}.get(row.rule, "ineligible")
        of_model = "passed" if row.model in YES else "excluded" if row.model in NO else "uncertain"
        states = {"decided": of_model, "excluded_by_filter": kept, "failed": "failed", "cancelled": "cancelled"}
        software = states.get(row.state, "open")
        settler, word = row.settling[0].split("=") if row.settling else (None, None)
        if word is None and row.words:
            word = row.words[0] if len(row.words) == 1 else "conflict"
        final = software if word is None else "conflict" if word == "conflict" else "uncertain"
        if word in YES:
            final = "passed"
        if word in NO:
            final = kept if row.state == "excluded_by_filter" else "excluded"
        alone = row.people == 1
        found.append(Reckoned(software, final, word in (*YES, *NO), None if alone else settler, word))
    return found


def independent(connection: Connection, batch_id: UUID, mode: ScreeningMode) -> dict[tuple[str, str], list[bool]]:
    """Whether each pair of people agreed, record by record: a replay of their decisions, one after the other."""
    standing: dict[int, dict[str, str]] = {}
    first: dict[int, dict[str, tuple[str, bool] | None]] = {}  # word, and whether it settles; None: a third reader's
    opened: set[int] = set()
    for row in connection.execute(text(HISTORY), {"id": batch_id}):
        now, stood = standing.setdefault(row.idx, {}), first.setdefault(row.idx, {})
        known = row.reviewer in stood
        if row.word is None:
            now.pop(row.reviewer, None)
        else:
            now[row.reviewer] = row.word
        late = mode is ScreeningMode.PAIR and row.idx in opened
        if not known:
            stood[row.reviewer] = None if late else (row.word, row.settles)
        elif row.idx not in opened and mode is not ScreeningMode.MODEL_SECOND:
            stood[row.reviewer] = None if row.word is None else (row.word, row.settles)
        if len(now) > 1:
            opened.add(row.idx)
    pairs: dict[tuple[str, str], list[bool]] = {}
    for stood in first.values():
        words = {who: word[0] for who, word in stood.items() if word is not None and not word[1]}
        for one, other in combinations(sorted(words), 2):
            pairs.setdefault((one, other), []).append(words[one] == words[other])
    return pairs


@dataclass
class Historian:
    """Lets random things happen to a batch: decisions, changed minds, imports, retries, cancellations."""

    client: Client
    batch: Batch
    folder: Path
    drawn: random.Random
    values: tuple[Any, ...] = ("include", "exclude", "uncertain")

    def act(self) -> None:
        """One thing that happens."""
        acts = (
            [self.decide] * 6 + [self.confirm] * 2 + [self.settle, self.withdraw, self.imported, self.ended, self.ended]
        )
        self.drawn.choice(acts)()

    def said(self, index: int, value: object, who: str, **more: Any) -> None:
        decide(self.batch, [HumanDecision(index, value, who, unsure=value == "uncertain", **more)])

    def asked(self, statement: str, **more: Any) -> list[Any]:
        with self.client.engine.connect() as connection:
            return list(connection.execute(text(statement), {"id": self.batch.id, **more}))

    def place(self) -> int:
        return self.drawn.randrange(RECORDS)

    def who(self) -> str:
        return self.drawn.choice([A, A, B, B, C])

    def decide(self) -> None:
        self.said(self.place(), self.drawn.choice(self.values), self.who())

    def confirm(self) -> None:
        decided_by_model = "SELECT idx, value #>> '{}' AS word FROM results WHERE batch_id = :id AND value IS NOT NULL"
        row = self.drawn.choice(self.asked(f"{decided_by_model} ORDER BY idx"))
        self.said(row.idx, row.word, self.who())

    def settle(self) -> None:
        self.said(self.place(), self.drawn.choice(self.values[:2]), C, settles=True)

    def withdraw(self) -> None:
        latest = "SELECT DISTINCT ON (idx, reviewer) idx, reviewer, value FROM overrides WHERE batch_id = :id"
        stand = [row for row in self.asked(f"{latest} ORDER BY idx, reviewer, id DESC") if row.value is not None]
        if stand:
            row = self.drawn.choice(stand)
            decide(self.batch, [HumanDecision(row.idx, None, row.reviewer, withdraw=True)])

    def imported(self) -> None:
        places = self.drawn.sample(range(RECORDS), 3)
        with (self.folder / "decisions.csv").open("w", newline="") as stream:
            rows = csv.writer(stream)
            rows.writerow(["id", "title", "decision"])
            rows.writerows([f"r{n}", f"Title {n}", self.drawn.choice(["include", "exclude"])] for n in places)
        import_decisions(self.batch, self.folder / "decisions.csv", reviewer=self.who())

    def ended(self) -> None:
        """A failed record is tried again, with success or without; a waiting one is answered, fails or is cancelled."""
        index = self.place()
        key = {"batch_id": UUID(self.batch.id), "idx": index}
        ((now,),) = self.asked("SELECT state FROM item_states WHERE batch_id = :id AND idx = :idx", idx=index)
        if now not in ("failed", "pending"):
            return
        steps = ["cancelled"] if now == "pending" and self.drawn.random() < 0.5 else ["running", "decided"]
        with self.client.engine.begin() as connection:
            for state in [*(["pending"] if now == "failed" else []), *steps]:
                of = (items.c.batch_id == key["batch_id"]) & (items.c.idx == index)
                connection.execute(update(items).where(of).values(state=state))
            if steps == ["cancelled"]:
                return
            answer = said(self.drawn.choice(["include", "exclude", "uncertain"]))
            of_item = (results.c.batch_id == key["batch_id"]) & (results.c.idx == index)
            connection.execute(results.delete().where(of_item))
            terms = {"fence": 2, "round": 2, "prompt_tokens": 1, "completion_tokens": 1, "calls": 1}
            values = {"value": answer.status.value, "detail": answer.model_dump(mode="json"), "confidence": 0.5}
            connection.execute(insert(results).values(**key, **terms, **values))


def begun(drawn: random.Random) -> list[Ledgered]:
    """Records in every state."""
    rule = Exclusion(rule="title_pattern", reason="in rats")
    copy = Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)
    ways = [
        lambda n: kept_out(record(n), rule),
        lambda n: kept_out(record(n), copy),
        lambda n: failed(record(n), "timeout"),
    ]
    ways += [lambda n, state=state: Ledgered(record(n), state) for state in (ItemStatus.PENDING, ItemStatus.CANCELLED)]
    ways += [lambda n: decided(record(n), said("uncertain"))]
    for status in ("include", "exclude"):
        ways += [lambda n, status=status: decided(record(n), said(status))] * 3  # type: ignore[misc]
    return [decided(record(0), said("include")), *(drawn.choice(ways)(n) for n in range(1, RECORDS))]


def numbers(words: str, told: str) -> list[int]:
    """The numbers of the only sentence like this; [] without one."""
    match = re.search(words.replace("#", r"(no|[\d,]+) records? ?(?:was|were)?").replace("@", r"([\d,]+)"), told)
    return [] if match is None else [0 if n == "no" else int(n.replace(",", "")) for n in match.groups()]


def check(found: Figures, records: list[Reckoned], pairs: dict[tuple[str, str], list[bool]]) -> None:
    """Compare figure, counts and methods with the records."""
    finals, software = Counter(one.final for one in records), Counter(one.software for one in records)
    human = [one for one in records if one.by_human]
    n = Counter(one.final for one in human)
    confirmed = sum(one.software == one.final for one in human)
    undecided = {"uncertain", "failed", "cancelled", "open"}
    settled = sum(one.software in undecided for one in human)
    (stage,), batch = found.flow.stages, found.screening
    removed = {"duplicate", "ineligible", "removed"}
    assert batch.final_outcomes == finals
    assert batch.outcomes == software
    assert stage.entered == sum(one.final not in removed for one in records)
    assert (stage.passed, stage.passed_by_human) == (finals["passed"], n["passed"])
    assert (stage.n_excluded, stage.excluded_by_human) == (finals["excluded"], n["excluded"])
    assert (stage.uncertain, stage.conflicts, stage.open) == (finals["uncertain"], finals["conflict"], finals["open"])
    humans = batch.humans
    assert (humans.decided, humans.confirmed, humans.settled) == (len(human), confirmed, settled)
    assert humans.reversed == len(human) - confirmed - settled
    assert humans.conflicts == finals["conflict"]
    assert humans.unsure == sum(one.word == "uncertain" for one in records)
    assert (humans.resolved, humans.resolvers) == (
        sum(one.settler is not None for one in records),
        tuple(sorted({one.settler for one in records if one.settler is not None})),
    )

    shown = {box.title: box for _, box in flow_template(found.flow).boxes}
    assert shown["Records excluded"].n == finals["excluded"]
    parts = {line.text: line.n for line in shown["Records excluded"].lines}
    assert parts["by a human"] == n["excluded"]
    assert parts["by automation tools (a language model alone)"] == finals["excluded"] - n["excluded"]
    (passed,) = [box for title, box in shown.items() if title.startswith("Records included by screening")]
    assert passed.n == finals["passed"]
    assert {line.text: line.n for line in passed.lines}.get("of these, by a human", 0) == n["passed"]

    told = " ".join(part.text for part in methods(found))
    removals = finals["duplicate"] + finals["ineligible"]
    assert numbers(r"# removed by software before screening", told) == [removals]
    alone = [finals["excluded"] - n["excluded"], finals["passed"] - n["passed"]]
    assert numbers(r"A language model alone excluded # and included #", told) == alone
    if human:
        assert numbers(r"# decided by Reviewer", told) == [len(human)]
        changed = [confirmed, len(human) - confirmed - settled, settled]
        assert numbers(r"confirmed for @ and changed for @; @ had no decision", told) == changed
        assert numbers(r"By these decisions, # excluded by a human, and # included", told) == [
            n["excluded"],
            n["passed"],
        ]
        assert BY_HUMAN in told
    else:
        assert "decided by Reviewer" not in told
    assert numbers("Reviewers disagreed on #;", told) == [finals["conflict"]] * bool(finals["conflict"])
    referred = finals["uncertain"] + finals["conflict"] + finals["failed"]
    assert numbers("# neither included nor excluded", told) == [referred] * bool(referred)
    asked = sum(software[way] for way in ("passed", "excluded", "uncertain", "failed"))
    assert numbers("# submitted to a language model", told) == [asked]
    for (one, other), alike in pairs.items():
        both = f"{one} and {other} both decided # and agreed on @"
        assert numbers(both, told) == [len(alike), sum(alike)]
    assert told.count("both decided") == len(pairs)
    assert "read in the order" not in told


def history(client: Client, folder: Path, seed: int) -> Iterator[str]:
    """Check a random history at its end; yield each decision that counts in it."""
    drawn = random.Random(seed)
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, begun(drawn), operation=SCREENING, state="running")
        mode = drawn.choice([ScreeningMode.SINGLE, ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND])
        set_mode(connection, batch_id, mode, set_by="Lead")
    batch = client.batch(str(batch_id))
    historian = Historian(client, batch, folder, drawn)
    for _ in range(drawn.randrange(EVENTS)):
        historian.act()
    with client.engine.connect() as connection:
        records, pairs = reckoned(connection, batch_id), independent(connection, batch_id, mode)
        people, out = read_said(connection, batch_id), read_kept_out(connection, batch_id)
        for outcome in drawn.sample([*Outcome], 3):
            listed = read_matching(connection, batch_id, SCREENING, WorkQuery(outcome=outcome), [], people, out)
            assert listed == {place for place, one in enumerate(records) if one.final == outcome}
    found = figures(client, batch.id)
    check(found, records, pairs)
    counts = count_human_decisions(batch)
    assert (counts is None) is all(one.word is None for one in records)
    assert counts is None or counts.model_dump().items() <= dict(found.screening.humans).items()
    names = {"passed": "include", "excluded": "exclude", "ineligible": "exclude", "removed": "not decided"}
    for row, one in zip(batch.results(), records, strict=True):
        assert record_row("inclusion", row)["outcome"] == one.final
        exported = names.get(
            one.final, one.final if one.final in {"uncertain", "duplicate", "conflict"} else "not decided"
        )
        if not (one.by_human and one.software in {"duplicate", "ineligible", "removed"}):
            assert decision_of(row) == exported
        yield f"{one.software} {one.word}"


def test_every_number_is_that_of_the_tables(client: Client, tmp_path: Path) -> None:
    met = Counter(way for seed in range(25) for way in history(client, tmp_path, seed))
    assert {"passed include", "passed exclude", "excluded include", "failed include", "duplicate exclude"} <= met.keys()
    assert {"uncertain exclude", "cancelled include", "ineligible include", "open exclude"} <= met.keys()


@pytest.mark.night
def test_every_number_of_two_hundred_histories_is_that_of_the_tables(client: Client, tmp_path: Path) -> None:
    assert sum(1 for seed in range(25, 225) for _ in history(client, tmp_path, seed)) == 200 * RECORDS
