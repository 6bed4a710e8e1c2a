from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.variables import expand_row, expand_variables, one_spelling

ENV = {"HOME": "/h", "EMPTY": "", "NESTED": "${HOME}", "_a1": "x"}


@pytest.mark.parametrize(
    ("text", "expanded", "unset"),
    [
        ("${HOME}/bin", "/h/bin", ()),
        ("${env:HOME}{env:HOME}", "/h/h", ()),
        ("${_a1}${_a1}", "xx", ()),
        ("${EMPTY}", "", ()),
        ("${EMPTY:-d}", "d", ()),
        ("${NONE:-d e:-f}", "d e:-f", ()),
        ("${NONE:-}", "", ()),
        ("${env:NONE:-d}", "d", ()),
        ("${HOME:-d}", "/h", ()),
        ("${NESTED}", "${HOME}", ()),
        ("${NONE} ${ALSO} ${NONE}", "${NONE} ${ALSO} ${NONE}", ("NONE", "ALSO")),
        ("{env:NONE}", "{env:NONE}", ("NONE",)),
        ("Bearer ${input:api-key}", "Bearer ${input:api-key}", ("input:api-key",)),
        ("$HOME {HOME} ${} ${1} ${a b} ${HOME", "$HOME {HOME} ${} ${1} ${a b} ${HOME", ()),
    ],
)
def test_variables_are_filled_or_left_as_written(
    text: str, expanded: str, unset: tuple[str, ...]
) -> None:
    assert expand_variables(text, ENV) == (expanded, unset)


PLAIN = st.text(st.sampled_from("a $-}:/"), max_size=3)
NAMES = st.sampled_from(["A", "B", "C"])
SPELLINGS = st.sampled_from(["${%s}", "${env:%s}", "{env:%s}"])


@given(
    pieces=st.lists(PLAIN | st.tuples(SPELLINGS, NAMES), max_size=6),
    env=st.dictionaries(NAMES, st.sampled_from(["", "v", "${A}", "{env:B}"])),
)
def test_each_variable_is_replaced_on_its_own(
    pieces: list[str | tuple[str, str]], env: dict[str, str]
) -> None:
    written = [piece if isinstance(piece, str) else piece[0] % piece[1] for piece in pieces]
    filled = [
        piece if isinstance(piece, str) else env.get(piece[1], piece[0] % piece[1])
        for piece in pieces
    ]
    names = [piece[1] for piece in pieces if not isinstance(piece, str)]

    expanded, unset = expand_variables("\n".join(written), env)

    assert expanded == "\n".join(filled)
    assert unset == tuple(dict.fromkeys(name for name in names if name not in env))


def test_only_the_fields_of_a_connection_are_filled() -> None:
    row = {
        "id": "${A}",
        "label": "${A}",
        "command": "${A}",
        "args": ["${A}", "${NONE}", 5],
        "env": {"${A}": "${A}", "N": 5},
        "cwd": "${A}",
        "url": "http://${A}/",
        "headers": {"X": "${B:-b}"},
        "hooks": [{"args": {"a": "${A}"}}],
        "slug": None,
    }

    assert expand_row(row, {"A": "1"}) == (
        row
        | {
            "command": "1",
            "args": ["1", "${NONE}", 5],
            "env": {"${A}": "1", "N": 5},
            "cwd": "1",
            "url": "http://1/",
            "headers": {"X": "b"},
        },
        ("NONE",),
    )


@given(
    pieces=st.lists(PLAIN | st.tuples(SPELLINGS, NAMES), max_size=6),
    env=st.dictionaries(NAMES, st.sampled_from(["", "v"])),
)
def test_one_spelling_says_the_same(
    pieces: list[str | tuple[str, str]], env: dict[str, str]
) -> None:
    text = "\n".join(piece if isinstance(piece, str) else piece[0] % piece[1] for piece in pieces)
    full = {"A": "1", "B": "2", "C": "3", **env}
    spelled = one_spelling(text)

    assert expand_variables(spelled, full) == expand_variables(text, full)
    assert "env:" not in spelled
    assert one_spelling(spelled) == spelled


def test_a_default_and_what_is_asked_for_keep_their_form() -> None:
    text = "${env:A:-b} ${A:-} ${input:x}"
    assert one_spelling(text) == "${A:-b} ${A:-} ${input:x}"
