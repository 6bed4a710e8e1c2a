"""Arguments read from what models write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import ToolArgumentsError
from host.text.json_text import compact_json
from host.text.tool_arguments import parse_tool_arguments

_TEXTS = st.text(alphabet="a'\"\\{}[],:N\né", max_size=6)
_ARGUMENTS = st.dictionaries(
    _TEXTS,
    _TEXTS | st.integers() | st.none() | st.booleans() | st.lists(_TEXTS, max_size=2),
    max_size=3,
)


@given(_ARGUMENTS, st.integers(0, 2))
def test_arguments_read_as_themselves_however_often_they_were_encoded(
    arguments: dict[str, Any], encodings: int
) -> None:
    raw: object = arguments
    for _ in range(encodings):
        raw = compact_json(raw)
    assert parse_tool_arguments(raw) == arguments


@given(_ARGUMENTS, st.data())
def test_arguments_cut_anywhere_are_refused_as_truncated(
    arguments: dict[str, Any], drawn: st.DataObject
) -> None:
    text = compact_json(arguments)
    cut = drawn.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ToolArgumentsError) as caught:
        parse_tool_arguments(text[:cut], finish_reason="length")
    assert caught.value.kind == "truncated"


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"n":3}', {"n": 3}),
        ("", {}),
        (" \n", {}),
        (None, {}),
        ('  {"n":3}\n', {"n": 3}),
        ('"{\\"n\\":3}"', {"n": 3}),
        (
            "{'dir': '/tmp', 'all': True, 'max': None,}",
            {"dir": "/tmp", "all": True, "max": None},
        ),
        ('{dir: "o\'x", ids: [7, 8,],}', {"dir": "o'x", "ids": [7, 8]}),
        ("{'q': 'say \"hi\" None, }'}", {"q": 'say "hi" None, }'}),
    ],
)
def test_arguments_are_read_with_the_repair(raw: object, arguments: dict[str, Any]) -> None:
    assert parse_tool_arguments(raw) == arguments


def test_a_dict_comes_back_as_the_same_object() -> None:
    arguments = {"a": 1}
    assert parse_tool_arguments(arguments) is arguments


@pytest.mark.parametrize(
    ("raw", "finish_reason", "kind", "said"),
    [
        ("[3]", None, "malformed", "not an object"),
        ("7", None, "malformed", "not an object"),
        ("null", None, "malformed", "not an object"),
        ([3], None, "malformed", "not an object"),
        (float("nan"), None, "malformed", "not valid JSON"),
        ({1}, None, "malformed", "not valid JSON"),
        ("{oops", None, "malformed", "not valid JSON"),
        ('{"q": "lon', "length", "truncated", "maxTokens"),
        ('{"q": "lon', "stop", "malformed", "not valid JSON"),
        ("[3]", "length", "truncated", "maxTokens"),
        ('{"a":NaN}', None, "malformed", "not valid JSON"),
        ("[" * 20_000, None, "malformed", "not valid JSON"),
        ('{"a":' * 10_000, "length", "truncated", "maxTokens"),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_what_is_no_object_is_refused_in_words_for_the_model(
    raw: object, finish_reason: str | None, kind: str, said: str
) -> None:
    with pytest.raises(ToolArgumentsError, match=said) as caught:
        parse_tool_arguments(raw, finish_reason=finish_reason)
    assert caught.value.kind == kind


def test_the_message_quotes_at_most_two_hundred_characters_on_one_line() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        parse_tool_arguments("{\n" + "x" * 198 + "y" * 500)
    message = str(caught.value)
    assert message.endswith("{ " + "x" * 198 + "…")
    assert "\n" not in message
