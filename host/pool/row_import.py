"""Rows from the configuration files of MCP clients, in the dialects they write.

Sources: pool spec §20, design §8 "Import dialects" and "Unset variables".
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from host.errors import ConfigError
from host.pool.foreign_keys import FOREIGN_KEYS
from host.pool.naming import legal_name
from host.pool.relaxed_json import JsonSyntaxError, parse_relaxed_json
from host.pool.row_validation import parse_server_row
from host.pool.rows import ServerRow
from host.pool.variables import EXPANDED_FIELDS, expand_row
from host.text.json_text import compact_json

CONTAINERS = ("mcpServers", "servers", "mcp", "context_servers")
"""Keys under which clients keep their servers; the first that is there counts."""

_ADDRESSES = ("url", "serverUrl", "httpUrl")
_SPOKEN = ("transport", "type", "transportType")  # the last is Cline's of old
_BODY_MARKS = ("command", *_ADDRESSES, "type", "transport")
_TRANSPORTS = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "remote": "http",
    "streamablehttp": "http",
    "sse": "http",
}
_TRANSLATED = frozenset(
    {*_BODY_MARKS, *_SPOKEN, "args", "env", "environment", "headers", "id", "disabled"}
)


def from_mcp_servers_json(
    text_or_object: str | Mapping[str, Any],
    *,
    env: Mapping[str, str] | None = None,
    name: str | None = None,
) -> list[ServerRow]:
    """The servers of a client's configuration, in its order.

    Variables are filled; one without a value stays as written. Keys of other clients are left
    out. Whether the servers get on with each other is ``validate_servers``' question.

    Args:
        text_or_object: relaxed JSON, or what it says: an object under one of ``CONTAINERS``, a
            map of named bodies, or one bare body.
        env: where variables are read; None is this process's environment.
        name: the id of a bare body.

    Raises:
        ConfigError: not JSON, no servers, or bodies that are no rows; all problems at once.
    """
    source = "the servers' JSON"
    if isinstance(text_or_object, str):
        try:
            text_or_object = parse_relaxed_json(text_or_object)
        except JsonSyntaxError as error:
            raise ConfigError(source, [str(error)]) from error
    bodies = server_bodies(text_or_object, name=name, source=source)
    if not bodies:
        raise ConfigError(source, ["there are no servers in it"])
    rows: list[ServerRow] = []
    problems: list[str] = []
    for server_id, body in bodies.items():
        try:
            rows.append(_row(server_id, body, os.environ if env is None else env))
        except ConfigError as error:
            problems += (f'server "{server_id}": {problem}' for problem in error.problems)
    if problems:
        raise ConfigError(source, problems)
    return rows


def _row(server_id: str, body: object, env: Mapping[str, str]) -> ServerRow:
    if not isinstance(body, Mapping):
        raise ConfigError(server_id, ["it must be an object with a command or a url"])
    written, _ = expand_row(row_from_body(server_id, body), env)
    return parse_server_row(written)


def server_bodies(
    configuration: object, *, name: str | None = None, source: str = "the servers' JSON"
) -> dict[str, Any]:
    """The bodies of the servers by their keys, in order; {} for a container without servers.

    Bodies are as written and may be anything. Around named bodies, what is no object and stands
    under a key that clients use for other things is passed over.

    Args:
        name: the key of a bare body.
        source: what errors call the configuration.

    Raises:
        ConfigError: it is no object, holds nothing like servers, or is a bare body without name.
    """
    if not isinstance(configuration, Mapping):
        raise ConfigError(source, ["it must be an object; put the servers under mcpServers"])
    container = next((key for key in CONTAINERS if key in configuration), None)
    if container is not None:
        return _contained(configuration[container], container, source)
    if _is_bare_body(configuration):
        if not name:
            raise ConfigError(source, ["it is one server without a name; put it under mcpServers"])
        return {name: dict(configuration)}
    named = {
        key: body
        for key, body in configuration.items()
        if isinstance(body, Mapping) or key not in FOREIGN_KEYS
    }
    if not any(isinstance(body, Mapping) for body in named.values()):
        raise ConfigError(source, ["there are no servers in it; put them under mcpServers"])
    return named


def _contained(servers: object, container: str, source: str) -> dict[str, Any]:
    if container == "mcp" and isinstance(servers, Mapping):
        inner = servers.get("servers")
        if isinstance(inner, Mapping) and not _is_bare_body(inner):
            servers = inner  # VS Code's user settings
    if not isinstance(servers, Mapping):
        raise ConfigError(source, [f"{container} must be an object with a body for each server"])
    return dict(servers)


def _is_bare_body(candidate: Mapping[str, Any]) -> bool:
    return any(isinstance(candidate.get(mark), str | list) for mark in _BODY_MARKS)


def row_from_body(server_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The row, as it would be written in our own fields, that a client's body stands for.

    The key becomes id, slug (made legal) and label, whatever id the body has. Fields that the
    body lacks stay absent; unknown ones stay in it for the validation, and so does a transport
    that we do not speak. Variables are not filled.
    """
    row: dict[str, Any] = {"id": server_id, "slug": legal_name(server_id), "label": server_id}
    fields = {name: value for name, value in body.items() if value is not None}
    row |= _launch(fields)
    address = next((fields[key] for key in _ADDRESSES if key in fields), None)
    if address is not None:
        row["url"] = address
    row |= _transport(fields)
    row |= {name: value for name, value in fields.items() if name not in _TRANSLATED}
    disabled = fields.get("disabled", False)
    if disabled is not False:
        row["enabled"] = False if disabled is True else disabled
    return row


def body_from_row(row: ServerRow) -> dict[str, Any]:
    """What a servers file says for the row under the key ``row.id``: the way back.

    Read again it is a row of the same id, effective slug and label, with the same fields. What
    the key or a default already says is left out; what reaches the server comes first.
    """
    body: dict[str, Any] = row.model_dump(
        mode="json",
        by_alias=True,
        exclude_none=True,
        exclude_defaults=True,
        exclude={"id", "slug", "label", "enabled", "transport"},
    )
    if row.effective_slug != legal_name(row.id):
        body["slug"] = row.effective_slug
    if row.effective_label != row.id:
        body["label"] = row.effective_label
    if not row.enabled:
        body["disabled"] = True
    return {key: body.pop(key) for key in EXPANDED_FIELDS if key in body} | body


def _launch(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Command, arguments, variables and headers, from whichever spelling the body has."""
    command, args = fields.get("command"), fields.get("args")
    env = fields.get("env", fields.get("environment"))
    if isinstance(command, Mapping):  # Zed: {path, args, env}
        args, env = command.get("args"), command.get("env", env)
        command = command.get("path")
    elif isinstance(command, list) and command:  # opencode: the whole command line
        command, args = command[0], [*command[1:], *(args if isinstance(args, list) else [])]
    written = {"command": command, "args": args, "env": _texts(env)}
    written["headers"] = _texts(fields.get("headers"))
    return {name: value for name, value in written.items() if value is not None}


def _texts(pairs: object) -> object:
    """Names and texts: numbers and booleans as JSON writes them, nulls left out."""
    if not isinstance(pairs, Mapping):
        return pairs
    return {
        name: compact_json(value) if _is_finite_number(value) else value
        for name, value in pairs.items()
        if value is not None
    }


def _is_finite_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _transport(fields: Mapping[str, Any]) -> dict[str, Any]:
    spoken = next((fields[key] for key in _SPOKEN if key in fields), None)
    if spoken is None:
        if "command" in fields:
            return {"transport": "stdio"}
        is_remote = any(key in fields for key in _ADDRESSES)
        return {"transport": "http"} if is_remote else {}
    plain = spoken.lower().replace("-", "").replace("_", "") if isinstance(spoken, str) else ""
    found = {"transport": _TRANSPORTS.get(plain, spoken)}
    return found | ({"transportFallback": "sse"} if plain == "sse" else {})
