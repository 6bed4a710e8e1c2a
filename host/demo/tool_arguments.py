"""The arguments of the bundled tools: their plain schemas, and what is wrong with a call's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from host.demo.refusal import Refused, listed, shown

ParameterType = Literal["string", "number", "integer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool.

    Attributes:
        default: what is used when it is left out; None when it must be given.
    """

    name: str
    type: ParameterType
    description: str
    default: str | int | None = None


def input_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON Schema of a call's arguments: one flat object, nothing else allowed in it."""
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.default is None],
        "additionalProperties": False,
    }


def checked_arguments(
    tool: str, parameters: Sequence[Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments to call a tool with, defaults filled in and whole floats made integers.

    Raises:
        Refused: one is missing, unknown or of another type; the text names it and what it must be.
    """
    for name in given:
        if all(name != parameter.name for parameter in parameters):
            raise _unknown_argument(tool, name, parameters)
    arguments = {}
    for parameter in parameters:
        value = given.get(parameter.name, parameter.default)
        if parameter.name not in given and value is None:
            raise Refused(f"{tool} needs {_wanted(parameter)}.")
        if not _fits(parameter.type, value):
            raise Refused(f"{tool} needs {_wanted(parameter)}; what was given is {_kind(value)}.")
        arguments[parameter.name] = int(value) if parameter.type == "integer" else value
    return arguments


def _unknown_argument(tool: str, name: str, parameters: Sequence[Parameter]) -> Refused:
    if not parameters:
        return Refused(f"{tool} has no argument {shown(name)}: it takes none.")
    known = listed((parameter.name for parameter in parameters), "and")
    return Refused(f"{tool} has no argument {shown(name)}: its arguments are {known}.")


def _property(parameter: Parameter) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": parameter.type, "description": parameter.description}
    return shape if parameter.default is None else {**shape, "default": parameter.default}


def _wanted(parameter: Parameter) -> str:
    return f'"{parameter.name}" ({parameter.type}): {parameter.description}'


def _fits(type_: ParameterType, value: object) -> bool:
    match type_:
        case "string":
            return isinstance(value, str)
        case "number":
            return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))
        case "integer":
            return _is_whole(value)
        case _:
            assert_never(type_)


def _is_whole(value: object) -> bool:
    """Whether JSON Schema calls it an integer: 1.0 is one, True is not."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int():
            return "a number"
        case float():
            return f"the number {value!r}"
        case list():
            return "a list"
        case _:
            return "an object"
