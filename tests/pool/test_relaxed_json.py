from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.relaxed_json import JsonSyntaxError, meaningful_tokens, parse_relaxed_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a/*\\",}]:é\n')),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.sampled_from('k/*,"'), max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
BLANKS = st.lists(
    st.sampled_from([" ", "\n", '// a, ] } "\n', "/* , } ' // */", "/**/", "\t"]), max_size=2
).map("".join)


@st.composite
def loosely_written(draw: st.DrawFn, value: Any) -> str:
    """Some way to write the value with comments, blanks and trailing commas."""

    def gap() -> str:
        return draw(BLANKS)

    def closed(items: list[str], brackets: str) -> str:
        tail = "," + gap() if draw(st.booleans()) and items else ""
        return brackets[0] + gap() + ("," + gap()).join(items) + tail + brackets[1]

    def written(item: Any) -> str:
        if isinstance(item, list):
            return closed([written(inner) + gap() for inner in item], "[]")
        if isinstance(item, dict):
            pairs = [
                json.dumps(key) + gap() + ":" + gap() + written(inner) + gap()
                for key, inner in item.items()
            ]
            return closed(pairs, "{}")
        return json.dumps(item, ensure_ascii=False)

    return gap() + written(value) + gap()


@given(data=st.data(), value=VALUES, mark=st.sampled_from(["", "\ufeff"]))
def test_comments_and_trailing_commas_do_not_change_the_value(
    data: st.DataObject, value: Any, mark: str
) -> None:
    assert parse_relaxed_json(mark + data.draw(loosely_written(value))) == value


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("", 1, 1, "a value"),
        ("[1,,]", 1, 4, "a value"),
        ("[,]", 1, 2, "a value"),
        ('{"a": 1 "b": 2}', 1, 9, "a comma"),
        ('{"a" 1}', 1, 6, "a colon"),
        ("{a: 1}", 1, 2, "a name in double quotes"),
        ('{\n  // one\n  "a": tru\n}', 3, 8, "a value"),
        ('/* long\n comment */ {"a": "b', 2, 19, "closing quote"),
        ('{"a": 1}\n/* open', 2, 1, "never closed"),
        ('{"a": "C:\\dir"}', 1, 10, "twice"),
        ('{"a": "x\ny"}', 1, 9, "line break"),
        ("{} {}", 1, 4, "nothing may follow"),
        ('{"a": NaN}', 1, 1, "NaN"),
        ("[" * 100_000, 1, 1, "too deep"),
        ("9" * 5_000, 1, 1, "digits"),
    ],
)
def test_an_error_names_its_place_and_what_to_do(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(JsonSyntaxError, match=reason) as caught:
        parse_relaxed_json(text)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value) == f"line {line}, column {column}: {caught.value.reason}"


def test_what_looks_like_a_comment_inside_a_text_is_text() -> None:
    assert parse_relaxed_json('{"url": "http://x/*y*/", "s": ",]"}') == {
        "url": "http://x/*y*/",
        "s": ",]",
    }


def test_the_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(JsonSyntaxError("no", 3, 4)))

    assert (error.reason, error.line, error.column) == ("no", 3, 4)


@given(data=st.data(), value=VALUES, mark=st.sampled_from(["", "\ufeff"]))
def test_the_tokens_say_what_the_text_says_and_where(
    data: st.DataObject, value: Any, mark: str
) -> None:
    text = mark + data.draw(loosely_written(value))
    tokens = list(meaningful_tokens(text))

    assert all(text[token.start : token.end] == token.piece for token in tokens)
    assert parse_relaxed_json("".join(token.piece for token in tokens)) == value
