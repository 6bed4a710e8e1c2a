"""What is said about an import names every server and key, and shows no value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.import_words import (
    file_lines,
    listed,
    outcome_json,
    outcome_lines,
    refused_json,
    refused_line,
)
from host.config.import_bodies import ImportedServer, RefusedServer
from host.config.import_clients import CLINE, CURSOR
from host.config.import_merging import Outcome
from host.config.import_places import Place
from host.config.import_reading import ClientFile, WrittenServer

PLACE = Place(client=CURSOR, path="/x.json", scope="user", folder="/w")
BODY = {"command": "x", "env": {"A": "hunter2"}}


def server(**facts: Any) -> ImportedServer:
    return ImportedServer(id="gh", body=BODY, place=PLACE, **facts)


@pytest.mark.parametrize(
    ("outcome", "lines"),
    [
        (Outcome(server=server(), id="gh", body=BODY), []),
        (Outcome(server=server(), id=None, same_as="gh"), ["is there already; left out"]),
        (Outcome(server=server(), id=None, same_as="other"), ['is "other"; left out']),
        (
            Outcome(server=server(), id="gh-2", body=BODY),
            ['comes in as "gh-2", since "gh" is another server'],
        ),
        (
            Outcome(server=server(not_carried=("timeout", "icon")), id="gh", body=BODY),
            ["not carried over: timeout (ours: callTimeoutMs), icon"],
        ),
        (
            Outcome(server=server(variables={"A": "the key", "B": ""}), id="gh", body=BODY),
            ["set A in the environment (the key)", "set B in the environment"],
        ),
    ],
)
def test_a_person_reads_what_differs(outcome: Outcome, lines: list[str]) -> None:
    assert list(outcome_lines(outcome)) == [f"Cursor gh: {line}" for line in lines]


def test_what_does_not_come_in_says_why() -> None:
    refused = RefusedServer(id="a", place=PLACE, problems=("one", "two"))
    assert refused_line(refused) == "Cursor a: not imported: one; two"
    assert refused_json(refused)["problems"] == ["one", "two"]


def test_a_file_says_what_else_is_in_it() -> None:
    file = ClientFile(place=PLACE, elsewhere={"/a": 2, "/b": 1}, notes=("odd",))
    first, second = file_lines([file])
    assert first == "/x.json: odd"
    assert second.startswith("/x.json: 3 more of other projects")


def test_a_list_has_a_line_for_the_user_and_for_each_project() -> None:
    own = Place(client=CLINE, path="/x.json", scope="project", folder="/p")
    servers = [
        WrittenServer(id="a", body={}, place=PLACE),
        WrittenServer(id="b", body={}, place=own),
        WrittenServer(id="c", body={}, place=PLACE),
    ]
    file = ClientFile(place=PLACE, servers=tuple(servers))
    assert list(listed(file)) == [(PLACE, ["a", "c"]), (own, ["b"])]


KEYS = st.lists(st.sampled_from(["timeout", "icon", "trust", "oauth.x"]), unique=True)


@given(
    keys=KEYS,
    remarks=st.lists(st.sampled_from(["odd", "very odd"]), unique=True),
    variables=st.dictionaries(st.sampled_from("AB"), st.sampled_from(["", "why"])),
    comes_as=st.sampled_from(["gh", "gh-2", None]),
)
def test_lines_and_json_tell_the_same_and_no_value(
    keys: list[str], remarks: list[str], variables: dict[str, str], comes_as: str | None
) -> None:
    one = server(not_carried=tuple(keys), remarks=tuple(remarks), variables=variables)
    outcome = Outcome(server=one, id=comes_as, body=BODY, same_as=None if comes_as else "a")
    lines, told = list(outcome_lines(outcome)), outcome_json(outcome)
    text = "\n".join(lines)

    assert "hunter2" not in text + json.dumps(told)
    status = {"gh": "added", "gh-2": "renamed", None: "skipped"}[comes_as]
    assert (told["server"], told["client"], told["status"]) == ("gh", "cursor", status)
    if comes_as is None:
        assert len(lines) == 1
        return
    assert [each["key"] for each in told["notCarried"]] == keys
    assert told["remarks"] == remarks
    assert told["variables"] == variables
    assert all(word in text for word in (*keys, *remarks, *(f"set {name} " for name in variables)))
