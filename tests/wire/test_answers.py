"""JSON and lists in the answers of small models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.answers import clean, list_lines, parse_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[1, 2]", [1, 2]),
        ('Sure! {"a": [1]} Anything else?', {"a": [1]}),
        ('Here:\n```json\n{"a": 1}\n```\nand\n```json\n{"b": 2}\n```', {"a": 1}),
        ('{"no": 0} ```\n[1]\n```', [1]),
        ('```JSON\n{"a":1}```', {"a": 1}),
        ('```json {"a":1} ```', {"a": 1}),
        ('```python\nx = {}\n```\n```\n{"a": 1}\n```', {"a": 1}),
        ('```python\nx\n```\n{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}', {"a": 1}),
        ("{t: ['r'], ok: True,}", {"t": ["r"], "ok": True}),
        ("[a, b] or {c}", None),
        ("no JSON here", None),
        ("", None),
        ("7", None),
        ("} {", None),
        ("{", None),
        ('{"a": ', None),
        ("```json\nnothing\n```", None),
        ('```json\nnothing\n```\n{"b": 2}', None),
        ('```json\n{"a": "```py\\nx\\n```"}\n```', {"a": "```py\nx\n```"}),
        ('{"a": "```\\nx\\n```", "b": [1]}', {"a": "```\nx\n```", "b": [1]}),
        ('```json\n{"a" 1}\n```\n{"b": 2}', None),
        ("[" * 100_000 + "]", None),
    ],
)
def test_json_is_found_in_an_answer(text: str, value: Any) -> None:
    assert parse_json(text) == value


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "```", "{", "]", "a'b", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
).filter(lambda value: isinstance(value, list | dict))
FRAMES = ["{}", "Sure:\n{}\nDone.", "```json\n{}\n```", "Look\n```\n{}\n```\n[0]", " {}"]


@given(VALUES, st.sampled_from(FRAMES), st.sampled_from([None, 2]))
def test_a_value_is_read_back_from_whatever_stands_around_it(
    value: Any, frame: str, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    if "```" in text:
        frame = "Sure: {}"
        text = text.replace("```", "` ` `")
        value = json.loads(text)
    assert parse_json(frame.replace("{}", text)) == value


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("  plain  ", "plain"),
        ("- dash", "dash"),
        ("* star", "star"),
        ("•dot", "dot"),
        ("12. twelve", "twelve"),
        ("3) three", "three"),
        ("1.tight", "tight"),
        ("- - twice", "- twice"),
        ('"quoted."', "quoted"),
        ("`code`.", "code"),
        ("- “Title”", "Title"),
        ("'it's'", "it's"),
        ("end...", "end"),
        ("3.5 stars", "3.5 stars"),
        ("-5 degrees", "-5 degrees"),
        ("**bold**", "**bold**"),
        ("-", ""),
        ("1.", ""),
        ('""', ""),
        ("", ""),
    ],
)
def test_a_line_loses_bullet_quotes_and_closing_periods(line: str, item: str) -> None:
    assert clean(line) == item


WORDS = st.lists(st.sampled_from(["tea", "x.y", "don't", "3.5", "-1", "é"]), min_size=1, max_size=3)
ITEMS = WORDS.map(" ".join).filter(lambda item: not item.endswith("."))
BULLETS = st.sampled_from(["", "- ", "* ", "• ", "7. ", "12) "])
DRESS = st.sampled_from(["{}", '"{}"', "`{}`", "{}.", '"{}."', "  {}\r"])


@given(
    st.lists(st.tuples(ITEMS, BULLETS, DRESS), max_size=6), st.integers(0, 5), st.integers(1, 12)
)
def test_items_come_back_from_a_list_and_long_ones_do_not_count(
    items: list[tuple[str, str, str]], max_lines: int, max_chars: int
) -> None:
    text = "\n\n".join(bullet + dress.format(item) for item, bullet, dress in items)
    fitting = [item for item, _, _ in items if len(item) <= max_chars]
    assert list_lines(text, max_lines, max_chars) == fitting[:max_lines]


def test_a_negative_number_of_lines_is_none() -> None:
    assert list_lines("a\nb", -1, 10) == []
