"""The outcomes by which a work list is filtered: the short way finds what the long way of the reports finds."""

from itertools import product
from uuid import UUID

from sqlalchemy import select

from stage.gateway_page import decision
from stage.screened import CRITERIA, SCREENING, Ledgered, decided, failed, kept_out, write_batch
from tamis_producer import Client
from tamis_review import decide
from tamis_review.decisions.final_outcome import Outcome, outcomes
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.report.work_filter import WorkQuery, read_matching, read_said
from tamis_schemas import Exclusion, ItemStatus

ANIMALS = CRITERIA.exclusion_criteria[0]
SAID: list[tuple[str, ...]] = [(), ("include",), ("exclude",), ("uncertain",), ("include", "exclude")]  # by people


def ended(n: int) -> list[Ledgered]:
    """A record of each way in which the software ends."""
    item = {"id": str(n), "title": f"Title {n}"}
    return [
        decided(item, decision()),
        decided(item, decision("exclude", exclusion_reason=ANIMALS)),
        decided(item, decision("uncertain")),
        failed(item, "timeout"),
        kept_out(item, Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)),
        kept_out(item, Exclusion(rule="title_pattern", reason="in rats")),
        Ledgered(item, ItemStatus.PENDING),
    ]


def test_every_outcome_leads_to_the_records_that_reports_give_it_to_whatever_people_said(client: Client) -> None:
    rows = [row for n in range(len(SAID)) for row in ended(n)]
    each = len(ended(0))
    with client.engine.begin() as connection:
        batch_id: UUID = write_batch(connection, rows, state="running")
    spoken = product(enumerate(SAID), range(each))
    decide(
        client.batch(str(batch_id)),
        [
            HumanDecision(n * each + place, value, f"Reviewer {who}")
            for (n, said), place in spoken
            for who, value in zip("AB", said, strict=False)
        ],
    )
    with client.engine.connect() as connection:
        told = outcomes(batch_id).subquery()
        long_way = {row.idx: row.outcome for row in connection.execute(select(told.c.idx, told.c.outcome))}
        said = read_said(connection, batch_id)
        assert {Outcome(one) for one in long_way.values()} >= {*Outcome} - {Outcome.REMOVED, Outcome.CANCELLED}
        for outcome in Outcome:
            found = read_matching(connection, batch_id, SCREENING, WorkQuery(outcome=outcome), [], said)
            assert (outcome, found) == (outcome, {place for place, one in long_way.items() if one == outcome})
