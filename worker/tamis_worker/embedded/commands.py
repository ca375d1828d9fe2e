"""What `tamis up` does, without the command line around it."""

from functools import partial
from typing import Literal

from rich.console import Console
from rich.markup import escape

from tamis_producer.config.redaction import shown_url

from ..config.settings import WorkerSettings
from .fetch_bar import fetch_with_bar
from .flower import Flower
from .flower_options import PASSWORD_FILE, USER
from .gateway import KEY_FILE, Gateway
from .llm import MODEL_NAME
from .ports import HOST
from .stack import LlmChoice, Stack

INTERRUPTED = 130  # as shells count it: 128 + SIGINT


def up(
    settings: WorkerSettings,
    *,
    workers: int,
    llm: Literal["auto", "local", "remote"],
    flower: bool,
    page: bool,
    console: Console,
) -> int:
    """Run the stack in the foreground until a signal stops it; the process's exit status.

    `auto` serves the small model where the environment names no LLM.

    Raises:
        ConfigurationError, OperationFailed: as `Stack.start` does.
    """
    choice: LlmChoice = llm if llm != "auto" else "remote" if settings.names_an_llm else "local"

    def announce(line: str) -> None:
        console.print(escape(line))

    stack = Stack(
        settings,
        workers=workers,
        llm=choice,
        flower=flower,
        page=page,
        announce=announce,
        fetch=partial(fetch_with_bar, console),
    )
    console.print(f"Starting in {escape(str(stack.home))} ...")
    try:
        with stack:
            for name, place in _places(stack, workers, console).items():
                # Never wrapped or cut: it is there to be copied.
                console.print(f"[bold]{name:<9}[/] {escape(place)}", soft_wrap=True)
            if choice == "local":
                console.print(
                    f"[yellow]{MODEL_NAME} shows that everything works; its decisions are worth nothing.[/] A real "
                    "model: set TAMIS_LLM_API_KEY, TAMIS_MODEL and, for others than OpenAI, TAMIS_LLM_BASE_URL."
                )
            console.print("[bold]Ctrl-C stops everything.[/]")
            stack.run_until_stopped()
    except KeyboardInterrupt:
        console.print("Stopped while it was starting.")
        return INTERRUPTED
    console.print("Stopped.")
    return 0


def _places(stack: Stack, workers: int, console: Console) -> dict[str, str]:
    """Return where each part listens."""
    settings = stack.settings
    places = {
        "Postgres": stack.database_url if stack.postgres else "the one of TAMIS_DATABASE_URL",
        # Shown without its password: that is for programs, which read it in the stack file.
        "Redis": f"redis://{HOST}:{stack.valkey.port}/0" if stack.valkey else "the one of TAMIS_BROKER_URL",
        "LLM": f"{stack.llm.base_url} ({MODEL_NAME})"
        if stack.llm
        else f"{shown_url(settings.endpoint)} ({settings.model})",
        "Workers": f"{workers} process{'' if workers == 1 else 'es'}",
    }
    if stack.flower is not None:
        places["Flower"] = flower_place(stack.flower, stack, console)
    if stack.gateway is not None:
        places["Page"] = page_place(stack.gateway, stack, console)
    return places | {"Logs": str(stack.home / "log")}


def flower_place(flower: Flower, stack: Stack, console: Console) -> str:
    """Return where Flower is and who enters: to copy where `console` is a terminal, else without the password.

    A terminal is its reader's own; what else is written to may be kept, and read by others.
    """
    own = stack.settings.flower_password is not None
    if console.is_terminal and not own:
        return flower.url
    where = "TAMIS_FLOWER_PASSWORD" if own else stack.home / PASSWORD_FILE
    return f"http://{flower.place} (user {USER}, password in {where})"


def page_place(gateway: Gateway, stack: Stack, console: Console) -> str:
    """Return where the page is: with the key where `console` is a terminal, else without, for the same reason."""
    return gateway.sign_in_url if console.is_terminal else f"{gateway.url} (key in {stack.home / KEY_FILE})"
