"""A servers file's text, read and judged whole: every mistake at once, with row and remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from host.config.agent_reading import read_agent
from host.config.host_config import HostConfig
from host.errors import ConfigError
from host.pool.foreign_keys import FOREIGN_KEYS, foreign_key_notice, split_foreign_keys
from host.pool.relaxed_json import JsonSyntaxError, parse_relaxed_json
from host.pool.row_import import CONTAINERS, row_from_body, server_bodies
from host.pool.row_validation import nearest_name, parse_server_row, validate_servers
from host.pool.variables import expand_row

OWN_KEYS = ("mcpServers", "agent")

STAND_IN = "http://unset.invalid"
"""Takes the place of a variable without a value while the rest of its row is judged."""


def read_servers(text: str, source: str, env: Mapping[str, str]) -> HostConfig:
    """The configuration that a servers file's text stands for.

    Read are comments and trailing commas, too. A row whose variables have no value is set aside
    in ``unset``, unless it is disabled.

    Args:
        source: what errors call the file.
        env: where variables are read.

    Raises:
        ConfigError: it is no JSON, or has mistakes: all of them.
    """
    problems: list[str] = []
    twice: list[str] = []
    try:
        written = parse_relaxed_json(text, on_duplicate=twice.append)
    except JsonSyntaxError as error:
        raise ConfigError(source, [str(error)]) from error
    problems += [f'"{key}" stands twice in one object; rename or remove one' for key in twice]
    if not isinstance(written, Mapping):
        raise ConfigError(source, ['must be an object: {"mcpServers": {…}}'])
    notices, unknown = _other_keys(written)
    agent, secret_env, unset_agent, agent_problems = read_agent(written.get("agent"), env)
    rows = _read_rows(written, source, env)
    problems += [*unknown, *rows.problems, *agent_problems]
    if problems:
        raise ConfigError(source, problems)
    return HostConfig(
        source=source,
        rows=tuple(parse_server_row(row) for row in rows.ready),
        agent=agent,
        unset=rows.unset,
        unset_agent=unset_agent,
        secret_env=tuple(dict.fromkeys(("OPENAI_API_KEY", *secret_env))),
        notices=(*(f"{source}: {notice}" for notice in (*notices, *rows.notices)),),
    )


def _other_keys(written: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Notices on other clients' keys beside ours, and problems with keys that nobody knows."""
    if not any(key in written for key in CONTAINERS):
        return [], []  # a bare map of servers: its keys are ids
    notices, unknown = [], []
    for key in written:
        if key in FOREIGN_KEYS:
            notices.append(foreign_key_notice(key))
        elif key not in (*CONTAINERS, "agent"):
            near = nearest_name(key, OWN_KEYS)
            remedy = f'did you mean "{near}"?' if near else f"known are {', '.join(OWN_KEYS)}"
            unknown.append(f'"{key}" is not a known key; {remedy}')
    return notices, unknown


@dataclass(slots=True)
class _Rows:
    """The written rows, sorted by whether they can be started."""

    ready: list[dict[str, Any]] = field(default_factory=list)
    unset: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def _read_rows(written: Mapping[str, Any], source: str, env: Mapping[str, str]) -> _Rows:
    rows = _Rows()
    bodies = {key: value for key, value in written.items() if key != "agent"}
    if not bodies:
        return rows
    judged: list[dict[str, Any]] = []
    for server_id, body in server_bodies(bodies, source=source).items():
        if not isinstance(body, Mapping):
            rows.problems.append(f'server "{server_id}" must be an object with a command or a url')
            continue
        known, foreign = split_foreign_keys(body)
        rows.notices += (f'server "{server_id}": {foreign_key_notice(key)}' for key in foreign)
        as_row = row_from_body(server_id, known)
        filled, unset = expand_row(as_row, env)
        if unset:
            stand_ins = dict.fromkeys(unset, STAND_IN)
            filled, _ = expand_row(as_row, {**env, **stand_ins})
        judged.append(filled)
        if unset and filled.get("enabled") is not False:
            rows.unset[server_id] = unset
        else:
            rows.ready.append(filled)
    rows.problems += validate_servers(judged)
    return rows
