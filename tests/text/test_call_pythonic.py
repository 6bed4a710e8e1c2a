"""Calls written in Python: what is literal is read, what would have to be evaluated is not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.call_pythonic import is_cut_call_at, read_method_call, read_pythonic
from host.text.call_values import CallText, Reading
from tests.text.written_calls import CALLS, WHOLE_REPLY, Call

_Reader = Callable[[CallText, int], Reading]


def _read(text: str, reader: _Reader = read_pythonic) -> tuple[list[Call], str]:
    calls, end, *_ = reader(CallText(text), 0)
    return [(call.name, json.loads(call.arguments)) for call in calls], text[end:]


@given(st.sampled_from(["python list", "python lines"]), CALLS, st.sampled_from(["", "\n\nDone."]))
def test_calls_with_literal_arguments_are_read_as_themselves(
    rendering: str, calls: list[Call], after: str
) -> None:
    read, rest = _read(WHOLE_REPLY[rendering](calls) + after)
    assert read == calls
    assert rest.strip() == after.strip()


@given(CALLS.filter(lambda calls: len(calls) > 1), st.data())
def test_of_a_list_cut_off_anywhere_exactly_the_whole_calls_are_read(
    calls: list[Call], drawn: st.DataObject
) -> None:
    written = [WHOLE_REPLY["python lines"]([call]) for call in calls]
    text = f"[{', '.join(written)}"
    cut = drawn.draw(st.integers(1, len(text)))
    ends = [len(", ".join(written[:count])) + 1 for count in range(1, len(calls) + 1)]
    assert _read(text[:cut])[0] == calls[: sum(end <= cut for end in ends)]


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            "[get_weather(city='San José', metric=\"celsius\"), now()]",
            [("get_weather", {"city": "San José", "metric": "celsius"}), ("now", {})],
            "",
        ),
        (
            (
                "[sign_up(name='Ann O\\'Neil', age=37, address={'city': 'Rome', 'zip': None}, "
                "ok=True, tags=['a', 'b'], more=[])]"
            ),
            [
                (
                    "sign_up",
                    {
                        "name": "Ann O'Neil",
                        "age": 37,
                        "address": {"city": "Rome", "zip": None},
                        "ok": True,
                        "tags": ["a", "b"],
                        "more": [],
                    },
                )
            ],
            "",
        ),
        ("clock__days_between()", [("clock__days_between", {})], ""),
        ('get_time({"tz": "Asia/Tokyo"})', [("get_time", {"tz": "Asia/Tokyo"})], ""),
        (" f( a = -1.5e3 , ) ;\n", [("f", {"a": -1500})], "\n"),
        ("[f(a='x, y)', b=\"[(\"), ]", [("f", {"a": "x, y)", "b": "[("})], ""),
        ("f(a=1)\ng(b=2)\nh", [("f", {"a": 1}), ("g", {"b": 2})], "h"),
        ("f(a='{\"b\": 1}')", [("f", {"a": '{"b": 1}'})], ""),
        ("[f(a=1) g()]", [], None),
        ("[f(a=1)", [("f", {"a": 1})], ""),
        ("[f(a=1), g(b='x", [("f", {"a": 1})], ", g(b='x"),
        ("[f(a=1), ge", [("f", {"a": 1})], ", ge"),
        ("[f(a=1), 3]", [], None),
        ("[f(a=1), g(b=<", [], None),
    ],
)
def test_python_calls_are_read_to_their_end(text: str, calls: list[Call], rest: str | None) -> None:
    read, left = _read(text)
    assert read == calls
    assert rest is None or left == rest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "days_between",
        "print(1)",
        "print('x')",
        "f(a=b)",
        "f(a=g())",
        "f(a=(1, 2))",
        "f(a==1)",
        "f(a=1, 2)",
        "f(a=1]",
        "f(a=[1)",
        "f(**{'a': 1})",
        "f({'a': 1}, 2)",
        "f([1])",
        "f({oops})",
        "f(a=1",
        "f(a='x",
        "f (a=1)",
        "3(a=1)",
        "[]",
        "[x for x in f()]",
        "é(a=1)",
    ],
)
def test_code_that_is_no_call_with_literal_keywords_is_not_read(text: str) -> None:
    assert _read(text)[0] == []


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        ('brave_search.call(query="a b")x', [("brave_search", {"query": "a b"})], "x"),
        ("a.b.call()", [("a.b", {})], ""),
        ("print(x=1)", [], None),
        (".call(x=1)", [], None),
        ('client.get(url="x")', [], None),
    ],
)
def test_a_built_in_tool_is_called_by_its_method(
    text: str, calls: list[Call], rest: str | None
) -> None:
    read, left = _read(text, read_method_call)
    assert read == calls
    assert rest is None or left == rest


@pytest.mark.parametrize(
    ("text", "in_list", "is_cut"),
    [
        ("", False, True),
        (" ;", False, True),
        (", g(a=1, b='", False, True),
        (", g(a=1)", True, False),
        ("thanks", False, False),
        ("thanks", True, True),
        ("thanks a lot", True, False),
        ("g(a=<b", True, False),
    ],
)
def test_only_the_beginning_of_a_call_is_a_cut_one(text: str, in_list: bool, is_cut: bool) -> None:
    assert is_cut_call_at(CallText(text), 0, in_list=in_list) is is_cut


@pytest.mark.parametrize(
    "text", ["f(" * 2_000, "f(a=" + "[" * 20_000, "f(a=1," * 2_000, "[" * 9_000]
)
def test_hostile_nesting_is_read_as_no_call(text: str) -> None:
    assert _read(text)[0] == []
