"""Settings as texts: from variables `TAMIS_<NAME>`, or from the files that variables `TAMIS_<NAME>_FILE` name.

Files are for secrets, which compose and Kubernetes hand over so: a container's variables are shown to whoever inspects
it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tamis_schemas import ConfigurationError

PREFIX = "TAMIS_"
SUFFIX = "_FILE"
LARGEST = 65_536  # bytes; it is a password or a URL


def files_named(environment: Mapping[str, str]) -> dict[str, Path]:
    """Return the files that stand for variables, by the variable's name; one that is set itself needs no file."""
    return {
        variable: Path(value)
        for name, value in environment.items()
        if name.startswith(PREFIX) and name.endswith(SUFFIX) and value
        if not environment.get(variable := name.removesuffix(SUFFIX))
    }


def text_of(path: Path) -> str:
    """Return the text of a file without the white space around it.

    Raises:
        OSError: it cannot be read, or is larger than any setting.
        UnicodeError: it is not UTF-8.
    """
    with path.open("rb") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(f"it has more than {LARGEST:,} bytes")
    return content.decode("utf-8").strip()


def settings_of(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the texts of these settings by their names; one whose variable or file is missing or empty is not set.

    A variable goes before the file of the same setting, and its name may be written in small letters.

    Raises:
        ConfigurationError: naming the variable whose file cannot be read.
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
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ConfigurationError(f"{variable}{SUFFIX}: {str(path)!r} cannot be read: {why}") from error
