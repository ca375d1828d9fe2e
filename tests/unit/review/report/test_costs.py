"""What a report says of money."""

import io
from decimal import Decimal

import pytest

from stage.reported import batch, figures
from tamis_review.report.figures import BatchCosts
from tamis_review.report.page import write_page
from tamis_review.report.stage_methods import costs

D = Decimal
LOST = BatchCosts(calls=2, cost=D("0.02"), lost_claims=3, possibly_unbilled_cost=D("0.03"))
UNPRICED = BatchCosts(calls=1, unpriced=1, unanswered=1)


@pytest.mark.parametrize(
    ("spending", "said"),
    [
        (BatchCosts(), "No call was paid for."),
        (
            BatchCosts(calls=2, cost=D("0.02")),
            "At the prices known to the software, the calls cost $0.02 (US dollars).",
        ),
        (
            LOST,
            "At the prices known to the software, the calls cost $0.02 (US dollars). "
            "Possibly unbilled: up to about $0.03 (3 claims whose worker died).",
        ),
        (
            UNPRICED,
            "The cost of the calls is not known. Possibly unbilled: price not known (1 call with an unknown end).",
        ),
    ],
)
def test_a_report_says_what_was_paid_and_what_may_be_missing(spending: BatchCosts, said: str) -> None:
    assert costs(spending) == said


def test_stages_are_added_up_and_what_is_not_known_of_one_is_not_known_of_all() -> None:
    both = LOST + LOST
    assert (both.lost_claims, both.possibly_unbilled_cost) == (6, D("0.06"))
    assert (LOST + BatchCosts(calls=1, cost=D(1))).possibly_unbilled_cost == D("0.03")
    assert (LOST + UNPRICED).possibly_unbilled_cost is None
    assert (BatchCosts() + BatchCosts()).possibly_unbilled_cost is None


@pytest.mark.parametrize("spending", [BatchCosts(calls=2, cost=D("0.02")), LOST])
def test_the_page_has_a_row_for_it_only_where_there_is_any(spending: BatchCosts) -> None:
    stream = io.StringIO()
    write_page(figures(batches=(batch(spending=spending),)), [], stream)
    row = '<th scope="row">possibly unbilled</th><td class="number">up to about $0.03 (3 claims whose worker died)</td>'
    assert stream.getvalue().count(row) == int(spending is LOST)
    assert ("unbilled" in stream.getvalue()) is (spending is LOST)
