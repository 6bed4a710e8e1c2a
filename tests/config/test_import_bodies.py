"""What each client writes becomes a body of ours, and nothing of it is dropped in silence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_bodies import ImportedServer, RefusedServer, imported_server
from host.config.import_clients import CLIENTS, OTHER, Client
from host.config.import_places import Place, Surroundings, place_of
from host.config.import_reading import WrittenServer, read_client_file
from host.pool.row_import import body_from_row, from_mcp_servers_json, row_from_body
from host.pool.row_validation import parse_server_row
from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow
from tests.config.client_files import CASES, HOME, PROJECT, ClientFileCase

AROUND = Surroundings(home=HOME, env={}, platform="linux", folder=PROJECT)
WINDOWS = Surroundings(home=r"C:\Users\ada", env={}, platform="windows", folder=r"C:\shop")
ENV_FILES = {f"{PROJECT}/.env": {"FROM_FILE": "yes", "PERPLEXITY_API_KEY": "stale"}}


def translated(
    body: object,
    client: Client = OTHER,
    around: Surroundings = AROUND,
    **facts: Any,
) -> ImportedServer | RefusedServer:
    place = Place(client=client, path=f"{HOME}/x.json", scope="user", folder=None)
    server = WrittenServer(id="s", body=body, place=facts.pop("place", place), **facts)
    return imported_server(server, around, ENV_FILES.get)


def taken(*args: Any, **facts: Any) -> ImportedServer:
    result = translated(*args, **facts)
    assert isinstance(result, ImportedServer)
    return result


def in_project(client: Client, folder: str = PROJECT) -> Place:
    return Place(client=client, path=f"{folder}/x.json", scope="project", folder=folder)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_clients_file_comes_along(case: ClientFileCase) -> None:
    file = read_client_file(case.text, place_of(case.path, AROUND), AROUND)
    results = [imported_server(server, AROUND, ENV_FILES.get) for server in file.servers]
    came = [result for result in results if isinstance(result, ImportedServer)]

    assert {server.id: server.body for server in came} == case.bodies
    assert {s.id: set(s.not_carried) for s in came if s.not_carried} == case.not_carried
    assert {result.id for result in results if isinstance(result, RefusedServer)} == case.refused
    assert {name for server in came for name in server.variables} == case.variables


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_came_along_is_a_servers_file(case: ClientFileCase) -> None:
    rows = from_mcp_servers_json({"mcpServers": case.bodies}, env={})

    assert [body_from_row(row) for row in rows] == [
        {**body, **({"args": [*row.args]} if isinstance(row, StdioServerRow) and row.args else {})}
        | _filled(body)
        for row, body in zip(rows, case.bodies.values(), strict=True)
    ]


def _filled(body: dict[str, Any]) -> dict[str, Any]:
    """Variables with a default are filled when a file is read."""
    return {"url": "https://api.example.com/mcp"} if "API_BASE" in body.get("url", "") else {}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (5, "must be an object"),
        ({}, "neither a command nor a url"),
        ({"headers": {}}, "neither a command nor a url"),
        ({"type": "http", "command": "x"}, "neither a command nor a url"),
        ({"type": "stdio", "url": "http://x"}, "neither a command nor a url"),
        ({"settings": {}}, "an extension of the client starts it"),
        ({"type": "ws", "url": "http://x"}, "the transport ws is not spoken"),
        ({"type": {"a": 1}, "url": "http://x"}, "the transport that is written is not spoken"),
        ({"url": "ftp://x"}, "url must be an address"),
        ({"command": ["x", 5]}, "args[0] must be text"),
        ({"command": "x", "disabled": "yes"}, "enabled must be true or false"),
        ({"command": "x", "callTimeoutMs": 0}, "callTimeoutMs must be"),
    ],
)
def test_what_cannot_come_along_says_why(body: object, problem: str) -> None:
    result = translated(body)

    assert isinstance(result, RefusedServer)
    assert problem in result.problems[0]


def test_a_timeout_of_an_unknown_unit_is_listed() -> None:
    server = taken({"command": "x", "timeout": 60})

    assert (server.body, server.not_carried) == ({"command": "x"}, ("timeout",))


@pytest.mark.parametrize("timeout", [0, -1, True, "60", {}, float("inf")])
def test_a_timeout_that_is_none_is_listed(timeout: object) -> None:
    server = taken({"command": "x", "timeout": timeout}, CLIENTS[6])

    assert (server.body, server.not_carried) == ({"command": "x"}, ("timeout",))


def test_our_own_time_limit_comes_before_the_clients() -> None:
    server = taken({"command": "x", "timeout": 60, "callTimeoutMs": 5}, CLIENTS[6])

    assert (server.body["callTimeoutMs"], server.not_carried) == (5, ("timeout",))


def test_a_server_that_the_client_has_off_stays_off() -> None:
    assert taken({"command": "x", "disabled": False}, is_off=True).body["disabled"] is True


def test_a_projects_server_runs_in_the_projects_folder() -> None:
    implied = taken({"command": "./serve", "args": ["./x"]}, place=in_project(OTHER))
    written = taken({"command": "x", "cwd": "~/y"}, place=in_project(OTHER))
    windows = taken(
        {"command": r".\serve.cmd", "cwd": "sub"},
        around=WINDOWS,
        place=in_project(OTHER, r"C:\shop"),
    )

    assert implied.body == {"command": f"{PROJECT}/serve", "args": ["./x"], "cwd": PROJECT}
    assert implied.folder_is_implied
    assert (written.body["cwd"], written.folder_is_implied) == ("~/y", False)
    assert windows.body["command"] == "C:/shop/serve.cmd".replace("/", "\\")


@pytest.mark.parametrize(
    ("written", "auth", "left"),
    [
        (
            {"oauth": {"client_id": "me", "callback_port": 99}},
            {"clientId": "me", "redirectPort": 99},
            (),
        ),
        (
            {"oauth": {"clientId": "me", "redirectUri": "x"}},
            {"clientId": "me"},
            ("oauth.redirectUri",),
        ),
        ({"auth": {"CLIENT_ID": "${env:ID}"}}, {"clientId": "${env:ID}"}, ()),
        ({"auth": {"clientId": "me", "dpop": True}}, {"clientId": "me", "dpop": True}, ()),
        ({"oauth": {}}, None, ()),
        ({"oauth": {"enabled": True}}, None, ("oauth.enabled",)),
        ({"oauth": False}, None, ("oauth",)),
        ({"oauth": {"clientSecret": "without an id"}}, None, ("oauth",)),
        ({"oauth": {"clientId": "me"}, "headers": {"authorization": "x"}}, None, ("oauth",)),
    ],
)
def test_what_a_client_says_of_oauth_is_ours_where_it_can_be(
    written: dict[str, Any], auth: dict[str, Any] | None, left: tuple[str, ...]
) -> None:
    server = taken({"url": "http://h", **written})

    assert (server.body.get("auth"), server.not_carried) == (auth, left)


def test_an_env_file_that_cannot_be_read_is_listed() -> None:
    server = taken({"command": "x", "envFile": "no.env"}, place=in_project(OTHER))

    assert server.not_carried == ("envFile",)
    assert "no.env could not be read" in server.remarks[0]


def test_what_only_the_client_can_fill_in_is_told_and_stays() -> None:
    server = taken({"command": "x", "args": ["${workspaceFolder}", "${config:a.b}"]})

    assert server.body["args"] == ["${workspaceFolder}", "${config:a.b}"]
    assert [remark.split()[0] for remark in server.remarks] == server.body["args"]


def test_no_value_shows_in_the_repr() -> None:
    body = {"command": "x", "env": {"A": "hunter2"}}
    place = in_project(OTHER)
    written = WrittenServer(id="s", body=body, place=place)

    assert "hunter2" not in repr((taken(body), written))


KEYS = (
    *("command", "args", "env", "environment", "cwd", "envFile", "url", "serverUrl", "httpUrl"),
    *("headers", "type", "transport", "transportType", "timeout", "disabled", "enabled", "id"),
    *("disabledTools", "excludeTools", "includeTools", "autoApprove", "alwaysLoad", "slug"),
    *("source", "settings", "label", "callTimeoutMs", "hiddenTools", "trust", "unheard-of"),
)
VALUES = st.sampled_from(
    [None, True, False, 5, "x", "http://h", "stdio", "sse", "custom", [], ["a"], {}, {"A": "1"}]
)
SPOKEN = {"type": "sse", "transport": "http", "command": "x", "url": "http://h"}
BODIES = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUES)) | st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(KEYS, VALUES), **{k: st.just(v) for k, v in SPOKEN.items()}}
)


def is_said(key: str, value: Any, body: dict[str, Any]) -> bool:
    """Whether our body says what the client's says under the key."""
    match key:
        case "url" | "serverUrl" | "httpUrl":
            return bool(body.get("url") == value)
        case "type" | "transport" | "transportType":
            return ("command" if value == "stdio" else "url") in body
        case "env" | "environment":
            return all(body["env"][name] == text for name, text in value.items())
        case "disabledTools" | "excludeTools" | "hiddenTools":
            return set(value) <= set(body.get("hiddenTools", []))
        case "timeout":
            return "callTimeoutMs" in body
        case "disabled" | "enabled":
            is_off = value is (key == "disabled")
            return "disabled" in body or not is_off
        case "slug" | "label":
            return bool(body.get(key, "s") == (value or "s"))
        case "command" if isinstance(value, list):
            return bool([body["command"], *body.get("args", [])][: len(value)] == value)
        case "source":
            return value == "custom" and "command" in body
    return bool(body.get(key) == value)


@given(body=BODIES, client=st.sampled_from([*CLIENTS, OTHER]), project=st.booleans())
def test_every_key_is_carried_translated_or_listed(
    body: dict[str, Any], client: Client, project: bool
) -> None:
    where = {"place": in_project(client)} if project else {}
    result = translated(body, client, AROUND, **where)
    if isinstance(result, RefusedServer):
        assert result.problems
        return
    kept = {key: value for key, value in body.items() if key not in result.not_carried}
    lost = [
        key
        for key, value in kept.items()
        if value is not None and not is_said(key, value, result.body)
    ]
    assert [key for key in lost if not (project and key == "cwd")] == []
    assert set(result.not_carried) <= {*body, "command.A"}


@given(body=BODIES, client=st.sampled_from([*CLIENTS, OTHER]))
def test_what_comes_along_says_the_same_when_it_is_read(
    body: dict[str, Any], client: Client
) -> None:
    result = translated(body, client)
    if isinstance(result, ImportedServer):
        row = parse_server_row(row_from_body(result.id, result.body))
        assert body_from_row(row) == result.body
        again = taken(result.body)
        assert (again.body, again.not_carried) == (result.body, ())


COMMON = {
    "slug": st.sampled_from([None, "", "s", "other"]),
    "label": st.sampled_from([None, "", "s", "Other one"]),
    "enabled": st.booleans(),
    "call_timeout_ms": st.none() | st.integers(1, 9),
    "hidden_tools": st.none() | st.lists(st.sampled_from("ab"), max_size=2),
    "era": st.sampled_from(["auto", "legacy"]),
}
ROWS: st.SearchStrategy[ServerRow] = st.builds(
    StdioServerRow,
    id=st.just("s"),
    command=st.sampled_from(["x", "${X}"]),
    args=st.none() | st.lists(st.sampled_from(["a", "${A}"]), max_size=2),
    env=st.none() | st.dictionaries(st.sampled_from("AB"), st.sampled_from(["1", "${A}"])),
    cwd=st.sampled_from([None, "/w"]),
    **COMMON,
) | st.builds(
    HttpServerRow,
    id=st.just("s"),
    url=st.sampled_from(["http://h/mcp", "${U}"]),
    headers=st.none() | st.dictionaries(st.sampled_from("AB"), st.sampled_from(["1", "${A}"])),
    transport_fallback=st.sampled_from([None, "sse"]),
    **COMMON,
)


@given(ROWS)
def test_an_exported_row_is_imported_as_it_was(row: ServerRow) -> None:
    server = taken(body_from_row(row))
    (read,) = from_mcp_servers_json({"mcpServers": {"s": server.body}}, env={})
    names = {"slug": row.effective_slug, "label": row.effective_label}

    assert server.not_carried == ()
    assert read == row.model_copy(update=names)
