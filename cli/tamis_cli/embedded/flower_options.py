"""The options of Flower: it is read-only, needs a password, and keeps its history when it restarts.

All options are environment variables, because any user of the machine can read a process's command line.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tamis_worker.config.settings import WorkerSettings

USER = "tamis"
FLOWER_PORT = 5555
PASSWORD_FILE = "flower.password"  # noqa: S105 - the name of a file
SAVE_EVERY = 60_000  # milliseconds between saves; a killed Flower loses the history since the last save
FLOWER = ("celery", "--app", "tamis_cli.embedded.flower_app:app", "flower")  # after `python -m`


def flower_environment(
    home: Path, environment: Mapping[str, str], *, address: str, port: int, password: str | None
) -> dict[str, str]:
    """Return the environment variables of Flower: those of `environment`, and Flower's options.

    Flower keeps its history and its secrets under `home`. Without a `password`, the random password in the file
    `PASSWORD_FILE` is used.
    """
    # This import is inside the function, because other commands do not need it.
    from tamis_producer.config.private_file import kept_secret

    inherited = {name: value for name, value in environment.items() if not name.startswith("FLOWER_")}
    return inherited | {
        "FLOWER_ADDRESS": address,
        "FLOWER_PORT": str(port),
        "FLOWER_BASIC_AUTH": f"{USER}:{password or kept_secret(home / PASSWORD_FILE)}",
        "FLOWER_COOKIE_SECRET": kept_secret(home / "flower.cookie"),
        "FLOWER_PERSISTENT": "true",
        "FLOWER_DB": str(home / "flower.db"),
        "FLOWER_STATE_SAVE_INTERVAL": str(SAVE_EVERY),
        "FLOWER_READ_ONLY": "true",
        # The arguments show which item a task is about.
        "FLOWER_TASKS_COLUMNS": "name,args,state,result,exception,received,runtime,worker",
        # Otherwise Flower would run a flowerconfig.py in the current folder.
        "FLOWER_CONF": os.devnull,
    }


def become_flower(settings: "WorkerSettings", *, port: int) -> NoReturn:
    """Replace this process by Flower, for the servers of `settings`. Flower then receives signals directly.

    The password is from the settings. If the settings have none, the random password in `PASSWORD_FILE` is used.

    Raises:
        ConfigurationError: no servers are named, and no stack runs.
    """
    home = settings.home.absolute()
    _ = settings.broker  # raises a one-line error if no broker is set
    password = settings.flower_password.get_secret_value() if settings.flower_password else None
    environment = flower_environment(
        home,
        os.environ,
        address=settings.flower_address,
        port=port,
        password=password,
    )
    os.execve(sys.executable, (sys.executable, "-m", *FLOWER), environment)  # noqa: S606 - a fixed command, and no shell
