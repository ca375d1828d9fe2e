"""How the embedded model is served."""

import pytest

from tamis_worker.embedded.llm_server import CONTEXT, PARALLEL, threads_for
from tamis_worker.settings import WorkerSettings


def test_a_slot_holds_a_prompt_of_4000_tokens_and_the_longest_answer() -> None:
    assert 4000 + WorkerSettings.model_fields["max_output_tokens"].default <= CONTEXT // PARALLEL


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 2), (4, 3), (16, 15)])
def test_a_core_is_left_to_the_others(cores: int, threads: int) -> None:
    assert threads_for(cores) == threads
