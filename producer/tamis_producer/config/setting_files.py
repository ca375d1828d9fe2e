"""Settings from files: `TAMIS_<NAME>_FILE` names the file that holds what `TAMIS_<NAME>` would say.

For secrets, which compose and Kubernetes hand over as files: a container's variables are shown to whoever inspects it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from tamis_schemas import ConfigurationError

PREFIX = "TAMIS_"
SUFFIX = "_FILE"
LARGEST = 65_536  # bytes; it is a password or a URL


def files_named(environment: Mapping[str, str]) -> dict[str, Path]:
    """The files that stand for variables, by the variable's name; one that is set itself needs no file."""
    return {
        variable: Path(value)
        for name, value in environment.items()
        if name.startswith(PREFIX) and name.endswith(SUFFIX) and value
        if not environment.get(variable := name.removesuffix(SUFFIX))
    }


def text_of(path: Path) -> str:
    """What a file holds, without blanks and line ends around it.

    Raises:
        OSError: it cannot be read, or is larger than any setting.
        UnicodeError: it is not UTF-8.
    """
    with path.open("rb") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(f"it has more than {LARGEST:,} bytes")
    return content.decode("utf-8").strip()


class SettingFiles(PydanticBaseSettingsSource):
    """Reads the files of the fields of one class of settings. An empty file is a setting that is not set."""

    def __init__(self, settings: type[BaseSettings], environment: Mapping[str, str] | None = None) -> None:
        super().__init__(settings)
        self._files = files_named(os.environ if environment is None else environment)

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The text, the field's name, and that it is no JSON.

        Raises:
            ConfigurationError: naming the variable whose file cannot be read.
        """
        variable = f"{PREFIX}{field_name.upper()}"
        path = self._files.get(variable)
        if path is None:
            return None, field_name, False
        try:
            return text_of(path) or None, field_name, False
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise ConfigurationError(f"{variable}{SUFFIX}: {str(path)!r} cannot be read: {why}") from error

    def __call__(self) -> dict[str, Any]:
        values = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in values.items() if value is not None}
