"""The ``agent`` object of a servers file, read and judged in our own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from host.config.agent_settings import AgentSettings
from host.pool.row_validation import nearest_name
from host.pool.variables import expand_variables, variable_names

EXPANDED_FIELDS = ("baseUrl", "apiKey", "model", "gguf")

FIELDS = tuple(to_camel(name) for name in AgentSettings.model_fields)

_EXPECTED = {
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "greater_than_equal": "must be {ge:g} or more",
    "greater_than": "must be more than {gt:g}",
    "less_than_equal": "must be {le:,.0f} or less",
    "string_pattern_mismatch": "must be an address such as http://localhost:8080/v1",
    "string_too_short": "must not be empty",
    "literal_error": "must be one of {expected}",
    "finite_number": "must be a finite number",
    "missing": "is missing",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}

_OUR_TYPES = ("number_inside", "repeat_limit", "tool_pattern")
"""Mistakes that word themselves."""


def read_agent(
    written: object, env: Mapping[str, str]
) -> tuple[AgentSettings, tuple[str, ...], tuple[str, ...], list[str]]:
    """The settings, the variables the key was read from, those without a value, and the problems.

    With problems, the settings are the defaults. A field whose variable has no value counts as
    absent.
    """
    if written is None:
        return AgentSettings(), (), (), []
    if not isinstance(written, Mapping):
        return AgentSettings(), (), (), ["agent must be an object"]
    fields = {name: value for name, value in written.items() if value is not None}
    secrets: tuple[str, ...] = ()
    unset: dict[str, None] = {}
    for name in EXPANDED_FIELDS:
        text = fields.get(name)
        if isinstance(text, str):
            fields[name], missing = expand_variables(text, env)
            if name == "apiKey":
                secrets = variable_names(text)
            if missing:
                unset.update(dict.fromkeys(missing))
                del fields[name]
    try:
        settings = AgentSettings.model_validate(fields, by_alias=True, by_name=False)
    except ValidationError as error:
        return AgentSettings(), secrets, tuple(unset), _problems(error)
    return settings, secrets, tuple(unset), _contradictions(settings)


def _contradictions(settings: AgentSettings) -> list[str]:
    problems = []
    if settings.gguf is not None and settings.base_url is not None:
        problems.append("agent.gguf and agent.baseUrl exclude each other; keep one")
    if (settings.max_cost is None) != (settings.prices is None):
        problems.append("agent.maxCost and agent.prices only work together; write both or neither")
    return problems


def _problems(error: ValidationError) -> list[str]:
    problems = []
    for fault in error.errors(include_url=False, include_input=False):
        path = [str(part) for part in fault["loc"]]
        field = _written_path(fault["loc"])
        if fault["type"] == "extra_forbidden":
            known = FIELDS if len(path) == 1 else _fields_of(path[0])
            near = nearest_name(path[-1], known)
            remedy = f'did you mean "{near}"?' if near else f"known are {', '.join(known)}"
            problems.append(f"{field} is not a known field; {remedy}")
            continue
        words: Mapping[str, Any] = fault.get("ctx", {})
        expected = _EXPECTED.get(fault["type"], "has a wrong value")
        if fault["type"] in _OUR_TYPES:
            expected = fault["msg"]
        problems.append(f"{field} {expected.format_map(words)}")
    return problems


def _written_path(places: Sequence[str | int]) -> str:
    """Where a value stands, as people write it: ``agent.approve.deny[0]``."""
    return "agent" + "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in places)


def _fields_of(alias: str) -> tuple[str, ...]:
    """The fields of the object that stands under a field of the settings."""
    field = next(f for name, f in AgentSettings.model_fields.items() if to_camel(name) == alias)
    models = [part for part in get_args(field.annotation) if isinstance(part, type)]
    inner = next(model for model in models if issubclass(model, BaseModel))
    return tuple(to_camel(name) for name in inner.model_fields)
