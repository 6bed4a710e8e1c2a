"""Servers come in beside those that are there; nothing is lost and nothing comes in twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_bodies import ImportedServer
from host.config.import_clients import OTHER
from host.config.import_merging import Outcome, merge
from host.config.import_places import Place
from host.pool.row_import import row_from_body
from host.pool.row_validation import validate_servers

PLACE = Place(client=OTHER, path="/x.json", scope="user", folder=None)


def incoming(server_id: str, body: dict[str, Any], *, implied: bool = False) -> ImportedServer:
    return ImportedServer(id=server_id, body=body, place=PLACE, folder_is_implied=implied)


def added(outcomes: list[Outcome]) -> dict[str, Any]:
    return {each.id: dict(each.body) for each in outcomes if each.id is not None}


def test_a_taken_id_gets_a_suffix_and_what_is_there_stays() -> None:
    (outcome,) = merge({"a": {"command": "x"}, "a-2": 5}, [incoming("a", {"command": "y"})])
    assert (outcome.id, outcome.body) == ("a-3", {"command": "y"})


@pytest.mark.parametrize(
    ("there", "coming"),
    [
        ({"command": "x"}, {"command": "x", "args": [], "env": {}, "disabled": True}),
        ({"command": "x", "callTimeoutMs": 5, "timeout": 6}, {"command": "x"}),
        ({"command": ["x", "a"]}, {"command": "x", "args": ["a"]}),
        ({"command": "x", "env": {"A": "${A}"}}, {"command": "x", "env": {"A": "${env:A}"}}),
        ({"type": "sse", "url": "http://h"}, {"url": "http://h"}),
        (
            {"url": "http://h", "headers": {"a": "{env:A}"}},
            {"url": "http://h", "headers": {"A": "${A}"}},
        ),
    ],
)
def test_the_same_connection_is_left_out_under_any_id(
    there: dict[str, Any], coming: dict[str, Any]
) -> None:
    (outcome,) = merge({"known": there}, [incoming("other", coming)])
    assert (outcome.id, outcome.same_as) == (None, "known")


@pytest.mark.parametrize(
    ("there", "coming"),
    [
        ({"command": "x"}, {"command": "x", "cwd": "/p"}),
        ({"command": "x"}, {"command": "x", "env": {"A": "1"}}),
        ({"url": "http://h"}, {"url": "http://h", "headers": {"A": "1"}}),
        ({"url": "http://h"}, {"url": "http://h", "auth": {"clientId": "me"}}),
        ({"command": "x", "cmd": "typo"}, {"command": "x"}),
    ],
)
def test_another_connection_comes_in(there: dict[str, Any], coming: dict[str, Any]) -> None:
    assert added(merge({"a": there}, [incoming("a", coming)])) == {"a-2": coming}


def test_a_folder_that_nobody_wrote_makes_no_other_server() -> None:
    body = {"command": "x", "cwd": "/p"}
    assert merge({"a": {"command": "x"}}, [incoming("a", body, implied=True)])[0].same_as == "a"
    assert merge({"a": {"command": "x"}}, [incoming("a", body)])[0].id == "a-2"


def test_no_two_servers_share_a_namespace() -> None:
    outcomes = merge(
        {"a.b": {"command": "x"}},
        [
            incoming("a_b", {"command": "y"}),
            incoming("c", {"command": "z", "slug": "a_b"}),
            incoming("d", {"command": "w", "slug": "a_b-3"}),
        ],
    )
    assert [(each.id, each.body.get("slug")) for each in outcomes] == [
        ("a_b-2", None),
        ("c", "a_b-3"),
        ("d", "a_b-3-2"),
    ]


def test_no_body_shows_in_the_repr() -> None:
    assert "hunter2" not in repr(
        merge({}, [incoming("a", {"command": "x", "env": {"A": "hunter2"}})])
    )


IDS = st.sampled_from(["a", "a-2", "a.b", "a_b", "é"])
BODIES = st.fixed_dictionaries(
    {"command": st.sampled_from("xy")},
    optional={
        "args": st.sampled_from([[], ["1"]]),
        "cwd": st.just("/p"),
        "slug": st.sampled_from(["a", "s"]),
        "disabled": st.just(True),
    },
) | st.fixed_dictionaries({"url": st.sampled_from(["http://h", "${U}"])})
EXISTING = st.dictionaries(IDS, BODIES, max_size=3)
SERVERS = st.lists(st.builds(incoming, IDS, BODIES, implied=st.booleans()), max_size=5)


@given(existing=EXISTING, servers=SERVERS)
def test_nothing_is_lost_and_the_same_again_adds_nothing(
    existing: dict[str, Any], servers: list[ImportedServer]
) -> None:
    before = {key: dict(body) for key, body in existing.items()}
    outcomes = merge(existing, servers)
    new = added(outcomes)
    whole = {**existing, **new}

    assert existing == before
    assert not existing.keys() & new.keys()
    assert [outcome.server for outcome in outcomes] == servers
    for outcome in outcomes:
        assert outcome.id in new if outcome.same_as is None else outcome.same_as in whole
    assert added(merge(whole, servers)) == {}


@given(servers=SERVERS)
def test_what_comes_into_an_empty_file_can_be_read(servers: list[ImportedServer]) -> None:
    rows = [row_from_body(key, body) for key, body in added(merge({}, servers)).items()]
    assert validate_servers(rows) == []
