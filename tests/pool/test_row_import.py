from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import ConfigError
from host.pool.foreign_keys import FOREIGN_KEYS
from host.pool.row_import import (
    body_from_row,
    from_mcp_servers_json,
    row_from_body,
    server_bodies,
)
from host.pool.row_validation import validate_server_row
from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow

BODY = {"command": "npx", "args": ["-y", "x"]}
ROW = StdioServerRow(id="fs", slug="fs", label="fs", command="npx", args=("-y", "x"))


@pytest.mark.parametrize(
    "configuration",
    [
        {"mcpServers": {"fs": BODY}},
        {"servers": {"fs": BODY}, "inputs": []},
        {"mcp": {"fs": BODY}},
        {"mcp": {"servers": {"fs": BODY}, "inputs": []}},
        {"context_servers": {"fs": BODY}},
        {"type": "module", "mcpServers": {"fs": BODY}},
        {"fs": BODY},
        {"$schema": "https://x.example", "inputs": [], "fs": BODY},
    ],
)
def test_servers_are_found_in_every_container(configuration: dict[str, Any]) -> None:
    assert from_mcp_servers_json(configuration, env={}) == [ROW]
    assert from_mcp_servers_json(json.dumps(configuration), env={}) == [ROW]


def test_a_bare_body_takes_the_name_it_is_given() -> None:
    assert from_mcp_servers_json(BODY, env={}, name="fs") == [ROW]
    assert from_mcp_servers_json({"url": "http://h"}, env={}, name="w")[0].id == "w"
    with pytest.raises(ConfigError, match="without a name"):
        from_mcp_servers_json(BODY, env={})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "line 1, column 2: a name in double quotes"),
        ("[]", "it must be an object"),
        ("5", "it must be an object"),
        ("{}", "there are no servers"),
        ('{"mcpServers": {}}', "there are no servers"),
        ('{"mcpServers": []}', "mcpServers must be an object"),
        ('{"a": 5}', "there are no servers"),
        ('{"mcpServers": {"a": 5}}', 'server "a": it must be an object'),
        ('{"mcpServers": {"a": {}}}', 'server "a": transport is missing'),
        ('{"mcpServers": {"a": {"type": "ws", "url": "http://h"}}}', 'server "a": transport must'),
        ('{"mcpServers": {"a": {"command": "x", "url": "http://h"}}}', "url belongs to transport"),
        ('{"mcpServers": {"a": {"command": "x", "disabled": "yes"}}}', "enabled must be true or"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_remedy(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_mcp_servers_json(text, env={})

    assert problem in caught.value.problems[0]


def test_all_bad_bodies_are_told_together() -> None:
    with pytest.raises(ConfigError) as caught:
        from_mcp_servers_json({"a": {"command": 5}, "b": BODY, "c": {"urll": "x"}}, env={})

    assert {problem.split(":")[0] for problem in caught.value.problems} == {
        'server "a"',
        'server "c"',
    }


@pytest.mark.parametrize(
    ("body", "transport", "fallback"),
    [
        ({"command": "x"}, "stdio", None),
        ({"command": "x", "type": "stdio"}, "stdio", None),
        ({"command": "x", "type": "local"}, "stdio", None),
        ({"command": "x", "transport": "stdio"}, "stdio", None),
        ({"url": "http://h"}, "http", None),
        ({"serverUrl": "http://h"}, "http", None),
        ({"httpUrl": "http://h"}, "http", None),
        ({"url": "http://h", "type": "http"}, "http", None),
        ({"url": "http://h", "type": "remote"}, "http", None),
        ({"url": "http://h", "type": "streamable-http"}, "http", None),
        ({"url": "http://h", "type": "streamableHttp"}, "http", None),
        ({"url": "http://h", "transport": "streamable_http"}, "http", None),
        ({"url": "http://h", "type": "sse"}, "http", "sse"),
        ({"url": "http://h", "transport": "sse"}, "http", "sse"),
        ({"url": "http://h", "type": "http", "transport": None}, "http", None),
        ({"url": "http://h", "transportType": "sse"}, "http", "sse"),
    ],
)
def test_every_spelling_of_a_transport_is_known(
    body: dict[str, Any], transport: str, fallback: str | None
) -> None:
    (row,) = from_mcp_servers_json({"mcpServers": {"a": body}}, env={})

    assert row.transport == transport
    assert getattr(row, "transport_fallback", None) == fallback
    assert not isinstance(row, HttpServerRow) or row.url == "http://h"


@pytest.mark.parametrize(
    ("body", "enabled"),
    [
        ({}, True),
        ({"disabled": True}, False),
        ({"disabled": False}, True),
        ({"enabled": False}, False),
        ({"enabled": False, "disabled": False}, False),
        ({"enabled": True, "disabled": True}, False),
        ({"disabled": None}, True),
    ],
)
def test_disabled_turns_a_row_off(body: dict[str, Any], enabled: bool) -> None:
    (row,) = from_mcp_servers_json({"mcpServers": {"a": BODY | body}}, env={})

    assert row.enabled is enabled


def test_only_fields_that_are_there_are_set() -> None:
    assert row_from_body("fs", BODY | {"cwd": None}) == {
        "id": "fs",
        "slug": "fs",
        "label": "fs",
        "transport": "stdio",
        **BODY,
    }


def test_a_key_that_is_no_namespace_gets_a_legal_slug_and_stays_the_label() -> None:
    (row,) = from_mcp_servers_json({"mcpServers": {"my server.é": BODY}}, env={})

    assert (row.id, row.slug, row.label) == ("my server.é", "my_server__", "my server.é")
    assert validate_server_row(row) == []


def test_our_own_fields_pass_through_and_foreign_ones_do_not() -> None:
    (row,) = from_mcp_servers_json(
        {
            "mcpServers": {
                "a": BODY
                | {
                    "id": "other",
                    "slug": "s",
                    "label": "L",
                    "hiddenTools": ["t"],
                    "callTimeoutMs": 5,
                    "autoApprove": ["x"],
                    "timeout": 60,
                    "name": "n",
                }
            }
        },
        env={},
    )

    assert (row.id, row.slug, row.label) == ("a", "s", "L")
    assert (row.hidden_tools, row.call_timeout_ms) == (("t",), 5)


def test_numbers_and_switches_in_env_become_texts() -> None:
    (row,) = from_mcp_servers_json(
        {"a": BODY | {"env": {"P": 8080, "D": True, "N": False, "F": 1.5, "W": 2.0, "X": None}}},
        env={},
    )

    assert isinstance(row, StdioServerRow)
    assert row.env == {"P": "8080", "D": "true", "N": "false", "F": "1.5", "W": "2"}


def test_command_lines_of_other_clients_are_taken_apart() -> None:
    opencode = {"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "1"}}
    zed = {"source": "custom", "command": {"path": "npx", "args": ["-y", "x"], "env": {"A": "1"}}}
    expected = ROW.model_copy(update={"env": {"A": "1"}})

    assert from_mcp_servers_json({"mcp": {"fs": opencode}}, env={}) == [expected]
    assert from_mcp_servers_json({"context_servers": {"fs": zed}}, env={}) == [expected]


def test_variables_are_filled_and_unset_ones_stay() -> None:
    text = """\ufeff{
      // a comment
      "mcpServers": {
        "fs": {"command": "${BIN:-npx}", "args": ["${A}", "${B}"], "env": {"T": "{env:A}"},},
        "web": {"url": "http://${A}.example/${B}", "headers": {"X": "Bearer ${env:A}"}},
      },
    }"""

    fs, web = from_mcp_servers_json(text, env={"A": "1"})

    assert isinstance(fs, StdioServerRow)
    assert isinstance(web, HttpServerRow)
    assert (fs.command, fs.args, fs.env) == ("npx", ("1", "${B}"), {"T": "1"})
    assert (web.url, web.headers) == ("http://1.example/${B}", {"X": "Bearer 1"})


@pytest.mark.parametrize("url", ["${WHOLE}", "http://${HOST}:${PORT}/", "{env:WHOLE}"])
def test_an_address_whose_variable_is_unset_is_imported_as_written(url: str) -> None:
    (row,) = from_mcp_servers_json({"a": {"url": url}}, env={})

    assert isinstance(row, HttpServerRow)
    assert row.url == url


def test_without_an_env_the_process_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_FOLDER", "there")

    (row,) = from_mcp_servers_json({"a": {"command": "${SOME_FOLDER}"}})

    assert isinstance(row, StdioServerRow)
    assert row.command == "there"


KEYS = st.sampled_from(
    [
        "command",
        "args",
        "env",
        "url",
        "headers",
        "type",
        "disabled",
        "hiddenTools",
        "x",
        *FOREIGN_KEYS,
    ]
)
VALUES = st.sampled_from([None, True, 5, "", "x", "http://h", "sse", [], ["a"], {}, {"A": 1}])
BODIES = st.dictionaries(KEYS, VALUES, max_size=6)


@given(st.dictionaries(st.sampled_from(["a", "b c", "é"]), BODIES | VALUES, max_size=3))
def test_an_import_gives_rows_in_order_or_says_what_is_wrong(servers: dict[str, Any]) -> None:
    rows: list[ServerRow] = []
    problems: tuple[str, ...] = ()
    try:
        rows = from_mcp_servers_json({"mcpServers": servers}, env={})
    except ConfigError as error:
        problems = error.problems
    assert bool(rows) is not bool(problems)
    assert [row.id for row in rows] == [row.label for row in rows]
    assert [row.id for row in rows] == ([] if problems else list(servers))
    assert all(validate_server_row(row) == [] for row in rows)


def test_an_empty_container_has_no_bodies_and_that_is_no_error_here() -> None:
    assert server_bodies({"mcpServers": {}}) == {}
    assert server_bodies({"mcpServers": {"a": 5}}) == {"a": 5}


@pytest.mark.parametrize(
    ("row", "body"),
    [
        (ROW, BODY),
        (StdioServerRow(id="a b", command="x"), {"command": "x", "slug": "a b"}),
        (
            StdioServerRow(id="a", command="x", slug="s"),
            {"command": "x", "slug": "s", "label": "s"},
        ),
        (
            HttpServerRow(id="a", url="http://h", label="L", enabled=False, hidden_tools=("t",)),
            None,
        ),
    ],
)
def test_a_row_is_written_as_short_as_it_is_read(
    row: ServerRow, body: dict[str, Any] | None
) -> None:
    expected = {"url": "http://h", "hiddenTools": ["t"], "label": "L", "disabled": True}
    assert body_from_row(row) == (expected if body is None else body)


def test_what_reaches_a_server_is_written_first() -> None:
    row = StdioServerRow(id="a", call_timeout_ms=5, era="legacy", cwd="/w", args=(), command="x")
    assert [*body_from_row(row)] == ["command", "args", "cwd", "callTimeoutMs", "era"]


@given(st.dictionaries(st.sampled_from(["a", "b c", "é"]), BODIES, max_size=3))
def test_what_was_imported_is_written_and_read_as_it_is(servers: dict[str, Any]) -> None:
    try:
        rows = from_mcp_servers_json({"mcpServers": servers}, env={})
    except ConfigError:
        return
    written = {row.id: body_from_row(row) for row in rows}
    assert from_mcp_servers_json({"mcpServers": written}, env={}) == rows
