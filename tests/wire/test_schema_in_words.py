"""A shape for an answer, as a field and in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import Message
from host.wire.capabilities import Capabilities
from host.wire.schema_compat import relax_schema, sanitize_schema
from host.wire.schema_in_words import response_format, schema_prompt, with_schema_prompt

_schemas = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(
            st.sampled_from(["a", "pattern", "é"]),
            st.sampled_from([{"type": "string", "pattern": "^x$"}, {"type": ["integer", "null"]}]),
        ),
        "required": st.just(["a"]),
    },
)


@given(_schemas, st.booleans())
def test_the_field_holds_what_the_endpoint_can_take(schema: dict[str, Any], strict: bool) -> None:
    sent = response_format(schema, Capabilities(strict_schemas=strict))["json_schema"]["schema"]
    clean = sanitize_schema(schema)
    assert sent == (clean if strict else relax_schema(clean))


@given(_schemas)
def test_the_words_end_in_the_schema_as_json(schema: dict[str, Any]) -> None:
    *_, shape = schema_prompt(schema).splitlines()
    assert json.loads(shape) == sanitize_schema(schema)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_words_end_the_system_prompt(role: Any) -> None:
    messages: list[Message] = [
        {"role": role, "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]
    told = with_schema_prompt(messages, {})
    assert told[0]["content"] == f"be brief\n\n{schema_prompt({})}"
    assert told[0]["role"] == role
    assert told[1] is messages[1]
    assert messages[0]["content"] == "be brief"


def test_a_system_prompt_of_parts_gets_one_more() -> None:
    part = {"type": "text", "text": "be brief"}
    told = with_schema_prompt([{"role": "system", "content": [part]}], {})
    assert told[0]["content"] == [part, {"type": "text", "text": schema_prompt({})}]


@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": "hi"}]])
def test_without_a_system_prompt_the_words_are_one(messages: list[Message]) -> None:
    told = with_schema_prompt(messages, {})
    assert told == [{"role": "system", "content": schema_prompt({})}, *messages]
