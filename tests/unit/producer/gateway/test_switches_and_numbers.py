"""In the body of a request a switch is true or false, and a number is a number: neither is taken for the other."""

import pkgutil
import typing
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

import tamis_producer.gateway
import tamis_review.page
from tamis_schemas import Answer, Extract, ExtractFields, Filter, Inclusion, Judge, Panel, Score

OPERATIONS = (Answer, Extract, ExtractFields, Filter, Inclusion, Judge, Panel, Score)
ANSWERS = {"Changed", "Evaluated", "FileNote", "Problem"}  # only go out, as frozen models do
NO_SWITCHES = (0, 1, "true", "false")
NO_NUMBERS = (False, True, "1", "0.5")


def parts(annotation: object) -> Iterator[type]:
    """Yield the classes that a type is made of."""
    if arguments := typing.get_args(annotation):
        for argument in arguments:
            yield from parts(argument)
    elif isinstance(annotation, type):
        yield annotation


def modules(room: ModuleType) -> Iterator[str]:
    return (f"{room.__name__}.{info.name}" for info in pkgutil.iter_modules(room.__path__))


def bodies() -> Iterator[type[BaseModel]]:
    """Yield the models of the gateway that come in with a request."""
    for info in (*modules(tamis_producer.gateway), *modules(tamis_review.page)):
        module = import_module(info)
        for value in vars(module).values():
            ours = isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__
            if ours and not value.model_config.get("frozen"):
                yield value


def fields() -> dict[str, FieldInfo]:
    """Return the switches and numbers of all bodies and operations, and of the models inside them, by their names."""
    found: dict[str, FieldInfo] = {}
    left, seen = [*bodies(), *OPERATIONS], set[type[BaseModel]]()
    while left:
        model = left.pop()
        if model in seen or model.__name__ in ANSWERS:
            continue
        seen.add(model)
        for name, field in model.model_fields.items():
            inside = set(parts(field.annotation))
            left += [part for part in inside if issubclass(part, BaseModel)]
            if inside & {bool, int, float} and str not in inside:
                found[f"{model.__name__}.{name}"] = field
    return found


FIELDS = fields()


def test_the_bodies_have_switches_and_numbers() -> None:
    assert {"Submission.use_cache", "Steering.tier_patience", "FileTerms.at_least", "Filter.graded"} <= FIELDS.keys()


def test_no_number_is_a_switch_and_no_switch_or_text_a_number() -> None:
    taken = []
    field: Any
    for name, field in FIELDS.items():
        value = TypeAdapter(Annotated[field.annotation, field])
        for wrong in NO_SWITCHES if bool in set(parts(field.annotation)) else NO_NUMBERS:
            try:
                value.validate_python(wrong)
            except ValidationError:
                continue
            taken.append((name, wrong))
    assert taken == []
