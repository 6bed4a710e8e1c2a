from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import ConfigError
from host.pool.row_validation import (
    nearest_name,
    parse_server_row,
    validate_server_row,
    validate_servers,
)
from host.pool.rows import HttpServerRow, StdioServerRow, field_names, read_row

STDIO: dict[str, Any] = {"id": "fs", "transport": "stdio", "command": "npx"}
HTTP: dict[str, Any] = {"id": "web", "transport": "http", "url": "https://host.example/mcp"}
FULL = STDIO | {
    "slug": "files",
    "label": "",
    "enabled": False,
    "args": ["-y", ""],
    "env": {"A": ""},
    "cwd": "/",
    "idleTimeoutMs": 0,
    "connectTimeoutMs": 1,
    "callTimeoutMs": 5.0,
    "maxResultChars": 0,
    "coerceArguments": True,
    "trustAnnotations": False,
    "hiddenTools": [],
    "alwaysLoad": ["read"],
    "hooks": [{"id": "h", "on": "beforeTurn", "tool": "recall", "inject": True}],
    "era": "legacy",
    "roots": ["."],
    "progressExtendsTimeout": True,
    "maxCallTimeoutMs": 1000,
    "logLevel": "info",
    "sampling": {"allow": True, "maxTokens": 2000},
    "childEnv": ["PATH"],
}


@pytest.mark.parametrize(
    "row",
    [
        STDIO,
        HTTP,
        FULL,
        dict.fromkeys(FULL) | STDIO,
        STDIO | {"childEnv": "all"},
        HTTP | {"headers": {"Authorization": "x"}, "transportFallback": "sse"},
        STDIO | {"autoApprove": ["x"], "timeout": 60, "icon": 5, "description": None},
        STDIO | {"hidden_tools": ["x"]},
        StdioServerRow(id="a", command="x", hidden_tools=("t",)),
        HttpServerRow(id="a", url="http://h"),
    ],
)
def test_a_good_row_has_no_problems(row: object) -> None:
    assert validate_server_row(row) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": None}, "id is missing; it must be text that is not empty"),
        ({"id": " "}, "id must be text that is not empty"),
        ({"id": 5}, "id must be text"),
        ({"slug": 5}, "slug must be text"),
        ({"slug": "a b"}, "slug may hold only letters"),
        ({"slug": "a\n"}, "slug may hold only letters"),
        ({"slug": "é"}, "slug may hold only letters"),
        ({"id": "my server"}, "id cannot stand in tool names as it is; give the server a slug"),
        ({"label": []}, "label must be text"),
        ({"enabled": 1}, "enabled must be true or false"),
        ({"enabled": "true"}, "enabled must be true or false"),
        ({"transport": None}, "transport is missing; it must be"),
        ({"transport": "sse"}, 'transport must be "stdio" (with command) or "http" (with url)'),
        ({"transport": ["stdio"]}, 'transport must be "stdio"'),
        ({"command": None}, "command is missing"),
        ({"command": ""}, "command must be text that is not empty"),
        ({"command": ["npx", "x"]}, "command must be text that is not empty"),
        ({"args": "-y"}, "args must be a list of texts"),
        ({"args": {"a": 1}}, "args must be a list of texts"),
        ({"args": {"a", "b"}}, "args must be a list of texts"),
        ({"args": ["a", 8080]}, "args[1] must be text (in quotes)"),
        ({"env": []}, "env must be an object of variable names and texts"),
        ({"env": {"A": 5}}, "env.A must be text (in quotes)"),
        ({"env": {5: "x"}}, "env[5] must be text (in quotes)"),
        ({"env": {"A": None}}, "env.A must be text (in quotes)"),
        ({"env": {"A=B": "x"}}, "env holds a name or text that no variable can have"),
        ({"env": {"": "x"}}, "env holds a name or text that no variable can have"),
        ({"env": {"A": "\0"}}, "env holds a name or text that no variable can have"),
        ({"cwd": 5}, "cwd must be text: the path of a folder"),
        ({"idleTimeoutMs": -1}, "idleTimeoutMs must be a whole number, 0 or more"),
        ({"idleTimeoutMs": True}, "idleTimeoutMs must be a whole number, 0 or more"),
        ({"idleTimeoutMs": 1.5}, "idleTimeoutMs must be a whole number, 0 or more"),
        ({"idleTimeoutMs": "5"}, "idleTimeoutMs must be a whole number, 0 or more"),
        ({"maxResultChars": float("inf")}, "maxResultChars must be a whole number, 0 or more"),
        ({"connectTimeoutMs": 0}, "connectTimeoutMs must be a whole number of at least 1"),
        ({"callTimeoutMs": 0}, "callTimeoutMs must be a whole number of at least 1"),
        ({"callTimeoutMs": -5}, "callTimeoutMs must be a whole number of at least 1"),
        ({"maxCallTimeoutMs": 0}, "maxCallTimeoutMs must be a whole number of at least 1"),
        ({"coerceArguments": 0}, "coerceArguments must be true or false"),
        ({"trustAnnotations": "no"}, "trustAnnotations must be true or false"),
        ({"hiddenTools": "x"}, "hiddenTools must be a list of texts"),
        ({"alwaysLoad": [5]}, "alwaysLoad[0] must be text"),
        ({"hooks": {}}, "hooks must be a list of objects"),
        ({"hooks": [5]}, "hook 1 must be an object"),
        ({"hooks": [{"id": "h", "on": "sessionEnd"}]}, 'hook "h": tool is missing'),
        ({"era": "2025"}, 'era must be "auto", "legacy" or "2026-07-28"'),
        ({"roots": "."}, "roots must be a list of texts"),
        ({"logLevel": "loud"}, "logLevel must be one of debug, info"),
        ({"sampling": True}, "sampling must be an object like {allow, maxTokens}"),
        ({"sampling": {"allow": 1}}, "sampling.allow must be true or false"),
        (
            {"sampling": {"maxTokens": 0}},
            "sampling.maxTokens must be a whole number of at least 1",
        ),
        (
            {"sampling": {"max_token": 5}},
            'sampling.max_token is not a known field; did you mean "maxTokens"?',
        ),
        ({"childEnv": "none"}, 'childEnv must be "all" or a list of variable names'),
        ({"childEnv": [5]}, 'childEnv must be "all" or a list of variable names'),
        ({"url": "http://h"}, 'url belongs to transport "http"; remove it or change transport'),
        ({"comand": "x"}, 'comand is not a known field; did you mean "command"?'),
        ({"call_timeout": 5}, 'call_timeout is not a known field; did you mean "callTimeoutMs"?'),
        ({"xyzzy": 1}, "xyzzy is not a known field; remove it"),
        ({5: 1}, "[5] is not a known field; remove it"),
    ],
)
def test_a_fault_names_its_field_and_the_remedy(change: dict[Any, Any], problem: str) -> None:
    (found,) = validate_server_row(STDIO | change)

    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"url": None}, "url is missing; it must be an address"),
        ({"url": ""}, "url must be an address that starts with http"),
        ({"url": "host.example/mcp"}, "url must be an address"),
        ({"url": "ftp://host.example"}, "url must be an address"),
        ({"url": "http://"}, "url must be an address"),
        ({"url": "http://[::1"}, "url must be an address"),
        ({"url": "http://host:99999999"}, "url must be an address"),
        ({"url": "http://host:port"}, "url must be an address"),
        ({"headers": {"A": 5}}, "headers.A must be text"),
        ({"headers": "A: b"}, "headers must be an object of names and texts"),
        ({"transportFallback": "ws"}, 'transportFallback must be "sse" or absent'),
        ({"command": "x"}, 'command belongs to transport "stdio"; remove it or change transport'),
        ({"childEnv": "all"}, 'childEnv belongs to transport "stdio"'),
    ],
)
def test_the_http_arm_is_as_strict(change: dict[str, Any], problem: str) -> None:
    (found,) = validate_server_row(HTTP | change)

    assert found.startswith(problem)


def test_all_faults_of_a_row_show_at_once() -> None:
    problems = validate_server_row(
        {
            "id": "a b",
            "transport": "sse",
            "url": 5,
            "enabled": 1,
            "callTimeoutMs": 0,
            "hooks": [
                {"id": "h", "on": "afterTurn", "tool": "t", "inject": True, "maxtoken": 1},
                3,
            ],
        }
    )

    assert [problem.split(" ")[0] for problem in problems] == [
        "transport",
        "enabled",
        "url",
        "hook",
        "hook",
        "hook",
        "id",
        "callTimeoutMs",
    ]
    assert 'hook "h": maxtoken is not a known field; did you mean "maxTokens"?' in problems


@pytest.mark.parametrize("row", [None, 5, "x", [], [STDIO]])
def test_anything_may_be_asked_about(row: object) -> None:
    assert validate_server_row(row) == [
        "a server must be an object with an id, and a command or a url"
    ]


def test_values_are_not_repeated() -> None:
    secret = "s3cr3t-value"
    row = STDIO | {"env": {"A": [secret]}, "command": {"x": secret}, "args": secret}

    assert all(secret not in problem for problem in validate_server_row(row))
    with pytest.raises(ConfigError) as caught:
        parse_server_row(row)
    assert secret not in str(caught.value)


def test_a_list_is_told_row_by_row_and_then_as_a_whole() -> None:
    rows = [
        STDIO,
        STDIO | {"command": "other"},
        STDIO | {"id": "b", "slug": "fs"},
        STDIO | {"id": "c", "slug": "fs", "enabled": False},
        STDIO | {"id": "d", "commnd": 1},
        {},
        5,
        STDIO | {"command": "third"},
    ]

    problems = validate_servers(rows)

    namespace = (
        'namespace "fs" is claimed by more than one server; it goes to "b", '
        'so give "fs" another slug'
    )
    assert problems == [
        'server "d": commnd is not a known field; did you mean "command"?',
        *(f"server 6: {problem}" for problem in validate_server_row({})),
        "server 7: a server must be an object with an id, and a command or a url",
        namespace,
        'id "fs" is used by 3 servers; only the first counts, give the others their own',
    ]


def test_rows_as_models_are_told_like_rows_as_written() -> None:
    rows = [StdioServerRow(id="a", command="x"), HttpServerRow(id="b", slug="a", url="http://h")]

    assert len(validate_servers(rows)) == 1
    assert validate_servers([]) == []
    assert validate_servers({}) == ["servers must be a list of server objects"]


def test_a_row_is_parsed_without_its_foreign_keys() -> None:
    with pytest.raises(ConfigError, match=r'server: hook "h": tool is missing'):
        parse_server_row(STDIO | {"hooks": [{"id": "h", "on": "sessionEnd"}]})

    row = parse_server_row(STDIO | {"autoApprove": [], "connectTimeoutMs": 0, "slug": "a b"})

    assert (row.id, row.connect_timeout_ms, row.slug) == ("fs", 0, "a b")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("Command", "command"),
        ("idle-timeout-ms", "idleTimeoutMs"),
        ("hidden_tool", "hiddenTools"),
        ("header", "headers"),
        ("zzz", None),
    ],
)
def test_the_nearest_name_ignores_case_and_separators(name: str, nearest: str | None) -> None:
    assert nearest_name(name, field_names("")) == nearest


ODD = st.sampled_from(
    [None, True, 0, 1, 2.0, -1, 1.5, "", "x", "stdio", [], ["x"], [5], {}, {"A": "b"}]
)
HOOKS = st.lists(
    ODD
    | st.fixed_dictionaries(
        {"id": st.sampled_from(["h", "i", ""])},
        optional={
            "on": st.sampled_from(["beforeTurn", "sessionEnd", "never"]),
            "tool": st.just("t") | ODD,
            "args": ODD,
            "inject": ODD,
            "veto": ODD,
            "maxTokens": ODD,
            "timeoutMs": ODD,
            "enabled": ODD,
            "more": ODD,
        },
    ),
    max_size=2,
)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        **{name: ODD for name in field_names("") if name not in ("hooks", "transport")},
        "transport": st.sampled_from(["stdio", "http", "sse", None, 5]),
        "url": st.sampled_from(["http://h", "x"]) | ODD,
        "hooks": HOOKS | ODD,
        "autoApprove": ODD,
        "unknown": ODD,
    },
)


@given(ROWS)
def test_a_row_without_problems_is_one_that_the_models_accept(row: dict[str, Any]) -> None:
    problems = validate_server_row(row)
    shape = read_row({name: each for name, each in row.items() if name != "autoApprove"})

    if isinstance(shape, tuple):
        assert len(problems) >= 1
        assert len(problems) == len(set(problems))
        with pytest.raises(ConfigError) as caught:
            parse_server_row(row)
        assert set() < set(caught.value.problems) <= set(problems)
        fields = {str(fault.path[0]) for fault in shape if fault.path[0] != "hooks"}
        assert all(any(problem.startswith(field) for problem in problems) for field in fields)
    else:
        # What is left are words of advice about a row that has its shape.
        advice = ("slug", "id cannot", "connectTimeoutMs", "callTimeoutMs", "hook")
        assert all(problem.startswith(advice) for problem in problems)
        assert validate_server_row(shape) == problems
