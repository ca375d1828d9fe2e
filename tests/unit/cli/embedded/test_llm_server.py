"""How the embedded model is served."""

from tamis_cli.embedded.llm_server import CONTEXT, PARALLEL
from tamis_worker.config.settings import WorkerSettings


def test_a_slot_holds_a_prompt_of_4000_tokens_and_the_longest_answer() -> None:
    assert 4000 + WorkerSettings.model_fields["max_output_tokens"].default <= CONTEXT // PARALLEL
