"""Arguments are read for where secrets stand in them, and lose nothing by it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.argument_forms import read_argument, read_arguments

WORDS = st.sampled_from(
    ["--api-key", "--token=", "-e", "-H", "--header=", "--env=", "X=", "Key: ", "abc", "://", " "]
)
ARGS = st.lists(st.lists(WORDS, max_size=4).map("".join), max_size=5)


@given(ARGS)
def test_the_two_pieces_are_the_argument(args: list[str]) -> None:
    assert [each.start + each.value for each in read_arguments(args)] == args


@given(ARGS, st.sampled_from(["--api-key", "--password", "--auth-token"]))
def test_what_follows_a_telling_flag_is_a_secret(args: list[str], flag: str) -> None:
    *_, last = read_arguments([*args, flag, "value"])
    assert (last.kind, last.name, last.value) == ("secret", flag, "value")
    *_, other = read_arguments([*args, flag, "--value"])
    assert other.kind == "plain"


@pytest.mark.parametrize(
    ("before", "argument", "kind", "start", "name"),
    [
        ("", "--api-key=v", "secret", "--api-key=", "--api-key"),
        ("", "--mode=v", "plain", "", ""),
        ("--api-key=v", "w", "plain", "", ""),
        ("-e", "NAME=v", "variable", "NAME=", "NAME"),
        ("--env", "NAME=v", "variable", "NAME=", "NAME"),
        ("", "--env=NAME=v", "variable", "--env=NAME=", "NAME"),
        ("-H", "X-Any: v", "header", "X-Any: ", "X-Any"),
        ("--header", "X-Any:v", "header", "X-Any:", "X-Any"),
        ("", "--header=X-Any: v", "header", "--header=X-Any: ", "X-Any"),
        ("", "Authorization: v", "header", "Authorization: ", "Authorization"),
        ("", "pg://u:p@h/d", "address", "", ""),
        ("", "--db=pg://u:p@h/d", "address", "--db=", "--db"),
        ("", "a:b", "plain", "", ""),
        ("", "", "plain", "", ""),
    ],
)
def test_known_arguments(before: str, argument: str, kind: str, start: str, name: str) -> None:
    read = read_argument(argument, before)
    assert (read.kind, read.start, read.name) == (kind, start, name)
    assert read.start + read.value == argument
