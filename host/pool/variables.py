"""Variables in configuration texts: ``${VAR}`` and the spellings of other clients."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

EXPANDED_FIELDS = ("command", "args", "env", "cwd", "url", "headers", "auth")
"""The fields of a row in which variables are filled (pool spec §20)."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = re.compile(
    rf"\$\{{(?:env:)?(?P<name>{_NAME})(?::-(?P<default>[^}}]*))?\}}"
    rf"|\{{env:(?P<bare>{_NAME})\}}"
    r"|\$\{(?P<asked>input:[^{}]*)\}"
)


def expand_variables(text: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The text with its variables filled from ``env``, and the names that have no value.

    Read are ``${VAR}``, ``${VAR:-default}`` (also for an empty value), ``${env:VAR}`` and
    ``{env:VAR}``. What has no value stays as written; so does ``${input:…}``, which another
    client would ask for. Filled-in values are not read again.
    """
    unset: dict[str, None] = {}

    def filled(match: re.Match[str]) -> str:
        name = match["name"] or match["bare"] or match["asked"]
        value = env.get(name)
        if match["default"] is not None:
            return value or match["default"]
        if value is None:
            unset[name] = None
            return match[0]
        return value

    return _VARIABLE.sub(filled, text), tuple(unset)


def variable_names(text: str) -> tuple[str, ...]:
    """The names of the variables that a text mentions, whether they have a value or not."""
    found = (match["name"] or match["bare"] for match in _VARIABLE.finditer(text))
    return tuple(dict.fromkeys(name for name in found if name))


def one_spelling(text: str) -> str:
    """The text with each variable written as ``${VAR}`` or ``${VAR:-default}``."""

    def respelled(match: re.Match[str]) -> str:
        default = match["default"]
        name = match["name"] or match["bare"] or match["asked"]
        return f"${{{name}}}" if default is None else f"${{{name}:-{default}}}"

    return _VARIABLE.sub(respelled, text)


def expand_row(
    row: Mapping[str, Any], env: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The written row with variables filled in ``EXPANDED_FIELDS``, and the names without value.

    Names of variables and headers are not texts to fill; nor is anything that is no text.
    """
    unset: dict[str, None] = {}

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            text, names = expand_variables(value, env)
            unset.update(dict.fromkeys(names))
            return text
        if isinstance(value, Mapping):
            return {name: filled(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [filled(inner) for inner in value]
        return value

    expanded = {
        name: filled(value) if name in EXPANDED_FIELDS else value for name, value in row.items()
    }
    return expanded, tuple(unset)
