"""Servers are written into a file's text; what a person wrote there stays, to the character."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_text import ServersText, json_text
from host.errors import ConfigError
from host.pool.relaxed_json import parse_relaxed_json

NEW = {"new": {"command": "n", "args": ["1"]}}


def written(text: str, servers: dict[str, Any]) -> str:
    return ServersText.read(text, "s.json").with_servers(servers)


def test_comments_order_and_spelling_stay() -> None:
    text = """{
    // mine
    "mcpServers": {
        "a": { "command": "x" } // the first
        /* and the last */
    },
    "agent": {"model": "m",},
}
"""
    assert (
        written(text, NEW)
        == """{
    // mine
    "mcpServers": {
        "a": { "command": "x" }, // the first
        /* and the last */
        "new": {
            "command": "n",
            "args": [
                "1"
            ]
        }
    },
    "agent": {"model": "m",},
}
"""
    )


def test_a_trailing_comma_is_kept_up() -> None:
    text = '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // note\n\t},\n}'
    assert written(text, {"b": 1}) == (
        '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // note\n\t\t"b": 1,\n\t},\n}'
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ("mcpServers",)),
        ("{}", ("mcpServers",)),
        ('{"agent": {"model": "m"}}', ("mcpServers",)),
        ('{"$schema": "x"}', ("mcpServers",)),
        ('{"mcpServers":{}}', ("mcpServers",)),
        ('{"servers": {"a": {"command": "x"}}, "inputs": []}', ("servers",)),
        ('{"mcp": {"servers": {"a": {"command": "x"}}}}', ("mcp", "servers")),
        ('{"mcp": {"a": {"command": "x"}}}', ("mcp",)),
        ('{"a": {"command": "x"}, "agent": {}}', ()),
        ('\ufeff{"mcpServers": {"a": {"command": "}{\\"]"}}}', ("mcpServers",)),
        ('{"x": [{"mcpServers": {}}], "mcpServers": {"a": {"args": [{}]}}}', ("mcpServers",)),
    ],
)
def test_servers_go_where_the_servers_are(text: str, path: tuple[str, ...]) -> None:
    before = ServersText.read(text, "s.json")
    after = ServersText.read(before.with_servers(NEW), "s.json")

    assert before.path == after.path == path
    assert after.bodies == {**before.bodies, **NEW}


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    after = written('\ufeff{\r\n "mcpServers": {\r\n }\r\n}\r\n', {"a": {}, "b": {}})
    assert after == '\ufeff{\r\n "mcpServers": {\r\n  "a": {},\r\n  "b": {}\r\n }\r\n}\r\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "line 1"),
        ("[]", "must be an object"),
        ('{"mcpServers": {}, "mcpServers": {}}', '"mcpServers" stands twice'),
        ('{"mcpServers": []}', "mcpServers must be an object"),
        ('{"command": "x"}', "one server without a name"),
        ('{"theme": 5}', "there are no servers"),
    ],
)
def test_a_file_that_has_no_place_for_servers_says_so(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        ServersText.read(text, "s.json")
    assert caught.value.source == "s.json"


def test_a_taken_id_is_never_written_over() -> None:
    with pytest.raises(ConfigError, match='"a" is there already'):
        written('{"mcpServers": {"a": 5}}', {"a": 6})


def test_nothing_to_add_changes_nothing() -> None:
    assert written("{ }", {}) == "{ }"


def test_json_for_people_has_escapes_only_where_it_must() -> None:
    assert json_text({"é": "ü"}) == '{\n  "é": "ü"\n}'
    assert json.loads(json_text({"a": "\ud800é"})) == {"a": "\ud800é"}
    json_text("\ud800").encode()


NOISE = st.sampled_from(["", " ", "\n", "\t", " // c }{\n", '/* "x": { */', "\r\n"])
TEXTS = st.text(st.sampled_from('a"\\{}[],:/*é\u2028'), max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=5,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)


@st.composite
def loose_object(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    """An object of ready-made texts, with comments and blanks between them."""
    pieces = [f"{json.dumps(key)}{draw(NOISE)}:{draw(NOISE)}{text}" for key, text in members]
    inside = ("," + draw(NOISE)).join(piece + draw(NOISE) for piece in pieces)
    tail = draw(st.sampled_from(["", ","])) if pieces else ""
    return "{" + draw(NOISE) + inside + tail + draw(NOISE) + "}"


@given(data=st.data(), there=OBJECTS, coming=OBJECTS, agent=st.booleans(), bom=st.booleans())
def test_the_old_text_stands_in_the_new_one_and_both_are_read(
    data: st.DataObject,
    there: dict[str, Any],
    coming: dict[str, Any],
    agent: bool,
    bom: bool,
) -> None:
    servers = data.draw(loose_object([(key, json.dumps(body)) for key, body in there.items()]))
    members = [("mcpServers", servers), *([("agent", '{"a": {}}')] if agent else [])]
    text = "\ufeff" * bom + data.draw(NOISE) + data.draw(loose_object(members)) + data.draw(NOISE)
    new = {key: body for key, body in coming.items() if key not in there}
    after = written(text, new)

    read = parse_relaxed_json(after)
    assert read["mcpServers"] == {**there, **new}
    assert [*read["mcpServers"]] == [*there, *new]
    assert read.get("agent") == ({"a": {}} if agent else None)
    kept = iter(after)
    assert all(character in kept for character in text if not character.isspace())  # in order
