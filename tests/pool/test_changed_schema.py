"""Arguments for an old schema: made to fit no new one, and refused in words to act on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.arguments import argument_problems
from host.pool.changed_schema import MAX_PROBLEM_CHARS, changed_schema_refusal
from host.text.json_text import compact_json

NAMES = st.sampled_from("abc")
SCHEMAS = st.builds(
    lambda properties, required, more: {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        **more,
    },
    st.dictionaries(NAMES, st.sampled_from([{"type": "string"}, {"type": "integer"}, {}])),
    st.sets(NAMES, max_size=2),
    st.sampled_from([{}, {"additionalProperties": False}, {"allOf": [{}]}]),
)
ARGUMENTS = st.dictionaries(NAMES, st.sampled_from(["x", 1]))


@given(SCHEMAS, SCHEMAS, ARGUMENTS)
def test_what_fits_both_what_the_schema_says_and_what_it_names_is_let_through(
    known: dict[str, Any], current: dict[str, Any], arguments: dict[str, Any]
) -> None:
    text = changed_schema_refusal("fs__x", known=known, current=current, arguments=arguments)
    gone = [
        name
        for name in arguments
        if name in known["properties"] and name not in current["properties"]
    ]
    is_fit = not argument_problems(current, arguments) and (not gone or "allOf" in current)
    assert (text == "") is is_fit
    if text:
        assert text.startswith("fs__x has another schema")
        assert text.endswith(compact_json(current))


def test_what_is_known_to_be_wrong_is_told_first_and_not_at_any_length() -> None:
    text = changed_schema_refusal(
        "fs__x", known={}, current={"type": "object"}, arguments={}, problems=["`a` " * 1000]
    )
    assert "`a` `a`" in text
    assert len(text) < MAX_PROBLEM_CHARS + 300


@pytest.mark.parametrize("current", [{"type": "object"}, {"$ref": "#/$defs/x", "properties": {}}])
def test_an_open_schema_may_name_what_it_takes_elsewhere(current: dict[str, Any]) -> None:
    known: dict[str, Any] = {"properties": {"a": {}}}
    assert not changed_schema_refusal("x", known=known, current=current, arguments={"a": 1})
