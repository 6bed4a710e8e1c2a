"""A server of another client as a body of our servers file, with all that could not come along.

Every key of the foreign body is carried over, translated, or listed. Variables stay as written.
Source: design §8 "Import dialects"; what clients mean is in ``import_clients``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from host.config.import_clients import OPENCODE
from host.config.import_places import Place, Surroundings
from host.config.import_reading import WrittenServer
from host.config.import_variables import PlaceholderFilling
from host.pool.auth.row_rules import auth_header_conflict
from host.pool.row_import import body_from_row, row_from_body
from host.pool.row_validation import parse_server_row, validate_server_row
from host.pool.rows import field_names, read_row

_SPOKEN = ("transport", "type", "transportType")
_HIDING = ("disabledTools", "excludeTools")
_SWITCHES = ("disabled", "enabled")
_AUTHORIZATION = {
    "clientid": "clientId",
    "clientsecret": "clientSecret",
    "scope": "scope",
    "scopes": "scope",
    "callbackport": "redirectPort",
}
"""How clients spell what they say about OAuth (without ``_``, in small letters), and how we do."""

_OPENCODE_TIMES = {"startup": "connectTimeoutMs", "execution": "callTimeoutMs"}

EnvFiles = Callable[[str], Mapping[str, str] | None]
"""Gives the variables in the file of a path, or None when it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedServer:
    """A server that can be written into a servers file.

    Attributes:
        body: for ``mcpServers``; may hold secrets in plain text.
        not_carried: keys of the client that have no part in the body.
        remarks: lines for a person about this server.
        variables: environment variables to set -> what for, in the client's words.
        folder_is_implied: its ``cwd`` is the project's folder, which the client did not write.
    """

    id: str
    body: dict[str, Any] = field(repr=False)
    place: Place
    not_carried: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    folder_is_implied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedServer:
    """A server that cannot be carried over, and why."""

    id: str
    place: Place
    problems: tuple[str, ...]


def imported_server(
    server: WrittenServer, around: Surroundings, env_files: EnvFiles
) -> ImportedServer | RefusedServer:
    """The server in our terms, or why it has none."""
    try:
        return _Translation(server, around, env_files).result()
    except _UnreachableError as error:
        return RefusedServer(id=server.id, place=server.place, problems=(str(error),))


class _UnreachableError(Exception):
    """Nothing in the body says how the server is reached in a way that is spoken here."""


class _Translation:
    """One body on its way: what has been taken from it is in ``row``, the rest in ``left``."""

    def __init__(self, server: WrittenServer, around: Surroundings, env_files: EnvFiles) -> None:
        if not isinstance(server.body, Mapping):
            raise _UnreachableError("it must be an object with a command or a url")
        self._server = server
        self._client = server.place.client
        self._around = around
        self._env_files = env_files
        self._filling = _filling(server, around)
        self.left = _unnested(server.body)
        self.row: dict[str, Any] = {}
        self.remarks: list[str] = []
        self._folder_is_implied = False

    def result(self) -> ImportedServer | RefusedServer:
        """The server with everything carried over that can be."""
        self.row = row_from_body(self._server.id, self._launch())
        self._carry_times()
        self._carry_hidden_tools()
        if self.row["transport"] == "stdio":
            self._carry_folder()
            self._carry_env_file()
        else:
            self._carry_authorization()
        self._carry_own_fields()
        for placeholder in self._filling.foreign:
            self.remarks.append(f"{placeholder} is {self._client.name}'s to fill in; replace it")
        problems = validate_server_row(self.row)
        if problems:
            place, server_id = self._server.place, self._server.id
            return RefusedServer(id=server_id, place=place, problems=tuple(problems))
        return ImportedServer(
            id=self._server.id,
            body=body_from_row(parse_server_row(self.row)),
            place=self._server.place,
            not_carried=tuple(self.left),
            remarks=tuple(self.remarks),
            variables=self._filling.variables,
            folder_is_implied=self._folder_is_implied,
        )

    def _launch(self) -> dict[str, Any]:
        """What reaches the server, as a body in one spelling.

        Raises:
            _UnreachableError: there is nothing, or nothing that is spoken here.
        """
        address = next((key for key in self._client.addresses if key in self.left), None)
        spoken = self._take(*_SPOKEN)
        launch: dict[str, Any] = {} if spoken is None else {"type": spoken}
        way = _transport(spoken, "command" in self.left, address is not None)
        if way == "http" and address:
            launch |= {"url": self._take(*self._client.addresses), "headers": self._take("headers")}
            if spoken in self._client.tries_sse and address != "httpUrl":
                launch["transportFallback"] = "sse"
        elif way == "stdio" and "command" in self.left:
            launch |= {key: self._take(key) for key in ("command", "args", "cwd")}
            launch["env"] = self._take("env", "environment")
        elif "settings" in self.left or self.left.get("source") == "extension":
            raise _UnreachableError("an extension of the client starts it; no command is written")
        else:
            raise _UnreachableError("neither a command nor a url is written")
        return {key: self._filling.fill(value) for key, value in launch.items()}

    def _take(self, *keys: str) -> Any:
        """The value of the first key that is there; the others go too if they say the same."""
        found = [key for key in keys if key in self.left]
        if not found:
            return None
        value = self.left[found[0]]
        for key in found:
            if self.left[key] == value:
                del self.left[key]
        return value

    def _carry_times(self) -> None:
        written = self.left.get("timeout", self._server.timeout)
        times: dict[str, Any]
        if isinstance(written, Mapping) and self._client == OPENCODE:
            times = {ours: written.get(theirs) for theirs, ours in _OPENCODE_TIMES.items()}
            unused = {key: value for key, value in written.items() if key not in _OPENCODE_TIMES}
        else:
            times, unused = {"callTimeoutMs": written}, {}
        unit = self._client.timeout_ms
        times = {ours: value for ours, value in times.items() if value is not None}
        if (
            unit is None
            or not all(map(_is_time, times.values()))
            or times.keys() & self.left.keys()
        ):
            return
        for ours, value in times.items():
            self.row[ours] = max(1, round(value * unit))
        self.left.pop("timeout", None)
        self.left |= {f"timeout.{key}": value for key, value in unused.items()}

    def _carry_hidden_tools(self) -> None:
        for key in ("hiddenTools", *_HIDING):
            names = self.left.get(key)
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                continue
            del self.left[key]
            known = self.row.get("hiddenTools", [])
            if key == "hiddenTools":
                self.row[key] = names
            elif new := [name for name in dict.fromkeys(names) if name not in known]:
                self.row["hiddenTools"] = [*known, *new]

    def _carry_folder(self) -> None:
        """A project's server runs in the project's folder, wherever ours is started."""
        place = self._server.place
        if place.scope != "project" or place.folder is None:
            return
        paths = self._around.paths
        cwd, command = self.row.get("cwd"), self.row["command"]
        self._folder_is_implied = not cwd
        if not cwd:
            self.row["cwd"] = place.folder
        elif isinstance(cwd, str) and not cwd.startswith(("~", "$", "{")):
            self.row["cwd"] = paths.normpath(paths.join(place.folder, cwd))
        if isinstance(command, str) and command.startswith((f".{paths.sep}", "./", "..")):
            self.row["command"] = paths.normpath(paths.join(place.folder, command))

    def _carry_env_file(self) -> None:
        path = self._filling.fill(self.left.get("envFile"))
        if not isinstance(path, str):
            return
        paths, place = self._around.paths, self._server.place
        base = place.folder if place.scope == "project" else None
        found = self._env_files(paths.join(base or paths.dirname(place.path), path))
        if found is None:
            self.remarks.append(f"its envFile {path} could not be read; put its variables into env")
            return
        del self.left["envFile"]
        env = self.row.get("env")
        self.row["env"] = {**found, **(env if isinstance(env, Mapping) else {})}

    def _carry_authorization(self) -> None:
        """What a client says about OAuth, unless it is ours already or a header does its work."""
        for key in ("oauth", "auth"):
            written = self.left.get(key)
            if not isinstance(written, Mapping) or self._fits(key, written):
                continue
            found, unused = _authorization(self._filling.fill(written))
            if (
                found
                and self._fits("auth", found)
                and not auth_header_conflict({**self.row, "auth": found})
            ):
                self.row["auth"] = found
            elif found:
                continue
            del self.left[key]
            self.left |= {f"{key}.{name}": value for name, value in unused.items()}

    def _carry_own_fields(self) -> None:
        """Fields that we have as well, and the switch."""
        ours = set(field_names(self.row["transport"])) - {"id", "transport", *self.row}
        for key in [key for key in self.left if key in ours | {"slug", "label", "disabled"}]:
            if key in _SWITCHES or self._fits(key, self.left[key]):
                self.row[key] = self.left.pop(key)
        disabled = self.row.pop("disabled", False)
        if disabled is not False:
            self.row["enabled"] = False if disabled is True else disabled
        if self._server.is_off:
            self.row["enabled"] = False

    def _fits(self, key: str, value: object) -> bool:
        """Whether the value is what we mean by the key; other clients may mean something else."""
        read = read_row({**self.row, key: value})
        return not isinstance(read, tuple) or all(fault.path[0] != key for fault in read)


def _authorization(written: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Our ``auth`` for a client's, and what has no part in it."""
    found: dict[str, Any] = {}
    unused: dict[str, Any] = {}
    for key, value in written.items():
        ours = _AUTHORIZATION.get(key.replace("_", "").lower())
        if ours == "scope" and isinstance(value, list):
            value = " ".join(map(str, value))
        if ours is None or ours in found:
            unused[key] = value
        elif value not in (None, ""):
            found[ours] = value
    return found, unused


def _filling(server: WrittenServer, around: Surroundings) -> PlaceholderFilling:
    place = server.place
    values = {"userHome": around.home, "pathSeparator": around.paths.sep, "/": around.paths.sep}
    if place.scope == "project" and place.folder is not None:
        folder = place.folder
        values |= dict.fromkeys(("workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR"), folder)
        values["workspaceFolderBasename"] = around.paths.basename(folder)
    return PlaceholderFilling(
        server_id=server.id,
        values=values,
        inputs=server.inputs,
        bare_dollar=place.client.bare_dollar,
    )


def _unnested(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body without nulls; of Zed's ``command: {path, args, env}`` each at its own place."""
    left = {key: value for key, value in body.items() if value is not None}
    if left.get("source") == "custom":
        del left["source"]  # Zed's word for having a command of its own
    command = left.get("command")
    if not isinstance(command, Mapping):
        return left
    del left["command"]
    inner = {key: value for key, value in command.items() if value is not None}
    if "path" in inner:
        inner = {"command": inner.pop("path"), **inner}
    for key, value in inner.items():
        known = key in ("command", "args", "env", "timeout") and key not in left
        left[key if known else f"command.{key}"] = value
    return left


def _transport(spoken: object, has_command: bool, has_address: bool) -> str:
    """``stdio`` or ``http``.

    Raises:
        _UnreachableError: what is spoken is neither.
    """
    if spoken is None:
        return "http" if has_address and not has_command else "stdio"
    found = row_from_body("", {"type": spoken})["transport"]
    if found not in ("stdio", "http"):
        name = spoken if isinstance(spoken, str) else "that is written"
        raise _UnreachableError(f"the transport {name} is not spoken; stdio, http and sse are")
    return str(found)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and value is not True and 0 < value < float("inf")
