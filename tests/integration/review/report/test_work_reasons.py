"""The reasons by which a work list is filtered: the short way finds what the long way of the reports finds."""

from typing import Any

from sqlalchemy import select

from stage.screened import CRITERIA, SCREENING, Ledgered, failed, kept_out, write_batch
from tamis_producer import Client
from tamis_review.decisions.final_outcome import NO_REASON, software_outcomes
from tamis_review.report.work_filter import excluded_for
from tamis_schemas import Exclusion, Filter, Inclusion, ItemStatus, SearchCriteria

ANIMALS, TRIAL = CRITERIA.exclusion_criteria[0], CRITERIA.inclusion_criteria[1]
NOT_TRIAL = f"not met: {TRIAL}"
QUOTED = 'Says "in rats", Müller\\Co'
NEW = {"status": "exclude", "uncertain_reason": None}
DETAILS: list[tuple[str, dict[str, Any]]] = [
    ("exclude", NEW | {"exclusion_reason": ANIMALS}),
    ("exclude", NEW | {"exclusion_reason": NOT_TRIAL, "criteria": [ANIMALS]}),
    ("exclude", NEW | {"exclusion_reason": TRIAL}),
    ("exclude", NEW | {"exclusion_reason": None, "criteria": [ANIMALS, TRIAL]}),
    ("exclude", NEW | {"exclusion_reason": f"{ANIMALS} and more"}),
    ("exclude", NEW | {"exclusion_reason": QUOTED}),
    ("exclude", NEW | {"rationale": ANIMALS}),
    ("exclude", {"status": "include", "exclusion_reason": ANIMALS}),  # the answer says another thing than the value
    ("exclude", {"exclusion_reason": ANIMALS, "uncertain_reason": None, "status": "exclude"}),
    ("include", NEW | {"exclusion_reason": ANIMALS}),
    ("uncertain", {"status": "uncertain", "criteria": [ANIMALS], "uncertain_reason": "conflict"}),
]
GIVEN = {ANIMALS, TRIAL, NOT_TRIAL, QUOTED, NO_REASON, "timeout", "title_pattern"}
REASONS = [*sorted(GIVEN), "unknown", "…", "no such reason", ANIMALS.upper()]
WAITING = Ledgered({"id": "w"}, ItemStatus.RUNNING)


def rows() -> list[Ledgered]:
    said = [Ledgered({"id": f"r{n}"}, value=value, detail=detail) for n, (value, detail) in enumerate(DETAILS)]
    rule = Exclusion(rule="title_pattern", reason="in rats")
    return [*said, failed({"id": "f"}, "timeout"), kept_out({"id": "k"}, rule), WAITING]


def test_every_reason_leads_to_the_records_that_reports_give_it_to(client: Client) -> None:
    both = Inclusion(criteria=SearchCriteria(**(CRITERIA.model_dump() | {"exclusion_criteria": [ANIMALS, TRIAL]})))
    with client.engine.begin() as connection:
        for operation in (SCREENING, both, Filter(criteria=ANIMALS)):
            batch_id = write_batch(connection, rows(), operation=operation, state="running")
            told = software_outcomes(batch_id).subquery()
            given = [(row.idx, row.reason) for row in connection.execute(select(told.c.idx, told.c.reason))]
            assert operation is not SCREENING or {why for _, why in given} >= GIVEN
            for reasons in [[one] for one in REASONS] + [[one, ANIMALS] for one in REASONS]:
                found = [
                    place
                    for statement in excluded_for(batch_id, operation, reasons)
                    for place in connection.execute(statement).scalars()
                ]
                assert (reasons, sorted(found)) == (reasons, sorted(idx for idx, why in given if why in reasons))
