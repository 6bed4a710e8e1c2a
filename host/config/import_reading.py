"""The servers in a client's file as they stand there, with what the file says about all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from host.config.import_clients import OPENCODE, OTHER, VSCODE, ZED, Client
from host.config.import_places import Place, Surroundings, keeps_projects, same_path
from host.errors import ConfigError
from host.pool.relaxed_json import JsonSyntaxError, parse_relaxed_json
from host.pool.row_import import server_bodies

_SETTINGS = (
    "claude_desktop_config.json",
    ".claude.json",
    "settings.json",
    "opencode.json",
    "opencode.jsonc",
    "config.json",
)
"""How files end in which the servers are one thing among many."""

_CONTAINERS = ("mcpServers", "servers", "mcp", "context_servers")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenServer:
    """A server as a client's file has it.

    Attributes:
        body: anything that JSON can hold.
        place: where it stands; scope and folder are this server's own.
        is_off: switched off beside its body.
        timeout: what the file sets for all servers, in the client's form; None for nothing.
        inputs: what the client asks its user for, by id.
    """

    id: str
    body: object = field(repr=False)
    place: Place
    is_off: bool = False
    timeout: object = None
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """What a client's file says about MCP.

    Attributes:
        elsewhere: other projects' folders -> how many servers they have; these are not read.
        refused: servers of the project's shared file that the user has said no to.
        notes: lines about the file itself.
    """

    place: Place
    servers: tuple[WrittenServer, ...] = ()
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def read_client_file(
    text: str,
    place: Place,
    around: Surroundings,
    *,
    named: bool = False,
    refused: frozenset[str] = frozenset(),
) -> ClientFile:
    """The servers of a client's file.

    Args:
        named: the file was asked for by its path: all it holds is meant, in whatever form.
        refused: servers of a project's shared file that another file switches off.

    Raises:
        ConfigError: no JSON, no object, or, in a named file, no servers.
    """
    twice: list[str] = []
    try:
        written = parse_relaxed_json(text, on_duplicate=twice.append) if text.strip() else {}
    except JsonSyntaxError as error:
        raise ConfigError(place.path, [str(error)]) from error
    if not isinstance(written, Mapping):
        raise ConfigError(place.path, ["must be an object"])
    notes = [f'"{key}" stands twice in one object; the last one counts' for key in twice]
    if keeps_projects(place):
        return replace(_read_projects(written, place, around, named=named), notes=tuple(notes))
    place = replace(place, client=_writer(written, place))
    if named and not _is_settings(place) and not any(key in written for key in _CONTAINERS):
        bodies = server_bodies(written, name=_stem(place.path), source=place.path)
        servers = [WrittenServer(id=key, body=body, place=place) for key, body in bodies.items()]
    else:
        servers = [*_servers(written, place, refused)]
        notes += _left_beside(written, place)
    return ClientFile(place=place, servers=tuple(servers), notes=tuple(notes))


def _writer(written: Mapping[str, Any], place: Place) -> Client:
    """Whose file it is; by what stands in it where the path does not tell."""
    if place.client != OTHER:
        return place.client
    if "context_servers" in written:
        return ZED
    if "servers" in written:
        return VSCODE
    inner = written.get("mcp")
    if isinstance(inner, Mapping):
        return VSCODE if "inputs" in inner else OPENCODE
    return OTHER


def _is_settings(place: Place) -> bool:
    return place.path.endswith(_SETTINGS)


def _stem(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].partition(".")[0] or "server"


def _left_beside(written: Mapping[str, Any], place: Place) -> list[str]:
    """A line on what stands beside the servers in a file that is for servers alone."""
    left = [f'"{key}"' for key in written if key not in (*_CONTAINERS, "inputs", "$schema")]
    if not left or _is_settings(place):
        return []
    return [f"{', '.join(left)} beside the servers: not carried over"]


def _servers(
    written: Mapping[str, Any], place: Place, refused: frozenset[str]
) -> Iterator[WrittenServer]:
    holder: object = written
    keys: tuple[str, ...]
    off = refused
    match place.client.id:
        case "opencode":
            yield from _opencode(written, place)
            return
        case "zed":
            keys = ("context_servers",)
        case "vscode":
            keys = ("servers", "mcpServers")
            holder = written if any(key in written for key in keys) else written.get("mcp")
        case "gemini":
            keys, off = ("mcpServers",), _excluded(written)
        case _:
            keys = ("mcpServers",) if _is_settings(place) else ("mcpServers", "servers")
    if not isinstance(holder, Mapping):
        return
    container = next((key for key in keys if key in holder), keys[0])
    inputs = _inputs(holder.get("inputs"))
    for server_id, body in _bodies(holder, container, place.path).items():
        yield WrittenServer(
            id=server_id,
            body=body,
            place=place,
            is_off=server_id in off,
            timeout=written.get("context_server_timeout"),
            inputs=inputs,
        )


def _bodies(holder: Mapping[str, Any], container: str, source: str) -> dict[str, Any]:
    bodies = holder.get(container)
    if bodies is None:
        return {}
    if not isinstance(bodies, Mapping):
        raise ConfigError(source, [f"{container} must be an object with a body for each server"])
    return dict(bodies)


def _inputs(written: object) -> dict[str, Mapping[str, Any]]:
    listed = written if isinstance(written, list) else []
    return {
        each["id"]: each
        for each in listed
        if isinstance(each, Mapping) and isinstance(each.get("id"), str)
    }


def _excluded(written: Mapping[str, Any]) -> frozenset[str]:
    """The servers that Gemini CLI's settings leave out, by name."""
    settings = written.get("mcp")
    settings = settings if isinstance(settings, Mapping) else {}
    allowed = settings.get("allowed", written.get("allowMCPServers"))
    excluded = settings.get("excluded", written.get("excludeMCPServers"))
    servers = written.get("mcpServers")
    names = [*servers] if isinstance(servers, Mapping) else []
    return frozenset(
        name
        for name in names
        if (isinstance(excluded, list) and name in excluded)
        or (isinstance(allowed, list) and allowed and name not in allowed)
    )


def _opencode(written: Mapping[str, Any], place: Place) -> Iterator[WrittenServer]:
    """opencode 1 has servers under ``mcp``, opencode 2 under ``mcp.servers``; both may be there."""
    flat = _bodies(written, "mcp", place.path)
    further = written.get("experimental")
    timeout = further.get("mcp_timeout") if isinstance(further, Mapping) else None
    if _is_opencode_timeout(flat.get("timeout")):
        timeout = flat.pop("timeout")
    inner = flat.get("servers")
    if isinstance(inner, Mapping) and not isinstance(inner.get("type"), str):
        del flat["servers"]
    else:
        inner = {}
    for server_id, body in (*flat.items(), *inner.items()):
        yield WrittenServer(id=server_id, body=body, place=place, timeout=timeout)


def _is_opencode_timeout(value: object) -> bool:
    if isinstance(value, Mapping):
        return "type" not in value
    return isinstance(value, int | float)


def _read_projects(
    written: Mapping[str, Any], place: Place, around: Surroundings, *, named: bool
) -> ClientFile:
    """Claude Code's file: the user's servers, and those of projects by the projects' folders."""
    servers: list[WrittenServer] = []
    if place.scope == "user":
        for server_id, body in _bodies(written, "mcpServers", place.path).items():
            servers.append(WrittenServer(id=server_id, body=body, place=place))
    elsewhere: dict[str, int] = {}
    refused: frozenset[str] = frozenset()
    for folder, project in _bodies(written, "projects", place.path).items():
        if not isinstance(project, Mapping):
            continue
        bodies = _bodies(project, "mcpServers", place.path)
        is_here = place.folder is not None and same_path(folder, place.folder, around)
        if is_here:
            refused = _names(project.get("disabledMcpjsonServers"))
        if is_here or named:
            own = replace(place, scope="project", folder=folder)
            off = _names(project.get("disabledMcpServers"))
            servers += (
                WrittenServer(id=key, body=body, place=own, is_off=key in off)
                for key, body in bodies.items()
            )
        elif bodies:
            elsewhere[folder] = len(bodies)
    return ClientFile(place=place, servers=tuple(servers), elsewhere=elsewhere, refused=refused)


def _names(listed: object) -> frozenset[str]:
    names = listed if isinstance(listed, list) else []
    return frozenset(name for name in names if isinstance(name, str))
