"""The ``agent`` object of a servers file, read and judged in our own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
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
    "greater_than_equal": "must be {ge} or more",
    "greater_than": "must be more than {gt}",
    "string_pattern_mismatch": "must be an address such as http://localhost:8080/v1",
    "string_too_short": "must not be empty",
    "literal_error": "must be one of {expected}",
    "finite_number": "must be a finite number",
}


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
    both = settings.gguf is not None and settings.base_url is not None
    problems = ["agent.gguf and agent.baseUrl exclude each other; keep one"] if both else []
    return settings, secrets, tuple(unset), problems


def _problems(error: ValidationError) -> list[str]:
    problems = []
    for fault in error.errors(include_url=False, include_input=False):
        field = str(fault["loc"][0])
        if fault["type"] == "extra_forbidden":
            near = nearest_name(field, FIELDS)
            remedy = f'did you mean "{near}"?' if near else f"known are {', '.join(FIELDS)}"
            problems.append(f"agent.{field} is not a known field; {remedy}")
            continue
        words: Mapping[str, Any] = fault.get("ctx", {})
        expected = _EXPECTED.get(fault["type"], "has a wrong value")
        problems.append(f"agent.{field} {expected.format_map(words)}")
    return problems
