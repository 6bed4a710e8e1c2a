"""What a server says of its tools keeps its shape and loses its secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.tool_redaction import NamesSecret, redacted_value
from host.text.redaction import REDACTED, Redactor

CANARY = 'c4nary/9+"x'
REDACTOR = Redactor([CANARY])
TEXTS = st.lists(st.sampled_from([CANARY, "a", "string", " "]), max_size=3).map("".join)
KEYS = st.sampled_from(["description", "title", "items", "default", "x"])
DESCRIBED = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(DESCRIBED)
def test_descriptions_are_marked_and_examples_left_out(value: Any) -> None:
    told = redacted_value(value, REDACTOR)
    assert CANARY not in json.dumps(told, ensure_ascii=False).replace('\\"', '"')
    assert told == marked(value)
    assert redacted_value(value, Redactor()) == value


def marked(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(CANARY, REDACTED)
    if isinstance(value, list):
        return [marked(each) for each in value]
    if isinstance(value, dict):
        kept = {key: marked(each) for key, each in value.items()}
        return {key: kept[key] for key in kept if key != "default" or kept[key] == value[key]}
    return value


@given(st.sampled_from(["name", "enum", "required", "const", "pattern"]), TEXTS, st.booleans())
def test_a_secret_that_names_something_is_refused(keyword: str, text: str, is_key: bool) -> None:
    value: Any = {"properties": {text: {}}} if is_key else {"a": [{keyword: [text]}]}
    if CANARY not in text:
        assert redacted_value(value, REDACTOR) == value
        return
    with pytest.raises(NamesSecret) as refusal:
        redacted_value(value, REDACTOR)
    assert CANARY not in str(refusal.value)
