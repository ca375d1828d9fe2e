"""What is recorded in the place of an outcome that the ledger refuses."""

from dataclasses import replace
from uuid import uuid4

from tamis_schemas import Cut, ErrorKind, EvaluationResult, Provenance, Usage
from tamis_worker.ledger.claims import Claim, ItemKey
from tamis_worker.ledger.outcomes import CallsOfClaim, ClaimOutcome, refused
from tamis_worker.operations import Decided, Failure

PAID = Provenance(model="m", usage=Usage(prompt_tokens=10, completion_tokens=5), calls=2, unanswered=1)
OUTCOME = ClaimOutcome(
    Claim(ItemKey(uuid4(), 0), 1, "a", {}),
    Decided(EvaluationResult(value=True, confidence=0.9)),
    PAID,
    cut={"abstract": Cut(sent=10, of=20)},
    transcript=CallsOfClaim([{"model": "m"}]),
)


def test_in_the_place_of_a_refused_outcome_only_its_failure_and_its_bill_are_left() -> None:
    failed, unpaid = refused(OUTCOME, "check violation")
    words = "the ledger cannot store this outcome: check violation"
    assert failed == ClaimOutcome(OUTCOME.claim, Failure(ErrorKind.INTERNAL, words), PAID)
    noted = Failure(ErrorKind.INTERNAL, f"{words}; nor its cost")
    assert unpaid == replace(failed, ended=noted, provenance=Provenance(calls=2, unanswered=1))
