"""Keywords that accept less when a part of them accepts more, and two schemas made one."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.schema_widening import laid_over, without_reversals
from tests.wire.instances import judge
from tests.wire.tool_roots import ToolRoots

WHOLE = {
    "type": "object",
    "not": {"a": 1},
    "if": {"b": 1},
    "then": {"c": 1},
    "else": {"d": 1},
    "contains": {"e": 1},
    "minContains": 2,
    "maxContains": 3,
    "oneOf": [{"f": 1}],
}


@pytest.mark.parametrize(
    ("widened", "gone"),
    [
        ([], set()),
        (["not"], {"not"}),
        (["if"], {"if", "then", "else"}),
        (["contains"], {"maxContains"}),
        (["oneOf"], {"oneOf"}),
        (["not", "oneOf", "items"], {"not", "oneOf"}),
    ],
)
def test_what_a_wider_part_would_turn_around_goes(widened: list[str], gone: set[str]) -> None:
    before = deepcopy(WHOLE)
    kept = without_reversals(WHOLE, widened)
    assert before == WHOLE
    assert WHOLE.keys() - kept.keys() == gone
    assert kept.keys() - WHOLE.keys() == ({"anyOf"} if "oneOf" in gone else set())


def test_exactly_one_becomes_any_in_its_place_unless_there_is_a_union_already() -> None:
    schema = {"title": "t", "oneOf": [1, 2], "items": {}}
    assert list(without_reversals(schema, ["oneOf"]).items()) == [
        ("title", "t"),
        ("anyOf", [1, 2]),
        ("items", {}),
    ]
    both = {**schema, "anyOf": [3]}
    assert without_reversals(both, ["oneOf"]) == {"title": "t", "anyOf": [3], "items": {}}
    assert without_reversals({"title": "t"}, ["oneOf"]) == {"title": "t"}


@pytest.mark.parametrize(
    ("outer", "inner", "merged"),
    [
        ({"title": "o", "type": "string"}, {"title": "i"}, {"title": "i", "type": "string"}),
        (
            {"properties": {"a": 1, "b": 1}, "additionalProperties": False},
            {"properties": {"a": 2}},
            {"properties": {"a": 2, "b": 1}, "additionalProperties": False},
        ),
        ({"prefixItems": [1, 2], "items": False}, {"prefixItems": [3]}, {"prefixItems": [3]}),
        ({"contains": 1, "maxContains": 2}, {"minContains": 3}, {"minContains": 3}),
        ({"if": 1, "then": 2}, {"else": 3}, {"else": 3}),
        ({"unevaluatedProperties": False, "allOf": [1]}, {"allOf": [2]}, {"allOf": [2]}),
        ({}, {"unevaluatedItems": False}, {"unevaluatedItems": False}),
    ],
)
def test_of_two_schemas_the_inner_one_is_heard(outer: Any, inner: Any, merged: Any) -> None:
    assert laid_over(outer, inner) == merged


@given(st.integers(0, 2**64))
def test_what_two_schemas_accept_the_one_made_of_both_accepts(seed: int) -> None:
    made = ToolRoots(Random(seed))
    for _ in range(20):
        outer, inner = ({**made.draw_without_references()} for _ in range(2))
        merged = judge(laid_over(outer, inner))
        for value in (made.arguments() for _ in range(8)):
            if judge(outer).is_valid(value) and judge(inner).is_valid(value):
                assert merged.is_valid(value), (outer, inner, value)
