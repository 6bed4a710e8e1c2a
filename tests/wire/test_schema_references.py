"""Where local references of a schema lead, before and after it was folded."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.schema_normalising import normalised
from host.wire.schema_references import NOWHERE, references_in, target_of, with_targets
from tests.wire.schemas import roots
from tests.wire.tool_roots import ToolRoots

DOCUMENT: dict[str, Any] = {
    "properties": {"a/b": {"type": "string"}, "c": {"anyOf": [{"const": 1}, True]}},
    "allOf": [{"items": {"$anchor": "inner", "type": "integer"}}],
    "$defs": {"A": {"$id": "#old", "title": "A"}, "x/y": {"title": "xy"}, "n": 3},
    "definitions": {"B": {"properties": {"q": False}}, "D": {"$dynamicAnchor": "moving"}},
    "default": {"$anchor": "data", "$ref": "#/data"},
}


@pytest.mark.parametrize(
    ("pointer", "target"),
    [
        ("#", DOCUMENT),
        ("#/$defs/A", DOCUMENT["$defs"]["A"]),
        ("#/$defs/x~1y", DOCUMENT["$defs"]["x/y"]),
        ("#/$defs/x/y", DOCUMENT["$defs"]["x/y"]),
        ("#/definitions/B/properties/q", False),
        ("#/properties/a~1b", DOCUMENT["properties"]["a/b"]),
        ("#/properties/c/anyOf/0", {"const": 1}),
        ("#/properties/c/anyOf/1", True),
        ("#inner", DOCUMENT["allOf"][0]["items"]),
        ("#old", DOCUMENT["$defs"]["A"]),
        ("#moving", DOCUMENT["definitions"]["D"]),
        ("#/properties/c/anyOf/2", NOWHERE),
        ("#/properties/c/anyOf/x", NOWHERE),
        ("#/properties/c/anyOf/999999", NOWHERE),
        ("#/properties/a", NOWHERE),
        ("#/$defs/n", NOWHERE),
        ("#/$defs/A/title/x", NOWHERE),
        ("#data", NOWHERE),
        ("other.json#/$defs/A", NOWHERE),
        ("", NOWHERE),
    ],
)
def test_a_reference_leads_to_a_name_a_path_or_an_anchor(pointer: str, target: Any) -> None:
    found = target_of(DOCUMENT, pointer)
    assert found is target or (target is not NOWHERE and found == target)


def test_references_stand_at_schema_positions_only() -> None:
    schema = {
        "properties": {"$ref": {"$ref": "#/1"}, "a": {"const": {"$ref": "#/no"}}},
        "dependentSchemas": {"b": {"not": {"$ref": "#/2"}}},
        "unevaluatedProperties": {"$ref": "#/3"},
        "allOf": [{"$ref": {"type": "string"}}, {"$ref": "#/4"}],
        "default": {"$ref": "#/no"},
    }
    assert references_in(schema) == ["#/1", "#/2", "#/3", "#/4"]
    assert references_in(True) == []


def test_what_a_reference_led_to_gets_a_name_that_is_free() -> None:
    original = {
        "allOf": [{"title": "one", "items": {"$ref": "#/allOf/1/not"}}, {"not": {"title": "two"}}],
        "properties": {"a": {"$ref": "#/allOf/0"}, "b": {"$ref": "#/$defs/not"}},
        "$defs": {"not": {"title": "taken"}},
    }
    folded = {key: value for key, value in original.items() if key != "allOf"}
    assert with_targets(folded, original, lambda part: part) == {
        "properties": {"a": {"$ref": "#/$defs/0"}, "b": {"$ref": "#/$defs/not"}},
        "$defs": {
            "not": {"title": "taken"},
            "0": {"title": "one", "items": {"$ref": "#/$defs/not_2"}},
            "not_2": {"title": "two"},
        },
    }


def test_data_that_looks_like_a_reference_stays() -> None:
    part = {"$ref": "#/allOf/0", "default": {"$ref": "#/allOf/0"}}
    original = {"properties": {"a": part}, "allOf": [{"title": "t"}]}
    moved = with_targets({"properties": {"a": part}}, original, lambda one: one)
    assert moved["properties"]["a"] == {"$ref": "#/$defs/0", "default": {"$ref": "#/allOf/0"}}


@given(roots())
def test_a_root_that_was_not_folded_is_left_alone(root: dict[str, Any]) -> None:
    before = deepcopy(root)
    is_anchored = any(
        not one.startswith(("#/", "http")) and one != "#" for one in references_in(root)
    )
    assert is_anchored or with_targets(root, root, lambda part: part) is root
    assert root == before


@given(st.integers(0, 2**64))
def test_whatever_goes_references_lead_to_what_they_led_to(seed: int) -> None:
    made = ToolRoots(Random(seed))
    for _ in range(10):
        original = made.draw()
        root, normalise = normalised(original)
        gone = {key: value for key, value in root.items() if key not in ("allOf", "anyOf", "oneOf")}
        moved = with_targets(gone, original, normalise)
        targets = [target_of(moved, pointer) for pointer in references_in(moved)]
        assert NOWHERE not in targets
        assert moved.keys() - gone.keys() <= {"$defs"}
