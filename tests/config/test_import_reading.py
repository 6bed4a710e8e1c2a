"""The servers of a client's file are found, with what the file says about them as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_clients import (
    CLAUDE_CODE,
    CLIENTS,
    CURSOR,
    GEMINI,
    OPENCODE,
    OTHER,
    VSCODE,
    ZED,
    Client,
)
from host.config.import_places import Place, Surroundings, project_places, usual_places
from host.config.import_reading import ClientFile, read_client_file
from host.errors import ConfigError

AROUND = Surroundings(home="/home/ada", env={}, platform="linux", folder="/projects/shop")
BODY = {"command": "x"}


def read(
    written: object, client: Client = OTHER, path: str = "/x.json", **facts: Any
) -> ClientFile:
    place = Place(
        client=client, path=path, scope=facts.pop("scope", "user"), folder="/projects/shop"
    )
    text = written if isinstance(written, str) else json.dumps(written)
    return read_client_file(text, place, AROUND, **facts)


def ids(file: ClientFile) -> list[str]:
    return [server.id for server in file.servers]


@pytest.mark.parametrize(
    ("written", "client"),
    [
        ({"context_servers": {"a": BODY}}, ZED),
        ({"servers": {"a": BODY}}, VSCODE),
        ({"mcp": {"servers": {"a": BODY}, "inputs": []}}, VSCODE),
        ({"mcp": {"a": {"type": "local", "command": ["x"]}}}, OPENCODE),
        ({"mcpServers": {"a": BODY}}, OTHER),
        ({"a": BODY}, OTHER),
    ],
)
def test_a_file_without_a_telling_name_is_told_by_what_is_in_it(
    written: object, client: Client
) -> None:
    (server,) = read(written, named=True).servers
    assert (server.id, server.place.client) == ("a", client)


def test_a_bare_body_is_called_as_its_file() -> None:
    assert ids(read(BODY, path="/x/my-server.json", named=True)) == ["my-server"]


@pytest.mark.parametrize(
    "text", ["", "  \n", "{}", "\ufeff{ // nothing\n}", '{"mcpServers": null}']
)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_without_servers_is_no_mistake(text: str, client: Client) -> None:
    assert read(text, client).servers == ()


@pytest.mark.parametrize(
    ("text", "client", "problem"),
    [
        ("{", CURSOR, "line 1"),
        ("[]", CURSOR, "must be an object"),
        ('{"mcpServers": []}', CURSOR, "mcpServers must be an object"),
        ('{"context_servers": 5}', ZED, "context_servers must be an object"),
        ('{"mcp": []}', OPENCODE, "mcp must be an object"),
    ],
)
def test_what_cannot_be_read_names_the_file(text: str, client: Client, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        read(text, client)
    assert caught.value.source == "/x.json"


def test_a_named_file_without_any_servers_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="there are no servers"):
        read({"theme": "dark"}, named=True)


def test_settings_with_other_things_are_not_taken_for_servers() -> None:
    settings = {"theme": "dark", "a": {"b": 1}}
    for client, path in (
        (GEMINI, "/x/.gemini/settings.json"),
        (CLAUDE_CODE, "/x/.claude.json"),
        (OPENCODE, "/x/opencode.json"),
        (ZED, "/x/zed/settings.json"),
    ):
        file = read(settings, client, path, named=True)
        assert (file.servers, file.notes) == ((), ())


def test_what_stands_beside_the_servers_and_twice_is_noted() -> None:
    file = read('{"mcpServers": {"a": {}, "a": {}}, "mcp.timeout": 5, "$schema": "x"}', CURSOR)
    assert len(file.servers) == 1
    assert file.notes == (
        '"a" stands twice in one object; the last one counts',
        '"mcp.timeout" beside the servers: not carried over',
    )


PROJECTS = {
    "mcpServers": {"mine": BODY},
    "projects": {
        "/projects/shop": {
            "mcpServers": {"here": BODY, "off": BODY},
            "disabledMcpServers": ["off", 5],
            "disabledMcpjsonServers": ["shared"],
        },
        "/projects/other": {"mcpServers": {"there": BODY, "too": BODY}},
        "/projects/empty": {"mcpServers": {}},
        "/projects/odd": 5,
    },
}
CLAUDE_FILE = "/home/ada/.claude.json"


def test_claude_codes_file_gives_the_users_servers_and_this_projects() -> None:
    file = read(PROJECTS, CLAUDE_CODE, CLAUDE_FILE)
    assert [(s.id, s.place.scope, s.is_off) for s in file.servers] == [
        ("mine", "user", False),
        ("here", "project", False),
        ("off", "project", True),
    ]
    assert file.elsewhere == {"/projects/other": 2}
    assert file.refused == {"shared"}


def test_claude_codes_file_named_itself_gives_all() -> None:
    file = read(PROJECTS, CLAUDE_CODE, CLAUDE_FILE, named=True)
    assert ids(file) == ["mine", "here", "off", "there", "too"]
    assert file.servers[-1].place.folder == "/projects/other"
    assert file.elsewhere == {}


def test_for_a_folder_claude_codes_file_gives_only_what_is_for_it() -> None:
    (place,) = [place for place in project_places(AROUND) if place.path == CLAUDE_FILE]
    file = read_client_file(json.dumps(PROJECTS), place, AROUND)
    assert ids(file) == ["here", "off"]


def test_a_shared_server_that_the_user_refused_is_off() -> None:
    file = read({"mcpServers": {"shared": BODY, "fine": BODY}}, CLAUDE_CODE, refused={"shared"})
    assert [server.is_off for server in file.servers] == [True, False]


@pytest.mark.parametrize(
    ("settings", "off"),
    [
        ({}, []),
        ({"mcp": {"excluded": ["a"]}}, ["a"]),
        ({"mcp": {"allowed": ["a"]}}, ["b"]),
        ({"mcp": {"allowed": [], "excluded": "a"}}, []),
        ({"allowMCPServers": ["b"], "excludeMCPServers": ["b"]}, ["a", "b"]),
    ],
)
def test_gemini_leaves_servers_out_by_name(settings: dict[str, Any], off: list[str]) -> None:
    file = read({"mcpServers": {"a": BODY, "b": BODY}, **settings}, GEMINI)
    assert [server.id for server in file.servers if server.is_off] == off


def test_a_server_of_opencode_may_be_called_timeout_or_servers() -> None:
    written = {"timeout": {"type": "local", "command": ["x"]}, "servers": {"type": "remote"}}
    file = read({"mcp": written}, OPENCODE)
    assert ids(file) == ["timeout", "servers"]
    assert [server.timeout for server in file.servers] == [None, None]


def test_inputs_belong_to_the_servers_beside_them() -> None:
    inputs = [{"id": "k", "type": "promptString"}, {"id": 5}, "x"]
    file = read({"servers": {"a": BODY}, "inputs": inputs}, VSCODE)
    assert file.servers[0].inputs == {"k": inputs[0]}


CONTAINERS = {
    "claude-desktop": ["mcpServers"],
    "claude-code": ["mcpServers"],
    "cursor": ["mcpServers"],
    "vscode": ["servers", "mcpServers"],
    "windsurf": ["mcpServers"],
    "lm-studio": ["mcpServers"],
    "cline": ["mcpServers"],
    "gemini": ["mcpServers"],
    "opencode": ["mcp"],
    "zed": ["context_servers"],
}
NAMES = st.text(st.sampled_from("ab-é "), min_size=1, max_size=4)
BODIES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    NAMES, st.sampled_from([BODY, {"url": "http://h"}, 5, None, []]), max_size=4
)


@given(data=st.data(), client=st.sampled_from(CLIENTS), bodies=BODIES)
def test_every_body_is_found_as_it_was_written(
    data: st.DataObject, client: Client, bodies: dict[str, Any]
) -> None:
    container = data.draw(st.sampled_from(CONTAINERS[client.id]))
    place = replace(data.draw(st.sampled_from(usual_places(client, AROUND))), client=client)
    whole: dict[str, Any] = {container: bodies}
    if client == VSCODE and place.path.endswith("settings.json"):
        whole = {"mcp": {"servers": bodies}, "editor.fontSize": 13}
    file = read_client_file(json.dumps(whole), place, AROUND)

    assert {server.id: server.body for server in file.servers} == bodies
    assert all(server.place == place for server in file.servers)
    assert file.notes == ()
