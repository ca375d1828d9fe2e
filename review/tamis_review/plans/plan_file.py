"""The readers of a review's plan and of a JSON Schema, from YAML or JSON files.

File names in a plan are relative to the plan's folder.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from tamis_producer.files.decode import read_text
from tamis_producer.files.yaml_file import Location, YamlFile, read_yaml
from tamis_schemas import (
    NO_STEERING,
    ExtractFields,
    Inclusion,
    InputError,
    ReviewPlan,
    ReviewStage,
    SearchCriteria,
    Steering,
)
from tamis_schemas.operations import OPERATIONS, OperationKind, operation_name

from ..intake.stated_source import StatedSource
from .criteria_file import criteria_of, read_criteria

EXAMPLE = """\
title: Exercise and depression
records: export.ris
criteria: criteria.yaml
stages: [initial_filter, inclusion]"""

FIELDS = ("title", "records", "sources", "criteria", "keep_duplicates", "steering", "stages")
OF_SOURCE = ("name", "kind", "file", "files", "searched", "query")
INITIAL_FILTER = "initial_filter"
# Fields of a stage that are no parameters of its operation.
OF_STAGE = ("model", "passes", "at_least", "max_cost", "steering")
STAGES: dict[str, type[OperationKind]] = {operation_name(Inclusion): Inclusion} | {
    operation_name(kind): kind for kind in OPERATIONS if kind.needs_record
}
_Model = TypeVar("_Model", bound=BaseModel)
# A parameter that may be in a separate file -> the field with the file's name.
FROM_FILE = {"guidelines": "guidelines_file"}


@dataclass(frozen=True)
class PlannedReview:
    """The content of a plan file."""

    plan: ReviewPlan
    title: str
    sources: tuple[StatedSource, ...]
    criteria: SearchCriteria | None
    initial_filter: bool
    keep_duplicates: bool


def read_plan(path: Path | str) -> PlannedReview:
    """Return the plan in a YAML or JSON file, with the criteria, schemas and guidelines in files that the plan names.

    Raises `InputError` if a file is unreadable or invalid. The message names file, line and field.
    """
    file = read_yaml(path, what="a plan", example=EXAMPLE)
    file.check_names(FIELDS)
    values = file.values
    criteria = _criteria(file)
    stages = _stages(file)
    initial_filter = bool(stages) and stages[0].name == INITIAL_FILTER
    if initial_filter and criteria is None:
        raise file.wrong("needs the review's criteria: add them under `criteria`", stages[0].location)
    for stage in stages[1:]:
        if stage.name == INITIAL_FILTER:
            raise file.wrong("must be the first stage: it needs no model, and saves calls", stage.location)
    steering = _steering(file, values.get("steering"), ("steering",))  # of all stages; a stage may override it
    read = [_review_stage(file, stage, criteria, steering) for stage in stages if stage.name != INITIAL_FILTER]
    try:
        plan = ReviewPlan(stages=tuple(read))
    except ValidationError as error:
        raise file.wrong(_message(error), ("stages",)) from error
    keep = values.get("keep_duplicates", False)
    if not isinstance(keep, bool):
        raise file.wrong("must be true or false", ("keep_duplicates",))
    sources = _sources(file)
    title = values.get("title") or _called(sources)
    if not isinstance(title, str):
        raise file.wrong("must be a text: put it in quotes", ("title",))
    return PlannedReview(plan, title, sources, criteria, initial_filter, keep)


@dataclass(frozen=True)
class _Stage:
    name: str
    fields: dict[str, Any]
    location: Location


def _stages(file: YamlFile) -> list[_Stage]:
    listed = file.values.get("stages")
    if not isinstance(listed, list) or not listed:
        raise file.wrong("must be a list: one stage per line, each after `- `", ("stages",))
    return [_stage(file, value, ("stages", place)) for place, value in enumerate(listed)]


def _stage(file: YamlFile, value: object, location: Location) -> _Stage:
    names = [INITIAL_FILTER, *STAGES]
    match value:
        case str():
            stage = _Stage(value, {}, location)
        case dict() if len(value) == 1:
            file.check_names(names, location)
            ((name, fields),) = value.items()
            if fields is not None and not isinstance(fields, dict):
                raise file.wrong("needs its fields on the lines below it", (*location, name))
            stage = _Stage(name, fields or {}, (*location, name))
        case dict():
            raise file.wrong("has several stages: begin each with `- `, and indent its fields", location)
        case _:
            raise file.wrong(f"is not a stage; the stages are {', '.join(names)}", location)
    if stage.name not in names:
        raise file.wrong(f"{stage.name!r} is not a stage; the stages are {', '.join(names)}", location)
    if stage.name == INITIAL_FILTER and stage.fields:
        raise file.wrong("cannot have fields: its rules follow from the criteria", location)
    return stage


def _review_stage(file: YamlFile, stage: _Stage, criteria: SearchCriteria | None, steering: Steering) -> ReviewStage:
    kind = STAGES[stage.name]
    parameters = [name for name, field in kind.model_fields.items() if name != "operation"]
    aliases = [field.alias for field in kind.model_fields.values() if field.alias]
    in_files = [name for parameter, name in FROM_FILE.items() if parameter in parameters]
    file.check_names([*parameters, *aliases, *in_files, *OF_STAGE], stage.location)
    values = dict(stage.fields)
    of_stage = {name: values.pop(name) for name in OF_STAGE if name in values}
    of_stage["steering"] = _steering(file, of_stage.get("steering"), (*stage.location, "steering")).over(steering)
    for parameter, name in FROM_FILE.items():
        if name in values:
            values[parameter] = read_text(_file(file, values.pop(name), (*stage.location, name)))
    if kind is Inclusion:
        if "criteria" in values:
            raise file.wrong(
                "move `criteria` to the top of the plan: the initial filter needs them too", stage.location
            )
        if criteria is None:
            raise file.wrong("needs the review's criteria: add them under `criteria`", stage.location)
        values["criteria"] = criteria
    if kind is ExtractFields and isinstance(values.get("schema"), str):
        values["schema"] = read_schema(_file(file, values["schema"], (*stage.location, "schema")))
    try:
        return ReviewStage.model_validate({"operation": kind.model_validate(values), **of_stage})
    except ValidationError as error:
        location = tuple(part for part in error.errors()[0]["loc"] if part in values or part in of_stage)[:1]
        raise file.wrong(_message(error), (*stage.location, *location)) from error


def _steering(file: YamlFile, value: object, location: Location) -> Steering:
    if value is None:
        return NO_STEERING
    if not isinstance(value, dict):
        raise file.wrong("needs its fields on the lines below it", location)
    file.check_names(list(Steering.model_fields), location)
    return _validated(Steering, file, value, location)


def _criteria(file: YamlFile) -> SearchCriteria | None:
    value = file.values.get("criteria")
    if value is None:
        return None
    if isinstance(value, str):
        return read_criteria(_file(file, value, ("criteria",)))
    return criteria_of(file, ("criteria",))


def _sources(file: YamlFile) -> tuple[StatedSource, ...]:
    """Return the plan's sources: the file under `records`, or the list under `sources`."""
    if "records" in file.values:
        if "sources" in file.values:
            raise file.wrong("cannot be combined with `records`: list the files under one of the two", ("sources",))
        return (StatedSource(files=(_file(file, file.values["records"], ("records",)),)),)
    if "sources" not in file.values:
        raise file.wrong("'records' is missing: write the file with the records there, or list several under `sources`")
    listed = file.values["sources"]
    if not isinstance(listed, list) or not listed:
        raise file.wrong("must be a list: one source after each `- `, with its `file`", ("sources",))
    sources: list[StatedSource] = []
    for place, value in enumerate(listed):
        source = _source(file, value, ("sources", place))
        if source.name is not None and source.name.casefold() in [(old.name or "").casefold() for old in sources]:
            raise file.wrong(
                f"{source.name!r} occurs twice: list all its files in one entry, as `files: [...]`",
                ("sources", place, "name"),
            )
        sources.append(source)
    return tuple(sources)


def _called(sources: Sequence[StatedSource]) -> str:
    first, more = sources[0].name or sources[0].files[0].name, len(sources) - 1
    return first if not more else f"{first} and {more} more source{'' if more == 1 else 's'}"


def _source(file: YamlFile, value: object, location: Location) -> StatedSource:
    if isinstance(value, str):
        return StatedSource(files=(_file(file, value, location),))
    if not isinstance(value, dict):
        raise file.wrong("must be the name of a file, or have its fields on the lines below it", location)
    file.check_names(OF_SOURCE, location)
    fields = dict(value)
    if ("file" in fields) == ("files" in fields):
        raise file.wrong("needs either `file`, or `files` with a list of all files of this source", location)
    names, field = ([fields.pop("file")], "file") if "file" in fields else (fields.pop("files"), "files")
    if not isinstance(names, list) or not names:
        raise file.wrong("must be a list of files", (*location, field))
    fields["files"] = [_file(file, name, (*location, field)) for name in names]
    return _validated(StatedSource, file, fields, location)


def _validated(model: type[_Model], file: YamlFile, values: object, location: Location) -> _Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise file.wrong(_message(error), (*location, *error.errors()[0]["loc"][:1])) from error


def read_schema(path: Path | str) -> dict[str, Any]:
    """Return the JSON Schema in a JSON or YAML file, unchecked. The operation `ExtractFields` checks the schema.

    Raises `InputError` with the line if the file is neither JSON nor YAML, or is not a mapping.
    """
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
        raise InputError("a JSON Schema must be a mapping: {type: object, properties: {...}}", path=path)
    return schema


def _file(file: YamlFile, name: object, location: Location) -> Path:
    if not isinstance(name, str) or not name.strip():
        raise file.wrong("must be the name of a file", location)
    return file.path.parent / name


def _message(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "missing":
        return f"{first['loc'][-1]!r} is missing"
    return first["msg"].removeprefix("Value error, ")
