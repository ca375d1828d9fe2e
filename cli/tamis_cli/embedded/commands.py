"""The functions behind the command `tamis up`."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Literal

from rich.console import Console
from rich.markup import escape

from tamis_worker.config.settings import WorkerSettings
from tamis_worker.llm.model_list import LONGEST, names_in

from .endpoint import MODEL_NAME, why_no_server
from .flower_options import PASSWORD_FILE, USER
from .model import fetch_with_bar
from .part import get
from .ports import HOST
from .programs import KEY_FILE, Flower, Gateway
from .stack import LlmChoice, Stack

USUAL_PORTS = {11434: "Ollama", 8080: "llama-server", 8000: "vLLM"}


def local_endpoints(ports: Mapping[int, str] = USUAL_PORTS) -> Iterator[str]:
    """Find the LLM endpoints on this machine that answer now, and yield a line of settings for each.

    Only the list of models is requested. `ports`: the ports to try, each with the program that usually listens there.
    """
    for port, program in ports.items():
        with suppress(ValueError):  # an answer that is not JSON is no list of models
            model = next(iter(names_in(get(port, "/v1/models", most=LONGEST) or b"")), "...")
            yield f"TAMIS_LLM_BASE_URL=http://{HOST}:{port}/v1 TAMIS_MODEL={model} ({program}'s usual port)"


INTERRUPTED = 130  # exit status after SIGINT, as in shells: 128 + 2


def up(
    settings: WorkerSettings,
    *,
    workers: int,
    llm: Literal["auto", "local", "remote"],
    flower: bool,
    page: bool,
    console: Console,
) -> int:
    """Run the stack in the foreground until a signal stops it. Return the process's exit status.

    If `llm` is "auto" and the environment names no LLM, the small model is served. If this machine cannot run the
    small model, no worker starts, and a message says how to set an LLM.

    Raises:
        ConfigurationError: another stack runs from `settings.home`, or a needed program or setting is missing.
        OperationFailed: a part does not become ready.
    """
    choice = _choice(settings, llm)

    progress = console.status("starting")
    stack = Stack(
        settings,
        workers=0 if choice == "none" else workers,  # a worker does not start without an LLM
        llm=choice,
        flower=flower,
        page=page,
        announce=lambda line: console.print(escape(line)),
        starting=lambda name: progress.update(f"starting {name}"),
        fetch=partial(fetch_with_bar, console),
    )
    console.print(f"Starting in {escape(str(stack.home))} ...")
    try:
        with progress, stack:
            progress.stop()
            for name, place in _places(stack, console).items():
                # The address is printed whole and without line breaks, so that people can copy it.
                console.print(f"[bold]{name:<9}[/] {escape(place)}", soft_wrap=True)
            if choice == "local":
                console.print(
                    f"[yellow]{MODEL_NAME} only tests the stack: ignore its decisions.[/] For a real model, set "
                    "TAMIS_LLM_API_KEY, TAMIS_MODEL and, for endpoints other than OpenAI's, TAMIS_LLM_BASE_URL."
                )
            if choice == "none":
                _say_how_to_name_one(console)
            console.print("[bold]Ctrl-C stops everything.[/]")
            stack.run_until_stopped()
    except KeyboardInterrupt:
        console.print("Stopped during the start.")
        return INTERRUPTED
    console.print("Stopped.")
    return 0


def _choice(settings: WorkerSettings, llm: Literal["auto", "local", "remote"]) -> LlmChoice:
    if llm != "auto":
        return llm
    if settings.names_an_llm:
        return "remote"
    return "local" if why_no_server() is None else "none"


def _say_how_to_name_one(console: Console) -> None:
    lines = [
        f"No LLM is set, and the small model cannot run here ({why_no_server()}). No worker runs, so batches wait. "
        "Set TAMIS_LLM_API_KEY, TAMIS_MODEL and, for endpoints other than OpenAI's, TAMIS_LLM_BASE_URL. Then start "
        "again.",
        *(f"An endpoint answers on this machine: {endpoint}" for endpoint in local_endpoints()),
    ]
    for line in lines:
        console.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)


def _places(stack: Stack, console: Console) -> dict[str, str]:
    """Return the address or the number of workers of each part of the stack. The keys are the parts' names."""
    places = {
        "Postgres": f"{stack.database_url} ({stack.postgres.program})" if stack.postgres else "from TAMIS_DATABASE_URL",
        # Redis's password is omitted; programs read the password in the stack file.
        "Redis": f"redis://{HOST}:{stack.valkey.port}/0 ({stack.valkey.program})"
        if stack.valkey
        else "from TAMIS_BROKER_URL",
        "LLM": f"{stack.llm_base_url} ({stack.model})" if stack.llm_base_url else "none",
        "Workers": f"{len(stack.workers)} process{'' if len(stack.workers) == 1 else 'es'}",
    }
    if stack.flower is not None:
        places["Flower"] = flower_place(stack.flower, stack, console)
    if stack.gateway is not None:
        places["Page"] = page_place(stack.gateway, stack, console)
    return places | {"Logs": str(stack.home / "log")}


def flower_place(flower: Flower, stack: Stack, console: Console) -> str:
    """Return Flower's address and login. The random password is included only if `console` is a terminal.

    A console that is no terminal may be a file that others read. A password from the settings is never included.
    """
    chosen = stack.settings.flower_password is not None
    if console.is_terminal and not chosen:
        return flower.url
    where = "TAMIS_FLOWER_PASSWORD" if chosen else stack.home / PASSWORD_FILE
    return f"http://{flower.place} (user {USER}, password in {where})"


def page_place(gateway: Gateway, stack: Stack, console: Console) -> str:
    """Return the page's address. The address contains the key only if `console` is a terminal.

    Otherwise the text names the file with the key.
    """
    return gateway.sign_in_url if console.is_terminal else f"{gateway.url} (key in {stack.home / KEY_FILE})"
