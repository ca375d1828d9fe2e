"""A JSON Schema from a JSON or YAML file. What is wrong with the schema itself is said by `ExtractFields`."""

import json
from pathlib import Path
from typing import Any

import yaml

from tamis_producer.files.decode import read_text
from tamis_schemas import InputError


def read_schema(path: Path | str) -> dict[str, Any]:
    """The mapping in a file. Raises `InputError` with the line where the file is neither JSON nor YAML."""
    text = read_text(path)
    try:
        schema = json.loads(text) if text.lstrip().startswith(("{", "[")) else yaml.safe_load(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}, column {error.colno}", path=path, line=error.lineno) from error
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise InputError(f"not YAML: {error.problem}", path=path, line=line) from error
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {error}", path=path) from error
    if not isinstance(schema, dict):
        raise InputError("a JSON Schema of an object is a mapping: {type: object, properties: {...}}", path=path)
    return schema
