"""A servers file is judged whole: every mistake at once, each with file, row, field and remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.reading import read_servers
from host.errors import ConfigError
from host.pool import HttpServerRow, StdioServerRow

ENV = {"TOKEN": "t0ken", "EMPTY": ""}


def problems_of(value: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read_servers(value if isinstance(value, str) else json.dumps(value), "f.json", ENV)
    assert caught.value.source == "f.json"
    return caught.value.problems


def test_rows_come_in_the_order_of_the_file_with_variables_filled() -> None:
    config = read_servers(
        """{ // the fleet
          "mcpServers": {
            "b": {"command": "srv", "args": ["--token", "${TOKEN}"], "env": {"N": 3}},
            "a": {"url": "http://x/${MISSING:-mcp}", "headers": {"A": "Bearer ${env:TOKEN}"}},
          },
        }""",
        "f.json",
        ENV,
    )
    first, second = config.rows
    assert isinstance(first, StdioServerRow)
    assert (first.id, first.args, first.env) == ("b", ("--token", "t0ken"), {"N": "3"})
    assert isinstance(second, HttpServerRow)
    assert (second.url, second.headers) == ("http://x/mcp", {"A": "Bearer t0ken"})


def test_an_unset_variable_sets_its_row_aside_and_no_other() -> None:
    config = read_servers(
        json.dumps(
            {
                "mcpServers": {
                    "good": {"command": "srv"},
                    "lost": {"url": "${NOWHERE}/mcp", "headers": {"K": "${KEY}"}},
                }
            }
        ),
        "f.json",
        ENV,
    )
    assert [row.id for row in config.rows] == ["good"]
    assert set(config.unset["lost"]) == {"NOWHERE", "KEY"}


def test_a_disabled_row_needs_no_variables() -> None:
    body = {"url": "${NOWHERE}/mcp", "disabled": True}
    config = read_servers(json.dumps({"mcpServers": {"off": body}}), "f.json", ENV)
    assert config.unset == {}
    assert not config.rows[0].enabled


def test_every_mistake_is_told_at_once() -> None:
    problems = problems_of(
        {
            "mcpServers": {
                "a": {"command": "x", "argz": [], "callTimeoutMs": "soon"},
                "b": {"url": "ftp://x"},
                "c": "not a body",
            },
            "agent": {"maxTokens": "many", "modle": "m"},
            "agnet": {},
        }
    )
    text = "\n".join(problems)
    for fragment in (
        'server "a"',
        'did you mean "args"?',
        "callTimeoutMs",
        'server "b"',
        "url",
        'server "c"',
        "agent.maxTokens must be a whole number",
        'agent.modle is not a known field; did you mean "model"?',
        '"agnet" is not a known key; did you mean "agent"?',
    ):
        assert fragment in text
    assert len(problems) == 7


def test_bad_json_is_told_with_line_and_column() -> None:
    assert "line 2, column 16" in problems_of('{"mcpServers": {\n  "a": {"args" []}}}')[0]


def test_a_server_that_stands_twice_is_a_mistake() -> None:
    (problem,) = problems_of('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}')
    assert problem.startswith('"a" stands twice')


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null"])
def test_what_is_no_object_is_refused_with_an_example(text: str) -> None:
    assert "mcpServers" in problems_of(text)[0]


def test_keys_of_other_clients_are_dropped_with_a_notice_each() -> None:
    body = {"command": "x", "autoApprove": ["y"], "timeout": 3}
    config = read_servers(json.dumps({"mcpServers": {"a": body}, "inputs": []}), "f.json", ENV)
    assert len(config.rows) == 1
    assert len(config.notices) == 3
    assert all(notice.startswith("f.json: ") for notice in config.notices)


def test_the_agent_object_is_read_and_its_key_is_remembered_as_a_secret() -> None:
    agent = {"baseUrl": "http://h/v1", "apiKey": "${TOKEN}", "model": "m", "temperature": 0}
    config = read_servers(json.dumps({"mcpServers": {}, "agent": agent}), "f.json", ENV)
    assert config.agent.api_key == "t0ken"
    assert config.agent.temperature == 0
    assert set(config.secret_env) == {"OPENAI_API_KEY", "TOKEN"}
    assert "t0ken" not in repr(config)


def test_an_unset_key_of_the_agent_is_absent_and_named() -> None:
    config = read_servers('{"agent": {"apiKey": "${NO_SUCH}"}}', "f.json", ENV)
    assert config.agent.api_key is None
    assert config.unset_agent == ("NO_SUCH",)


names = st.sampled_from(["alpha", "beta", "gamma", "delta"])
bodies = st.one_of(
    st.builds(lambda c: {"command": c}, st.sampled_from(["srv", "${TOKEN}", "${NO_SUCH}"])),
    st.builds(lambda u: {"url": u}, st.sampled_from(["http://h/mcp", "${NO_SUCH}"])),
    st.just({"command": "srv", "disabled": True}),
)


@given(st.dictionaries(names, bodies))
def test_every_row_is_either_started_or_set_aside_for_a_variable(servers: dict[str, Any]) -> None:
    config = read_servers(json.dumps({"mcpServers": servers}), "f.json", ENV)
    lost = {name for name, body in servers.items() if "${NO_SUCH}" in json.dumps(body)}
    assert set(config.unset) == lost
    assert [row.id for row in config.rows] == [name for name in servers if name not in lost]
