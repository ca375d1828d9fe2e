"""`.tamis/stack.json`: the addresses of the servers that `tamis up` runs (the embedded stack), for other processes."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from tamis_schemas import ConfigurationError

from .private_file import read_private, write_private

NAME = "stack.json"


class StackFile(BaseModel):
    """The addresses of the servers that `tamis up` runs (the embedded stack), as in the file `.tamis/stack.json`.

    The file is written when the stack is healthy, and removed when the stack stops.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, defer_build=True)  # the URLs hold passwords

    broker_url: str
    database_url: str
    flower_url: str | None = None
    page_url: str | None = None  # of the gateway
    llm_base_url: str | None = None  # of the workers' endpoint, without user, password and query
    llm_embedded: bool = False  # True for the small model on this machine: free, and the same under any name
    model: str | None = None  # the workers' model for batches that name none
    servers: dict[str, str] = {}  # program, version and reason for each embedded part

    @classmethod
    def read(cls, home: Path) -> Self | None:
        """Return the addresses of the stack that runs from the folder `home`; None if no stack runs.

        Raises `ConfigurationError` if the file is damaged.
        """
        path = home / NAME
        try:
            return cls.model_validate_json(read_private(path))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise ConfigurationError(f"{path} is damaged: delete it and start `tamis up` again") from error

    def write(self, home: Path) -> None:
        """Write the file in one step. Only its owner can read it, because the URLs may hold passwords."""
        write_private(home / NAME, self.model_dump_json(indent=2))

    @staticmethod
    def remove(home: Path) -> None:
        """Remove the file, because the stack in the folder `home` has stopped."""
        (home / NAME).unlink(missing_ok=True)
