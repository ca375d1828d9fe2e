"""Settings as texts: from variables `TAMIS_<NAME>`, or from files, whose paths are in `TAMIS_<NAME>_FILE`.

Compose and Kubernetes pass secrets as files, because anyone who inspects a container sees its variables.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tamis_schemas import ConfigurationError

PREFIX = "TAMIS_"
SUFFIX = "_FILE"
LARGEST = 65_536  # bytes, for a password or a URL


def files_named(environment: Mapping[str, str]) -> dict[str, Path]:
    """Return the file that each variable `TAMIS_<NAME>_FILE` names, with `TAMIS_<NAME>` as key.

    A file is omitted if the variable `TAMIS_<NAME>` itself has a value.
    """
    return {
        variable: Path(value)
        for name, value in environment.items()
        if name.startswith(PREFIX) and name.endswith(SUFFIX) and value
        if not environment.get(variable := name.removesuffix(SUFFIX))
    }


def text_of(path: Path) -> str:
    """Return the text of a file without the white space around it.

    Raises:
        OSError: the file cannot be read, or is larger than any setting.
        UnicodeError: the file is not UTF-8.
    """
    with path.open("rb") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(f"it has more than {LARGEST:,} bytes")
    return content.decode("utf-8").strip()


def settings_of(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the texts of these settings by name.

    A setting is omitted if its variable and its file are missing or empty. A variable overrides the file of the same
    setting. The variable's name may be in small letters.

    Raises:
        ConfigurationError: a file cannot be read; the message names its variable.
    """
    variables = {name.upper(): value for name, value in environment.items()}
    files = files_named(environment)
    texts = {}
    for name in names:
        variable = f"{PREFIX}{name.upper()}"
        text = variables.get(variable) or (_text_for(variable, files[variable]) if variable in files else "")
        if text:
            texts[name] = text
    return texts


def _text_for(variable: str, path: Path) -> str:
    try:
        return text_of(path)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ConfigurationError(f"{variable}{SUFFIX}: {str(path)!r} cannot be read: {reason}") from error
