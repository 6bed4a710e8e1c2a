"""Placeholders of other clients become what we read, or are told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_variables import PlaceholderFilling, variable_for_input
from host.pool.variables import variable_names

VALUES = {
    "userHome": "/home/ada",
    "/": "/",
    "workspaceFolder": "/w",
    "CLAUDE_PROJECT_DIR": "/w",
}
INPUTS: dict[str, dict[str, Any]] = {
    "api-key": {"description": "The key", "password": True, "default": "never"},
    "region": {"default": "eu"},
    "odd": {"default": "a}b", "description": 5},
}


def filling(**facts: Any) -> PlaceholderFilling:
    return PlaceholderFilling(server_id="notion", values=VALUES, inputs=INPUTS, **facts)


@pytest.mark.parametrize(
    ("text", "filled", "foreign"),
    [
        ("${userHome}${/}x", "/home/ada/x", []),
        ("${workspaceFolder:sub}", "/w", []),
        ("${CLAUDE_PROJECT_DIR:-.}/x", "/w/x", []),
        ("${env:workspaceFolder}", "${env:workspaceFolder}", []),
        ("${A} ${A:-b} ${env:A} {env:A}", "${A} ${A:-b} ${env:A} {env:A}", []),
        ("${input:region}", "${NOTION_REGION:-eu}", []),
        ("Bearer ${input:api-key}", "Bearer ${NOTION_API_KEY}", []),
        ("${input:odd}", "${NOTION_ODD}", []),
        ("${file}", "${file}", ["${file}"]),
        ("${config:a.b}", "${config:a.b}", ["${config:a.b}"]),
        ("${file:~/k}{file:~/k}", "${file:~/k}{file:~/k}", ["${file:~/k}", "{file:~/k}"]),
        ("$A $$ ${}", "$A $$ ${}", ["${}"]),
    ],
)
def test_a_placeholder_is_filled_left_or_told(text: str, filled: str, foreign: list[str]) -> None:
    one = filling()

    assert one.fill(text) == filled
    assert list(one.foreign) == foreign


def test_a_bare_dollar_is_a_variable_where_the_client_says_so() -> None:
    assert filling(bare_dollar=True).fill("$A/${B} $1") == "${A}/${B} $1"


def test_texts_are_filled_however_deep_and_names_are_not() -> None:
    assert filling().fill({"${/}": ["${/}", 5, None], "a": {"b": "${/}"}}) == {
        "${/}": ["/", 5, None],
        "a": {"b": "/"},
    }


def test_what_has_to_be_set_is_told_with_its_purpose() -> None:
    one = filling()
    one.fill(["${input:api-key}", "${input:unknown}", "${input:odd}"])

    assert one.variables == {
        "NOTION_API_KEY": "The key",
        "NOTION_UNKNOWN": "",
        "NOTION_ODD": "",
    }


@pytest.mark.parametrize(
    ("server", "asked", "variable"),
    [
        ("notion", "api-key", "NOTION_API_KEY"),
        ("perplexity", "perplexity-key", "PERPLEXITY_KEY"),
        ("my server", "Github.PAT", "MY_SERVER_GITHUB_PAT"),
        ("é", "7", "_7"),
        ("", "", "INPUT"),
    ],
)
def test_a_variable_is_named_after_server_and_input(server: str, asked: str, variable: str) -> None:
    assert variable_for_input(server, asked) == variable


IDS = st.text(st.sampled_from("aA-_ 1."), max_size=4)


@given(server=IDS, asked=st.lists(IDS, max_size=5))
def test_each_input_of_a_server_has_a_variable_of_its_own_that_we_read(
    server: str, asked: list[str]
) -> None:
    one = PlaceholderFilling(server_id=server, values={})
    names = {each: one.fill(f"${{input:{each}}}") for each in asked}

    assert len(set(names.values())) == len(set(asked))
    assert [variable_names(text) for text in names.values()] == [(name,) for name in one.variables]
    assert one.foreign == {}


PIECES = st.sampled_from(
    ["${A}", "${env:A}", "{env:B}", "${A:-x}", "text", "$", "${workspaceFolder}", "${command:x}"]
)


@given(st.lists(PIECES, max_size=6))
def test_what_we_read_ourselves_stays_as_written(pieces: list[str]) -> None:
    text = " ".join(pieces)
    one = filling()

    assert one.fill(text) == text.replace("${workspaceFolder}", "/w")
    assert set(one.foreign) == {"${command:x}"} & set(pieces)
