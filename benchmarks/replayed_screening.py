"""A labelled set, screened by its judge: a worker asks the LLM double over HTTP, and the ledger gets the answers."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from llm_double import Double, Personality

from .ledger_desk import LedgerDesk
from .parts import parts
from .reading_cases import Case
from .replayed_judges import write_answers

WITHIN = 900.0  # s of one batch


@contextmanager
def screened(case: Case) -> Iterator[Callable[[int], LedgerDesk]]:
    """Yield a function that screens the set with the judge of a seed, and returns the desk of that batch.

    Raise ValueError if the case has no judge.
    """
    if case.judge is None:
        raise ValueError(f"{case.name}: there is no judge whose answers could be replayed")
    with (
        tempfile.TemporaryDirectory(prefix="tamis-replay-") as folder,
        parts() as running,
        running.ledger() as ledger,
        Double.start(remember=False) as double,
        running.workers(1, ledger, double),
    ):

        def screen(seed: int) -> LedgerDesk:
            judgements = case.judgements(seed)
            answers = Path(folder, f"{seed}.jsonl")
            write_answers(answers, case.operation, case.reviewed.records, judgements or ())
            double.script(personalities=[Personality("recorded", file=str(answers))], remember=False)
            batch = ledger.client.submit(case.operation, case.reviewed.records, use_cache=False)
            counts = batch.wait(WITHIN)
            if counts.failed:
                raise RuntimeError(f"{case.name}: {counts.failed} records were not answered")
            return LedgerDesk(batch, seed=seed)

        yield screen
