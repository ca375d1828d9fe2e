"""A random sample of a batch is asked again, and the answers are compared."""

import json
from pathlib import Path

from llm_double import Scripted
from stage import Finished, House, abstracts, tamis
from tamis_schemas import Filter

N = 40


def run(house: House, folder: Path, *words: str) -> Finished:
    return tamis(*words, env=house.environment, cwd=folder)


def test_a_sample_is_asked_again_and_the_agreement_has_an_interval_by_snapshot(house: House, tmp_path: Path) -> None:
    double = house.fresh().double
    double.script(answers=[Scripted("", {"reasoning": "-", "value": True, "confidence": 0.9})])
    batch = house.client.submit(Filter(criteria="Is a sample asked again?"), abstracts(N))
    batch.wait(timeout=60)
    before = double.count()
    changed = [Scripted(f"number {n}.", {"reasoning": "-", "value": False, "confidence": 0.9}) for n in range(N // 2)]
    double.script(
        answers=[*changed, Scripted("", {"reasoning": "-", "value": True, "confidence": 0.9})],
        personalities=["another_snapshot"],
    )
    done = run(house, tmp_path, "retry", batch.id, "--sample", "20", "--seed", "1", "--watch", "--json")
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert double.count() - before == 20
    (row,) = facts["agreement"]
    again = house.client.batch(facts["id"])
    expected = sum(result.value is True for result in again.results())
    assert 0 < expected < 20
    assert (row["first"], row["again"]) == ("double-1-double", "double-1-double-later")
    assert (row["same"]["count"], row["same"]["total"]) == (expected, 20)
    assert row["same"]["low"] < expected / 20 < row["same"]["high"]
    assert [result.value for result in batch.results()] == [True] * N
    shown = run(house, tmp_path, "retry", batch.id[:8], "--sample", "20", "--seed", "1")
    assert double.count() - before == 20  # the same seed: the same batch, and nothing is paid again
    assert f"{expected} of 20 (" in shown.out
    assert f"batch {again.id} asks again about 20 items" in shown.out
    assert again.status().counts.decided == 20
    assert run(house, tmp_path, "retry", batch.id, "--sample", "20", "--all-failed").code == 2
    assert run(house, tmp_path, "retry", batch.id, "--seed", "1").code == 2
