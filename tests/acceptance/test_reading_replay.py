"""A labelled set through the real path: screened by a model, read as `next` says, up to what `stop` promises."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_double import Double, Personality
from stage import WorkerProcess
from stage.shared_data import needs_real_records
from tamis_producer import Batch, Client
from tamis_review import may_stop

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the benchmarks lie beside the packages, not among them

from benchmarks.asreview_runs import SEEDS, priors  # noqa: E402
from benchmarks.labelled_sets import labelled_sets  # noqa: E402
from benchmarks.ledger_desk import LedgerDesk  # noqa: E402
from benchmarks.pure_desk import PureDesk  # noqa: E402
from benchmarks.reading_cases import SIMULATED, Case  # noqa: E402
from benchmarks.reading_replay import replay  # noqa: E402
from benchmarks.reading_replay_table import orders, rules  # noqa: E402
from benchmarks.reading_team import read_with_certificate  # noqa: E402
from benchmarks.replayed_judges import write_answers  # noqa: E402

pytestmark = needs_real_records

DOCUMENTED = (ROOT / "docs" / "quality.md").read_text("utf-8")
RECORDED = """\
| Donners 2021: 15 of 258 | no model | 10 | 24.0 % (23.3 to 28.7) | 24.0 % (23.3 to 28.7) | 24.0 % (23.3 to 28.7)
| Donners 2021 | no model | 100 records without an include | 62.8 % (62.8 to 70.5) | 100.0 % | 100.0 % | 10 of 10 |
| Donners 2021 | no model | estimator | 100.0 % | 100.0 % | 100.0 % | 10 of 10 |
| Donners 2021 | no model | certificate | 100.0 % | 100.0 % | 100.0 % | 10 of 10 |
"""  # the page has three of these cells
SEED = 3
StartWorker = Callable[..., WorkerProcess]


@pytest.fixture(scope="module")
def case() -> Case:
    """258 records, 15 of them included, and a simulated model."""
    return Case(labelled_sets()[0], "simulated", SIMULATED)


@pytest.fixture
def batch(case: Case, tmp_path: Path, start_worker: StartWorker, double: Double, client: Client) -> "Batch[str]":
    """The set as the model has screened it."""
    judgements = case.judgements(SEED)
    assert judgements is not None
    answers = tmp_path / "answers.jsonl"
    write_answers(answers, case.operation, case.reviewed.records, judgements)
    double.script(personalities=[Personality("recorded", file=str(answers))], remember=False)
    start_worker()
    batch = client.submit(case.operation, case.reviewed.records)
    counts = batch.wait(60)
    assert (counts.decided, counts.failed) == (258, 0)
    said = ["include" if one.included else "exclude" for one in judgements]
    assert [row.value for row in batch.results()] == said
    return batch


@pytest.mark.night
def test_people_who_read_through_the_ledger_read_the_same_pages_as_through_the_pure_functions(
    batch: "Batch[str]", case: Case
) -> None:
    """And what `stop` says at each of them is the same: so figures of the one are figures of the other."""
    start = priors(case.labels, SEED)
    through_ledger = read_with_certificate(LedgerDesk(batch, seed=SEED), case.labels, start)
    pure = read_with_certificate(PureDesk(case.features, case.scores(SEED), seed=SEED), case.labels, start)
    assert through_ledger.order == pure.order
    assert through_ledger.looks == pure.looks

    last = may_stop(batch)
    assert last.found == sum(case.labels[row] for row in through_ledger.order)
    # 15 includes: one that is missed is a recall below 0.95, so that nearly everything has to be read
    assert (through_ledger.looks[-1][1].promised, through_ledger.recall) == (True, 1.0)
    assert len(through_ledger.order) > 200
    # ... but the order finds 14 of the 15 long before: at random it would take some 240
    read = through_ledger.curve.read_for(0.9)
    assert read is not None
    assert read < 60


@pytest.mark.night
def test_the_documented_figures_are_those_of_the_readings() -> None:
    case = Case(labelled_sets()[0], None)
    runs = {str(seed): one for seed, one in enumerate(replay(case, range(SEEDS)))}
    found = {case.name: runs}
    ours = next(line for line in orders(found, {}) if "Donners" in line).removesuffix(" | 71.0 % |  |  |")
    assert [ours, *(line for line in rules(found) if "Donners" in line)] == RECORDED.splitlines()
    (order,) = (line.split("|") for line in orders(found, {}) if "Donners" in line)
    (certificate,) = (line.split("|") for line in rules(found) if "Donners" in line and "certificate" in line)
    review, found_95, promised = order[1], order[4].split("(")[0], certificate[4].split("(")[0]
    assert f"|{review}| {found_95.strip()} | {promised.strip()} |" in DOCUMENTED
