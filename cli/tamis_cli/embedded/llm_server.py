"""An OpenAI-compatible server for a GGUF model.

`python -m tamis_cli.embedded.llm_server --model PATH --port PORT`

A prompt that is too long for the model's context gets status 400 at once. SIGTERM ends the server at once.
"""

import argparse
import os
import signal
import threading
from pathlib import Path

from .ports import HOST

PARALLEL = 2
# Tokens for all parallel requests. Each has a prompt of 4,000 and an answer of 1,024, in whole blocks of 256.
CONTEXT = PARALLEL * 5120


def main(arguments: list[str] | None = None) -> None:
    """Serve the GGUF model named in `arguments` (None: the command line) until a signal ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tamis_cli.embedded.llm_server")
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file")
    parser.add_argument("--alias", help="the name that requests and answers use; the file's name unless given")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args(arguments)

    import xllamacpp  # slow, so only after the arguments are checked

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(options.model)
    parameters.model_alias = {options.alias or options.model.stem}
    parameters.hostnames = [HOST]
    parameters.port = options.port
    parameters.n_parallel = PARALLEL
    parameters.n_ctx = CONTEXT
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = cores
        threads.poll = 0  # percent of busy waiting; with the default 50, two shared cores are very slow
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    server = xllamacpp.Server(parameters)
    print(f"{options.model.name} listens on {server.listening_address}", flush=True)  # noqa: T201 - its log
    threading.Event().wait()


if __name__ == "__main__":
    main()
